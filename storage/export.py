"""One dataset as it was at one moment, read row by row: SQL's part of an export."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.export.rows import SECTIONS, WITH_TEXT, EdgeRow, End, Header, Include, ModelRow, Snapshot
from core.times import rfc3339
from storage import tables as t
from storage.database import Database

# Rows read at once.
BATCH = 1000

Render = Callable[[Snapshot], Iterator[bytes]]


class SqlExports:
    """core.ports.Exports on SQLAlchemy."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def open(
        self, user_id: str, dataset: str, include: frozenset[Include], render: Render
    ) -> SnapshotStream | None:
        return await asyncio.to_thread(self._open, user_id, dataset, include, render)

    def _open(self, user_id: str, dataset: str, include: frozenset[Include], render: Render) -> SnapshotStream | None:
        connection = self.database.open_snapshot()
        try:
            found = _header(connection, user_id, dataset)
            if found is None:
                connection.close()
                return None
            return SnapshotStream(connection, render(_SqlSnapshot(connection, *found, include)))
        except BaseException:
            connection.close()
            raise


class SnapshotStream:
    """The document in pieces. Whoever stops reading closes it; its snapshot is held until then."""

    def __init__(self, connection: Connection, pieces: Iterator[bytes]) -> None:
        self._connection = connection
        self._pieces = pieces
        self._step: asyncio.Future[bytes | None] | None = None
        self._closed = False

    def __aiter__(self) -> SnapshotStream:
        return self

    async def __anext__(self) -> bytes:
        if self._closed:
            raise StopAsyncIteration
        # Shielded: a reader that is cancelled must not leave the thread at work on a connection that is closed.
        self._step = asyncio.ensure_future(asyncio.to_thread(next, self._pieces, None))
        piece = await asyncio.shield(self._step)
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        """Gives the snapshot back. What is being read meanwhile is read to the end of its piece first."""
        if self._closed:
            return
        self._closed = True
        if self._step is not None:
            await asyncio.wait([self._step])
        await asyncio.to_thread(self._connection.close)


def _header(connection: Connection, user_id: str, name: str) -> tuple[int, Header] | None:
    d, c = t.datasets, t.commits
    last = sa.select(sa.func.max(c.c.created_at)).where(c.c.dataset_id == d.c.id).scalar_subquery()
    mine = (d.c.user_id == user_id) & (d.c.name == name) & (d.c.forgotten_id == 0)
    at = sa.func.coalesce(d.c.head_at, last, d.c.created_at, type_=t.Time)
    row = connection.execute(sa.select(d.c.id, d.c.name, at).where(mine)).one_or_none()
    return (int(row[0]), Header(row[1], rfc3339(row[2]))) if row else None


