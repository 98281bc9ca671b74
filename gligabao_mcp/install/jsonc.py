"""Edits JSON texts as people keep them: with comments, trailing commas and an indentation of their own.

A text is changed where the change is and nowhere else. A library that reads a text and writes it anew would lose the
comments, or the layout, or both.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import cast

from gligabao_mcp.install.texts import Keys, Unreadable, nested

_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALAR = re.compile(r"[^\s,:{}\[\]\"/]+")
_MARGIN = re.compile(r"[ \t]*")
_CLOSING = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class _Node:
    """A value and where it stands."""

    start: int
    end: int
    value: object
    members: tuple[_Member, ...] = ()
    """Of an object."""

    def member(self, key: str) -> _Member | None:
        """The member of that name; of several the last, which is the one that every reader takes."""
        return next((member for member in reversed(self.members) if member.key == key), None)


@dataclass(frozen=True, slots=True)
class _Member:
    key: str
    start: int
    node: _Node
    comma: int | None
    """Where the comma after it stands."""


class Json:
    """JSON, with the comments and trailing commas of JSONC. An empty text is an empty object."""

    def read(self, text: str) -> dict[str, object]:
        return cast("dict[str, object]", _root(text).value) if text.strip() else {}

    def put(self, text: str, path: Keys, value: object) -> str:
        if not text.strip():
            return json.dumps(nested(path, value), ensure_ascii=False, indent=2) + "\n"
        node = _root(text)
        for depth, key in enumerate(path):
            member = node.member(key)
            if member is None:
                return _inserted(text, node, key, nested(path[depth + 1 :], value))
            node = member.node
            if depth < len(path) - 1 and not isinstance(node.value, dict):
                raise Unreadable(f"line {_line(text, node.start)}: {key} is not an object")
        return text[: node.start] + _rendered(text, value, _margin(text, node.start)) + text[node.end :]

    def drop(self, text: str, path: Keys) -> str:
        *parents, key = path
        while True:
            node: _Node | None = _root(text) if text.strip() else None
            for parent in parents:
                member = node.member(parent) if node else None
                node = member.node if member else None
            if node is None or node.member(key) is None:
                return text
            text = _without(text, node, key)

    def snippet(self, path: Keys, value: object) -> str:
        return json.dumps(nested(path, value), ensure_ascii=False, indent=2)


# Writing ------------------------------------------------------------------------------------------------------------


def _inserted(text: str, parent: _Node, key: str, value: object) -> str:
    """The text with a new last member in the object."""
    close = parent.end - 1
    last = parent.members[-1] if parent.members else None
    after = last.node.end if last else parent.start + 1
    kept = text[after:close].rstrip()  # comments, and the trailing comma where there is one
    head = text[:after] + ("," if last and last.comma is None else "") + kept
    tail = text[after + len(kept) :]
    name, trailing = json.dumps(key, ensure_ascii=False), "," if last and last.comma is not None else ""
    if last and "\n" not in text[parent.start : parent.members[0].start] + text[after:close]:
        return f"{head} {name}: {json.dumps(value, ensure_ascii=False)}{trailing}{tail}"
    line, outer = _newline(text), _margin(text, parent.start)
    margin = _margin(text, last.start) if last else outer + _unit(text)
    if "\n" not in tail[: tail.index("}")]:
        tail = line + outer + tail.lstrip()
    return f"{head}{line}{margin}{name}: {_rendered(text, value, margin)}{trailing}{tail}"


def _without(text: str, parent: _Node, key: str) -> str:
    """The text without that member of the object, and without the line that held nothing else."""
    place = next(i for i, member in enumerate(parent.members) if member.key == key)
    member = parent.members[place]
    end = member.node.end if member.comma is None else member.comma + 1
    start = member.start
    line = text.rfind("\n", 0, start) + 1
    rest = _MARGIN.match(text, end)
    alone = (
        line > parent.start and not text[line:start].strip() and rest and text[rest.end() :].startswith(("\r", "\n"))
    )
    if alone and rest:
        start, end = line, text.index("\n", rest.end()) + 1
    elif member.comma is not None and rest:
        end = rest.end()
    head = text[:start]
    before = parent.members[place - 1].comma if place else None
    if member.comma is None and before is not None:
        head = head[:before] + head[before + 1 :]
    return head + text[end:]


def _rendered(text: str, value: object, margin: str) -> str:
    """The value as JSON, whose further rows begin at the margin."""
    rows = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return f"{_newline(text)}{margin}".join(rows)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _margin(text: str, place: int) -> str:
    """What the line of that place begins with."""
    margin = _MARGIN.match(text, text.rfind("\n", 0, place) + 1)
    return margin[0] if margin else ""


def _unit(text: str) -> str:
    """One step of the text's indentation."""
    members = _root(text).members
    if members and "\n" in text[: members[0].start]:
        return _margin(text, members[0].start) or "  "
    return "  "


# Reading ------------------------------------------------------------------------------------------------------------


def _root(text: str) -> _Node:
    try:
        node = _value(text, _skip(text, 0))
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    end = _skip(text, node.end)
    if end < len(text):
        raise _expected(text, end, "the end of the file")
    if not isinstance(node.value, dict):
        raise _expected(text, node.start, "an object")
    return node


def _value(text: str, place: int) -> _Node:
    if text[place : place + 1] == "{":
        return _object(text, place)
    if text[place : place + 1] == "[":
        return _array(text, place)
    token = _STRING.match(text, place) or _SCALAR.match(text, place)
    try:
        if token:
            return _Node(place, token.end(), json.loads(token[0], strict=False))
    except ValueError:
        pass
    raise _expected(text, place, "a value")


def _object(text: str, start: int) -> _Node:
    members: list[_Member] = []
    place = _skip(text, start + 1)
    while text[place : place + 1] != "}":
        name = _STRING.match(text, place)
        if name is None:
            raise _expected(text, place, 'a name in quotes or "}"')
        colon = _skip(text, name.end())
        if text[colon : colon + 1] != ":":
            raise _expected(text, colon, '":"')
        node = _value(text, _skip(text, colon + 1))
        comma, next_place = _comma(text, node.end, "{")
        members.append(_Member(str(json.loads(name[0], strict=False)), place, node, comma))
        place = next_place
    return _Node(start, place + 1, {member.key: member.node.value for member in members}, tuple(members))


def _array(text: str, start: int) -> _Node:
    values: list[object] = []
    place = _skip(text, start + 1)
    while text[place : place + 1] != "]":
        node = _value(text, place)
        values.append(node.value)
        _, place = _comma(text, node.end, "[")
    return _Node(start, place + 1, values)


def _comma(text: str, end: int, opened: str) -> tuple[int | None, int]:
    """Where the comma after a part is, if there is one, and where reading goes on."""
    place = _skip(text, end)
    if text[place : place + 1] == ",":
        return place, _skip(text, place + 1)
    if text[place : place + 1] == _CLOSING[opened]:
        return None, place
    raise _expected(text, place, f'"," or "{_CLOSING[opened]}"')


def _skip(text: str, place: int) -> int:
    blank = _BLANK.match(text, place)
    return blank.end() if blank else place


def _expected(text: str, place: int, what: str) -> Unreadable:
    return Unreadable(f"line {_line(text, place)}: {what} was expected")


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
