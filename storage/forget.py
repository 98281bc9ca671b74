"""SqlForgetting: what is forgotten moves from its tables to a tombstone, so that every reader is right at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.errors import InvalidRequest, NotFound, UnknownDataset
from core.graph import Dataset
from core.ports import Order, Removal, Tombstone
from storage import tables as t
from storage.database import Database
from storage.journal import touched
from storage.merge import merge
from storage.outbox import VectorOutbox
from storage.purge import Purging
from storage.removal import digest, finish, new_tombstone, number, order_dataset, secure_delete, tombstone_row
from storage.retime import CommitOf, affected, closers_of, retime, told
from storage.tombstones import (
    TOMBSTONE,
    Content,
    Rows,
    batches,
    delete_of,
    ids_of,
    one_tombstone,
    removed,
    rows_of,
    tombstone_of,
)
from storage.undo import undo
from storage.wording import INDEX_OF, all_descriptions, embed_again, forget_vectors, reworded_facts, undescribed
from storage.write import next_commit

_BY_SCOPE = {"artifact": t.artifacts, "entity": t.entities, "edge": t.edges}


class SqlForgetting:
    """core.ports.Forgetting on SQLAlchemy, with the vectors of what is purged."""

    def __init__(self, database: Database, outbox: VectorOutbox) -> None:
        self.database = database
        self.purging = Purging(database, outbox)

    async def forget(self, order: Order) -> Removal:
        work = _forget_datasets if order.scope in ("dataset", "user") else _forget_rows
        if order.dry_run:
            return await self.database.read(lambda connection: work(connection, order))
        return await self.database.write(lambda connection: work(connection, order))

    async def merge(self, order: Order) -> Removal:
        if order.dry_run:
            return await self.database.read(lambda connection: merge(connection, order))
        return await self.database.write(lambda connection: merge(connection, order))

    async def undo(self, user_id: str, tombstone_id: int, clock: Callable[[], datetime]) -> Removal:
        return await self.database.write(lambda connection: undo(connection, user_id, tombstone_id, clock))

    async def purge(self, user_id: str, tombstone_id: int, clock: Callable[[], datetime]) -> Tombstone:
        return await self.purging.purge(user_id, tombstone_id, clock)

    async def tombstones(self, user_id: str, *, dataset: str | None, before: int | None, limit: int) -> list[Tombstone]:
        c = t.tombstones.c
        mine = c.user_id == user_id
        if dataset is not None:
            mine &= c.dataset == dataset
        if before is not None:
            mine &= c.id < before
        select = TOMBSTONE.where(mine).order_by(c.id.desc()).limit(limit)
        return await self.database.read(lambda connection: [tombstone_of(row) for row in connection.execute(select)])


# Rows of one dataset --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Going:
    """What goes, by id; `session` is one whose links go from what stays too."""

    artifacts: set[int] = field(default_factory=set[int])
    entities: set[int] = field(default_factory=set[int])
    edges: set[int] = field(default_factory=set[int])
    session: str | None = None

    @property
    def counts(self) -> dict[str, int]:
        return {"artifacts": len(self.artifacts), "entities": len(self.entities), "edges": len(self.edges)}


def _forget_rows(connection: Connection, order: Order) -> Removal:
    dataset = order_dataset(connection, order)
    going = _going(connection, dataset.id, order)
    removal = Removal(
        going.counts,
        digest(order, going.counts, dataset.head_seq, going.artifacts, going.entities, going.edges),
        None,
        dataset,
    )
    order.allow(removal)
    if order.dry_run:
        return Removal({**going.counts, **_dry(connection, dataset, going)}, removal.digest, None, dataset)
    return _Forget(connection, order, dataset, going, removal.digest).run()


def _going(connection: Connection, dataset_id: int, order: Order) -> _Going:
    """The rows that the order names, and those that they alone support."""
    a, e = t.artifacts, t.edges
    if order.scope in _BY_SCOPE:
        _require_row(connection, dataset_id, order)
    if order.scope == "edge":
        return _Going(edges={number(order)})
    if order.scope == "entity":
        entity_id = number(order)
        touching = (e.c.source_id == entity_id) | (e.c.target_id == entity_id)
        mine = sa.select(e.c.id).where(e.c.dataset_id == dataset_id, touching)
        return _Going(entities={entity_id}, edges=set(connection.execute(mine).scalars()))
    named = {
        "artifact": lambda: a.c.id == number(order),
        "run": lambda: a.c.run_id == number(order),
        "session": lambda: a.c.session_id == str(order.target),
    }[order.scope]()
    roots = set(connection.execute(sa.select(a.c.id).where(a.c.dataset_id == dataset_id, named)).scalars())
    going = _Going(_with_parts(connection, roots), session=str(order.target) if order.scope == "session" else None)
    if not roots and not (going.session and _has_links(connection, dataset_id, going.session)):
        raise NotFound(f"id: there is no such {order.scope} in the dataset", param="id")
    going.edges = _unsupported(connection, t.edge_artifacts, t.edge_artifacts.c.edge_id, going.artifacts)
    lonely = _unsupported(connection, t.entity_artifacts, t.entity_artifacts.c.entity_id, going.artifacts)
    going.entities = lonely - _ends_of_others(connection, lonely, going.edges)
    return going


def _require_row(connection: Connection, dataset_id: int, order: Order) -> None:
    table = _BY_SCOPE[order.scope]
    mine = (table.c.id == number(order)) & (table.c.dataset_id == dataset_id)
    row = connection.execute(sa.select(table).where(mine)).one_or_none()
    if row is None:
        raise NotFound(f"id: there is no such {order.scope} in the dataset", param="id")
    if order.scope == "artifact" and row.kind == "chunk":
        raise InvalidRequest(f"id: is a chunk of artifact {row.parent_id}; forget that one", param="id")


def _with_parts(connection: Connection, roots: set[int]) -> set[int]:
    """The artifacts with their chunks and summaries."""
    found, frontier = set(roots), roots
    while frontier:
        frontier = ids_of(connection, _parts, frontier) - found
        found |= frontier
    return found


def _parts(artifacts: list[int]) -> sa.Select[int]:
    return sa.select(t.artifacts.c.id).where(t.artifacts.c.parent_id.in_(artifacts))


def _has_links(connection: Connection, dataset_id: int, session_id: str) -> bool:
    def some(table: sa.Table) -> bool:
        mine = (table.c.dataset_id == dataset_id) & (table.c.session_id == session_id)
        return connection.execute(sa.select(table.c.session_id).where(mine).limit(1)).first() is not None

    return some(t.entity_sessions) or some(t.edge_sessions) or some(t.artifact_sessions)


def _unsupported(connection: Connection, table: sa.Table, key: sa.Column[int], artifacts: set[int]) -> set[int]:
    """The rows that nothing but these artifacts supports."""
    supported: dict[int, bool] = {}
    linked = ids_of(connection, lambda ids: sa.select(key).where(table.c.artifact_id.in_(ids)), artifacts)
    for some in batches(linked):
        for row_id, artifact_id in connection.execute(sa.select(key, table.c.artifact_id).where(key.in_(some))):
            supported[row_id] = supported.get(row_id, False) or artifact_id not in artifacts
    return {row_id for row_id, has_other in supported.items() if not has_other}


def _ends_of_others(connection: Connection, entities: set[int], edges: set[int]) -> set[int]:
    """Of these entities, the ends of facts that stay."""
    e = t.edges
    found: set[int] = set()
    for column in (e.c.source_id, e.c.target_id):
        for some in batches(entities):
            rows = connection.execute(sa.select(column, e.c.id).where(column.in_(some)))
            found |= {int(end) for end, edge_id in rows if edge_id not in edges}
    return found


def _dry(connection: Connection, dataset: Dataset, going: _Going) -> dict[str, int]:
    """What a dry run can tell beside the rows: how many vectors go with them."""
    return {"vectors": sum(len(ids) for ids in _indexed(connection, going).values()) if dataset.embedding_model else 0}


def _indexed(connection: Connection, going: _Going) -> dict[str, set[int]]:
    """The rows that go and that may have a vector, by index."""
    refs: dict[str, set[int]] = {"entities": set(going.entities), "edges": set(going.edges)}
    for some in batches(going.artifacts):
        kinds = sa.select(t.artifacts.c.id, t.artifacts.c.kind).where(t.artifacts.c.id.in_(some))
        for artifact_id, kind in connection.execute(kinds):
            if kind in INDEX_OF:
                refs.setdefault(INDEX_OF[kind], set()).add(artifact_id)
    return refs


class _Forget:
    """One forget on its way: read, kept, deleted, and what it leaves mended."""

    def __init__(self, connection: Connection, order: Order, dataset: Dataset, going: _Going, word: str) -> None:
        self.connection = connection
        self.order = order
        self.going = going
        self.word = word
        taken = next_commit(connection, order.user_id, order.dataset, order.clock)
        assert taken is not None  # its row is locked
        self.dataset, now = taken
        self.commit = CommitOf(dataset.id, self.dataset.head_seq, now)
        self.gone = frozenset(going.artifacts)

    def run(self) -> Removal:
        secure_delete(self.connection)
        going, connection = self.going, self.connection
        linked = _linked(connection, t.edge_artifacts, t.edge_artifacts.c.edge_id, self.gone)
        named = _linked(connection, t.entity_artifacts, t.entity_artifacts.c.entity_id, self.gone)
        edges = rows_of(connection, t.edges, t.edges.c.id, going.edges | linked)
        edges_going = [row for row in edges if row["id"] in going.edges]
        content = self._content(edges, named)
        triples = {(e["source_id"], e["target_id"], e["relation"]) for e in edges if e["id"] in going.edges}
        closed = closers_of(connection, going.edges)
        changing = affected(
            connection,
            self.dataset.id,
            edges=going.edges,
            artifacts=self.gone,
            triples=triples,
            ghosts=removed(connection, self.dataset.id).ghosts,
        )
        facts = told(connection, changing, self.gone)
        facts_before = [{name: row[name] for name in ("id", "artifact_id", "description")} for row in edges_going]
        before, poorer = reworded_facts(connection, linked - going.edges, self.gone)
        taken, changed = undescribed(connection, named - going.entities, self.gone)
        taken += all_descriptions(content.of(t.entities), content.of(t.entity_versions), going.entities)
        content.changes.update(facts=[*before, *facts_before], descriptions=taken)
        refs = _indexed(connection, going)
        ids = {name: sorted(getattr(going, name)) for name in ("artifacts", "entities", "edges")}
        tombstone_id = new_tombstone(connection, self.order, self.commit, "forget", {**ids, "closers": closed}, content)
        self._delete()
        counts = {**going.counts, "reopened": retime(connection, self.commit, facts)}
        counts["vectors"] = self._vectors(refs, poorer, changed)
        marked = {row["edge_id"] for row in content.of(t.edge_sessions)}
        rows = touched(
            entities=going.entities | {row["id"] for row in taken},
            edges=going.edges | linked | changing | marked,
            artifacts=going.artifacts,
        )
        finish(connection, self.commit, tombstone_id, "forget", counts, rows)
        return Removal(counts, self.word, one_tombstone(connection, self.order.user_id, tombstone_id), self.dataset)

    def _content(self, edges: Rows, named: set[int]) -> Content:
        """All that the rows say, and those that stay but rest on the same artifacts too: they come back with them,
        should they go meanwhile. Without words of others, which are not this one's to keep."""
        connection, going = self.connection, self.going
        ids = {row["id"] for row in edges}
        ends = {end for row in edges for end in (row["source_id"], row["target_id"])}
        entities = rows_of(connection, t.entities, t.entities.c.id, going.entities | named | ends)
        for row in entities:
            if row["id"] not in going.entities:
                row.update(description="", desc_key="")
        for row in edges:
            if row["id"] not in going.edges and row["artifact_id"] not in self.gone:
                row.update(description="", artifact_id=None)
        rows: dict[str, Rows] = {
            t.artifacts.name: rows_of(connection, t.artifacts, t.artifacts.c.id, self.gone),
            t.images.name: rows_of(connection, t.images, t.images.c.artifact_id, self.gone),
            t.entities.name: entities,
            t.edges.name: edges,
            t.edge_versions.name: rows_of(connection, t.edge_versions, t.edge_versions.c.edge_id, ids),
        }
        v, aliases = t.entity_versions, t.aliases
        rows[v.name] = rows_of(connection, v, v.c.entity_id, going.entities)
        rows[aliases.name] = rows_of(connection, aliases, aliases.c.entity_id, going.entities)
        for links, key, mine in (
            (t.entity_artifacts, t.entity_artifacts.c.entity_id, going.entities),
            (t.edge_artifacts, t.edge_artifacts.c.edge_id, going.edges),
        ):
            found = rows_of(connection, links, links.c.artifact_id, self.gone) + rows_of(connection, links, key, mine)
            rows[links.name] = list({tuple(row.items()): row for row in found}.values())
        rows[t.entity_sessions.name] = self._session_links(t.entity_sessions, "entity_id", going.entities)
        rows[t.edge_sessions.name] = self._session_links(t.edge_sessions, "edge_id", going.edges)
        rows[t.artifact_sessions.name] = self._session_links(t.artifact_sessions, "artifact_id", self.gone)
        return Content(rows)

    def _session_links(self, table: sa.Table, key: str, ids: set[int] | frozenset[int]) -> Rows:
        found = rows_of(self.connection, table, table.c[key], ids)
        if self.going.session is not None:
            mine = (table.c.dataset_id == self.dataset.id) & (table.c.session_id == self.going.session)
            rows = self.connection.execute(sa.select(table).where(mine)).mappings()
            found += [dict(row) for row in rows if row[key] not in ids]
        return found

    def _delete(self) -> None:
        """Links, versions and images go with their rows."""
        connection, going = self.connection, self.going
        delete_of(connection, t.edges, t.edges.c.id, going.edges)
        delete_of(connection, t.entities, t.entities.c.id, going.entities)
        delete_of(connection, t.artifacts, t.artifacts.c.id, going.artifacts)
        if going.session is not None:
            for table in (t.entity_sessions, t.edge_sessions, t.artifact_sessions):
                mine = (table.c.dataset_id == self.dataset.id) & (table.c.session_id == going.session)
                connection.execute(sa.delete(table).where(mine))

    def _vectors(self, refs: dict[str, set[int]], edges: set[int], entities: set[int]) -> int:
        """Orders the vectors of what went out of the index, and new ones for what says less now."""
        indexed = self.dataset.embedding_model is not None
        ordered = forget_vectors(self.connection, self.commit, refs, indexed=indexed)
        embed_again(self.connection, self.commit, entities, edges, indexed=indexed)
        return ordered


