"""Purge: what a tombstone holds is removed for good, from the tables, the vector index and the logs of what was run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.errors import Conflict, GligabaoError, NotFound
from core.graph import Dataset
from core.ports import Tombstone
from storage import tables as t
from storage.database import Database
from storage.embedding_rows import renew_late
from storage.evals import drop_answers_before
from storage.idempotent import any_old, drop_old
from storage.outbox import VectorOutbox
from storage.removal import secure_delete
from storage.rows import DATASET, dataset_of
from storage.tombstones import Content, Rows, batches, one_tombstone, packed, unpacked
from storage.vectors import Place

log = logging.getLogger(__name__)

_KEY_OF = {
    t.artifacts.name: ("id", "artifacts"),
    t.images.name: ("artifact_id", "artifacts"),
    t.artifact_sessions.name: ("artifact_id", "artifacts"),
    t.entities.name: ("id", "entities"),
    t.entity_versions.name: ("entity_id", "entities"),
    t.aliases.name: ("entity_id", "entities"),
    t.edges.name: ("id", "edges"),
    t.edge_versions.name: ("edge_id", "edges"),
}


class Purging:
    """Removes for good, and leaves as little as can be of it in the files."""

    def __init__(self, database: Database, outbox: VectorOutbox) -> None:
        self.database = database
        self.outbox = outbox

    async def purge(self, user_id: str, tombstone_id: int, clock: Callable[[], datetime]) -> Tombstone:
        def purge(connection: Connection) -> tuple[Tombstone, Dataset | None, list[int], list[Place]]:
            purged, dataset, dropped = _purge(connection, user_id, tombstone_id, clock())
            return purged, dataset, dropped, renew_late(connection, dataset.id) if dataset else []

        purged, dataset, dropped, late = await self.database.write(purge)
        if dropped:
            await self.outbox.drop(dropped)
        elif dataset is not None:
            for place in late:
                await self.outbox.drop_index(place)
            await self.outbox.catch_up(dataset)
            await self.outbox.scrub(dataset)
        await self.database.empty_log()
        return purged

    async def purge_expired(self, clock: Callable[[], datetime]) -> None:
        """Purges what can't be undone any more, and the keys of writes that are a day old. A failure is logged; the
        next time tries again."""
        if await self.database.read(lambda connection: any_old(connection, clock())):
            await self.database.write(lambda connection: drop_old(connection, clock()), relaxed=True)
        c = t.tombstones.c
        over = c.purged_at.is_(None) & c.undone_at.is_(None) & (c.undo_until < clock())
        expired = await self.database.read(
            lambda connection: connection.execute(sa.select(c.user_id, c.id).where(over).order_by(c.id)).all()
        )
        for user_id, tombstone_id in expired:
            try:
                await self.purge(user_id, tombstone_id, clock)
            except GligabaoError as failure:
                log.warning("tombstone %d was not purged: %s", tombstone_id, type(failure).__name__)

    async def keep_up(self, every: float) -> None:
        """Purges what is over at once and then every so many seconds, until cancelled."""
        while True:
            try:
                await self.purge_expired(lambda: datetime.now(UTC))
            except GligabaoError as failure:
                log.warning("what is past its time was not purged: %s", type(failure).__name__)
            await asyncio.sleep(every)


def _purge(
    connection: Connection, user_id: str, tombstone_id: int, now: datetime
) -> tuple[Tombstone, Dataset | None, list[int]]:
    """The purged tombstone, the dataset that it was of, and the datasets that went with it."""
    secure_delete(connection)
    tombstone = one_tombstone(connection, user_id, tombstone_id)
    if tombstone is None:
        raise NotFound("tombstone_id: there is no such tombstone", param="tombstone_id")
    if tombstone.undone_at is not None:
        raise Conflict(f"tombstone {tombstone_id} was undone: it holds nothing")
    dropped: list[int] = []
    if tombstone.purged_at is None:
        if tombstone.scope in ("dataset", "user"):
            dropped = _datasets(connection, tombstone, now)
        else:
            _rows(connection, tombstone, now)
        _emptied(connection, t.tombstones.c.id == tombstone_id, now)
    purged = one_tombstone(connection, user_id, tombstone_id)
    assert purged is not None
    row = connection.execute(DATASET.where(t.datasets.c.id == tombstone.dataset_id)).one_or_none()
    return purged, dataset_of(row) if row else None, dropped


def _emptied(connection: Connection, which: sa.ColumnElement[bool], now: datetime) -> None:
    connection.execute(sa.update(t.tombstones).where(which).values(content=None, purged_at=now))


# Rows of one dataset --------------------------------------------------------------------------------------------------


def _rows(connection: Connection, tombstone: Tombstone, now: datetime) -> None:
    c = t.tombstones.c
    row = connection.execute(sa.select(c.content, c.removed).where(c.id == tombstone.id)).one()
    ids = {name: set(row.removed.get(name, ())) for name in ("artifacts", "entities", "edges")}
    content = unpacked(row.content)
    # The log of a run that told it: what it was asked, if only as a digest, and how it failed.
    told = {artifact["run_id"] for artifact in content.of(t.artifacts)} - {None}
    images = [image["artifact_id"] for image in content.of(t.images)]
    if images:  # and of those that told an image again, and stored nothing
        again = sa.select(t.runs.c.id).where(t.runs.c.artifact_id.in_(images))
        told |= set(connection.execute(again).scalars())
    _runs(connection, told)
    if tombstone.action == "forget":
        _from_others(connection, tombstone, ids, now)
        if tombstone.dataset_id is not None:
            drop_answers_before(connection, tombstone.dataset_id, tombstone.created_at)


def _runs(connection: Connection, run_ids: set[int]) -> None:
    values: dict[str, Any] = {"parameters": {}, "error": None, "idempotency_key": None, "request_sha256": None}
    for some in batches(run_ids):
        connection.execute(sa.update(t.runs).where(t.runs.c.id.in_(some)).values(values))
        connection.execute(sa.update(t.run_stages).where(t.run_stages.c.run_id.in_(some)).values(error=None))
        connection.execute(sa.update(t.jobs).where(t.jobs.c.run_id.in_(some)).values(request=None))


def _from_others(connection: Connection, tombstone: Tombstone, ids: dict[str, set[int]], now: datetime) -> None:
    """What other tombstones keep of it goes too: facts and entities that were forgotten as such, and whatever was
    learned from nothing but these artifacts."""
    c = t.tombstones.c
    as_such = tombstone.scope in ("entity", "edge")
    others = (c.dataset_id == tombstone.dataset_id) & (c.id != tombstone.id) & c.content.is_not(None)
    for row in connection.execute(sa.select(c.id, c.content).where(others)).all():
        content = unpacked(row.content)
        if any(of["into"] in ids["entities"] for of in content.changes.get("merge", ())):
            _emptied(connection, c.id == row.id, now)
            continue
        left = _without_rows(content, ids) if as_such else _without_artifacts(content, ids["artifacts"])
        if left != content:
            connection.execute(sa.update(t.tombstones).where(c.id == row.id).values(content=packed(left)))


def _without_rows(content: Content, ids: dict[str, set[int]]) -> Content:
    """The content without these facts and entities: nothing brings them back."""
    rows = {
        name: [row for row in kept if name not in _KEY_OF or row[_KEY_OF[name][0]] not in ids[_KEY_OF[name][1]]]
        for name, kept in content.rows.items()
    }
    changes: dict[str, list[dict[str, Any]]] = dict(content.changes)
    for name, kind in (("descriptions", "entities"), ("facts", "edges")):
        if name in changes:
            changes[name] = [row for row in changes[name] if row["id"] not in ids[kind]]
    return Content(rows, changes)


def _without_artifacts(content: Content, artifacts: set[int]) -> Content:
    """The content without these artifacts and their words, and without the facts that it knows no other source of."""
    if not artifacts or content.of(t.artifacts):
        return content  # it was learned from artifacts of its own
    rows = dict(content.rows) | _without_words(content, artifacts)
    for table in (t.entity_artifacts, t.edge_artifacts):
        rows[table.name] = [link for link in content.of(table) if link["artifact_id"] not in artifacts]
    stated = {link["edge_id"] for link in rows[t.edge_artifacts.name]}
    rows[t.edges.name] = [row for row in rows.get(t.edges.name, []) if row["id"] in stated]
    ends = {row[end] for row in rows[t.edges.name] for end in ("source_id", "target_id")}
    ends |= {link["entity_id"] for link in rows[t.entity_artifacts.name]}
    if "merge" not in content.changes:
        rows[t.entities.name] = [row for row in rows.get(t.entities.name, []) if row["id"] in ends]
    known = {t.edge_versions.name: ("edge_id", stated), t.entity_versions.name: ("entity_id", ends)}
    for name, (key, kept) in known.items():
        rows[name] = [row for row in rows.get(name, []) if row[key] in kept]
    return Content({name: rows[name] for name in content.rows}, content.changes)


def _without_words(content: Content, artifacts: set[int]) -> dict[str, Rows]:
    """Facts without the sentence that these artifacts hold, and entities without the descriptions that came with them:
    a version keeps what was said until its commit."""
    silent = {"description": "", "artifact_id": None}
    edges = [row | silent if row["artifact_id"] in artifacts else row for row in content.of(t.edges)]
    links = content.of(t.entity_artifacts)
    said = {(link["entity_id"], link["seq"]) for link in links if link["artifact_id"] in artifacts}
    begun = {row["id"]: row["created_seq"] for row in content.of(t.entities)}
    versions: Rows = []
    for row in sorted(content.of(t.entity_versions), key=lambda row: (row["entity_id"], row["seq"])):
        id_ = row["entity_id"]
        versions.append(row | {"description": ""} if (id_, begun.get(id_)) in said else row)
        begun[id_] = row["seq"]
    entities = [
        row | {"description": "", "desc_key": ""} if (row["id"], begun[row["id"]]) in said else row
        for row in content.of(t.entities)
    ]
    return {t.edges.name: edges, t.entity_versions.name: versions, t.entities.name: entities}


# Whole datasets -------------------------------------------------------------------------------------------------------


def _datasets(connection: Connection, tombstone: Tombstone, now: datetime) -> list[int]:
    """Deletes the datasets that the tombstone hides, with all that hangs off them, and what is logged of them."""
    d, user_id = t.datasets, tombstone.user_id
    whole = tombstone.scope == "user"
    hidden = d.c.forgotten_id > 0 if whole else d.c.forgotten_id == tombstone.id
    mine = (d.c.user_id == user_id) & hidden
    ids = [int(i) for i in connection.execute(sa.select(d.c.id).where(mine)).scalars()]
    r, e = t.runs, t.events
    until = (r.c.user_id == user_id) & (r.c.created_at <= tombstone.created_at)
    if whole:
        connection.execute(sa.delete(r).where(until))
        connection.execute(sa.delete(e).where(e.c.user_id == user_id, e.c.created_at <= tombstone.created_at))
        connection.execute(sa.delete(t.idempotent_writes).where(t.idempotent_writes.c.user_id == user_id))
        _emptied(connection, (t.tombstones.c.user_id == user_id) & (t.tombstones.c.id < tombstone.id), now)
    else:
        connection.execute(sa.delete(r).where(until, r.c.dataset == tombstone.dataset))
        _emptied(connection, t.tombstones.c.dataset_id.in_(ids) & t.tombstones.c.content.is_not(None), now)
    connection.execute(sa.delete(d).where(d.c.id.in_(ids)))
    return ids
