"""Writes that their callers gave names to: sent again, such a write is answered as it was, and nothing is written."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.errors import IdempotencyConflict
from core.rdf.ports import Kept, Once
from storage.tables import idempotent_writes

# How long a write is known by its key.
KEPT_FOR = timedelta(hours=24)
_W = idempotent_writes.c


def kept(connection: Connection, user_id: str, dataset: str, once: Once) -> Kept | None:
    """What this write was answered with the first time; None where it is new. Raises IdempotencyConflict where its key
    was given to a write of other content. To be asked under the lock of the dataset."""
    mine = (_W.user_id == user_id) & (_W.dataset == dataset) & (_W.idempotency_key == once.key)
    row = connection.execute(sa.select(_W.request_sha256, _W.response).where(mine)).one_or_none()
    if row is None:
        return None
    if not hmac.compare_digest(row.request_sha256, once.sha256):
        raise IdempotencyConflict("the idempotency key was used for another request", param="idempotency_key")
    return Kept(row.response)


def keep(
    connection: Connection, user_id: str, dataset: str, once: Once, response: Mapping[str, Any], now: datetime
) -> None:
    """Keeps the answer of a write, in its transaction."""
    row: dict[str, Any] = {
        "user_id": user_id,
        "dataset": dataset,
        "idempotency_key": once.key,
        "request_sha256": once.sha256,
        "response": dict(response),
        "created_at": now,
    }
    connection.execute(sa.insert(idempotent_writes), [row])


def any_old(connection: Connection, now: datetime) -> bool:
    """Whether there is a key for `drop_old` to forget."""
    old = sa.select(_W.idempotency_key).where(_W.created_at < now - KEPT_FOR)
    return connection.execute(old.limit(1)).first() is not None


def drop_old(connection: Connection, now: datetime) -> None:
    """Forgets the keys of writes that were sent a day ago."""
    connection.execute(sa.delete(idempotent_writes).where(_W.created_at < now - KEPT_FOR))