def _linked(connection: Connection, table: sa.Table, key: sa.Column[int], artifacts: Iterable[int]) -> set[int]:
    return ids_of(connection, lambda ids: sa.select(key).where(table.c.artifact_id.in_(ids)), artifacts)


# Whole datasets -------------------------------------------------------------------------------------------------------


def _forget_datasets(connection: Connection, order: Order) -> Removal:
    """Hides a dataset, or all of a user's: their names are free at once."""
    d = t.datasets
    mine = (d.c.user_id == order.user_id) & (d.c.forgotten_id == 0)
    if order.scope == "dataset":
        mine &= d.c.name == order.dataset
    select = sa.select(d.c.id, d.c.name, d.c.head_seq).where(mine).order_by(d.c.id)
    found = connection.execute(select if order.dry_run else select.with_for_update()).all()
    if not found:
        missing = "dataset: not found" if order.scope == "dataset" else "scope: the user has no dataset"
        raise UnknownDataset(missing, param="dataset" if order.scope == "dataset" else "scope")
    ids = [int(row.id) for row in found]
    counts = _counts(connection, ids)
    word = digest(order, counts, [list(row) for row in found])
    order.allow(Removal(counts, word))
    if order.dry_run:
        return Removal(counts, word)
    now = order.clock()
    row = tombstone_row(order, "forget", now, {"datasets": ids}, counts)
    if order.scope == "dataset":
        row["dataset_id"] = ids[0]
    tombstone_id = int(connection.execute(sa.insert(t.tombstones).returning(t.tombstones.c.id), [row]).scalar_one())
    connection.execute(sa.update(d).where(d.c.id.in_(ids)).values(forgotten_id=tombstone_id))
    # Their names are free: what was written under a key is no answer for what is written now.
    w = t.idempotent_writes
    names = {row.name for row in found}
    connection.execute(sa.delete(w).where(w.c.user_id == order.user_id, w.c.dataset.in_(names)))
    return Removal(counts, word, one_tombstone(connection, order.user_id, tombstone_id))


def _counts(connection: Connection, dataset_ids: list[int]) -> dict[str, int]:
    def count(table: sa.Table) -> int:
        rows = sa.select(sa.func.count()).select_from(table).where(table.c.dataset_id.in_(dataset_ids))
        return int(connection.execute(rows).scalar_one())

    rows = {"artifacts": count(t.artifacts), "entities": count(t.entities), "edges": count(t.edges)}
    triples = {"triples": loaded} if (loaded := count(t.quads)) else {}
    return {**rows, **triples, "datasets": len(dataset_ids)}
