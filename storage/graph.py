"""SqlGraph: the graph in SQL, one snapshot for each verb that reads, one transaction for the one that writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.graph import Candidate, Commit, Dataset, Edge, Entity, EntityRef, Extraction, GraphChange, Known, Stored
from core.images import KnownImage
from core.overview import DatasetStatus
from core.query.subgraph import Match, Subgraph
from storage import tables as t
from storage.commits import commits_of
from storage.database import Database
from storage.images import known_image
from storage.journal import commit_row, touched
from storage.match import by_ids, descriptions_at, seeds
from storage.names import named
from storage.retime import CommitOf
from storage.rows import DATASET, EDGE, ENTITY, SAME, at_triples, dataset_of, edge_of, entity_of
from storage.write import insert_or_ignore, next_commit, store

MAX_CANDIDATES = 50
_DATASET = DATASET.where(t.datasets.c.user_id == sa.bindparam("whose"), t.datasets.c.name == sa.bindparam("dataset"))
_HEAD = sa.select(t.datasets.c.head_seq).where(t.datasets.c.id == sa.bindparam("row"))
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
        mine = (t.datasets.c.user_id == user_id) & (t.datasets.c.forgotten_id == 0)
        names = sa.select(t.datasets.c.name).where(mine).order_by(t.datasets.c.name)
        return await self.database.read(lambda connection: list(connection.execute(names).scalars()))

    async def overview(self) -> list[DatasetStatus]:
        return await self.database.read(_overview)

    async def known(self, dataset: Dataset, extraction: Extraction, similar: Mapping[int, float]) -> Known:
        return await self.database.read(lambda connection: known_of(connection, dataset, extraction, similar))

    async def messages(
        self, dataset: Dataset, external_ids: Sequence[str], *, but_of_run: int | None
    ) -> dict[str, int]:
        a = t.artifacts
        held = sa.select(a.c.external_id, a.c.id).where(
            a.c.dataset_id == dataset.id,
            a.c.external_id.in_(external_ids),
            a.c.run_id.is_distinct_from(but_of_run) if but_of_run else sa.true(),
        )
        return await self.database.read(lambda connection: {name: int(i) for name, i in connection.execute(held)})

    async def image(self, dataset: Dataset, sha256: str) -> KnownImage | None:
        return await self.database.read(lambda connection: known_image(connection, dataset.id, sha256))

    async def link_session(self, dataset: Dataset, artifact_id: int, session_id: str, now: datetime) -> None:
        row = {"artifact_id": artifact_id, "session_id": session_id, "dataset_id": dataset.id, "first_seen_at": now}

        def write(connection: Connection) -> None:
            linked = insert_or_ignore(connection.dialect.name, t.artifact_sessions, "artifact_id", "session_id")
            if not connection.execute(sa.select(t.artifacts.c.id).where(t.artifacts.c.id == artifact_id)).first():
                return
            if connection.execute(linked.returning(t.artifact_sessions.c.artifact_id), row).first() is None:
                return
            taken = next_commit(connection, dataset.user_id, dataset.name, lambda: now)
            if taken is not None:
                commit_row(
                    connection,
                    CommitOf(dataset.id, taken[0].head_seq, taken[1]),
                    "remember",
                    {"sessions": 1},
                    touched(),
                )

        await self.database.write(write)

    async def stored_by(self, run_id: int) -> list[Commit]:
        return await self.database.read(lambda connection: commits_of(connection, run_id))

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

    async def rows(
        self, dataset: Dataset, entity_ids: Sequence[int], edge_ids: Sequence[int], known_at: datetime
    ) -> Subgraph:
        match = Match("", (), known_at=known_at)
        return await self.database.read(lambda connection: _rows(connection, dataset, entity_ids, edge_ids, match))


def _overview(connection: Connection) -> list[DatasetStatus]:
    d = t.datasets

    def count(table: sa.Table) -> sa.ScalarSelect[int]:
        return sa.select(sa.func.count()).select_from(table).where(table.c.dataset_id == d.c.id).scalar_subquery()

    counts = (count(t.artifacts), count(t.entities), count(t.edges))
    select = sa.select(d.c.user_id, d.c.name, *counts, d.c.head_seq, d.c.embedding_model, d.c.embedding_dim)
    rows = connection.execute(select.where(d.c.forgotten_id == 0).order_by(d.c.user_id, d.c.name))
    return [DatasetStatus(*row[:6], f"{row[6]}, {row[7]}" if row[6] else "") for row in rows]


# What is known of the names of a text ---------------------------------------------------------------------------------


def known_of(connection: Connection, dataset: Dataset, extraction: Extraction, similar: Mapping[int, float]) -> Known:
    """What is stored of the names of a text: its entities, the candidates, and the facts of the same triples."""
    seq = connection.execute(_HEAD, {"row": dataset.id}).scalar_one()
    refs = {extraction.ref(name) for edge in extraction.edges for name in (edge.source, edge.target)}
    keys = {ref.key for ref in refs} | {entity.ref.key for entity in extraction.entities}
    entities = named(connection, dataset.id, keys)
    endpoints = {ref.key for ref in refs}
    touched = {entity.id for ref, entity in entities.items() if ref.key in endpoints}
    return Known(
        seq=int(seq),
        entities=entities,
        candidates=_candidates(connection, dataset, touched, set(similar) - touched),
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
_SINCE = t.edges.c.created_at > sa.bindparam("since", type_=t.Time)
_WHICH: dict[Which, sa.ColumnElement[bool]] = {
    "all": sa.true(),
    "live": t.edges.c.expired_at.is_(None),
    "true": (t.edges.c.valid_at <= _AT) & (t.edges.c.invalid_at.is_(None) | (t.edges.c.invalid_at > _AT)),
    "known": t.edges.c.created_at <= _AT,
}
ALL_OF_THEM = 2**31 - 1


@cache
def _touching(which: Which, *, since: bool) -> sa.Select[*tuple[Any, ...]]:
    """The newest facts at some entities: two limited walks along an index, then the newest of both."""
    rule = _WHICH[which] & _SINCE if since else _WHICH[which]

    def end(column: sa.Column[int]) -> sa.Select[int]:
        ids = sa.bindparam("entities", expanding=True, type_=sa.Integer)
        mine = (t.edges.c.dataset_id == sa.bindparam("dataset")) & column.in_(ids) & rule
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
    since: datetime | None = None,
) -> list[Edge]:
    moments = {name: moment for name, moment in (("at", at), ("since", since)) if moment}
    values = {"dataset": dataset.id, "entities": list(entity_ids), "most": most} | moments
    return [edge_of(row) for row in connection.execute(_touching(which, since=since is not None), values)]


def _neighbourhood(connection: Connection, dataset: Dataset, entities: Sequence[Entity], match: Match) -> Subgraph:
    ids = [e.id for e in entities]
    if not ids:
        return Subgraph()
    if match.known_at is not None:
        # What was true then is known only once the facts are as they were known then.
        then = _newest(connection, "known", dataset, ids, ALL_OF_THEM, match.known_at, match.since)
        found = _read_at(connection, dataset, then, match)[: match.edges]
    elif match.as_of is not None:
        found = _newest(connection, "true", dataset, ids, match.edges, match.as_of, match.since)
    else:
        found = _newest(connection, "all", dataset, ids, match.edges, since=match.since)
    return _subgraph(connection, dataset, entities, found, match)


def _by_id(connection: Connection, dataset: Dataset, edge_ids: Sequence[int], match: Match) -> list[Edge]:
    """The facts of these ids that the read time admits, newest first."""
    # The sum keeps SQLite from walking an index over the whole dataset instead of going to these rows.
    mine = t.edges.c.dataset_id + 0 == dataset.id
    select = EDGE.where(t.edges.c.id.in_(edge_ids), mine).order_by(*_NEWEST)
    found = [edge_of(row) for row in connection.execute(select)]
    return _read_at(connection, dataset, [edge for edge in found if match.learned_in_time(edge)], match)


def _rows(
    connection: Connection, dataset: Dataset, entity_ids: Sequence[int], edge_ids: Sequence[int], match: Match
) -> Subgraph:
    """The rows of these ids that the read time admits, in the order of the ids."""
    edges = {edge.id: edge for edge in _by_id(connection, dataset, edge_ids, match)}
    e = t.entities.c
    mine = ENTITY.where(e.id.in_(entity_ids), e.dataset_id + 0 == dataset.id, e.created_at <= match.known_at)
    entities = {row.id: entity_of(row) for row in connection.execute(mine)}
    everyone = [entities[i] for i in entity_ids if i in entities]
    found = tuple(edges[i] for i in edge_ids if i in edges)
    return Subgraph(tuple(_described_as_known(connection, dataset, everyone, match)), found)


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
