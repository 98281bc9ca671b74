"""A graph in this process, for tests of what asks it: the port GraphQueries over Turtle, without a database."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import pyoxigraph as ox

from core.errors import InvalidRequest
from core.graph import Dataset
from core.rdf.ports import GraphQuery
from core.rdf.terms import Solutions, Term


class TurtleQueries:
    """Answers over one graph per commit, given as Turtle; the last is the newest. No entailment, no search."""

    def __init__(self, *commits: str) -> None:
        self._stores: Sequence[ox.Store] = [_store(turtle) for turtle in commits]
        self.asked: list[GraphQuery] = []

    async def solve(self, dataset: Dataset, query: GraphQuery, *, at_seq: int | None = None) -> Solutions:
        """The rows at a commit, by default the newest."""
        self.asked.append(query)
        seq = len(self._stores) if at_seq is None else at_seq
        began = time.perf_counter()
        try:
            found = self._stores[seq - 1].query(query.text)
        except SyntaxError as error:
            raise InvalidRequest(f"query: {error}", param="query") from None
        if isinstance(found, ox.QueryBoolean):
            return Solutions((), (), 0, seq, 0.0, boolean=bool(found))
        assert isinstance(found, ox.QuerySolutions)
        names = [variable.value for variable in found.variables]
        rows = [dict(_bound(names, solution)) for solution in found]
        end = None if query.limit is None else query.offset + query.limit
        ms = 1000 * (time.perf_counter() - began)
        return Solutions(names, rows[query.offset : end], len(rows), seq, ms)

    async def check(self, text: str) -> None:
        """Raises InvalidRequest for what can't be read."""
        try:
            ox.Store().query(text)
        except SyntaxError as error:
            raise InvalidRequest(f"query: {error}", param="query") from None


def _store(turtle: str) -> ox.Store:
    store = ox.Store()
    store.load(turtle.encode(), format=ox.RdfFormat.TURTLE)
    return store


def _bound(names: Iterable[str], solution: ox.QuerySolution) -> Iterable[tuple[str, Term]]:
    for name in names:
        value = solution[name]
        if value is not None:
            yield name, _term(value)


def _term(value: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> Term:
    if isinstance(value, ox.NamedNode):
        return Term("uri", value.value)
    if isinstance(value, ox.BlankNode):
        return Term("bnode", value.value)
    if isinstance(value, ox.Literal):
        datatype = "" if value.language or value.datatype.value.endswith("#string") else value.datatype.value
        return Term("literal", value.value, datatype, value.language or "")
    return Term("triple", str(value))
