"""RDF terms and rows as queries answer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

TermKind = Literal["uri", "literal", "bnode", "triple"]


class Term(NamedTuple):
    """One value of a row. A literal without datatype and language is a string; a triple is shown as its text."""

    kind: TermKind
    value: str
    datatype: str = ""
    language: str = ""

    def json(self) -> dict[str, str]:
        """The term as SPARQL 1.1 Query Results JSON writes it."""
        shown = {"type": self.kind, "value": self.value}
        if self.language:
            return {**shown, "xml:lang": self.language}
        return {**shown, "datatype": self.datatype} if self.datatype else shown


Row = Mapping[str, Term]
"""The bound variables of one solution, by name without `?`; an unbound one is not there."""


@dataclass(frozen=True, slots=True)
class Solutions:
    """What a query answers: `rows` from its offset on, at most its limit of them, out of `total`. `complete` is False
    where counting stopped at the most rows that are counted. An ASK has `boolean` and no rows. `seq` is the commit that
    was read; `ms` the time that the engine took."""

    variables: Sequence[str]
    rows: Sequence[Row]
    total: int
    seq: int
    ms: float
    complete: bool = True
    boolean: bool | None = None

    def results(self) -> dict[str, Any]:
        """The document of SPARQL 1.1 Query Results JSON."""
        if self.boolean is not None:
            return {"head": {}, "boolean": self.boolean}
        bindings = [{name: term.json() for name, term in row.items()} for row in self.rows]
        return {"head": {"vars": list(self.variables)}, "results": {"bindings": bindings}}
