"""What a run has stored, read back: a commit each, with the rows as they are now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from core.graph import Artifact, Commit, Dataset, Source, Span, Stored
from storage import tables as t
from storage.rows import DATASET, EDGE, ENTITY, dataset_of, edge_of, entity_of

_WRITTEN_BY = t.artifacts.outerjoin(t.inferences, t.inferences.c.id == t.artifacts.c.inference_id)


def commits_of(connection: Connection, run_id: int) -> list[Commit]:
    """The commits of a run, in order. Rows that were forgotten since are not among them."""
    c = t.commits
    select = sa.select(c.c.dataset_id, c.c.seq, c.c.invalidated, c.c.created_at)
    rows = connection.execute(select.where(c.c.run_id == run_id).order_by(c.c.seq)).all()
    if not rows:
        return []
    found = connection.execute(DATASET.where(t.datasets.c.id == rows[0].dataset_id)).one_or_none()
    if found is None:
        return []
    dataset = dataset_of(found)
    return [_commit(connection, dataset, row.seq, row.created_at, row.invalidated or ()) for row in rows]


def _commit(
    connection: Connection, dataset: Dataset, seq: int, created_at: datetime, invalidated: Sequence[int]
) -> Commit:
    a = t.artifacts
    mine = (a.c.dataset_id == dataset.id) & (a.c.seq == seq)
    select = sa.select(a, t.inferences.c.reasoning).select_from(_WRITTEN_BY).where(mine).order_by(a.c.id)
    rows = connection.execute(select).all()
    ids = [int(row.id) for row in rows]
    sources = _sources(connection, rows)
    entities = _rows(connection, ENTITY, t.entities, (i for source in sources for i in source.entities))
    edges = _rows(connection, EDGE, t.edges, (i for source in sources for i in source.edges))
    stored = Stored(
        dataset=dataset,
        seq=seq,
        created_at=created_at,
        artifact_ids=tuple(ids),
        sources=tuple(sources),
        entities=tuple(map(entity_of, entities)),
        endpoints=(),
        edges=tuple(map(edge_of, edges)),
        invalidated=tuple(invalidated),
    )
    return Commit(tuple(_artifact(row, ids) for row in rows), stored)


def _sources(connection: Connection, artifacts: Iterable[Row[Any]]) -> list[Source]:
    """The artifacts that were read: not the parent of a chunk, nor a summary."""
    rows = list(artifacts)
    parents = {row.parent_id for row in rows if row.kind == "chunk"}
    read = [int(row.id) for row in rows if row.kind != "chunk_summary" and row.id not in parents]
    entities = _linked(connection, t.entity_artifacts, t.entity_artifacts.c.entity_id, read)
    edges = _linked(connection, t.edge_artifacts, t.edge_artifacts.c.edge_id, read)
    return [Source(i, tuple(entities.get(i, ())), tuple(edges.get(i, ()))) for i in read]


def _linked(
    connection: Connection, table: sa.Table, key: sa.Column[int], artifact_ids: Sequence[int]
) -> dict[int, list[int]]:
    linked: dict[int, list[int]] = {}
    select = sa.select(table.c.artifact_id, key).where(table.c.artifact_id.in_(artifact_ids)).order_by(key)
    for artifact_id, row_id in connection.execute(select):
        linked.setdefault(int(artifact_id), []).append(int(row_id))
    return linked


def _rows(
    connection: Connection, select: sa.Select[*tuple[Any, ...]], table: sa.Table, ids: Iterable[int]
) -> Sequence[Row[Any]]:
    return connection.execute(select.where(table.c.id.in_(set(ids))).order_by(table.c.id)).all()


def _artifact(row: Row[Any], ids: Sequence[int]) -> Artifact:
    span = None
    if row.chunk_index is not None:
        span = Span(row.chunk_index, row.start_offset, row.end_offset, row.tokens, row.overlap_tokens)
    within = ids.index(row.parent_id) if row.parent_id in ids else None
    return Artifact(
        kind=row.kind,
        text=row.text,
        session_id=row.session_id,
        valid_at=row.valid_at,
        parent=within,
        parent_id=row.parent_id if within is None else None,
        span=span,
        index=row.index_name,
        model_id=row.model_id,
        inference_id=row.inference_id,
        reasoning=row.reasoning,
        speaker=row.speaker,
        external_id=row.external_id,
        session_source=row.session_source,
    )
