"""A native document, read row by row: one JSON object, or JSON Lines. Never the whole of it in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from typing import IO, Any, BinaryIO, NoReturn, cast

from core.errors import InvalidRequest
from core.export.rows import EMPTY_SECTIONS, FORMAT, SECTIONS, VERSION

# The most characters of one row: a text of 1 MiB in escapes, or an image in base64.
MAX_ROW = 64 * 1024 * 1024
_AT_ONCE = 64 * 1024
_WHITE = " \t\r\n"
_HEADER = ("format", "version", "dataset", "exported_at")


@dataclass(frozen=True, slots=True)
class Item:
    """One row of a section; or, with section "", a field of the header. `place` is how a person finds it."""

    section: str
    place: str
    value: Any


def read_document(source: IO[bytes]) -> Iterator[Item]:
    """Every field of the header and every row, in the order of the document.

    Raises InvalidRequest, with the place, for what is neither form, ends early, or is of a later version.
    """
    text = TextIOWrapper(cast("BinaryIO", source), encoding="utf-8-sig", newline="")
    try:
        start = text.readline(_AT_ONCE)
        text.seek(0)
        yield from _lines(text) if _is_lines(start) else _Scanner(text).items()
    except UnicodeDecodeError:
        raise InvalidRequest("the document is not UTF-8") from None
    finally:
        text.detach()  # the file belongs to the caller


def _is_lines(start: str) -> bool:
    try:
        first = _loads(start)
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "type" in first


def _check(name: str, value: object, place: str) -> None:
    """Refuses a header that is of another format, or of a version that this release can't read."""
    if name not in _HEADER:
        raise InvalidRequest(f"{place}: unknown field {name[:64]!r}")
    if name == "format" and value != FORMAT:
        raise InvalidRequest(f"format: must be {FORMAT}", param="format")
    if name == "version":
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InvalidRequest("version: must be a whole number", param="version")
        if value > VERSION:
            raise InvalidRequest(
                f"version: the document has version {value}, this release reads up to {VERSION}; update gligabao-mcp",
                param="version",
            )


# JSON Lines ---------------------------------------------------------------------------------------------------------


def _lines(text: TextIOWrapper) -> Iterator[Item]:
    rows, ended, number = 0, False, 0
    while line := text.readline(MAX_ROW):
        number += 1
        place = f"line {number}"
        if not line.strip():
            continue
        if ended:
            raise InvalidRequest(f"{place}: there is more behind the line that ends the document")
        value = _object(line, place)
        kind = value.pop("type", None)
        if number == 1 and kind != "graph":
            raise InvalidRequest(f"{place}: the first line must be of type graph")
        if kind == "graph":
            yield from _header_line(value, place)
        elif kind == "end":
            ended = True
            if value.get("rows") != rows:
                raise InvalidRequest(f"{place}: the document has {rows} rows, its end says {value.get('rows')!r:.20}")
        else:
            rows += 1
            yield Item(_section(kind, place), place, value.get("row"))
    if not ended:
        raise InvalidRequest(f"line {number}: the document ends early, its last line is not of type end")


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        value = _loads(line)
    except (ValueError, RecursionError):
        raise InvalidRequest(f"{place}: is not valid JSON") from None
    if not isinstance(value, dict):
        raise InvalidRequest(f"{place}: must be a JSON object")
    return cast("dict[str, Any]", value)


def _header_line(fields: dict[str, Any], place: str) -> Iterator[Item]:
    if place != "line 1":
        raise InvalidRequest(f"{place}: there is a second line of type graph")
    for name, value in fields.items():
        _check(name, value, place)
        yield Item("", name, value)


def _section(name: object, place: str) -> str:
    if not isinstance(name, str) or name not in (*SECTIONS, *EMPTY_SECTIONS):
        raise InvalidRequest(f"{place}: unknown section {str(name)[:64]!r}; the sections are {', '.join(SECTIONS)}")
    return name


# One JSON object -----------------------------------------------------------------------------------------------------


class _Scanner:
    """The members of the outer object and the rows in its arrays, one after the other."""

    def __init__(self, text: TextIOWrapper) -> None:
        self._text = text
        self._buffer = ""
        self._at = 0
        self._line = 1
        self._counted = 0
        """How far into the buffer its lines are counted in that."""
        self._ended = False

    def items(self) -> Iterator[Item]:
        self._expect("{")
        seen: set[str] = set()
        separator = ""
        while self._peek() != "}":
            if separator:
                self._expect(separator)
            separator = ","
            name = self._value()
            if not isinstance(name, str):
                self._fail("a name is missing")
            if name in seen:
                self._fail(f"{name[:64]} is there twice")
            seen.add(name)
            self._expect(":")
            yield from self._member(name)
        self._expect("}")
        if self._peek():
            self._fail("there is more behind the document")

    def _member(self, name: str) -> Iterator[Item]:
        if name not in SECTIONS and name not in EMPTY_SECTIONS:
            value = self._value()
            _check(name, value, f"line {self._here()}")
            yield Item("", name, value)
            return
        self._expect("[")
        index = 0
        while self._peek() != "]":
            if index:
                self._expect(",")
                self._peek()
            place = f"{name}[{index}] (line {self._here()})"
            yield Item(name, place, self._value())
            index += 1
        self._expect("]")

    def _peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in _WHITE:
                    return self._buffer[self._at]
                self._at += 1
            if not self._fill():
                return ""

    def _expect(self, mark: str) -> None:
        found = self._peek()
        if found != mark:
            self._fail(f"{mark!r} is missing" if found else f"the document ends early: {mark!r} is missing")
        self._at += 1

    def _value(self) -> Any:
        """The JSON value that begins here, however much of it has to be read first."""
        self._peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._at)
            except ValueError:
                if len(self._buffer) - self._at > MAX_ROW or not self._fill():
                    self._fail("is not valid JSON" if self._buffer[self._at :].strip() else "the document ends early")
                continue
            except RecursionError:
                self._fail("is nested too deeply")
            if end == len(self._buffer) and self._fill():
                continue  # a number may go on
            self._at = end
            return value

    def _fill(self) -> bool:
        """Reads on, as much again as is there: a long row is not tried again for every few of its characters."""
        if self._ended:
            return False
        more = self._text.read(max(_AT_ONCE, len(self._buffer) - self._at))
        self._line, self._counted = self._here(), 0
        self._buffer = self._buffer[self._at :] + more
        self._at = 0
        self._ended = not more
        return bool(more)

    def _here(self) -> int:
        self._line += self._buffer.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _fail(self, what: str) -> NoReturn:
        raise InvalidRequest(f"line {self._here()}: {what}")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _loads(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse)