class _SqlSnapshot:
    """core.export.rows.Snapshot in one read transaction."""

    def __init__(self, connection: Connection, dataset_id: int, header: Header, include: frozenset[Include]) -> None:
        self.header = header
        self.include = include
        self._connection = connection
        self._dataset_id = dataset_id
        self._sqlite = connection.dialect.name == "sqlite"

    def rows(self, section: str) -> Iterator[Any]:
        if section == "models":
            return self._models()
        order = [self._in_order(column) for column in _TABLES[section].primary_key if column.name != "dataset_id"]
        return self._read(section, order)

    def edges_by(self, end: End) -> Iterator[Sequence[EdgeRow]]:
        return self._read("edges", [t.edges.c[end]])

    def _in_order(self, column: sa.Column[Any]) -> sa.ColumnElement[Any]:
        """The same order on every database, whatever its collation."""
        is_text = isinstance(column.type, sa.String)
        return sa.collate(column, "C") if is_text and not self._sqlite else column

    def _selected(self, column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        """Times as the driver has them, and as text already where the database can: to make a datetime of each and a
        text of that again would take half of the time."""
        if not isinstance(column.type, t.Time):
            return column
        return (
            sa.func.replace(column, ".000000Z", "Z", type_=sa.String)
            if self._sqlite
            else sa.type_coerce(column, sa.String)
        )

    def _converters(self, columns: Sequence[sa.ColumnElement[Any]]) -> dict[int, Callable[[Any], Any]]:
        """How values are shown that are not shown as they come, by place."""
        kinds: dict[Any, Callable[[Any], Any]] = {sa.LargeBinary: _base64} | ({} if self._sqlite else {t.Time: _time})
        return {place: kinds[type(column.type)] for place, column in enumerate(columns) if type(column.type) in kinds}

    def _models(self) -> Iterator[list[ModelRow]]:
        named = sa.union(
            *(
                sa.select(x.c.model_id).where(x.c.dataset_id == self._dataset_id)
                for x in (t.entities, t.edges, t.artifacts)
            )
        ).subquery()
        providers = named.outerjoin(t.models, t.models.c.name == named.c.model_id)
        select = sa.select(named.c.model_id, t.models.c.provider).select_from(providers)
        found = self._connection.execute(select.where(named.c.model_id.is_not(None)))
        if models := sorted(ModelRow(name, name, provider) for name, provider in found):
            yield models

    def _read(self, section: str, order: Sequence[sa.ColumnElement[Any]]) -> Iterator[Any]:
        kind, table = SECTIONS[section], _TABLES[section]
        columns = _COLUMNS[section]
        if "text" not in self.include:
            columns = columns[: len(columns) - len(WITH_TEXT.get(section, ()))]
        select = sa.select(*map(self._selected, columns)).where(table.c.dataset_id == self._dataset_id).order_by(*order)
        # On PostgreSQL a cursor of the server: else the driver would fetch all rows at once.
        found = self._connection.execute(select, execution_options={"yield_per": BATCH})
        converters = self._converters(columns)
        missing = (None,) * (len(kind._fields) - len(columns))
        for batch in found.partitions():
            rows = (_converted(row, converters) for row in batch) if converters else batch
            yield [kind._make((*row, *missing)) for row in rows] if missing else list(map(kind._make, rows))


def _converted(row: Sequence[Any], converters: Mapping[int, Callable[[Any], Any]]) -> list[Any]:
    values = list(row)
    for place, convert in converters.items():
        if values[place] is not None:
            values[place] = convert(values[place])
    return values


def _time(stored: datetime) -> str:
    """RFC 3339, with a fraction only where there is one."""
    return stored.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def _base64(stored: bytes) -> str:
    return base64.b64encode(stored).decode()


def _if_there(column: sa.Column[Any], table: sa.Table) -> sa.ColumnElement[Any]:
    """An id that no foreign key holds: only where its row is there."""
    named = table.alias()
    return sa.select(named.c.id).where(named.c.id == column).scalar_subquery()


_TABLES: Mapping[str, sa.Table] = {
    "entities": t.entities,
    "edges": t.edges,
    "artifacts": t.artifacts,
    "entity_artifacts": t.entity_artifacts,
    "edge_artifacts": t.edge_artifacts,
    "entity_sessions": t.entity_sessions,
    "edge_sessions": t.edge_sessions,
    "aliases": t.aliases,
    "entity_versions": t.entity_versions,
    "edge_versions": t.edge_versions,
    "images": t.images,
    "triples": t.quads,
    "commits": t.commits,
}
# Fields that are not the column of their name.
_FIELDS: Mapping[str, Mapping[str, sa.ColumnElement[Any]]] = {
    "edges": {"closed_by": _if_there(t.edges.c.closed_by, t.edges)},
    "edge_versions": {"closed_by": _if_there(t.edge_versions.c.closed_by, t.edges)},
    "artifacts": {
        "message_id": t.artifacts.c.external_id,
        "vector_index": t.artifacts.c.index_name,
        "searched": t.artifacts.c.text_key.is_not(None),
    },
    "commits": {
        "artifact_id": sa.case(
            (t.commits.c.artifact_id.is_(None), None),
            else_=sa.func.coalesce(_if_there(t.commits.c.artifact_id, t.artifacts), 0),
        )
    },
}


def _field(section: str, table: sa.Table, name: str) -> sa.ColumnElement[Any]:
    own = _FIELDS.get(section, {})
    return own[name] if name in own else table.c[name]


# The columns of each section, for the fields of its row.
_COLUMNS: Mapping[str, tuple[sa.ColumnElement[Any], ...]] = {
    section: tuple(_field(section, table, name) for name in SECTIONS[section]._fields)
    for section, table in _TABLES.items()
}
