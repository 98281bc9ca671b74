"""Artifacts as they are shown: lists by page, and all of one."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.browse.excerpt import EXCERPT, excerpt
from core.browse.stored import (
    ArtifactFilter,
    EdgeFilter,
    EntityFilter,
    Page,
    StoredArtifact,
    StoredChunk,
    StoredImage,
    WholeArtifact,
    Window,
)
from storage import tables as t
from storage.browse_edges import edge_page
from storage.browse_entities import entity_page
from storage.pages import Rule, holds, newest_by_id, page_of

_GLIMPSE = sa.select(
    t.artifacts.c.id,
    t.artifacts.c.kind,
    t.artifacts.c.parent_id,
    t.artifacts.c.session_id,
    t.artifacts.c.session_source,
    t.artifacts.c.speaker,
    t.artifacts.c.external_id,
    t.artifacts.c.valid_at,
    t.artifacts.c.created_at,
    sa.func.length(t.artifacts.c.text),
)


def artifact_page(
    connection: Connection, dataset_id: int, among: ArtifactFilter, window: Window
) -> Page[StoredArtifact]:
    """Artifacts, newest first."""
    a = t.artifacts
    rules: list[Rule] = [a.c.dataset_id == dataset_id, *holds(connection, among.words, a.c.text_key)]
    for column, value in (
        (a.c.kind, among.kind),
        (a.c.parent_id, among.parent_id),
        (a.c.run_id, among.run_id),
    ):
        if value is not None:
            rules.append(column == value)
    if among.session_id is not None:
        again = t.artifact_sessions.c
        told_again = sa.select(again.artifact_id).where(
            again.dataset_id == dataset_id, again.session_id == among.session_id
        )
        rules.append((a.c.session_id == among.session_id) | a.c.id.in_(told_again))
    if among.since is not None:
        rules.append(a.c.created_at > among.since)
    # What words are found in is short: long texts are searched by their chunks.
    text = a.c.text if among.words else sa.func.substr(a.c.text, 1, EXCERPT)
    rows, total = newest_by_id(connection, _GLIMPSE.add_columns(text), a, rules, window)
    found = [StoredArtifact(*glimpse, excerpt=excerpt(text, among.words)) for *glimpse, text in rows]
    return page_of(found, total, window, lambda artifact: (artifact.id,))


def whole_artifact(connection: Connection, dataset_id: int, artifact_id: int, window: Window) -> WholeArtifact | None:
    """All of an artifact."""
    a = t.artifacts
    mine = sa.select(a).where(a.c.id == artifact_id, a.c.dataset_id == dataset_id)
    row = connection.execute(mine).mappings().one_or_none()
    if row is None:
        return None
    made: dict[str, Any] = {
        "message_id": row["external_id"],
        "chunks": _chunks(connection, dataset_id, artifact_id),
        "image": _image(connection, dataset_id, artifact_id),
        "entities": entity_page(connection, dataset_id, EntityFilter(artifact_id=artifact_id), window),
        "edges": edge_page(connection, dataset_id, EdgeFilter(artifact_id=artifact_id), window),
    }
    own = {field.name: row[field.name] for field in fields(WholeArtifact) if field.name not in made}
    return WholeArtifact(**own, **made)


def _chunks(connection: Connection, dataset_id: int, artifact_id: int) -> tuple[StoredChunk, ...]:
    chunk, summary = t.artifacts.alias("chunk"), t.artifacts.alias("summary")
    places = ("id", "chunk_index", "start_offset", "end_offset", "tokens", "overlap_tokens")
    of_chunk = (summary.c.dataset_id == dataset_id) & (summary.c.parent_id == chunk.c.id)
    of_chunk &= summary.c.kind == "chunk_summary"
    select = (
        sa.select(*(chunk.c[name] for name in places), summary.c.id, summary.c.text)
        .select_from(chunk.outerjoin(summary, of_chunk))
        .where(chunk.c.dataset_id == dataset_id, chunk.c.parent_id == artifact_id, chunk.c.kind == "chunk")
        .order_by(chunk.c.chunk_index)
    )
    return tuple(StoredChunk(*row) for row in connection.execute(select))


def _image(connection: Connection, dataset_id: int, artifact_id: int) -> StoredImage | None:
    i = t.images
    columns = [i.c[field.name] for field in fields(StoredImage)]
    mine = sa.select(*columns).where(i.c.artifact_id == artifact_id, i.c.dataset_id == dataset_id)
    row = connection.execute(mine).one_or_none()
    return StoredImage(*row) if row else None
