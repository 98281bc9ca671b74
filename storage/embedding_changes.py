"""Which records commits, and the clock, may have given another text since an embedding followed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.embeddings.ports import Changed
from storage import tables as t
from storage.embedding_rows import batches
from storage.touched import touched_since


def changed_since(
    connection: Connection, dataset_id: int, seq: int, base: str, now: datetime, most: int
) -> Changed | None:
    """The records that were changed after the commit `seq`, and those that a fact begins or ends for by the clock. None
    where they are more than `most`, or nobody knows which they are."""
    touched = touched_since(connection, dataset_id, seq, base, most)
    written_at = _time_of(connection, dataset_id, seq)
    if touched is None or written_at is None:
        return None
    told = _sources_told(connection, dataset_id, seq, touched.seq, most)
    timed = _sources_timed(connection, dataset_id, written_at, now, most)
    if told is None or timed is None:
        return None
    iris = {*touched.iris, *(f"{base}entity/{i}" for i in {*told, *timed})}
    unnamed = _any_unnamed(connection, dataset_id, seq)
    return Changed(touched.seq, iris, unnamed=unnamed) if len(iris) <= most else None


def _time_of(connection: Connection, dataset_id: int, seq: int) -> datetime | None:
    c = t.commits.c
    found: datetime | None = connection.execute(
        sa.select(c.created_at).where(c.dataset_id == dataset_id, c.seq == seq)
    ).scalar()
    return found


def _sources_told(connection: Connection, dataset_id: int, seq: int, head: int, most: int) -> Sequence[int] | None:
    """Whom the facts are about that commits touched; None where too many are, or one is in no row any more."""
    c, edges = t.commits.c, t.edges.c
    written = sa.select(c.touched).where(c.dataset_id == dataset_id, c.seq > seq, c.seq <= head)
    ids = sorted({i for touched in connection.execute(written).scalars() for i in touched.get("edges", ())})
    if len(ids) > most:
        return None
    sources: list[int] = []
    for some in batches(ids):
        sources += connection.execute(sa.select(edges.source_id).where(edges.id.in_(some))).scalars()
    return sources if len(sources) == len(ids) else None


def _sources_timed(
    connection: Connection, dataset_id: int, after: datetime, now: datetime, most: int
) -> Sequence[int] | None:
    """Whom the facts are about that begin or end in that time; None where these are too many."""
    c = t.edges.c
    passed = sa.or_(*((moment > after) & (moment <= now) for moment in (c.valid_at, c.invalid_at)))
    select = sa.select(c.source_id).where(c.dataset_id == dataset_id, passed).distinct().limit(most + 1)
    sources = connection.execute(select).scalars().all()
    return sources if len(sources) <= most else None


def _any_unnamed(connection: Connection, dataset_id: int, seq: int) -> bool:
    """Whether something was said of a blank node, or is not said any more."""
    q = t.quads.c
    moved = sa.or_(q.created_seq > seq, q.removed_seq > seq)
    select = sa.select(q.id).where(q.dataset_id == dataset_id, moved, q.subject.startswith("_:", autoescape=True))
    return connection.execute(select.limit(1)).first() is not None
