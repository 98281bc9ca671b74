"""SqlReader: what is stored, in lists by page and row by row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.browse.stored import (
    ArtifactFilter,
    EdgeFilter,
    EntityFilter,
    Page,
    StoredArtifact,
    StoredDataset,
    StoredSession,
    WholeArtifact,
    WholeEdge,
    WholeEntity,
    Window,
)
from core.graph import Dataset, Edge, Entity
from storage import tables as t
from storage.browse_artifacts import artifact_page, whole_artifact
from storage.browse_edges import edge_page, whole_edge
from storage.browse_entities import entity_names, entity_page, whole_entity
from storage.database import Database
from storage.pages import page_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LAST_MOMENT = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


class SqlReader:
    """core.ports.GraphReader on SQLAlchemy."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def datasets(self, user_id: str, window: Window) -> Page[StoredDataset]:
        return await self.database.read(lambda connection: _datasets(connection, user_id, window))

    async def sessions(self, dataset: Dataset, window: Window) -> Page[StoredSession]:
        return await self.database.read(lambda connection: _sessions(connection, dataset.id, window))

    async def session(
        self, dataset: Dataset, among: ArtifactFilter, window: Window
    ) -> tuple[StoredSession, Page[StoredArtifact]] | None:
        def read(connection: Connection) -> tuple[StoredSession, Page[StoredArtifact]] | None:
            s = _sessions_of(dataset.id, among.session_id)
            row = connection.execute(sa.select(s)).one_or_none()
            return (_session(row), artifact_page(connection, dataset.id, among, window)) if row else None

        return await self.database.read(read)

    async def artifacts(self, dataset: Dataset, among: ArtifactFilter, window: Window) -> Page[StoredArtifact]:
        return await self.database.read(lambda connection: artifact_page(connection, dataset.id, among, window))

    async def artifact(self, dataset: Dataset, artifact_id: int, window: Window) -> WholeArtifact | None:
        return await self.database.read(lambda connection: whole_artifact(connection, dataset.id, artifact_id, window))

    async def entities(self, dataset: Dataset, among: EntityFilter, window: Window) -> Page[Entity]:
        return await self.database.read(lambda connection: entity_page(connection, dataset.id, among, window))

    async def names(self, dataset: Dataset, beginning: str, limit: int) -> Page[str]:
        return await self.database.read(lambda connection: entity_names(connection, dataset.id, beginning, limit))

    async def entity(self, dataset: Dataset, entity_id: int, window: Window) -> WholeEntity | None:
        return await self.database.read(lambda connection: whole_entity(connection, dataset.id, entity_id, window))

    async def edges(self, dataset: Dataset, among: EdgeFilter, window: Window) -> Page[Edge]:
        return await self.database.read(lambda connection: edge_page(connection, dataset.id, among, window))

    async def edge(self, dataset: Dataset, edge_id: int, window: Window) -> WholeEdge | None:
        return await self.database.read(lambda connection: whole_edge(connection, dataset.id, edge_id, window))


def _datasets(connection: Connection, user_id: str, window: Window) -> Page[StoredDataset]:
    d = t.datasets

    def count(table: sa.Table) -> sa.ScalarSelect[int]:
        return sa.select(sa.func.count()).select_from(table).where(table.c.dataset_id == d.c.id).scalar_subquery()

    mine = (d.c.user_id == user_id) & (d.c.forgotten_id == 0)
    counts = (count(t.artifacts), count(t.entities), count(t.edges))
    select = sa.select(d.c.name, *counts, d.c.head_seq, d.c.created_at, d.c.head_at, d.c.embedding_model).where(mine)
    behind = d.c.name > window.after[0] if window.after else sa.true()
    rows = connection.execute(select.where(behind).order_by(d.c.name).limit(window.limit + 1)).all()
    total = connection.execute(sa.select(sa.func.count()).select_from(d).where(mine)).scalar_one()
    return page_of([StoredDataset(*row) for row in rows], total, window, lambda dataset: (dataset.name,))


# Sessions -------------------------------------------------------------------------------------------------------------


def _sessions_of(dataset_id: int, session_id: str | None = None) -> sa.Subquery:
    """The sessions of a dataset, or one of them, as their artifacts and links tell. Links stay when an artifact is
    forgotten, so there are sessions without artifacts."""

    def seen(table: sa.Table, at: sa.Column[datetime], place: int) -> sa.Select[Any]:
        counts = [sa.func.count() if i == place else sa.literal(0) for i in range(3)]
        mine = table.c.dataset_id == dataset_id
        mine &= table.c.session_id.is_not(None) if session_id is None else table.c.session_id == session_id
        names = ("artifacts", "entities", "edges")
        columns = [column.label(name) for column, name in zip(counts, names, strict=True)]
        first, last = sa.func.min(at).label("first_at"), sa.func.max(at).label("last_at")
        return sa.select(table.c.session_id, *columns, first, last).where(mine).group_by(table.c.session_id)

    links = (t.artifact_sessions, t.entity_sessions, t.edge_sessions)
    every = sa.union_all(
        seen(t.artifacts, t.artifacts.c.created_at, 0),
        *(seen(table, table.c.first_seen_at, place) for place, table in enumerate(links)),
    ).subquery()
    sums = [
        sa.cast(sa.func.sum(every.c[name]), sa.BigInteger).label(name) for name in ("artifacts", "entities", "edges")
    ]
    times = (sa.func.min(every.c.first_at).label("first_at"), sa.func.max(every.c.last_at).label("last_at"))
    return sa.select(every.c.session_id, *sums, *times).group_by(every.c.session_id).subquery()


def _session(row: Any) -> StoredSession:
    return StoredSession(*row)  # the columns of _sessions_of, in order


def _sessions(connection: Connection, dataset_id: int, window: Window) -> Page[StoredSession]:
    s = _sessions_of(dataset_id)
    counted = sa.select(s, sa.func.count().over()).subquery()
    began, name = counted.c.first_at, counted.c.session_id
    select = sa.select(counted).order_by(began.desc(), name.desc()).limit(window.limit + 1)
    if window.after:
        moment, session_id = window.after
        last = _EPOCH + _MICROSECOND * min(int(moment), _LAST_MOMENT)
        select = select.where((began < last) | ((began == last) & (name < session_id)))
    rows = connection.execute(select).all()
    # Behind the last page there is no row to say how many there are.
    total = rows[0][-1] if rows else connection.execute(sa.select(sa.func.count()).select_from(s)).scalar_one()
    return page_of([_session(row[:-1]) for row in rows], total, window, _session_key)


def _session_key(session: StoredSession) -> tuple[int, str]:
    return (session.first_at - _EPOCH) // _MICROSECOND, session.session_id
