"""Facts whose times depend on what is gone, or back: found, worked out again and written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.forget.history import Support, Times, Told, World, as_told, closers, closers_among
from core.reconcile import Triple
from storage import tables as t
from storage.rows import SAME, at_triples
from storage.tombstones import batches, ids_of, inserted, removed

_TRIPLES_AT_ONCE = 3_000


@dataclass(frozen=True, slots=True)
class CommitOf:
    """The commit that a change belongs to."""

    dataset_id: int
    seq: int
    at: datetime


def told(connection: Connection, edge_ids: Iterable[int], gone: frozenset[int] = frozenset()) -> list[Told]:
    """Facts with their histories and what supports them; `gone` are artifacts that are about to go."""
    ids = set(edge_ids)
    versions: dict[int, list[tuple[int, Times]]] = defaultdict(list)
    support: dict[int, list[Support]] = defaultdict(list)
    e, v, link = t.edges, t.edge_versions, t.edge_artifacts
    facts: list[Told] = []
    for some in batches(ids):
        for row in connection.execute(sa.select(v).where(v.c.edge_id.in_(some)).order_by(v.c.edge_id, v.c.seq)):
            versions[row.edge_id].append((row.seq, _times(row)))
        for row in connection.execute(sa.select(link).where(link.c.edge_id.in_(some))):
            stated = Support(row.artifact_id, row.seq, row.states_end, row.artifact_id in gone)
            support[row.edge_id].append(stated)
        for row in connection.execute(sa.select(e).where(e.c.id.in_(some)).order_by(e.c.id)):
            ended = row.invalid_precision is not None
            history = (tuple(versions[row.id]), tuple(support[row.id]))
            facts.append(Told(row.id, row.created_seq, _times(row), ended, *history))
    return facts


def _times(row: Any) -> Times:
    return Times(
        row.valid_at, row.valid_at_source, row.invalid_at, row.invalid_at_source, row.expired_at, row.closed_by
    )


def affected(
    connection: Connection,
    dataset_id: int,
    *,
    edges: Iterable[int],
    artifacts: Iterable[int],
    triples: Iterable[Triple],
    ghosts: Mapping[int, tuple[int, ...]],
) -> set[int]:
    """The facts whose times may be others once these facts and artifacts are gone, or back: what the facts had closed,
    what the artifacts state, and what has the same triple."""
    e, v, link = t.edges, t.edge_versions, t.edge_artifacts
    by = closers_among(ghosts, edges)
    found = ids_of(connection, lambda ids: sa.select(link.c.edge_id).where(link.c.artifact_id.in_(ids)), artifacts)
    for table, key in ((e, e.c.id), (v, v.c.edge_id)):
        mine = table.c.dataset_id == dataset_id
        found |= ids_of(
            connection, lambda ids, c=table.c, k=key, m=mine: sa.select(k).where(m, c.closed_by.in_(ids)), by
        )
    wanted = sorted(set(triples))
    for start in range(0, len(wanted), _TRIPLES_AT_ONCE):
        values = at_triples(dataset_id, wanted[start : start + _TRIPLES_AT_ONCE])
        found |= {int(row[0]) for row in connection.execute(SAME, values)}
    return found - set(edges)


def retime(connection: Connection, commit: CommitOf, facts: Iterable[Told]) -> int:
    """Gives the facts the times that what is there now gives them; how many are open again. What they said before stays
    readable in gb_edge_versions.

    A fact that would be open while another of the same triple is stays as it is.
    """
    known = list(facts)
    world = _world(connection, commit.dataset_id, known)
    changes = [(fact, times) for fact in known if (times := as_told(fact, world)) != fact.now]
    changes.sort(key=lambda change: (change[1].open, change[0].id))  # one that is closed makes room for another
    return sum(_changed(connection, commit, fact, times) for fact, times in changes)


def _changed(connection: Connection, commit: CommitOf, fact: Told, times: Times) -> bool:
    """Writes new times; whether the fact is open again."""
    if times.open and _another_is_open(connection, fact.id):
        return False
    row: dict[str, Any] = {
        "edge_id": fact.id,
        "seq": commit.seq,
        "dataset_id": commit.dataset_id,
        "changed_at": commit.at,
        **_columns(fact.now),
    }
    inserted(connection, t.edge_versions, [row])
    values = _columns(times) | {"expired_seq": commit.seq if times.expired_at else None}
    if times.invalid_at != fact.now.invalid_at:
        values |= {"invalid_set_at": commit.at, "invalid_set_seq": commit.seq}
    connection.execute(sa.update(t.edges).where(t.edges.c.id == fact.id).values(values))
    return times.open and not fact.now.open


def _columns(times: Times) -> dict[str, Any]:
    return {
        "valid_at": times.valid_at,
        "valid_at_source": times.valid_at_source,
        "invalid_at": times.invalid_at,
        "invalid_at_source": times.invalid_at_source,
        "expired_at": times.expired_at,
        "closed_by": times.closed_by,
    }


def _another_is_open(connection: Connection, edge_id: int) -> bool:
    mine, other = t.edges.alias(), t.edges
    same = sa.and_(*(other.c[name] == mine.c[name] for name in ("dataset_id", "source_id", "target_id", "relation")))
    is_open = other.c.expired_at.is_(None) & other.c.invalid_at.is_(None)
    select = sa.select(other.c.id).select_from(mine.join(other, same))
    return connection.execute(select.where(mine.c.id == edge_id, other.c.id != edge_id, is_open)).first() is not None


def _world(connection: Connection, dataset_id: int, facts: Iterable[Told]) -> World:
    gone = removed(connection, dataset_id)
    named = {i for fact in facts for i in closers(fact)}
    while more := {i for ghost in named for i in gone.ghosts.get(ghost, ())} - named:
        named |= more
    e, seqs = t.edges, {seq for fact in facts for seq, _ in fact.versions}
    starts = {
        int(i): start
        for some in batches(named)
        for i, start in connection.execute(sa.select(e.c.id, e.c.valid_at).where(e.c.id.in_(some)))
    }
    c = t.commits
    worked_out = ids_of(
        connection,
        lambda some: sa.select(c.c.seq).where(
            c.c.dataset_id == dataset_id, c.c.seq.in_(some), c.c.artifact_id.is_(None)
        ),
        seqs,
    )
    return World(starts, gone.ghosts, frozenset(worked_out - gone.merges), frozenset(gone.merges))


def closers_of(connection: Connection, edge_ids: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """For facts that were closed by others, those others in order."""
    return {fact.id: by for fact in told(connection, edge_ids) if (by := closers(fact))}
