"""What every removal does: find its dataset, write its tombstone, take its commit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.errors import UnknownDataset
from core.graph import Dataset
from core.ports import Order
from storage import tables as t
from storage.journal import CommitKind, Touched, commit_row
from storage.retime import CommitOf
from storage.rows import DATASET, dataset_of
from storage.tombstones import Content, packed


def secure_delete(connection: Connection) -> None:
    """What this transaction deletes is overwritten in the file (SQLite)."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete = ON")


def number(order: Order) -> int:
    """The id that the order names."""
    assert isinstance(order.target, int)
    return order.target


def order_dataset(connection: Connection, order: Order) -> Dataset:
    """The dataset of an order, locked unless it is a dry run."""
    select = DATASET.where(t.datasets.c.user_id == order.user_id, t.datasets.c.name == order.dataset)
    row = connection.execute(select if order.dry_run else select.with_for_update()).one_or_none()
    if row is None:
        raise UnknownDataset("dataset: not found", param="dataset")
    return dataset_of(row)


def digest(order: Order, counts: object, head: object, *ids: Iterable[int]) -> str:
    """A word for exactly this removal: void when anything in the dataset changed."""
    what = [order.user_id, order.dataset, order.scope, str(order.target), order.into, counts, head, *map(sorted, ids)]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]


def tombstone_row(
    order: Order, action: str, now: datetime, ids: Mapping[str, Any], counts: Mapping[str, int]
) -> dict[str, Any]:
    """A tombstone as it is inserted."""
    return {
        "user_id": order.user_id,
        "dataset": None if order.scope == "user" else order.dataset,
        "action": action,
        "scope": order.scope,
        "target": None if order.target is None else str(order.target),
        "counts": dict(counts),
        "removed": dict(ids),
        "created_at": now,
        "undo_until": now + order.undo_for,
    }


def new_tombstone(
    connection: Connection, order: Order, commit: CommitOf, action: str, ids: Mapping[str, Any], content: Content
) -> int:
    """Writes the tombstone of a removal, its counts yet to come; its id."""
    row = tombstone_row(order, action, commit.at, ids, {}) | {
        "dataset_id": commit.dataset_id,
        "seq": commit.seq,
        "content": packed(content),
    }
    insert = sa.insert(t.tombstones).returning(t.tombstones.c.id)
    return int(connection.execute(insert, [row]).scalar_one())


def finish(
    connection: Connection,
    commit: CommitOf,
    tombstone_id: int,
    kind: CommitKind,
    counts: Mapping[str, int],
    rows: Touched,
) -> None:
    """Writes the commit, and the counts of the tombstone."""
    values = {"counts": dict(counts)}
    connection.execute(sa.update(t.tombstones).where(t.tombstones.c.id == tombstone_id).values(values))
    commit_row(connection, commit, kind, counts, rows)
