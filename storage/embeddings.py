"""Embeddings and their entries in SQL, their vectors in the index: each version in a table of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.embeddings.ports import Changed, Embedding, Near, NewEntry, Spent
from core.embeddings.recipe import Recipe
from core.errors import IndexUnavailable
from core.graph import Dataset
from storage.database import Database
from storage.embedding_changes import changed_since
from storage.embedding_rows import (
    SELECT,
    embedding_of,
    empty,
    entry_digests,
    entry_ids,
    entry_iris,
    is_same,
    named_embedding,
    new_version,
    put_entries,
    queue_vectors,
    recipe_json,
    take_entries,
)
from storage.outbox import ALL, VectorOutbox
from storage.owner import is_gone
from storage.profiles import held_dataset
from storage.rows import DATASET, dataset_of
from storage.tables import datasets
from storage.tables import embedding_entries as e
from storage.tables import embeddings as t
from storage.texts import embedding_index
from storage.vectors import Place

CLAIM = timedelta(minutes=1)


class SqlEmbeddings:
    """core.embeddings.ports.EmbeddingStore over a database and the outbox of its vectors."""

    def __init__(self, database: Database, outbox: VectorOutbox, owner: str) -> None:
        self.database = database
        self.outbox = outbox
        self.owner = owner

    async def all(self, dataset: Dataset) -> list[Embedding]:
        rows = SELECT.where(t.c.dataset_id == dataset.id).order_by(t.c.name)
        return await self.database.read(lambda connection: [embedding_of(row) for row in connection.execute(rows)])

    async def declare(
        self, dataset: Dataset, name: str, recipe: Recipe, model: str, dim: int, clock: Callable[[], datetime]
    ) -> Embedding:
        def declare(connection: Connection) -> tuple[Embedding, str | None]:
            now = clock()
            dataset_id = held_dataset(connection, dataset, clock)
            before = named_embedding(connection, dataset_id, name)
            values = {"class_iri": recipe.class_iri, "recipe": recipe_json(recipe), "updated_at": now}
            mine = (t.c.dataset_id == dataset_id) & (t.c.name == name)
            if before is None:
                fresh = {"dataset_id": dataset_id, "name": name, "created_at": now} | new_version(1, model, dim)
                connection.execute(sa.insert(t).values(fresh | values))
            elif is_same(before, recipe, model, dim):
                connection.execute(sa.update(t).where(mine).values(values))
            else:
                empty(connection, before)
                anew = new_version(before.version + 1, model, dim)
                connection.execute(sa.update(t).where(mine).values(values | anew))
            after = named_embedding(connection, dataset_id, name)
            assert after is not None  # it was written in this transaction
            return after, embedding_index(before.id, before.version) if before else None

        declared, former = await self.database.write(declare)
        if former and former != embedding_index(declared.id, declared.version):
            await self._drop(declared.dataset_id, former)
        return declared

    async def delete(self, embedding: Embedding) -> None:
        def delete(connection: Connection) -> None:
            empty(connection, embedding)
            connection.execute(sa.delete(t).where(t.c.id == embedding.id))

        await self.database.write(delete)
        await self._drop(embedding.dataset_id, embedding_index(embedding.id, embedding.version))

    async def behind(self) -> list[tuple[Dataset, Embedding]]:
        def read(connection: Connection) -> list[tuple[Dataset, Embedding]]:
            late = sa.or_(t.c.embedded_seq.is_(None), t.c.embedded_seq < datasets.c.head_seq)
            joined = SELECT.join(datasets, datasets.c.id == t.c.dataset_id).where(late, datasets.c.forgotten_id == 0)
            found = [embedding_of(row) for row in connection.execute(joined)]
            whose = DATASET.where(datasets.c.id.in_({one.dataset_id for one in found}))
            of = {row.id: dataset_of(row) for row in connection.execute(whose)}
            return [(of[one.dataset_id], one) for one in found]

        return await self.database.read(read)

    async def is_any(self) -> bool:
        return await self.database.read(lambda c: c.execute(sa.select(t.c.id).limit(1)).first() is not None)

    async def claim(self, embedding: Embedding) -> bool:
        def claim(connection: Connection) -> bool:
            now = datetime.now(UTC)
            there = sa.select(t).join(datasets, datasets.c.id == t.c.dataset_id).where(datasets.c.forgotten_id == 0)
            mine = there.where(t.c.id == embedding.id).with_for_update(of=t)
            row = connection.execute(mine).one_or_none()
            if row is None or row.version != embedding.version:
                return False
            is_others = row.owner not in (None, self.owner) and row.lease_until > now and not is_gone(row.owner)
            if not is_others:
                values = {"owner": self.owner, "lease_until": now + CLAIM}
                connection.execute(sa.update(t).where(t.c.id == embedding.id).values(values))
            return not is_others

        return await self.database.write(claim, relaxed=True)

    async def release(self, embedding: Embedding) -> None:
        mine = (t.c.id == embedding.id) & (t.c.owner == self.owner)
        free = sa.update(t).where(mine).values(owner=None, lease_until=None)
        await self.database.write(lambda connection: connection.execute(free), relaxed=True)

    async def changed(self, embedding: Embedding, base: str, now: datetime, most: int) -> Changed | None:
        return await self.database.read(
            lambda connection: changed_since(connection, embedding.dataset_id, embedding.seq or 0, base, now, most)
        )

    async def digests(self, embedding: Embedding, iris: Collection[str] | None = None) -> dict[str, str]:
        return await self.database.read(lambda connection: entry_digests(connection, embedding, iris))

    async def write(self, embedding: Embedding, entries: Sequence[NewEntry], gone: Sequence[str], spent: Spent) -> bool:
        def write(connection: Connection) -> bool:
            held = connection.execute(SELECT.where(t.c.id == embedding.id).with_for_update(of=t)).one_or_none()
            if held is None or held.version != embedding.version:
                return False
            usage = {"usage": asdict(embedding_of(held).spent + spent)}
            connection.execute(sa.update(t).where(t.c.id == embedding.id).values(usage))
            head = sa.select(datasets.c.head_seq).where(datasets.c.id == embedding.dataset_id)
            seq = int(connection.execute(head).scalar_one())
            queue_vectors(
                connection,
                embedding,
                seq,
                [*put_entries(connection, embedding, entries), *take_entries(connection, embedding, gone)],
            )
            return True

        is_there = await self.database.write(write)
        if is_there:
            await self._flush(embedding)
        return is_there

    async def follow(self, embedding: Embedding, seq: int) -> None:
        mine = (t.c.id == embedding.id) & (t.c.version == embedding.version)
        mine &= t.c.embedded_seq.is_not_distinct_from(embedding.seq)
        await self.database.write(
            lambda connection: connection.execute(sa.update(t).where(mine).values(embedded_seq=seq)), relaxed=True
        )

    async def nearest(
        self, embedding: Embedding, vector: bytes, limit: int, among: Sequence[str] | None = None
    ) -> list[Near]:
        ids = None
        if among is not None:
            ids = list((await self.database.read(lambda connection: entry_ids(connection, embedding, among))).values())
        index = embedding_index(embedding.id, embedding.version)
        try:
            (hits,) = await asyncio.to_thread(
                self.outbox.index.search, embedding.dataset_id, index, [vector], limit, among=ids
            )
        except (OSError, RuntimeError, ValueError) as failure:
            raise _unreadable(failure) from failure
        iris = await self.database.read(lambda connection: entry_iris(connection, embedding, [h.ref_id for h in hits]))
        return [Near(iris[hit.ref_id], hit.similarity, embedding.name) for hit in hits if hit.ref_id in iris]

    async def vector(self, embedding: Embedding, iri: str) -> bytes | None:
        mine = (e.c.embedding_id == embedding.id) & (e.c.iri == iri)
        found = await self.database.read(lambda c: c.execute(sa.select(e.c.id).where(mine)).scalar())
        if found is None:
            return None
        index = embedding_index(embedding.id, embedding.version)
        try:
            return await asyncio.to_thread(self.outbox.index.vector, embedding.dataset_id, index, found)
        except (OSError, RuntimeError, ValueError) as failure:
            raise _unreadable(failure) from failure

    async def _flush(self, embedding: Embedding) -> None:
        select = DATASET.where(datasets.c.id == embedding.dataset_id)
        row = await self.database.read(lambda connection: connection.execute(select).one_or_none())
        if row is not None:
            await self.outbox.flush(dataset_of(row), ALL)

    async def _drop(self, dataset_id: int, index: str) -> None:
        await self.outbox.drop_index(Place(dataset_id, index, 0))


def _unreadable(failure: Exception) -> IndexUnavailable:
    return IndexUnavailable(f"the vector index could not be read ({type(failure).__name__})")
