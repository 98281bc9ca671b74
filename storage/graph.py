"""SqlGraph: the graph in SQL, one snapshot for each verb that reads, one transaction for the one that writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.graph import Candidate, Dataset, Edge, Entity, EntityRef, Extraction, GraphChange, Known, Stored
from core.overview import DatasetStatus
from core.query.subgraph import Match, Subgraph
from core.text import name_key
from storage import tables as t
from storage.database import Database
from storage.match import by_ids, descriptions_at, seeds
from storage.rows import DATASET, EDGE, ENTITY, SAME, at_triples, dataset_of, edge_of, entity_of
from storage.write import store

MAX_CANDIDATES = 50
_DATASET = DATASET.where(t.datasets.c.user_id == sa.bindparam("whose"), t.datasets.c.name == sa.bindparam("dataset"))
_NEWEST = (t.edges.c.created_at.desc(), t.edges.c.id.desc())


class SqlGraph:
    """core.ports.GraphStore on SQLAlchemy. `owner` names this process in the leases it takes."""

    def __init__(self, database: Database, owner: str) -> None:
        self.database = database
        self.owner = owner

    async def dataset(self, user_id: str, name: str) -> Dataset | None:
        def read(connection: Connection) -> Dataset | None:
            row = connection.execute(_DATASET, {"whose": user_id, "dataset": name}).one_or_none()
            return dataset_of(row) if row else None

        return await self.database.read(read)

    async def dataset_names(self, user_id: str) -> list[str]:
        names = sa.select(t.datasets.c.name).where(t.datasets.c.user_id == user_id).order_by(t.datasets.c.name)
        return await self.database.read(lambda connection: list(connection.execute(names).scalars()))

    async def overview(self) -> list[DatasetStatus]:
        return await self.database.read(_overview)

    async def known(self, dataset: Dataset, extraction: Extraction, similar: Mapping[int, float]) -> Known:
        return await self.database.read(lambda connection: _known(connection, dataset, extraction, similar))

    async def write(self, change: GraphChange) -> Stored:
        return await self.database.write(lambda connection: store(connection, change, self.owner))

    async def match(self, dataset: Dataset, match: Match) -> list[Entity]:
        return await self.database.read(lambda connection: seeds(connection, dataset.id, match))

    async def neighbourhood(self, dataset: Dataset, entities: Sequence[Entity], match: Match) -> Subgraph:
        return await self.database.read(lambda connection: _neighbourhood(connection, dataset, entities, match))

    async def facts(self, dataset: Dataset, edge_ids: Sequence[int], match: Match) -> Subgraph:
        def read(connection: Connection) -> Subgraph:
            found = _by_id(connection, dataset, edge_ids, match) if edge_ids else []
            first = set(sorted((edge.id for edge in found), key=list(edge_ids).index)[: match.joining])
            return _subgraph(connection, dataset, [], [edge for edge in found if edge.id in first], match)

        return await self.database.read(read)


def _overview(connection: Connection) -> list[DatasetStatus]:
    d = t.datasets

    def count(table: sa.Table) -> sa.ScalarSelect[int]:
        return sa.select(sa.func.count()).select_from(table).where(table.c.dataset_id == d.c.id).scalar_subquery()

    counts = (count(t.artifacts), count(t.entities), count(t.edges))
    select = sa.select(d.c.user_id, d.c.name, *counts, d.c.head_seq, d.c.embedding_model, d.c.embedding_dim)
    rows = connection.execute(select.order_by(d.c.user_id, d.c.name))
    return [DatasetStatus(*row[:6], f"{row[6]}, {row[7]}" if row[6] else "") for row in rows]


# What is known of the names of a text ---------------------------------------------------------------------------------


def _known(connection: Connection, dataset: Dataset, extraction: Extraction, similar: Mapping[int, float]) -> Known:
    seq = connection.execute(sa.select(t.datasets.c.head_seq).where(t.datasets.c.id == dataset.id)).scalar_one()
    refs = {extraction.ref(name) for edge in extraction.edges for name in (edge.source, edge.target)}
    keys = {ref.key for ref in refs} | {entity.ref.key for entity in extraction.entities}
    mine = (t.entities.c.dataset_id == dataset.id) & t.entities.c.name_key.in_(keys)
    stored = (
        [entity_of(row) for row in connection.execute(ENTITY.where(mine).order_by(t.entities.c.id))] if keys else []
    )
    entities: dict[EntityRef, Entity] = {}
    for entity in stored:
        key = name_key(entity.name)
        entities[EntityRef(key, entity.type)] = entity
        entities.setdefault(EntityRef(key, None), entity)
    endpoints = {ref.key for ref in refs}
    named = {entity.id for entity in stored if name_key(entity.name) in endpoints}
    return Known(
        seq=int(seq),
        entities=entities,
        candidates=_candidates(connection, dataset, named, set(similar) - named),
        same=_same(connection, dataset, extraction, entities),
    )


def _candidates(connection: Connection, dataset: Dataset, named: set[int], similar: set[int]) -> tuple[Candidate, ...]:
    by_name = _live(connection, dataset, named)
    by_similarity = _live(connection, dataset, similar)
    found = {i: Candidate(edge, "name+similar" if i in by_similarity else "name") for i, edge in by_name.items()} | {
        i: Candidate(edge, "similar") for i, edge in by_similarity.items() if i not in by_name
    }
    newest = sorted(found.values(), key=lambda c: (c.edge.created_at, c.edge.id), reverse=True)
    return tuple(newest[:MAX_CANDIDATES])


def _live(connection: Connection, dataset: Dataset, entity_ids: set[int]) -> dict[int, Edge]:
    if not entity_ids:
        return {}
    return {edge.id: edge for edge in _newest(connection, "live", dataset, entity_ids, MAX_CANDIDATES)}


def _same(
    connection: Connection, dataset: Dataset, extraction: Extraction, entities: Mapping[EntityRef, Entity]
) -> dict[int, tuple[Edge, ...]]:
    """For the index of each new fact, the stored facts of the same source, target and relation."""
    triples: dict[tuple[int, int, str], list[int]] = {}
    for index, edge in enumerate(extraction.edges):
        source, target = entities.get(extraction.ref(edge.source)), entities.get(extraction.ref(edge.target))
        if source and target:
            triples.setdefault((source.id, target.id, edge.relation), []).append(index)
    if not triples:
        return {}
    same: dict[int, tuple[Edge, ...]] = {}
    for edge in map(edge_of, connection.execute(SAME, at_triples(dataset.id, triples))):
        for index in triples[edge.source_id, edge.target_id, edge.relation]:
            same[index] = (*same.get(index, ()), edge)
    return same


# What is around an entity ---------------------------------------------------------------------------------------------


Which = Literal["all", "live", "true", "known"]
_AT = sa.bindparam("at", type_=t.Time)
_WHICH: dict[Which, sa.ColumnElement[bool]] = {
    "all": sa.true(),
    "live": t.edges.c.expired_at.is_(None),
    "true": (t.edges.c.valid_at <= _AT) & (t.edges.c.invalid_at.is_(None) | (t.edges.c.invalid_at > _AT)),
    "known": t.edges.c.created_at <= _AT,
}
ALL_OF_THEM = 2**31 - 1


@cache
def _touching(which: Which) -> sa.Select[*tuple[Any, ...]]:
    """The newest facts at some entities: two limited walks along an index, then the newest of both."""

    def end(column: sa.Column[int]) -> sa.Select[int]:
        ids = sa.bindparam("entities", expanding=True, type_=sa.Integer)
        mine = (t.edges.c.dataset_id == sa.bindparam("dataset")) & column.in_(ids) & _WHICH[which]
        found = sa.select(t.edges.c.id, t.edges.c.created_at).where(mine)
        walk = found.order_by(*_NEWEST).limit(sa.bindparam("most", type_=sa.Integer)).subquery()
        return sa.select(walk)  # pyright: ignore[reportReturnType] -- id, created_at

    both = sa.union(end(t.edges.c.source_id), end(t.edges.c.target_id)).subquery()
    newest = sa.select(both.c.id).order_by(both.c.created_at.desc(), both.c.id.desc())
    ids = newest.limit(sa.bindparam("most", type_=sa.Integer))
    return EDGE.where(t.edges.c.id.in_(ids)).order_by(*_NEWEST)


def _newest(
    connection: Connection,
    which: Which,
    dataset: Dataset,
    entity_ids: Iterable[int],
    most: int,
    at: datetime | None = None,
) -> list[Edge]:
    values = {"dataset": dataset.id, "entities": list(entity_ids), "most": most} | ({"at": at} if at else {})
    return [edge_of(row) for row in connection.execute(_touching(which), values)]


def _neighbourhood(connection: Connection, dataset: Dataset, entities: Sequence[Entity], match: Match) -> Subgraph:
    ids = [e.id for e in entities]
    if not ids:
        return Subgraph()
    if match.known_at is not None:
        # What was true then is known only once the facts are as they were known then.
        then = _newest(connection, "known", dataset, ids, ALL_OF_THEM, match.known_at)
        found = _read_at(connection, dataset, then, match)[: match.edges]
    elif match.as_of is not None:
        found = _newest(connection, "true", dataset, ids, match.edges, match.as_of)
    else:
        found = _newest(connection, "all", dataset, ids, match.edges)
    return _subgraph(connection, dataset, entities, found, match)


def _by_id(connection: Connection, dataset: Dataset, edge_ids: Sequence[int], match: Match) -> list[Edge]:
    """The facts of these ids that the read time admits, newest first."""
    # The sum keeps SQLite from walking an index over the whole dataset instead of going to these rows.
    mine = t.edges.c.dataset_id + 0 == dataset.id
    select = EDGE.where(t.edges.c.id.in_(edge_ids), mine).order_by(*_NEWEST)
    found = [edge_of(row) for row in connection.execute(select)]
    known_at = match.known_at
    return _read_at(connection, dataset, [e for e in found if known_at is None or e.created_at <= known_at], match)


def _read_at(connection: Connection, dataset: Dataset, found: list[Edge], match: Match) -> list[Edge]:
    """The facts as they stood at `known_at`, of those the ones that were true at `as_of`."""
    if match.known_at is not None:
        found = _as_known(connection, found, match)
    return [edge for edge in found if edge.holds_at(match.as_of)] if match.as_of else found


def _as_known(connection: Connection, found: list[Edge], match: Match) -> list[Edge]:
    """Every fact with the times it had at `known_at`: those of its first version that was replaced after it."""
    v = t.edge_versions
    these = v.c.edge_id.in_([edge.id for edge in found])
    later = sa.select(v).where(these & (v.c.changed_at > match.known_at)).order_by(v.c.seq.desc())
    then = {row.edge_id: row for row in connection.execute(later)}

    def as_then(edge: Edge) -> Edge:
        row = then.get(edge.id)
        return (
            edge
            if row is None
            else replace(edge, valid_at=row.valid_at, invalid_at=row.invalid_at, expired_at=row.expired_at)
        )

    return [as_then(edge) for edge in found]


def _subgraph(
    connection: Connection, dataset: Dataset, entities: Sequence[Entity], found: Sequence[Edge], match: Match
) -> Subgraph:
    have = {e.id: e for e in entities}
    missing = {i for edge in found for i in (edge.source_id, edge.target_id)} - have.keys()
    everyone = [*entities, *by_ids(connection, sorted(missing))]
    return Subgraph(tuple(_described_as_known(connection, dataset, everyone, match)), tuple(found))


def _described_as_known(
    connection: Connection, dataset: Dataset, everyone: Sequence[Entity], match: Match
) -> list[Entity]:
    then = descriptions_at(connection, dataset.id, match.known_at) if match.known_at else {}
    return [replace(e, description=then[e.id]) if e.id in then else e for e in everyone]
