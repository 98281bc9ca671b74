"""The triples of a query's main group, read from its text, so that some can be cut out of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn
from urllib.parse import urljoin

from core.errors import InvalidRequest
from core.rdf.tokens import Token, iri_in, is_read, tokens

_OPEN, _CLOSE = "({[", ")}]"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NOT_KEYWORDS = ("a", "true", "false")


class Piece(NamedTuple):
    """A token that says something, and where it stands."""

    token: Token
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A predicate with its objects: the places of their pieces."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Statement:
    """Triples of one subject: the places of their pieces. `end` is behind the full stop, if there is one."""

    start: int
    entries: tuple[Entry, ...]
    end: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A stretch of the text, and what takes its place."""

    start: int
    end: int
    kept: str


class QueryText:
    """A query as pieces. What is asked of one that the engine could not read raises InvalidRequest (param `query`)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces = list(_pieces(text))
        self._base = ""
        self._prefixes: dict[str, str] = {}
        self._read_prologue()

    def _read_prologue(self) -> None:
        for word, second, third in zip(self.pieces, self.pieces[1:], self.pieces[2:], strict=False):
            if word.token.folded == "prefix" and third.token.kind == "iri":
                self._prefixes[second.token.prefix] = iri_in(third.token)
            elif word.token.folded == "base" and second.token.kind == "iri":
                self._base = iri_in(second.token)

    def iri(self, token: Token) -> str:
        """The IRI that a token names; empty for any other."""
        if token.kind == "iri":
            return self._absolute(iri_in(token))
        if token.kind != "name" or token.prefix not in self._prefixes:
            return ""
        local = re.sub(r"\\(.)", r"\1", token.text.partition(":")[2])
        return self._absolute(self._prefixes[token.prefix] + local)

    def _absolute(self, iri: str) -> str:
        try:
            return iri if not self._base or _SCHEME.match(iri) else urljoin(self._base, iri)
        except ValueError:  # the engine can't read it either
            return iri

    def behind_prologue(self) -> int:
        """The place of SELECT or ASK."""
        at = 0
        while at < len(self.pieces) and self.pieces[at].token.folded in ("prefix", "base", "version"):
            at += 3 if self.pieces[at].token.folded == "prefix" else 2
        return at

    def main_group(self, at: int) -> int:
        """The place of the brace that opens the main group, for the place of SELECT or ASK."""
        while at < len(self.pieces):
            text = self.pieces[at].token.text
            if text == "{":
                return at
            at = self.match(at) + 1 if text in _OPEN else at + 1
        _refuse("has no group")

    def match(self, at: int) -> int:
        """The place of the bracket that closes the one at that place."""
        depth = 0
        for place in range(at, len(self.pieces)):
            token = self.pieces[place].token
            if token.kind == "sign":
                depth += (token.text in _OPEN) - (token.text in _CLOSE)
            if depth == 0:
                return place
        _refuse("has a bracket that is not closed")

    def statements(self, at: int, end: int) -> Iterator[Statement]:
        """The triples of a group, without what stands in groups and filters inside it."""
        while at < end:
            token = self.pieces[at].token
            if token.text in (".", ";"):
                at += 1
            elif token.text == "{":
                at = self.match(at) + 1
            elif _is_keyword(token):
                at = self._behind_brackets(at, end)
            else:
                statement = self._statement(at, end)
                yield statement
                at = statement.end

    def _behind_brackets(self, at: int, end: int) -> int:
        """Behind what the keyword at that place governs: the first parentheses or braces that follow."""
        while at < end and self.pieces[at].token.text not in ("(", "{"):
            at += 1
        return self.match(at) + 1 if at < end else end

    def _statement(self, start: int, end: int) -> Statement:
        at = begin = self._behind_term(start)
        entries: list[Entry] = []
        while at < end:
            token = self.pieces[at].token
            if token.text in (".", "{") or _is_keyword(token):
                break
            if token.text == ";":
                entries.append(Entry(begin, at))
                begin = at + 1
            at = self._behind_term(at)
        entries.append(Entry(begin, at))
        is_stopped = at < end and self.pieces[at].token.text == "."
        stated = tuple(entry for entry in entries if entry.start < entry.end)
        return Statement(start, stated, max(start + 1, at + is_stopped))

    def _behind_term(self, at: int) -> int:
        return self.match(at) + 1 if self.pieces[at].token.text in ("(", "[") else at + 1

    def slice(self, start: int, end: int) -> str:
        """The text of the pieces from one place up to another."""
        return self.text[self.pieces[start].start : self.pieces[end - 1].end]

    def cut(self, statement: Statement, found: Sequence[Entry]) -> Cut:
        """The statement without the entries that were found in it."""
        left = [self.slice(entry.start, entry.end) for entry in statement.entries if entry not in found]
        subject = self.slice(statement.start, statement.entries[0].start)
        kept = f"{subject} {' ; '.join(left)} . " if left else ""
        return Cut(self.pieces[statement.start].start, self.pieces[statement.end - 1].end, kept)


def _refuse(why: str) -> NoReturn:
    raise InvalidRequest(f"query: {why}", param="query")


def _pieces(text: str) -> Iterator[Piece]:
    """What a text says, piece by piece. The full stop behind a name ends a statement, and is no part of it."""
    end = 0
    for token in tokens(text):
        start, end = end, end + len(token.text)
        dots = len(token.text) - len(token.text.rstrip(".")) if token.kind in ("name", "blank") else 0
        if is_read(token):
            whole = token._replace(text=token.text[: len(token.text) - dots])
            yield Piece(whole, start, end - dots)
        for place in range(end - dots, end):
            yield Piece(Token("sign", "."), place, place + 1)


def _is_keyword(token: Token) -> bool:
    return token.kind == "word" and token.folded not in _NOT_KEYWORDS


def without(text: str, start: int, end: int, cuts: Iterable[Cut]) -> str:
    """A stretch of the text with what takes the place of the cuts, which are in order."""
    parts: list[str] = []
    for cut in cuts:
        parts += [text[start : cut.start], cut.kept]
        start = cut.end
    return "".join([*parts, text[start:end]])
