"""reconcile: the new facts of one text among the stored ones, worked out whole before a row is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from core.errors import Stale
from core.graph import Edge, Entity, StatedEdge, Verdict
from core.temporal import Closing, Settlement, settle, superseded_by

Triple = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Placed:
    """A stated fact with its two ends found."""

    stated: StatedEdge
    source: Entity
    target: Entity
    verdict: Verdict
    artifact_id: int
    """The first artifact that states it."""
    reference_time: datetime
    """When that one was written."""

    @property
    def triple(self) -> Triple:
        return self.source.id, self.target.id, self.stated.relation

    def says_the_same_of(self, edge: Edge) -> bool:
        """Whether it has the subject and the relation of a stored fact."""
        return (self.source.id, self.stated.relation) == (edge.source_id, edge.relation)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What becomes of the facts of one text. Facts that are not stored yet have negative ids."""

    edges: tuple[Edge, ...]
    """For each stated fact, in its order, the fact that holds it now."""
    new: tuple[tuple[StatedEdge, Edge], ...]
    changed: tuple[tuple[Edge, Edge], ...]
    """Stored facts, before and after."""
    invalidated: tuple[int, ...]


def reconcile(
    facts: Sequence[Placed],
    stored: Iterable[Edge],
    *,
    model_id: str,
    now: datetime,
) -> Reconciled:
    """Settles each fact with the stored ones and with those read together with it, oldest first, so that of two that
    close the same fact the earlier sets its end.

    `stored`: every stored fact with the triple of a new one or named by a verdict, and what those had closed.
    """
    book = _Book(stored)
    holders: dict[int, int] = {}
    for index in sorted(range(len(facts)), key=lambda i: facts[i].stated.valid_at):
        fact = facts[index]
        outdated = [holders[i] for i in fact.verdict.outdates if i in holders]
        settled = book.settle(fact, outdated, now)
        holder = settled.merged_into
        if holder is None:
            holder = book.add(fact, settled, model_id, now)
        book.apply(settled, holder)
        holders[index] = holder
    return Reconciled(
        edges=tuple(book.edges[holders[i]] for i in range(len(facts))),
        new=tuple((stated, book.edges[i]) for i, stated in book.new.items()),
        changed=tuple((book.before[i], book.edges[i]) for i in book.before),
        invalidated=tuple(sorted(i for i in book.invalidated if i > 0)),
    )


class _Book:
    """The facts as they stand while those of the text come in, one after the other."""

    def __init__(self, stored: Iterable[Edge]) -> None:
        self.edges: dict[int, Edge] = {}
        self.new: dict[int, StatedEdge] = {}
        self.before: dict[int, Edge] = {}
        self.invalidated: set[int] = set()
        self._by_triple: dict[Triple, list[int]] = {}
        for edge in stored:
            self._keep(edge)

    def _keep(self, edge: Edge) -> None:
        self.edges[edge.id] = edge
        self._by_triple.setdefault((edge.source_id, edge.target_id, edge.relation), []).append(edge.id)

    def settle(self, fact: Placed, outdated: Sequence[int], now: datetime) -> Settlement:
        verdict = fact.verdict
        if outdated:
            verdict = replace(verdict, contradicts=(*verdict.contradicts, *outdated))
        named = {*verdict.contradicts, verdict.duplicate_of or 0, *corrected(verdict)}
        if lost := corrected(verdict) - self.edges.keys():
            raise Stale(f"fact {min(lost)} was removed meanwhile")
        same = [self.edges[i] for i in self._by_triple.get(fact.triple, ())]
        closed = superseded_by(verdict.contradicts, list(self.edges.values())) if verdict.contradicts else []
        if verdict.restates and fact.says_the_same_of(self.edges[verdict.restates]):
            closed = [edge for edge in self.edges.values() if edge.closed_by == verdict.restates]
        return settle(
            fact.stated,
            same=same,
            candidates=[self.edges[i] for i in sorted(named & self.edges.keys())],
            superseded=closed,
            verdict=verdict,
            reference_time=fact.reference_time,
            now=now,
        )

    def add(self, fact: Placed, settled: Settlement, model_id: str, now: datetime) -> int:
        stated = fact.stated
        edge = Edge(
            id=-len(self.new) - 1,
            source_id=fact.source.id,
            target_id=fact.target.id,
            source=fact.source.name,
            target=fact.target.name,
            relation=stated.relation,
            description=stated.description,
            artifact_id=fact.artifact_id,
            model_id=model_id,
            valid_at=stated.valid_at,
            invalid_at=settled.invalid_at,
            created_at=now,
            expired_at=settled.expired_at,
            valid_at_source=stated.valid_at_source,
            invalid_at_source=settled.invalid_at_source,
            closed_by=settled.closed_by,
        )
        self.new[edge.id] = stated
        self._keep(edge)
        return edge.id

    def apply(self, settled: Settlement, holder: int) -> None:
        for closing in settled.changes:
            edge = self.edges[closing.edge_id]
            if edge.id > 0:
                self.before.setdefault(edge.id, edge)
            self.edges[edge.id] = _closed(edge, closing, holder)
        self.invalidated.update(settled.invalidated)


def corrected(verdict: Verdict) -> set[int]:
    """The stored facts that the caller corrects."""
    return {verdict.restates or 0, verdict.ends or 0} - {0}


def _closed(edge: Edge, closing: Closing, holder: int) -> Edge:
    kept = None if closing.invalid_at_source == "stated" else edge.closed_by
    return replace(
        edge,
        valid_at=closing.valid_at,
        valid_at_source=closing.valid_at_source,
        invalid_at=closing.invalid_at,
        invalid_at_source=closing.invalid_at_source,
        expired_at=closing.expired_at,
        closed_by=holder if closing.closed_by_new else kept,
    )


def with_ids(edges: Iterable[Edge], ids: Mapping[int, int]) -> list[Edge]:
    """The facts under the ids that the new ones were stored with."""
    return [
        replace(edge, id=ids.get(edge.id, edge.id), closed_by=ids.get(edge.closed_by or 0, edge.closed_by))
        for edge in edges
    ]
