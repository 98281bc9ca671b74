"""Undo: what a tombstone holds comes back under its ids, as far as nothing else speaks against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.errors import Conflict, NotFound
from core.graph import Dataset
from core.ports import Removal, Tombstone
from storage import tables as t
from storage.journal import Touched, commit_row, touched
from storage.merge import unmerge
from storage.retime import CommitOf, affected, retime, told
from storage.rows import DATASET, dataset_of
from storage.tombstones import (
    Content,
    Rows,
    batches,
    content_of,
    ids_of,
    inserted,
    one_tombstone,
    removed,
)
from storage.wording import described_again, embed_again, worded_again
from storage.write import insert_or_ignore, next_commit


def undo(connection: Connection, user_id: str, tombstone_id: int, clock: Callable[[], datetime]) -> Removal:
    """Brings back what the tombstone holds."""
    tombstone = one_tombstone(connection, user_id, tombstone_id)
    if tombstone is None:
        raise NotFound("tombstone_id: there is no such tombstone", param="tombstone_id")
    _refuse_what_is_over(tombstone, clock())
    if tombstone.scope in ("dataset", "user"):
        counts = _datasets_back(connection, tombstone)
        return _undone(connection, tombstone, counts, clock(), None)
    dataset = _dataset(connection, tombstone)
    taken = next_commit(connection, user_id, dataset.name, clock)
    assert taken is not None  # read in this transaction
    dataset, now = taken
    commit = CommitOf(dataset.id, dataset.head_seq, now)
    content = content_of(connection, tombstone_id)
    # From here on it counts as undone: what it took away may come back.
    connection.execute(sa.update(t.tombstones).where(t.tombstones.c.id == tombstone_id).values(undone_at=now))
    if tombstone.action == "merge":
        counts, rows = unmerge(connection, dataset, commit, content, tombstone_id)
    else:
        counts, rows = _Undo(connection, dataset, commit, content, tombstone).run()
    commit_row(connection, commit, "undo", counts, rows)
    return _undone(connection, tombstone, counts, now, dataset)


def _refuse_what_is_over(tombstone: Tombstone, now: datetime) -> None:
    which = f"tombstone {tombstone.id}"
    if tombstone.purged_at is not None:
        raise Conflict(f"{which} was purged; nothing of it is left")
    if tombstone.undone_at is not None:
        raise Conflict(f"{which} was undone already")
    if tombstone.undo_until is not None and tombstone.undo_until < now:
        raise Conflict(f"{which} can't be undone any more; its time is over")


def _undone(
    connection: Connection, tombstone: Tombstone, counts: Mapping[str, int], now: datetime, dataset: Dataset | None
) -> Removal:
    values = {"undone_at": now, "content": None}
    connection.execute(sa.update(t.tombstones).where(t.tombstones.c.id == tombstone.id).values(values))
    return Removal(counts, "", replace(tombstone, undone_at=now), dataset)


def _dataset(connection: Connection, tombstone: Tombstone) -> Dataset:
    row = connection.execute(DATASET.where(t.datasets.c.id == tombstone.dataset_id)).one_or_none()
    if row is None:
        raise Conflict(f"dataset {tombstone.dataset!r} was forgotten since; undo that first")
    return dataset_of(row)


def _datasets_back(connection: Connection, tombstone: Tombstone) -> dict[str, int]:
    d = t.datasets
    mine = (d.c.user_id == tombstone.user_id) & (d.c.forgotten_id == tombstone.id)
    names = set(connection.execute(sa.select(d.c.name).where(mine)).scalars())
    there = sa.select(d.c.name).where(d.c.user_id == tombstone.user_id, d.c.forgotten_id == 0, d.c.name.in_(names))
    if taken := sorted(connection.execute(there).scalars()):
        raise Conflict(f"there is a new dataset {taken[0]!r} by now; forget that one first")
    connection.execute(sa.update(d).where(mine).values(forgotten_id=0))
    return dict(tombstone.counts)


class _Undo:
    """One forget on its way back."""

    def __init__(
        self, connection: Connection, dataset: Dataset, commit: CommitOf, content: Content, tombstone: Tombstone
    ) -> None:
        self.connection = connection
        self.dataset = dataset
        self.commit = commit
        self.content = content
        self.tombstone = tombstone
        self.gone = removed(connection, dataset.id)
        self.entity_ids: dict[int, int] = {}
        """Which entity stands now where one stood, by the ids of then."""
        self.edge_ids: dict[int, int] = {}

    def run(self) -> tuple[dict[str, int], Touched]:
        """How many rows came back, and all that changed with them."""
        self._refuse_what_rests_on_nothing()
        artifacts = self._artifacts()
        entities = self._entities()
        edges = self._edges()
        self._links()
        self._aliases()
        descriptions = self._mapped("descriptions", self.entity_ids)
        described = described_again(self.connection, descriptions)
        worded = worded_again(self.connection, self._mapped("facts", self.edge_ids))
        triples = {(e["source_id"], e["target_id"], e["relation"]) for e in self._placed(edges)}
        changing = affected(
            self.connection,
            self.dataset.id,
            edges=edges,
            artifacts=artifacts,
            triples=triples,
            ghosts=self.gone.ghosts,
        )
        before = _open(self.connection, changing)
        retime(self.connection, self.commit, told(self.connection, changing | edges))
        indexed = self.dataset.embedding_model is not None
        embed_again(self.connection, self.commit, entities | described, edges | worded, artifacts, indexed=indexed)
        counts = {
            "artifacts": len(artifacts),
            "entities": len(entities),
            "edges": len(edges),
            "closed": len(before - _open(self.connection, changing)),
        }
        return counts, touched(
            entities=entities | {row["id"] for row in descriptions},
            edges=edges | changing | set(self.edge_ids.values()),
            artifacts=artifacts,
        )

    # Rows -------------------------------------------------------------------------------------------------------------

    def _artifacts(self) -> set[int]:
        """The artifacts again, without those of an image that was told again meanwhile."""
        rows = self.content.of(t.artifacts)
        doubled = self._images_told_again()
        back = {row["id"] for row in rows} - doubled
        names = {row["external_id"] for row in rows if row["external_id"]}
        a = t.artifacts
        taken: set[str] = set()
        if names:
            there = sa.select(a.c.external_id).where(a.c.dataset_id == self.dataset.id, a.c.external_id.in_(names))
            taken = set(self.connection.execute(there).scalars())
        for row in sorted(rows, key=lambda row: row["id"]):  # parents before what hangs off them
            if row["id"] in back:
                row["external_id"] = None if row["external_id"] in taken else row["external_id"]
                inserted(self.connection, a, [row])
        inserted(self.connection, t.images, [r for r in self.content.of(t.images) if r["artifact_id"] in back])
        return back

    def _images_told_again(self) -> set[int]:
        i = t.images
        found: set[int] = set()
        for row in self.content.of(i):
            same = (i.c.dataset_id == self.dataset.id) & (i.c.sha256 == row["sha256"])
            if self.connection.execute(sa.select(i.c.artifact_id).where(same)).first():
                found.add(row["artifact_id"])
        return found

    def _entities(self) -> set[int]:
        """The entities that are not there, again. One whose name and type are taken by now is that one."""
        e = t.entities
        rows = self.content.of(e)
        there = ids_of(self.connection, lambda ids: sa.select(e.c.id).where(e.c.id.in_(ids)), (r["id"] for r in rows))
        back: Rows = []
        for row in rows:
            if row["id"] in there:
                self.entity_ids[row["id"]] = row["id"]
            elif row["id"] in self.gone.forgotten_entities:
                continue
            elif (other := self._stands_for(row)) is not None:
                self.entity_ids[row["id"]] = other
            else:
                self.entity_ids[row["id"]] = row["id"]
                back.append(row)
        inserted(self.connection, e, back)
        ids = {row["id"] for row in back}
        v = t.entity_versions
        inserted(self.connection, v, [row for row in self.content.of(v) if row["entity_id"] in ids])
        return ids

    def _stands_for(self, row: Mapping[str, Any]) -> int | None:
        """The entity that one was merged into, or that was told under its name since."""
        e, a = t.entities, t.aliases
        former = sa.select(a.c.entity_id).where(a.c.former_id == row["id"])
        same = (e.c.dataset_id == self.dataset.id) & (e.c.name_key == row["name_key"]) & (e.c.type == row["type"])
        for select in (former, sa.select(e.c.id).where(same)):
            if (found := self.connection.execute(select).scalar()) is not None:
                return int(found)
        return None

    def _edges(self) -> set[int]:
        """The facts that are not there, again. One that is told again since, and open, is that one."""
        e = t.edges
        rows = self.content.of(e)
        there = ids_of(self.connection, lambda ids: sa.select(e.c.id).where(e.c.id.in_(ids)), (r["id"] for r in rows))
        back: Rows = []
        for row in rows:
            source, target = self.entity_ids.get(row["source_id"]), self.entity_ids.get(row["target_id"])
            taken_up = self._taken_up_by(row["id"])
            if row["id"] in there:
                self.edge_ids[row["id"]] = row["id"]
            elif taken_up is not None:
                self.edge_ids[row["id"]] = taken_up
            elif source is None or target is None or not self._may_come_back(row["id"]):
                continue
            else:
                row |= {"source_id": source, "target_id": target}
                same = self._same_open(row)
                self.edge_ids[row["id"]] = same or row["id"]
                if same is None:
                    back.append(row)
                    inserted(self.connection, e, [_with_artifact(self.connection, row)])
        ids = {row["id"] for row in back}
        v = t.edge_versions
        inserted(self.connection, v, [row for row in self.content.of(v) if row["edge_id"] in ids])
        return ids

    def _taken_up_by(self, edge_id: int) -> int | None:
        """The fact that one was merged into, and that is there."""
        seen: set[int] = set()
        while edge_id in self.gone.merged and edge_id not in seen:
            seen.add(edge_id)
            edge_id = self.gone.merged[edge_id]
        there = self.connection.execute(sa.select(t.edges.c.id).where(t.edges.c.id == edge_id)).first()
        return edge_id if seen and there else None

    def _same_open(self, row: Mapping[str, Any]) -> int | None:
        if row["invalid_at"] is not None or row["expired_at"] is not None:
            return None
        e = t.edges
        same = sa.and_(*(e.c[n] == row[n] for n in ("dataset_id", "source_id", "target_id", "relation")))
        is_open = e.c.invalid_at.is_(None) & e.c.expired_at.is_(None)
        found = self.connection.execute(sa.select(e.c.id).where(same, is_open)).scalar()
        return None if found is None else int(found)

    def _may_come_back(self, edge_id: int) -> bool:
        """Whether an artifact that is there states it, and nobody forgot it as such."""
        if edge_id in self.gone.forgotten_edges:
            return False
        by = [link["artifact_id"] for link in self.content.of(t.edge_artifacts) if link["edge_id"] == edge_id]
        a = t.artifacts
        return bool(ids_of(self.connection, lambda ids: sa.select(a.c.id).where(a.c.id.in_(ids)), by))

    def _refuse_what_rests_on_nothing(self) -> None:
        """A fact that was forgotten as such can't come back before the artifacts that state it."""
        if self.tombstone.scope not in ("entity", "edge"):
            return
        for link in (*self.content.of(t.edge_artifacts), *self.content.of(t.entity_artifacts)):
            holder = self.gone.artifacts.get(link["artifact_id"])
            other = one_tombstone(self.connection, self.tombstone.user_id, holder) if holder else None
            if other is not None and other.purged_at is None:
                raise Conflict(f"what it was learned from was forgotten too; undo tombstone {holder} first")

    # What hangs off them ----------------------------------------------------------------------------------------------

    def _links(self) -> None:
        """Links whose two ends are there."""
        linked = (t.entity_artifacts, t.edge_artifacts, t.artifact_sessions)
        artifacts = {row["artifact_id"] for table in linked for row in self.content.of(table)}
        a = t.artifacts
        there = ids_of(self.connection, lambda ids: sa.select(a.c.id).where(a.c.id.in_(ids)), artifacts)
        for table, key, ids in (
            (t.entity_artifacts, "entity_id", self.entity_ids),
            (t.edge_artifacts, "edge_id", self.edge_ids),
            (t.entity_sessions, "entity_id", self.entity_ids),
            (t.edge_sessions, "edge_id", self.edge_ids),
            (t.artifact_sessions, "artifact_id", dict(zip(there, there, strict=True))),
        ):
            rows = [
                row | {key: ids[row[key]]}
                for row in self.content.of(table)
                if row.get("artifact_id", None) in there or "artifact_id" not in row
                if row[key] in ids
            ]
            if rows:
                primary = [column.name for column in table.primary_key]
                self.connection.execute(insert_or_ignore(self.connection.dialect.name, table, *primary), rows)

    def _aliases(self) -> None:
        rows = [row for row in self.content.of(t.aliases) if self.entity_ids.get(row["entity_id"]) == row["entity_id"]]
        if rows:
            self.connection.execute(insert_or_ignore(self.connection.dialect.name, t.aliases, "former_id"), rows)

    def _mapped(self, what: str, ids: Mapping[int, int]) -> Rows:
        return [row | {"id": ids[row["id"]]} for row in self.content.changes.get(what, ()) if row["id"] in ids]

    def _placed(self, edges: set[int]) -> Rows:
        return [row for row in self.content.of(t.edges) if row["id"] in edges]


def _with_artifact(connection: Connection, row: Mapping[str, Any]) -> dict[str, Any]:
    """The row, naming its artifact only where that one is there."""
    a = t.artifacts
    there = connection.execute(sa.select(a.c.id).where(a.c.id == row["artifact_id"])).first()
    return dict(row) if there else {**row, "artifact_id": None}


def _open(connection: Connection, edge_ids: set[int]) -> set[int]:
    e = t.edges
    is_open = e.c.invalid_at.is_(None) & e.c.expired_at.is_(None)
    return {
        int(i)
        for some in batches(edge_ids)
        for i in connection.execute(sa.select(e.c.id).where(e.c.id.in_(some), is_open)).scalars()
    }
