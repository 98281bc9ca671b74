"""INSERT DATA and DELETE DATA: an update cut into its operations, each as a document that a parser of RDF reads.

A parser loads nothing and runs nothing, so what it does not take as triples is refused, whatever it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, NoReturn

from core.errors import InvalidRequest
from core.rdf.tokens import Token, is_read, tokens

Form = Literal["insert", "delete"]
# The prologue is read again for each operation.
MAX_OPERATIONS, MAX_PROLOGUE = 10_000, 20_000
_FORMS: Mapping[str, Form] = {"insert": "insert", "delete": "delete"}


class DataOperation(NamedTuple):
    """Triples to be added or taken away: `prologue` and `block`, which begins at `line` of the update, are a document
    in TriG."""

    form: Form
    prologue: str
    block: str
    line: int


def data_operations(text: str) -> list[DataOperation]:
    """The operations of an update, in order. Raises InvalidRequest (param `update`) for all but INSERT DATA and
    DELETE DATA with their PREFIX and BASE lines, separated by semicolons."""
    cutting = _Cutting(tokens(text))
    operations: list[DataOperation] = []
    while cutting.goes_on():
        cutting.prologue()
        if not cutting.goes_on() and operations:
            break
        if len(operations) == MAX_OPERATIONS:
            _refuse(f"at most {MAX_OPERATIONS:,} operations", cutting.line)
        operations.append(cutting.operation())
        if cutting.goes_on():
            cutting.expect(";")
    if not operations:
        _refuse("holds no INSERT DATA or DELETE DATA")
    return operations


def _refuse(why: str, line: int | None = None) -> NoReturn:
    raise InvalidRequest(f"update: {f'line {line}: ' if line else ''}{why}", param="update")


@dataclass(slots=True)
class _Cutting:
    """The pieces of an update, and how far they are read."""

    pieces: Sequence[Token]
    at: int = 0
    line: int = 1
    declared: str = ""

    def goes_on(self) -> bool:
        """Whether more is said; skips what says nothing."""
        while self.at < len(self.pieces) and not is_read(self.pieces[self.at]):
            self._take()
        return self.at < len(self.pieces)

    def prologue(self) -> None:
        """The PREFIX and BASE lines that come next: they hold for all that follows."""
        while self.goes_on() and (keyword := self.pieces[self.at].folded) in ("prefix", "base"):
            names = [self._next() for _ in range(3 if keyword == "prefix" else 2)]
            self.declared += " ".join(token.text for token in names) + " "
            if len(self.declared) > MAX_PROLOGUE:
                _refuse(f"at most {MAX_PROLOGUE:,} characters of PREFIX and BASE lines", self.line)

    def operation(self) -> DataOperation:
        keyword = self._next().folded if self.goes_on() else ""
        form = _FORMS.get(keyword)
        if form is None or not self.goes_on() or self._next().folded != "data":
            _refuse("only INSERT DATA and DELETE DATA are taken, with their PREFIX lines", self.line)
        self.goes_on()
        line = self.line
        return DataOperation(form, self.declared, self._block(), line)

    def expect(self, sign: str) -> None:
        if self._next().text != sign:
            _refuse(f"must have a {sign} between two operations", self.line)

    def _block(self) -> str:
        """The braces that come next as TriG has them: triples in braces, and each GRAPH in braces of its own."""
        self.expect("{")
        written, depth = ["{"], 1
        while depth:
            if self.at >= len(self.pieces):
                _refuse("ends inside of a { that nothing closes")
            token = self._take()
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            if depth == 1 and token.folded == "graph":
                written += ["} GRAPH", *self._graph(), "{"]
            else:
                written.append(token.text)
        return "".join(written)

    def _graph(self) -> list[str]:
        """What follows GRAPH, up to the end of its braces and the point that may stand behind it."""
        written: list[str] = []
        depth, opened = 0, False
        while not opened or depth:
            if self.at >= len(self.pieces):
                _refuse("ends inside of a { that nothing closes")
            token = self._take()
            written.append(token.text)
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            opened = opened or token.text == "{"
        while self.at < len(self.pieces) and not is_read(self.pieces[self.at]):
            written.append(self._take().text)
        if self.at < len(self.pieces) and self.pieces[self.at].text == ".":
            self._take()
        return written

    def _next(self) -> Token:
        if not self.goes_on():
            _refuse("ends in the middle of an operation")
        return self._take()

    def _take(self) -> Token:
        token = self.pieces[self.at]
        self.at += 1
        self.line += token.text.count("\n")
        return token
