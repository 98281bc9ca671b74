"""The way of a vector from the transaction that stored its row to the index: late perhaps, lost never."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from core.errors import GligabaoError, IndexUnavailable
from core.graph import Dataset
from core.ports import Embedder, Flushed, Hit, IndexName
from storage.database import Database
from storage.owner import is_gone
from storage.rows import DATASET, dataset_of
from storage.tables import datasets
from storage.tables import vector_outbox as t
from storage.vectors import LanceIndex, VectorRow
from storage.write import LEASE

log = logging.getLogger(__name__)

BATCH = 64
WAIT = 5.0
POLL = 0.05
TIDY_EVERY = 30.0


class VectorOutbox:
    """core.ports.VectorStore: searches the index, and brings it what waits in the outbox.

    Who writes a vector: the request that stored it, a timer, and the next start. One process at a time writes for a
    dataset, in the order of the outbox, so that an older vector never replaces a newer one.
    """

    def __init__(self, database: Database, index: LanceIndex, owner: str, embedder: Embedder | None = None) -> None:
        self.database = database
        self.index = index
        self.owner = owner
        self.embedder = embedder
        self._turns: dict[int, asyncio.Lock] = {}

    async def search(self, dataset: Dataset, index: IndexName, vectors: Sequence[bytes], limit: int) -> list[list[Hit]]:
        try:
            return await asyncio.to_thread(self.index.search, dataset.id, index, vectors, limit)
        except (OSError, RuntimeError, ValueError) as failure:
            raise IndexUnavailable(f"the vector index could not be read ({type(failure).__name__})") from failure

    async def flush(self, dataset: Dataset, up_to: int) -> Flushed:
        deadline = time.monotonic() + WAIT
        before = -1
        while True:
            async with self._turns.setdefault(dataset.id, asyncio.Lock()):
                pending = await self._drain(dataset.id, up_to)
            if not pending or time.monotonic() > deadline:
                return Flushed(pending)
            if pending == before:
                await asyncio.sleep(POLL)
            before = pending

    async def repair(self) -> None:
        """Writes what other processes left behind, and embeds what waits for this embedder. A failure is logged."""
        for dataset in await self.database.read(_waiting):
            try:
                await self._embed_waiting(dataset)
                await self.flush(dataset, dataset.head_seq)
            except GligabaoError as failure:
                log.warning("vectors of dataset %d wait: %s", dataset.id, type(failure).__name__)

    async def keep_up(self) -> None:
        """Repairs at once and then every 30 s, and tidies the index, until cancelled."""
        while True:
            await self.repair()
            await asyncio.to_thread(self.index.tidy)
            await asyncio.sleep(TIDY_EVERY)

    async def pending(self) -> int:
        """How many vectors wait, in all datasets."""
        count = sa.select(sa.func.count()).select_from(t)
        return await self.database.read(lambda connection: int(connection.execute(count).scalar_one()))

    async def _drain(self, dataset_id: int, up_to: int) -> int:
        """Writes what this process may write now; how many vectors up to that commit wait still."""
        items = await self.database.read(lambda connection: _mine(connection, dataset_id, self.owner))
        if not items:
            items = await self.database.write(lambda connection: _lease(connection, dataset_id, self.owner))
        if not items:
            return await self.database.read(lambda connection: _pending(connection, dataset_id, up_to))
        try:
            await asyncio.to_thread(self._upsert, dataset_id, items)
        except (OSError, RuntimeError, ValueError) as failure:
            reason = type(failure).__name__
            await self.database.write(lambda connection: _give_back(connection, items, reason))
            raise IndexUnavailable(f"the vector index could not be written ({reason})") from failure

        def done(connection: Connection) -> int:
            connection.execute(_DELETE, {"ids": [item.id for item in items]})
            return _pending(connection, dataset_id, up_to)

        return await self.database.write(done, relaxed=True)

    def _upsert(self, dataset_id: int, items: Sequence[Row[Any]]) -> None:
        for name in dict.fromkeys(item.index_name for item in items):
            rows = [VectorRow(i.ref_id, i.text, i.seq, i.vector) for i in items if i.index_name == name]
            self.index.upsert(dataset_id, name, rows)

    async def _embed_waiting(self, dataset: Dataset) -> None:
        """Vectors for the texts that were stored while no embedder that fits the dataset was there."""
        embedder = self.embedder
        if embedder is None or not dataset.takes(embedder.model, embedder.dim):
            return
        while items := await self.database.read(lambda connection: _without_vector(connection, dataset.id)):
            embedded = await embedder.embed([item.text for item in items])
            done = list(zip(items, embedded.vectors, strict=True))
            await self.database.write(lambda connection, done=done: _fill(connection, done))


def _waiting(connection: Connection) -> list[Dataset]:
    waiting = sa.select(t.c.dataset_id).distinct()
    return [dataset_of(row) for row in connection.execute(DATASET.where(datasets.c.id.in_(waiting)))]


_READY = (t.c.dataset_id == sa.bindparam("dataset")) & t.c.vector.is_not(None)
_PENDING = sa.select(sa.func.count()).where(_READY & (t.c.seq <= sa.bindparam("up_to")))
_OLDEST = sa.select(t).where(_READY).order_by(t.c.id).limit(BATCH)
# Holds the dataset's row, so that two processes never take the same items (SQLite has one writer anyway).
_HOLD = sa.select(datasets.c.id).where(datasets.c.id == sa.bindparam("dataset")).with_for_update()
_DELETE = sa.delete(t).where(t.c.id.in_(sa.bindparam("ids", expanding=True)))


def _pending(connection: Connection, dataset_id: int, up_to: int) -> int:
    return int(connection.execute(_PENDING, {"dataset": dataset_id, "up_to": up_to}).scalar_one())


def _mine(connection: Connection, dataset_id: int, owner: str) -> list[Row[Any]]:
    """What this process may write at once: the oldest items, where they were stored with its own lease."""
    items = _free(connection, dataset_id, owner)
    return items if all(item.owner == owner for item in items) else []


def _lease(connection: Connection, dataset_id: int, owner: str) -> list[Row[Any]]:
    """The oldest items, for this process alone; none while another one is at work on them."""
    connection.execute(_HOLD, {"dataset": dataset_id})
    items = _free(connection, dataset_id, owner)
    values = {"owner": owner, "lease_until": datetime.now(UTC) + LEASE}
    connection.execute(sa.update(t).where(t.c.id.in_([item.id for item in items])).values(values))
    return items


def _free(connection: Connection, dataset_id: int, owner: str) -> list[Row[Any]]:
    """The oldest items up to the first one that another living process is bringing: the order is kept across
    processes, and each of them waits only for what is older than its own."""
    now = datetime.now(UTC)
    free: list[Row[Any]] = []
    for item in connection.execute(_OLDEST, {"dataset": dataset_id}):
        other: str | None = None if item.owner == owner else item.owner
        if other and item.lease_until and item.lease_until > now and not is_gone(other):
            break
        free.append(item)
    return free


def _give_back(connection: Connection, items: Sequence[Row[Any]], reason: str) -> None:
    values = {"owner": None, "lease_until": None, "tries": t.c.tries + 1, "last_error": reason}
    connection.execute(sa.update(t).where(t.c.id.in_([item.id for item in items])).values(values))


def _without_vector(connection: Connection, dataset_id: int) -> list[Row[Any]]:
    waiting = (t.c.dataset_id == dataset_id) & t.c.vector.is_(None)
    return list(connection.execute(sa.select(t).where(waiting).order_by(t.c.id).limit(BATCH)))


def _fill(connection: Connection, done: Sequence[tuple[Row[Any], bytes]]) -> None:
    for item, vector in done:
        connection.execute(sa.update(t).where(t.c.id == item.id).values(vector=vector))
