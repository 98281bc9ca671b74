"""reindex: every text of a dataset embedded again, in tables beside the old ones, and then the switch.

The old generation is searched and written until one transaction switches over, so nobody waits. A run that was stopped
goes on where it was: what the new tables hold already is not embedded again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.doctor import Reindexed
from core.errors import Conflict
from core.graph import Dataset
from core.ports import Embedder
from storage import tables as t
from storage.database import Database
from storage.doctor import Doctor, queue
from storage.embedding_rows import renew_with
from storage.outbox import VectorOutbox
from storage.rows import DATASET, dataset_of
from storage.texts import INDEXES, newer_than, page_of_texts
from storage.vectors import LanceIndex, Place, VectorRow

BATCH = 64
# What is written while a pass runs is embedded by the next one, which is shorter; the rest is queued with the switch.
PASSES = 4


@dataclass(frozen=True, slots=True)
class Reindex:
    """Embeds datasets again with one embedder. `say` is told after each batch how many texts are done."""

    database: Database
    outbox: VectorOutbox
    embedder: Embedder
    say: Callable[[Dataset, int], object] = lambda _dataset, _done: None
    batch: int = BATCH

    @property
    def index(self) -> LanceIndex:
        return self.outbox.index

    async def run(self, dataset: Dataset) -> Reindexed:
        """Builds the next generation of the dataset's vectors, switches to it and drops the old one.

        Raises ModelFailed when the embedder gives up (what is built so far is kept for the next try), and Conflict when
        another process switched first.
        """
        target = dataset.generation + 1
        await asyncio.to_thread(self._drop_if_of_another_model, dataset.id, target)
        embedded = kept = 0
        since = 0
        for number in range(PASSES):
            since = await self.database.read(lambda connection: _head(connection, dataset.id))
            done, there = await self._pass(dataset, target, since)
            embedded += done
            kept = kept if number else there
            if not done:
                break
        former = await self.database.write(lambda connection: self._switch(connection, dataset, target, since))
        if former is None:
            raise Conflict("another process changed the dataset's vectors meanwhile; nothing was switched")
        for place in former:
            await self.outbox.drop_index(place)
        for index in INDEXES:
            await asyncio.to_thread(self.index.drop_table, Place(dataset.id, index, dataset.generation))
        waiting = await self._settle(dataset)
        return Reindexed(
            dataset.user_id,
            dataset.name,
            self.embedder.model,
            self.embedder.dim,
            target,
            embedded,
            kept,
            waiting,
        )

    def _drop_if_of_another_model(self, dataset_id: int, target: int) -> None:
        """A half built generation of another model can't be gone on with."""
        mine = (self.embedder.model, self.embedder.dim)
        begun = {index: self.index.begun_with(dataset_id, index, target) for index in INDEXES}
        if any(model not in (None, mine) for model in begun.values()):
            for index in INDEXES:
                self.index.drop_table(Place(dataset_id, index, target))

    async def _pass(self, dataset: Dataset, target: int, seq: int) -> tuple[int, int]:
        """Embeds what the new tables lack, takes out of them what is gone; how many texts that were, and how many were
        there already."""
        embedded = kept = 0
        for index in INDEXES:
            held = dict(await asyncio.to_thread(self._hashes, dataset.id, index, target))
            kept += len(held)
            todo: dict[int, str] = {}
            after = 0
            while page := await self.database.read(
                lambda connection, index=index, after=after: page_of_texts(connection, dataset.id, index, after)
            ):
                after = max(page)
                todo |= {i: text for i, text in page.items() if held.pop(i, None) != hash(text)}
                while len(todo) >= self.batch:
                    embedded += await self._embed(dataset, index, target, seq, _take(todo, self.batch))
                    self.say(dataset, embedded)
            if todo:
                embedded += await self._embed(dataset, index, target, seq, todo)
            await asyncio.to_thread(self.index.delete, dataset.id, index, sorted(held), target)
        return embedded, kept

    def _hashes(self, dataset_id: int, index: str, target: int) -> list[tuple[int, int]]:
        return [(i, hash(text)) for i, text in self.index.texts(dataset_id, index, target)]

    async def _embed(self, dataset: Dataset, index: str, target: int, seq: int, texts: Mapping[int, str]) -> int:
        vectors = await self.outbox.embed(self.embedder, dataset, list(texts.values()))
        rows = [VectorRow(i, text, seq, v) for (i, text), v in zip(texts.items(), vectors, strict=True)]
        await asyncio.to_thread(self.index.upsert, dataset.id, index, rows, target, self.embedder.model)
        return len(rows)

    def _switch(self, connection: Connection, dataset: Dataset, target: int, since: int) -> list[Place] | None:
        """From here on the new tables are searched and written; None where somebody else switched before. Vectors that
        were on their way to the old ones are made anew, and so are those of what was written after the last pass began.
        Embeddings by another model begin anew, in the background: where their vectors were."""
        hold = DATASET.where(t.datasets.c.id == dataset.id).with_for_update()
        row = connection.execute(hold).one_or_none()
        now = dataset_of(row) if row else None
        if now is None or now.generation != dataset.generation:
            return None
        values = {
            "vector_generation": target,
            "embedding_model": self.embedder.model,
            "embedding_dim": self.embedder.dim,
        }
        connection.execute(sa.update(t.datasets).where(t.datasets.c.id == dataset.id).values(values))
        out = t.vector_outbox
        # Those of embeddings go on: they have a model and tables of their own.
        mine = (out.c.dataset_id == dataset.id) & (out.c.op == "upsert") & out.c.index_name.in_(INDEXES)
        again = {"vector": None, "owner": None, "lease_until": None, "tries": 0}
        connection.execute(sa.update(out).where(mine).values(again))
        for index in INDEXES:
            queue(connection, dataset.id, index, newer_than(connection, dataset.id, index, since))
        return renew_with(connection, dataset.id, self.embedder.model, self.embedder.dim)

    async def _settle(self, before: Dataset) -> int:
        """Brings the rest to the new tables; how many vectors wait still. What was purged meanwhile goes."""
        read = DATASET.where(t.datasets.c.id == before.id)
        dataset = await self.database.read(lambda connection: dataset_of(connection.execute(read).one()))
        await Doctor(self.database, self.outbox, self.embedder).mend_dataset(dataset)
        await self.outbox.catch_up(dataset)
        await asyncio.to_thread(self.index.tidy)
        count = sa.select(sa.func.count()).where(t.vector_outbox.c.dataset_id == dataset.id)
        return await self.database.read(lambda connection: int(connection.execute(count).scalar_one()))


def _take(todo: dict[int, str], most: int) -> dict[int, str]:
    return {i: todo.pop(i) for i in list(todo)[:most]}


def _head(connection: Connection, dataset_id: int) -> int:
    return int(connection.execute(sa.select(t.datasets.c.head_seq).where(t.datasets.c.id == dataset_id)).scalar_one())
