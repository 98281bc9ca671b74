"""Tombstones: what was taken away, as compressed JSON, and what can still be undone."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.ports import Tombstone
from storage import tables as t

T = TypeVar("T")
Rows = list[dict[str, Any]]

# Parameters of one statement: SQLite takes 32,766, PostgreSQL 65,535.
_AT_ONCE = 10_000

TOMBSTONE = sa.select(
    t.tombstones.c.id,
    t.tombstones.c.user_id,
    t.tombstones.c.dataset,
    t.tombstones.c.action,
    t.tombstones.c.scope,
    t.tombstones.c.target,
    t.tombstones.c.counts,
    t.tombstones.c.created_at,
    t.tombstones.c.undo_until,
    t.tombstones.c.undone_at,
    t.tombstones.c.purged_at,
    t.tombstones.c.dataset_id,
)


def tombstone_of(row: Any) -> Tombstone:
    """The columns of TOMBSTONE, in order."""
    return Tombstone(*row)


def one_tombstone(connection: Connection, user_id: str, tombstone_id: int) -> Tombstone | None:
    """The user's tombstone of that id."""
    mine = (t.tombstones.c.user_id == user_id) & (t.tombstones.c.id == tombstone_id)
    row = connection.execute(TOMBSTONE.where(mine)).one_or_none()
    return tombstone_of(row) if row else None


@dataclass(frozen=True, slots=True)
class Content:
    """What a tombstone keeps so that it can be undone: rows by table, and what was changed in rows that stayed."""

    rows: dict[str, Rows] = field(default_factory=dict[str, Rows])
    changes: dict[str, Rows] = field(default_factory=dict[str, Rows])

    def of(self, table: sa.Table) -> Rows:
        return self.rows.get(table.name, [])


def packed(content: Content) -> bytes:
    """The content as it is stored."""
    plain = {"rows": content.rows, "changes": content.changes}
    return zlib.compress(json.dumps(plain, default=_plain, ensure_ascii=False, separators=(",", ":")).encode())


def unpacked(stored: bytes) -> Content:
    """The content that was stored, its rows ready to be inserted."""
    plain = json.loads(zlib.decompress(stored))
    rows = {name: [_typed(t.metadata.tables[name], row) for row in rows] for name, rows in plain["rows"].items()}
    return Content(rows, plain["changes"])


def content_of(connection: Connection, tombstone_id: int) -> Content:
    """What a tombstone that was not purged keeps."""
    select = sa.select(t.tombstones.c.content).where(t.tombstones.c.id == tombstone_id)
    return unpacked(connection.execute(select).scalar_one())


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(bytes(cast("bytes", value))).decode()
    raise TypeError(type(value).__name__)


def _typed(table: sa.Table, row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _read(table.c[name].type, value) for name, value in row.items() if name in table.c}


def _read(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, t.Time):
        return datetime.fromisoformat(value)
    return base64.b64decode(value) if isinstance(kind, sa.LargeBinary) else value


# What other tombstones say --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Removed:
    """What the tombstones of a dataset that hold took away, by id. `forgotten`: entities and facts that were forgotten
    as such, so that nothing else brings them back. `ghosts`: facts that are gone, with those that had closed them.
    `merged`: facts of merges, with those that took them up."""

    artifacts: dict[int, int] = field(default_factory=dict[int, int])
    """With the tombstone that holds each."""
    entities: dict[int, int] = field(default_factory=dict[int, int])
    forgotten_entities: set[int] = field(default_factory=set[int])
    forgotten_edges: set[int] = field(default_factory=set[int])
    ghosts: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    merged: dict[int, int] = field(default_factory=dict[int, int])
    merges: set[int] = field(default_factory=set[int])


def removed(connection: Connection, dataset_id: int) -> Removed:
    """What is gone from the dataset and was not brought back."""
    mine = (t.tombstones.c.dataset_id == dataset_id) & t.tombstones.c.undone_at.is_(None)
    columns = (t.tombstones.c.id, t.tombstones.c.action, t.tombstones.c.scope, t.tombstones.c.seq)
    found = Removed()
    for row in connection.execute(sa.select(*columns, t.tombstones.c.removed).where(mine).order_by(t.tombstones.c.id)):
        _add(found, row.id, row.action, row.scope, row.seq, row.removed)
    return found


def _add(found: Removed, tombstone_id: int, action: str, scope: str, seq: int, ids: Mapping[str, Any]) -> None:
    found.artifacts |= dict.fromkeys(ids.get("artifacts", ()), tombstone_id)
    found.entities |= dict.fromkeys(ids.get("entities", ()), tombstone_id)
    found.ghosts |= {int(i): tuple(by) for i, by in ids.get("closers", {}).items()}
    if action == "merge":
        found.merges.add(seq)
        found.merged |= {int(i): into for i, into in ids.get("merged", {}).items()}
    elif scope in ("entity", "edge"):
        found.forgotten_entities |= set(ids.get("entities", ()))
        found.forgotten_edges |= set(ids.get("edges", ()))


def later_tombstone_of(
    connection: Connection,
    dataset_id: int,
    tombstone_id: int,
    *,
    artifacts: set[int],
    entities: set[int],
    edges: set[int],
) -> int | None:
    """The newest later tombstone that holds one of these and can be undone."""
    c = t.tombstones.c
    holds = (c.dataset_id == dataset_id) & (c.id > tombstone_id) & c.undone_at.is_(None) & c.purged_at.is_(None)
    for row in connection.execute(sa.select(c.id, c.removed).where(holds).order_by(c.id.desc())):
        wanted = (("artifacts", artifacts), ("entities", entities), ("edges", edges))
        if any(not ids.isdisjoint(row.removed.get(name, ())) for name, ids in wanted):
            return int(row.id)
    return None


# Many ids at once -----------------------------------------------------------------------------------------------------


def batches(ids: Iterable[int]) -> Iterable[list[int]]:
    """The ids in order, as many at a time as a statement takes."""
    ordered = sorted(set(ids))
    for start in range(0, len(ordered), _AT_ONCE):
        yield ordered[start : start + _AT_ONCE]


def rows_of(connection: Connection, table: sa.Table, column: sa.ColumnElement[int], ids: Iterable[int]) -> Rows:
    """Whole rows by the values of one column."""
    return [
        dict(row)
        for some in batches(ids)
        for row in connection.execute(sa.select(table).where(column.in_(some)).order_by(*table.primary_key)).mappings()
    ]


def delete_of(connection: Connection, table: sa.Table, column: sa.ColumnElement[int], ids: Iterable[int]) -> None:
    """Deletes rows by the values of one column."""
    for some in batches(ids):
        connection.execute(sa.delete(table).where(column.in_(some)))


def ids_of(connection: Connection, select: Callable[[list[int]], sa.Select[Any]], ids: Iterable[int]) -> set[int]:
    """The first column of what a statement finds for some ids."""
    return {int(i) for some in batches(ids) for i in connection.execute(select(some)).scalars() if i is not None}


def inserted(connection: Connection, table: sa.Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Inserts rows under their own ids."""
    if some := list(rows):
        connection.execute(sa.insert(table), cast("list[dict[str, Any]]", some))
