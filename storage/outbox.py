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

from core.errors import GligabaoError, IndexUnavailable, ModelFailed
from core.events import Monitor
from core.graph import Dataset, Vectors
from core.inferences import Inference
from core.ports import Embedder, Flushed, Hit, IndexName, ModelCall, RunLog, RunOf
from core.spending import charge_to
from storage.database import Database
from storage.owner import is_gone
from storage.rows import DATASET, dataset_of
from storage.tables import datasets
from storage.tables import vector_outbox as t
from storage.texts import current_texts, is_of_embedding
from storage.vectors import LanceIndex, Place, VectorRow
from storage.write import LEASE

log = logging.getLogger(__name__)

# What one drain brings to the index at once: one merge for the vectors of many chunks.
BATCH = 1024
EMBEDDED_AT_ONCE = 64
WAIT = 5.0
POLL = 0.05
TIDY_EVERY = 30.0


class VectorOutbox:
    """core.ports.VectorStore: searches the index, and brings it what waits in the outbox.

    Who writes a vector: the request that stored it, a timer, and the next start. One process at a time writes for a
    dataset, in the order of the outbox, so that an older vector never replaces a newer one.
    """

    def __init__(
        self,
        database: Database,
        index: LanceIndex,
        owner: str,
        embedder: Embedder | None = None,
        runs: RunLog | None = None,
        monitor: Monitor | None = None,
    ) -> None:
        self.database = database
        self.index = index
        self.owner = owner
        self.embedder = embedder
        self.runs = runs
        self.monitor = monitor or Monitor()
        self._turns: dict[int, asyncio.Lock] = {}

    async def search(self, dataset: Dataset, index: IndexName, vectors: Sequence[bytes], limit: int) -> list[list[Hit]]:
        try:
            found = await self._search(dataset, index, vectors, limit)
        except IndexUnavailable:
            now = await self._as_it_is(dataset)
            if now is None or now.generation == dataset.generation:
                raise
            return await self._in_new_generation(now, dataset, index, vectors, limit)
        if vectors and not any(found):
            now = await self._as_it_is(dataset)
            if now and now.generation != dataset.generation:
                return await self._in_new_generation(now, dataset, index, vectors, limit)
        return found

    async def _search(
        self, dataset: Dataset, index: IndexName, vectors: Sequence[bytes], limit: int
    ) -> list[list[Hit]]:
        try:
            return await asyncio.to_thread(self.index.search, dataset.id, index, vectors, limit, dataset.generation)
        except (OSError, RuntimeError, ValueError) as failure:
            raise IndexUnavailable(f"the vector index could not be read ({type(failure).__name__})") from failure

    async def _in_new_generation(
        self, now: Dataset, before: Dataset, index: IndexName, vectors: Sequence[bytes], limit: int
    ) -> list[list[Hit]]:
        """reindex switched over since the caller looked the dataset up. Vectors of another model find nothing there."""
        if (now.embedding_model, now.embedding_dim) != (before.embedding_model, before.embedding_dim):
            return [[] for _ in vectors]
        return await self._search(now, index, vectors, limit)

    async def _as_it_is(self, dataset: Dataset) -> Dataset | None:
        def read(connection: Connection) -> Dataset | None:
            row = connection.execute(DATASET.where(datasets.c.id == dataset.id)).one_or_none()
            return dataset_of(row) if row else None

        return await self.database.read(read)

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
            await self.catch_up(dataset)

    async def catch_up(self, dataset: Dataset) -> Flushed:
        try:
            await self._embed_waiting(dataset)
            return await self.flush(dataset, ALL)
        except GligabaoError as failure:
            log.warning("vectors of dataset %d wait: %s", dataset.id, type(failure).__name__)
            return Flushed(await self.database.read(lambda connection: _pending(connection, dataset.id, ALL)))

    async def keep_up(self) -> None:
        """Repairs at once and then every 30 s, and tidies the index, until cancelled."""
        while True:
            await self.repair()
            await asyncio.to_thread(self.index.tidy)
            await asyncio.sleep(TIDY_EVERY)

    async def scrub(self, dataset: Dataset) -> None:
        """Leaves nothing in the files of the index of what was taken out of it. A failure is logged: the rows are gone
        all the same."""
        async with self._turns.setdefault(dataset.id, asyncio.Lock()):
            try:
                await asyncio.to_thread(self.index.scrub, dataset.id)
            except (OSError, RuntimeError, ValueError) as failure:
                log.warning("the index of dataset %d was not scrubbed: %s", dataset.id, type(failure).__name__)

    async def drop(self, dataset_ids: Sequence[int]) -> None:
        """Removes the indexes of datasets that are gone. A failure is logged: nobody reads them any more."""
        for dataset_id in dataset_ids:
            async with self._turns.setdefault(dataset_id, asyncio.Lock()):
                try:
                    await asyncio.to_thread(self.index.drop, dataset_id)
                except (OSError, RuntimeError, ValueError) as failure:
                    log.warning("the index of dataset %d was not dropped: %s", dataset_id, type(failure).__name__)

    async def drop_index(self, place: Place) -> None:
        """Removes one index that nobody reads any more. A failure is logged."""
        async with self._turns.setdefault(place.dataset_id, asyncio.Lock()):
            try:
                await asyncio.to_thread(self.index.drop_table, place)
            except (OSError, RuntimeError, ValueError) as failure:
                log.warning("an index of dataset %d was not dropped: %s", place.dataset_id, type(failure).__name__)

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
            await self.database.write(lambda connection: _give_back(connection, items, self.owner, reason))
            raise IndexUnavailable(f"the vector index could not be written ({reason})") from failure

        def done(connection: Connection) -> int:
            connection.execute(_DELETE, {"ids": [item.id for item in items], "me": self.owner})
            return _pending(connection, dataset_id, up_to)

        return await self.database.write(done, relaxed=True)

    def _upsert(self, dataset_id: int, items: Sequence[Row[Any]]) -> None:
        last = {(item.index_name, item.ref_id): item for item in items}.values()
        for name in dict.fromkeys(item.index_name for item in last):
            generation = 0 if is_of_embedding(name) else items[0].vector_generation
            gone = [item.ref_id for item in last if item.index_name == name and item.op == "delete"]
            self.index.delete(dataset_id, name, gone, generation)
            rows = [VectorRow(i.ref_id, i.text, i.seq, i.vector) for i in last if i.index_name == name and i.vector]
            if rows:
                self.index.upsert(dataset_id, name, rows, generation)
                self.monitor.written("records" if is_of_embedding(name) else name, len(rows))

    async def _embed_waiting(self, dataset: Dataset) -> None:
        """Vectors for the texts that were stored while no embedder that fits the dataset was there."""
        embedder = self.embedder
        if embedder is None or not dataset.takes(embedder.model, embedder.dim):
            return
        while items := await self.database.read(lambda connection: _without_vector(connection, dataset.id)):
            texts = list(dict.fromkeys(text for _, text in items if text is not None))
            vectors = await self.embed(embedder, dataset, texts) if texts else ()
            of = Vectors(embedder.model, embedder.dim, dict(zip(texts, vectors, strict=True)))
            ids = [item.id for item, _ in items]
            if not await self.database.write(lambda connection, ids=ids, of=of: _fill(connection, dataset, ids, of)):
                return

    async def embed(self, embedder: Embedder, dataset: Dataset, texts: Sequence[str]) -> Sequence[bytes]:
        """The vectors of the texts. The call is recorded for the owner of the dataset, whether it was of use or not."""
        charge_to(dataset.user_id)
        try:
            embedded = await embedder.embed(texts)
        except ModelFailed as failure:
            await self._record(failure.inferences, dataset)
            raise
        await self._record([embedded.inference], dataset)
        return embedded.vectors

    async def _record(self, inferences: Sequence[Inference], dataset: Dataset) -> None:
        for inference in inferences:
            call = ModelCall("embedding", "embed", inference)
            self.monitor.called(call)
            if self.runs is not None:
                await self.runs.inference(call, RunOf(dataset.user_id, dataset.name, None))


