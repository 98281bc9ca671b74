"""Edits TOML texts: comments, order and layout stay."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, cast

from gligabao_mcp.install.texts import Keys, Unreadable, found, nested

# The header of a table or of a row of an array of tables.
_HEADER = re.compile(r"^[ \t]*\[\[?([^\[\]\n]+)\]\]?[ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)
# Strings of several rows, and what else could seem to begin one: other strings, and comments.
_TOKEN = re.compile(
    r"""(?P<rows>"{3}(?:\\.|[^\\])*?"{3}|'{3}.*?'{3})|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*""", re.DOTALL
)
# Comments and empty rows at the end.
_TAIL = re.compile(r"(?<=\n)(?:[ \t\r]*(?:\#[^\n]*)?(?:\n|\Z))+\Z")
_LONE_NEWLINE = re.compile(r"(?<!\r)\n")


class Toml:
    """TOML 1.0."""

    def read(self, text: str) -> dict[str, object]:
        try:
            return tomllib.loads(text)
        except ValueError as error:
            raise Unreadable(str(error)) from None

    def put(self, text: str, path: Keys, value: object) -> str:
        *parents, name = path
        wanted = self.read(text)
        holder: dict[str, Any] = wanted
        for key in parents:
            holder = holder.setdefault(key, {})
            if not isinstance(holder, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise Unreadable(f"{key} is not a table")
        ways = [lambda: _assigned(text, path, value)]
        if name not in holder:
            is_table = isinstance(value, Mapping)
            added = self.snippet(path if is_table else [name], value)
            ways.insert(0, lambda: _appended(text, added) if is_table else _row_added(text, parents, added))
        holder[name] = value
        return self._first_right(text, wanted, ways)

    def drop(self, text: str, path: Keys) -> str:
        *parents, name = path
        wanted = self.read(text)
        holder = found(wanted, parents)
        if not isinstance(holder, dict) or name not in holder:
            return text
        del cast("dict[str, object]", holder)[name]
        return self._first_right(text, wanted, [lambda: _without_tables(text, path), lambda: _deleted(text, path)])

    def snippet(self, path: Keys, value: object) -> str:
        import tomlkit

        return tomlkit.dumps(cast("dict[str, Any]", nested(path, value)))

    def _first_right(self, text: str, wanted: Mapping[str, object], ways: Iterable[Callable[[], str]]) -> str:
        """The first of several edits that says what is wanted and nothing else."""
        for way in ways:
            try:
                edited = _same_newlines(text, way())
                if _pruned(self.read(edited)) == _pruned(wanted):
                    return edited
            except (ValueError, KeyError, TypeError, StopIteration):
                continue
        raise Unreadable("the place of the entry can't be changed without touching others")


def _appended(text: str, table: str) -> str:
    """Reads well and can't disturb what is there; an inline table is the one thing that it can't add to."""
    before = text if not text or text.endswith("\n") else text + "\n"
    return f"{before}\n{table}" if before.strip() else before + table


def _assigned(text: str, path: Keys, value: object) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    holder: Any = document
    for key in path[:-1]:
        if key not in holder:
            holder[key] = tomlkit.table()
        holder = holder[key]
    holder[path[-1]] = value
    return tomlkit.dumps(document)


def _row_added(text: str, parents: Keys, row: str) -> str:
    """The text with a last row in a table that has a header; StopIteration where none has."""
    table = next(table for table in _tables(text, parents) if table.keys == list(parents))
    before = text[: table.tail]
    return (before if before.endswith("\n") else before + "\n") + row + text[table.tail :]


def _without_tables(text: str, path: Keys) -> str:
    for table in reversed(_tables(text, path)):
        tail = text[table.tail : table.end]
        text = text[: table.start] + (tail.lstrip("\r\n") if "#" in tail else "") + text[table.end :]
    return text


class _Table(NamedTuple):
    """Where a table stands, from its header on."""

    keys: list[str]
    start: int
    tail: int
    """Where nothing but comments and empty rows follow: those may belong to the next table."""
    end: int


def _tables(text: str, path: Keys) -> list[_Table]:
    """The tables at the path and below it, in the order of the text."""
    headers = list(_HEADER.finditer(_TOKEN.sub(_masked, text)))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    tables: list[_Table] = []
    for header, end in zip(headers, ends, strict=True):
        keys = _keys(text[header.start(1) : header.end(1)])
        if keys[: len(path)] == list(path):
            body = _TAIL.sub("", text[header.start() : end])
            tables.append(_Table(keys, header.start(), header.start() + len(body), end))
    return tables


def _masked(token: re.Match[str]) -> str:
    """A string of several rows without what could be taken for a header in it; every other token as it is."""
    return re.sub(r"[^\n]", "x", token[0]) if token["rows"] else token[0]


def _keys(header: str) -> list[str]:
    """The keys of a table's header."""
    keys: list[str] = []
    try:
        table: object = tomllib.loads(f"[{header}]")
    except ValueError:
        return keys
    while isinstance(table, dict) and table:
        key, table = next(iter(cast("dict[str, object]", table).items()))
        keys.append(key)
    return keys


def _deleted(text: str, path: Keys) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    holder: Any = document
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return tomlkit.dumps(document)


def _same_newlines(text: str, edited: str) -> str:
    """The new lines end as the old ones do, where those agree."""
    agree = "\r\n" in text and not _LONE_NEWLINE.search(text)
    return _LONE_NEWLINE.sub("\r\n", edited) if agree else edited


def _pruned(document: Mapping[str, object]) -> dict[str, object]:
    """Without empty tables at the top: whether one is there that lost its last entry says nothing."""
    return {key: value for key, value in document.items() if value != {}}
