"""The doctor's look at embeddings: entries without the right vector, and vectors without an entry."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.doctor import SHOWN, Finding
from core.embeddings.recipe import digest_of
from storage import tables as t
from storage.database import Database
from storage.embedding_rows import batches
from storage.texts import embedding_index
from storage.vectors import LanceIndex, Place


@dataclass(frozen=True, slots=True)
class EntryDifference:
    """How the entries of one embedding and its vectors differ, by the ids of the entries."""

    place: Place
    whose: str
    missing: tuple[int, ...]
    """Without a vector of their text."""
    orphans: tuple[int, ...]

    def findings(self) -> list[Finding]:
        """What there is to tell."""
        told = (
            ("records_missing", "records of an embedding without the vector of their text", self.missing),
            ("records_orphaned", "vectors of an embedding without a record", self.orphans),
        )
        return [Finding(kind, text, len(ids), self.whose, ids[:SHOWN]) for kind, text, ids in told if ids]


async def entry_differences(database: Database, index: LanceIndex) -> list[EntryDifference]:
    """The embeddings whose entries and vectors differ. A second look leaves out what the first met half written."""
    first = {one.place: one for one in await _look(database, index)}
    if not first:
        return []
    again = {one.place: one for one in await _look(database, index)}
    return [
        EntryDifference(
            place,
            one.whose,
            tuple(i for i in one.missing if i in again[place].missing),
            tuple(i for i in one.orphans if i in again[place].orphans),
        )
        for place, one in first.items()
        if place in again
    ]


async def mend_entries(database: Database, index: LanceIndex) -> list[str]:
    """Takes vectors without an entry out, and entries without their vector away: their records are embedded again by
    the next process that has an embedder. What it did."""
    done: list[str] = []
    for one in await entry_differences(database, index):
        await database.write(lambda connection, one=one: _forget(connection, one))
        await asyncio.to_thread(index.delete, one.place.dataset_id, one.place.index_name, one.orphans)
        if count := len(one.missing):
            done.append(f"queued {count} records of an embedding in {one.whose}")
        if count := len(one.orphans):
            done.append(f"removed {count} vectors without a record in {one.whose}")
    return done


async def _look(database: Database, index: LanceIndex) -> list[EntryDifference]:
    c, d = t.embeddings.c, t.datasets.c
    select = sa.select(c.id, c.version, c.dataset_id, d.user_id, d.name).join(t.datasets, d.id == c.dataset_id)
    rows = await database.read(lambda connection: connection.execute(select.order_by(c.id)).all())
    found: list[EntryDifference] = []
    for row in rows:
        place = Place(row.dataset_id, embedding_index(row.id, row.version), 0)
        held = await asyncio.to_thread(_digests, index, place)
        missing, orphans = await database.read(
            lambda connection, row=row, place=place, held=held: _difference(connection, row.id, place, held)
        )
        if missing or orphans:
            found.append(EntryDifference(place, f"{row.user_id} / {row.name}", missing, orphans))
    return found


def _digests(index: LanceIndex, place: Place) -> dict[int, str]:
    return {i: digest_of(text) for i, text in index.texts(place.dataset_id, place.index_name)}


def _difference(
    connection: Connection, embedding_id: int, place: Place, held: dict[int, str]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What waits in the outbox is on its way."""
    o, e = t.vector_outbox.c, t.embedding_entries.c
    mine = (o.dataset_id == place.dataset_id) & (o.index_name == place.index_name)
    waiting = set(connection.execute(sa.select(o.ref_id).where(mine)).scalars())
    select = sa.select(e.id, e.text_sha256).where(e.embedding_id == embedding_id)
    entries = {row.id: row.text_sha256 for row in connection.execute(select)}
    missing = (i for i, digest in entries.items() if held.get(i) != digest and i not in waiting)
    return tuple(sorted(missing)), tuple(sorted(held.keys() - entries.keys() - waiting))


def _forget(connection: Connection, one: EntryDifference) -> None:
    e = t.embedding_entries.c
    for some in batches(one.missing):
        embeddings = sa.select(e.embedding_id).where(e.id.in_(some))
        again = sa.update(t.embeddings).where(t.embeddings.c.id.in_(embeddings)).values(embedded_seq=None)
        connection.execute(again)
        connection.execute(sa.delete(t.embedding_entries).where(e.id.in_(some)))