def _waiting(connection: Connection) -> list[Dataset]:
    waiting = sa.select(t.c.dataset_id).distinct()
    return [dataset_of(row) for row in connection.execute(DATASET.where(datasets.c.id.in_(waiting)))]


ALL = 2**62
_READY = (t.c.dataset_id == sa.bindparam("dataset")) & (t.c.vector.is_not(None) | (t.c.op == "delete"))
_PENDING = sa.select(sa.func.count()).where(_READY & (t.c.seq <= sa.bindparam("up_to")))
_OLDEST = (
    sa.select(t, datasets.c.vector_generation)
    .join(datasets, datasets.c.id == t.c.dataset_id)
    .where(_READY)
    .order_by(t.c.id)
    .limit(BATCH)
)
# Holds the dataset's row, so that two processes never take the same items (SQLite has one writer anyway).
_HOLD = sa.select(datasets.c.id).where(datasets.c.id == sa.bindparam("dataset")).with_for_update()
# Not what reindex, or a process that thought this one dead, took away meanwhile.
_DELETE = sa.delete(t).where(t.c.id.in_(sa.bindparam("ids", expanding=True)), t.c.owner == sa.bindparam("me"))


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


def _give_back(connection: Connection, items: Sequence[Row[Any]], owner: str, reason: str) -> None:
    values = {"owner": None, "lease_until": None, "tries": t.c.tries + 1, "last_error": reason}
    mine = t.c.id.in_([item.id for item in items]) & (t.c.owner == owner)
    connection.execute(sa.update(t).where(mine).values(values))


def _without_vector(connection: Connection, dataset_id: int) -> list[tuple[Row[Any], str | None]]:
    """What waits to be embedded, with the texts as the rows say them now; None where the row is gone."""
    waiting = (t.c.dataset_id == dataset_id) & t.c.vector.is_(None) & (t.c.op == "upsert")
    return _with_texts(connection, dataset_id, sa.select(t).where(waiting).order_by(t.c.id).limit(EMBEDDED_AT_ONCE))


def _with_texts(
    connection: Connection, dataset_id: int, select: sa.Select[*tuple[Any, ...]]
) -> list[tuple[Row[Any], str | None]]:
    items = connection.execute(select).all()
    refs: dict[str, list[int]] = {}
    for item in items:
        refs.setdefault(item.index_name, []).append(item.ref_id)
    texts = {name: current_texts(connection, dataset_id, name, ids) for name, ids in refs.items()}
    return [(item, texts[item.index_name].get(item.ref_id)) for item in items]


def _fill(connection: Connection, dataset: Dataset, ids: Sequence[int], vectors: Vectors) -> bool:
    """Gives the items their vectors; whether the dataset still takes them. One whose row has gone goes, one whose text
    has changed meanwhile waits on: an older text must never come to stand behind a newer one."""
    connection.execute(_HOLD, {"dataset": dataset.id})
    row = connection.execute(DATASET.where(datasets.c.id == dataset.id)).one_or_none()
    if row is None or not dataset_of(row).takes(vectors.model, vectors.dim):
        return False
    values = {"embedding_model": vectors.model, "embedding_dim": vectors.dim}
    connection.execute(sa.update(datasets).where(datasets.c.id == dataset.id).values(values))
    for item, text in _with_texts(connection, dataset.id, sa.select(t).where(t.c.id.in_(ids), t.c.vector.is_(None))):
        if text is None:
            connection.execute(sa.delete(t).where(t.c.id == item.id))
        elif text in vectors.of:
            values = {"vector": vectors.of[text], "text": text}
            connection.execute(sa.update(t).where(t.c.id == item.id).values(values))
    return True
