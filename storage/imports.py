"""The rows of a document into the tables: one transaction, ids and commit numbers of their own, repeats merged."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from core.errors import Conflict
from core.graph import Edge, EntityRef, StatedEdge, entity_text
from core.imports.document import Document, Imported, Rows
from core.reconcile import Triple
from core.temporal import Closing, Settlement, exact_repeat
from core.text import fold, name_key
from storage import tables as t
from storage.database import Database
from storage.ids import new_ids
from storage.imported_triples import import_triples
from storage.names import named
from storage.rows import SAME, at_triples, edge_of
from storage.triples import nodes_of
from storage.write import insert_or_ignore, next_commit


class SqlImports:
    """core.ports.Imports on SQLAlchemy."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def load(self, user_id: str, dataset: str, document: Document, clock: Callable[[], datetime]) -> Imported:
        def work(connection: Connection) -> Imported:
            return _Import(connection, user_id, dataset, document, clock).run()

        try:
            return await self.database.write(work)
        except IntegrityError as failure:
            raise Conflict("another process wrote the same rows meanwhile; nothing was imported") from failure


class _Import:
    """One document on its way in. What was a number in the document is looked up in `artifact_ids` and so on: the row
    that stands for it here, new or not."""

    def __init__(
        self, connection: Connection, user_id: str, name: str, document: Document, clock: Callable[[], datetime]
    ) -> None:
        self.connection = connection
        self.document = document
        fresh = {"user_id": user_id, "name": name, "head_seq": 0, "created_at": clock()}
        self._add_or_ignore(t.datasets, [fresh], "user_id", "name", "forgotten_id")
        taken = next_commit(connection, user_id, name, clock)
        assert taken is not None  # it was made in this transaction
        self.dataset, self.now = taken
        self.before = self.dataset.head_seq - 1
        """The last commit before this one; those of the document are numbered on from here."""
        self.is_fresh = self.before == 0
        self.at = document.exported_at or self.now
        self.added: Counter[str] = Counter()
        self.merged: Counter[str] = Counter()
        self.queued = 0
        self.artifact_ids = new_ids(connection, t.artifacts, document.ids["artifacts"])
        former = (row["former_id"] for batch in document.rows("aliases") for row in batch)
        self.entity_ids = new_ids(connection, t.entities, [*document.ids["entities"], *former])
        self.edge_ids = new_ids(connection, t.edges, document.ids["edges"])
        self.kept: dict[str, set[int]] = {"artifacts": set(), "entities": set(), "edges": set()}
        """The ids of the new rows."""
        self.open: dict[Triple, int] = {}
        """The new facts that are open."""
        self.ended: dict[int, int] = {}
        """Facts of the document that ended a stored one, and which."""

    def run(self) -> Imported:
        self._models()
        self._artifacts()
        self._images()
        self._entities()
        self._edges()
        self._versions()
        self._links()
        self._aliases()
        self._triples()
        last = self.before + self.document.commits
        self._commits(last)
        head_at = self.at if self.is_fresh else self.now
        values = {"head_seq": last, "head_at": head_at}
        self.connection.execute(sa.update(t.datasets).where(t.datasets.c.id == self.dataset.id).values(values))
        return Imported(dict(self.added), dict(self.merged), self.queued, last)

    # Artifacts ------------------------------------------------------------------------------------------------------

    def _models(self) -> None:
        for batch in self.document.rows("models"):
            rows = [
                {"name": row["id"], "provider": row["provider"], "first_seen_at": self.now}
                for row in batch
                if row["provider"]
            ]
            self._add_or_ignore(t.models, rows, "name")

    def _artifacts(self) -> None:
        there = self._stored_artifacts()
        images = self._stored_images()
        for batch in self.document.rows("artifacts"):
            rows: Rows = []
            for artifact in batch:
                self._fill(artifact, "created_at", "valid_at")
                stored = images.get(artifact["id"]) or next(
                    (there[key].pop(0) for key in self._marks(artifact) if there.get(key)), None
                )
                if stored is not None:
                    self.artifact_ids[artifact["id"]] = stored
                    self.merged["artifacts"] += 1
                else:
                    rows.append(self._artifact_row(artifact))
            self._add(t.artifacts, "artifacts", rows)
            self._queue((row["index_name"], row["id"], _said(row)) for row in rows if row["index_name"])

    def _artifact_row(self, artifact: Mapping[str, Any]) -> dict[str, Any]:
        text = artifact["text"]
        searched = artifact["searched"]
        if searched is None:
            searched = artifact["kind"] != "chunk_summary"
        return {
            "id": self.artifact_ids[artifact["id"]],
            "dataset_id": self.dataset.id,
            "kind": artifact["kind"],
            "text": text or "",
            "text_key": fold(_said(artifact)) if searched and text is not None else None,
            "index_name": artifact["vector_index"] if text is not None else None,
            "parent_id": artifact["parent_id"] and self.artifact_ids[artifact["parent_id"]],
            "external_id": artifact["message_id"],
            "seq": self._seq(artifact["seq"]),
            **_times(artifact, "created_at", "valid_at"),
            **{name: artifact[name] for name in _AS_THEY_ARE},
        }

    def _marks(self, artifact: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """By what an artifact is known again: a message by its id, any by its moment, place and text."""
        marks: list[tuple[Any, ...]] = [("message", artifact["message_id"])] if artifact["message_id"] else []
        digest = _digest(artifact["text"]) if self.document.has_text else None
        return [
            *marks,
            (
                datetime.fromisoformat(artifact["created_at"]),
                datetime.fromisoformat(artifact["valid_at"]),
                artifact["kind"],
                artifact["chunk_index"],
                artifact["session_id"],
                digest,
            ),
        ]

    def _stored_artifacts(self) -> dict[tuple[Any, ...], list[int]]:
        """What is there already, by its marks."""
        there: dict[tuple[Any, ...], list[int]] = {}
        if self.is_fresh:
            return there
        a = t.artifacts.c
        columns = (a.id, a.external_id, a.created_at, a.valid_at, a.kind, a.chunk_index, a.session_id)
        text = (a.text,) if self.document.has_text else ()
        select = sa.select(*columns, *text).where(a.dataset_id == self.dataset.id).order_by(a.id)
        for row in self.connection.execute(select, execution_options={"yield_per": 500}):
            digest = _digest(row.text) if text else None
            if row.external_id:
                there[("message", row.external_id)] = [row.id]
            there.setdefault((*row[2:7], digest), []).append(row.id)
        return there

    def _stored_images(self) -> dict[int, int]:
        """The images of the document that the dataset holds already: their artifacts there and here."""
        i = t.images.c
        found: dict[int, int] = {}
        for batch in self.document.rows("images"):
            of = {row["sha256"]: row["artifact_id"] for row in batch}
            select = sa.select(i.sha256, i.artifact_id).where(i.dataset_id == self.dataset.id, i.sha256.in_(of))
            found |= {of[sha256]: int(stored) for sha256, stored in self.connection.execute(select)}
        return found

    def _images(self) -> None:
        for batch in self.document.rows("images"):
            rows: Rows = [
                {
                    **image,
                    "artifact_id": self.artifact_ids[image["artifact_id"]],
                    "dataset_id": self.dataset.id,
                    "theme": image["theme"] or "",
                    "title": image["title"] or "",
                    "blocks": image["blocks"] or [],
                    "content": base64.b64decode(image["content"]) if image["content"] else None,
                }
                for image in batch
                if self.artifact_ids[image["artifact_id"]] in self.kept["artifacts"]
            ]
            self._add(t.images, "images", rows)

    # Entities -------------------------------------------------------------------------------------------------------

    def _entities(self) -> None:
        for batch in self.document.rows("entities"):
            known = named(self.connection, self.dataset.id, {name_key(row["name"]) for row in batch})
            held = {ref: entity.id for ref, entity in known.items() if ref.type is not None}
            rows: Rows = []
            for entity in batch:
                self._fill(entity, "created_at", "updated_at")
                ref = EntityRef(name_key(entity["name"]), entity["type"])
                if ref in held:
                    self.entity_ids[entity["id"]] = held[ref]
                    self.merged["entities"] += 1
                    if ref in known:
                        self._describe(known[ref].id, entity)
                else:
                    rows.append(self._entity_row(entity, ref))
                    held[ref] = rows[-1]["id"]
            self._add(t.entities, "entities", rows)
            self._queue(("entities", r["id"], entity_text(r["name"], r["type"], r["description"])) for r in rows)

    def _entity_row(self, entity: Mapping[str, Any], ref: EntityRef) -> dict[str, Any]:
        return {
            "id": self.entity_ids[entity["id"]],
            "dataset_id": self.dataset.id,
            "name": entity["name"],
            "name_key": ref.key,
            "type": ref.type,
            "description": entity["description"],
            "desc_key": fold(entity["description"]),
            "model_id": entity["model_id"],
            "created_seq": self._seq(entity["created_seq"]),
            "text_seq": self._seq(entity["text_seq"]),
            **_times(entity, "created_at", "updated_at"),
        }

    def _describe(self, entity_id: int, told: Mapping[str, Any]) -> None:
        """The description that was written later stays."""
        e = t.entities
        stored = self.connection.execute(sa.select(e).where(e.c.id == entity_id)).one()
        updated_at = datetime.fromisoformat(told["updated_at"])
        values: dict[str, Any] = {"updated_at": max(stored.updated_at, updated_at)}
        newer = not stored.description or updated_at > stored.updated_at
        if told["description"] and told["description"] != stored.description and newer:
            seq, text = self._seq(told["text_seq"]), told["description"]
            version = {"entity_id": entity_id, "seq": seq, "dataset_id": self.dataset.id, "changed_at": self.now}
            version |= {name: getattr(stored, name) for name in ("name", "type", "description")}
            self._add_or_ignore(t.entity_versions, [version], "entity_id", "seq")
            values |= {"description": text, "desc_key": fold(text), "text_seq": seq}
            self._queue([("entities", entity_id, entity_text(stored.name, stored.type, text))])
        self.connection.execute(sa.update(e).where(e.c.id == entity_id).values(values))

    # Facts ----------------------------------------------------------------------------------------------------------

    def _edges(self) -> None:
        for batch in self.document.rows("edges"):
            for edge in batch:
                self._fill(edge, "created_at", "valid_at")
            same = self._same(batch)
            rows: Rows = []
            for edge in sorted(batch, key=lambda edge: edge["valid_at"]):
                held = same.setdefault(self._triple(edge), [])
                repeat = self._repeat(edge, held)
                if repeat is None:
                    rows.append(self._edge_row(edge))
                    if _is_open(edge):
                        self.open[self._triple(edge)] = rows[-1]["id"]
                else:
                    self._take_up(edge, repeat, held)
            self._add(t.edges, "edges", rows)
            self._queue(("edges", row["id"], row["description"]) for row in rows)
        self._closers()

    def _triple(self, edge: Mapping[str, Any]) -> Triple:
        return self.entity_ids[edge["source_id"]], self.entity_ids[edge["target_id"]], edge["relation"]

    def _same(self, batch: Rows) -> dict[Triple, list[Edge]]:
        """The facts with the ends and the relation of these that were there before the import."""
        same: dict[Triple, list[Edge]] = {}
        if self.is_fresh:
            return same
        values = at_triples(self.dataset.id, map(self._triple, batch))
        for edge in map(edge_of, self.connection.execute(SAME, values)):
            if edge.id not in self.kept["edges"]:
                same.setdefault((edge.source_id, edge.target_id, edge.relation), []).append(edge)
        return same

    def _repeat(self, edge: Mapping[str, Any], same: Sequence[Edge]) -> Settlement | None:
        """How a fact that is there takes this one up. Two of one document are different facts, unless both are open."""
        if _is_open(edge) and (twin := self.open.get(self._triple(edge))):
            return Settlement(merged_into=twin)
        return exact_repeat(_stated(edge), same)

    def _take_up(self, edge: Mapping[str, Any], repeat: Settlement, same: list[Edge]) -> None:
        """The fact that is there, with what the repeat adds: an end, or an earlier start."""
        assert repeat.merged_into is not None
        self.edge_ids[edge["id"]] = repeat.merged_into
        self.merged["edges"] += 1
        for change in repeat.changes:
            place = next(n for n, one in enumerate(same) if one.id == change.edge_id)
            same[place] = self._retimed(same[place], change, edge)

    def _retimed(self, stored: Edge, change: Closing, edge: Mapping[str, Any]) -> Edge:
        """Writes new times for a stored fact; the old ones stay readable."""
        seq = self._seq(edge["invalid_set_seq"] or edge["created_seq"])
        version = {"edge_id": stored.id, "seq": seq, "dataset_id": self.dataset.id, "changed_at": self.now}
        version |= {name: getattr(stored, name) for name in _TIMES_OF_AN_EDGE}
        self._add_or_ignore(t.edge_versions, [version], "edge_id", "seq")
        after = replace(stored, valid_at=change.valid_at, valid_at_source=change.valid_at_source)
        values: dict[str, Any] = {}
        if change.invalid_at != stored.invalid_at:
            source = edge["invalid_at_source"] or "stated"
            expired_at = self.now if edge["expired_at"] else None
            after = replace(after, invalid_at=change.invalid_at, invalid_at_source=source, expired_at=expired_at)
            values = {"invalid_set_at": self.now, "invalid_set_seq": seq, "expired_seq": seq if expired_at else None}
            self.ended[edge["id"]] = stored.id
        values |= {name: getattr(after, name) for name in _TIMES_OF_AN_EDGE}
        self.connection.execute(sa.update(t.edges).where(t.edges.c.id == stored.id).values(values))
        return after

    def _edge_row(self, edge: Mapping[str, Any]) -> dict[str, Any]:
        source_id, target_id, relation = self._triple(edge)
        return {
            "id": self.edge_ids[edge["id"]],
            "dataset_id": self.dataset.id,
            "source_id": source_id,
            "target_id": target_id,
            "relation": relation,
            "artifact_id": edge["artifact_id"] and self.artifact_ids[edge["artifact_id"]],
            "closed_by": None,
            **{name: edge[name] for name in _OF_AN_EDGE},
            **_times(edge, "valid_at", "invalid_at", "created_at", "expired_at", "invalid_set_at"),
            **{n: edge[n] and self._seq(edge[n]) for n in ("created_seq", "expired_seq", "invalid_set_seq")},
        }

    def _closers(self) -> None:
        """Which fact closed which, once all have their ids."""
        e = t.edges
        update = sa.update(e).where(e.c.id == sa.bindparam("row")).values(closed_by=sa.bindparam("closer"))
        for batch in self.document.rows("edges"):
            rows: Rows = []
            for edge in batch:
                here = self.edge_ids[edge["id"]]
                closed = here if here in self.kept["edges"] else self.ended.get(edge["id"])
                if edge["closed_by"] and closed is not None:
                    rows.append({"row": closed, "closer": self.edge_ids[edge["closed_by"]]})
            if rows:
                self.connection.execute(update, rows)

    # What hangs off them --------------------------------------------------------------------------------------------

    def _versions(self) -> None:
        for batch in self.document.rows("entity_versions"):
            rows = [
                self._mine(version, "entity_id", self.entity_ids)
                for version in batch
                if self.entity_ids[version["entity_id"]] in self.kept["entities"]
            ]
            self._add_or_ignore(t.entity_versions, rows, "entity_id", "seq")
        for batch in self.document.rows("edge_versions"):
            rows = [
                self._mine(version, "edge_id", self.edge_ids)
                | {"closed_by": version["closed_by"] and self.edge_ids[version["closed_by"]]}
                for version in batch
                if self.edge_ids[version["edge_id"]] in self.kept["edges"]
            ]
            self._add_or_ignore(t.edge_versions, rows, "edge_id", "seq")

    def _links(self) -> None:
        for table, key, ids in (
            (t.entity_artifacts, "entity_id", self.entity_ids),
            (t.edge_artifacts, "edge_id", self.edge_ids),
        ):
            for batch in self.document.rows(table.name.removeprefix("gb_")):
                rows = [
                    self._mine(link, key, ids) | {"artifact_id": self.artifact_ids[link["artifact_id"]]}
                    for link in batch
                ]
                self._add_or_ignore(table, rows, key, "artifact_id")
        for table, key, ids in (
            (t.entity_sessions, "entity_id", self.entity_ids),
            (t.edge_sessions, "edge_id", self.edge_ids),
        ):
            for batch in self.document.rows(table.name.removeprefix("gb_")):
                self._add_or_ignore(table, [self._mine(link, key, ids) for link in batch], key, "session_id")

    def _mine(self, row: dict[str, Any], key: str, ids: Mapping[int, int]) -> dict[str, Any]:
        """The row with the ids, commits and times that it has here."""
        names = [name for name in row if name.endswith("_at")]
        self._fill(row, *(name for name in names if name in ("changed_at", "first_seen_at", "valid_at")))
        seq = {"seq": self._seq(row["seq"])} if "seq" in row else {}
        return {**row, key: ids[row[key]], "dataset_id": self.dataset.id, **seq, **_times(row, *names)}

    def _aliases(self) -> None:
        for batch in self.document.rows("aliases"):
            known = named(self.connection, self.dataset.id, {name_key(row["name"]) for row in batch})
            rows: Rows = []
            for alias in batch:
                ref = EntityRef(name_key(alias["name"]), alias["type"])
                if self.is_fresh or ref not in known:
                    self._fill(alias, "created_at")
                    ids = {name: self.entity_ids[alias[name]] for name in ("former_id", "entity_id")}
                    names = {"name": alias["name"], "name_key": ref.key, "type": ref.type}
                    rows.append({"dataset_id": self.dataset.id, **ids, **names, **_times(alias, "created_at")})
            self._add_or_ignore(t.aliases, rows, "former_id")

    def _triples(self) -> None:
        """What was loaded. Into a dataset with content without what was taken out again, and its blank nodes are others
        than those of the same names there."""
        own_nodes = "" if self.is_fresh else nodes_of(self.before + self.document.commits)
        for batch in self.document.rows("triples"):
            rows = [row for row in batch if self.is_fresh or row["removed_seq"] is None]
            added = import_triples(self.connection, self.dataset.id, rows, self.before, own_nodes)
            self.added += Counter(triples=added)
            self.merged += Counter(triples=len(rows) - added)

    def _commits(self, last: int) -> None:
        """The commits of the document; into a dataset with content they all came at this moment."""
        for batch in self.document.rows("commits"):
            rows = [
                {
                    "dataset_id": self.dataset.id,
                    "seq": self._seq(commit["seq"]),
                    "session_id": commit["session_id"],
                    "artifact_id": commit["artifact_id"] and self.artifact_ids[commit["artifact_id"]],
                    "counts": commit["counts"],
                    "kind": "import",
                    "created_at": self._commit_time(commit),
                }
                for commit in batch
            ]
            self._add_or_ignore(t.commits, rows, "dataset_id", "seq")
        # Artifact 0: rows came with it, it is not one that only worked out times anew.
        own = {
            "dataset_id": self.dataset.id,
            "seq": last,
            "artifact_id": 0,
            "counts": dict(self.added),
            "kind": "import",
        }
        created_at = self.at if self.is_fresh else self.now
        self._add_or_ignore(t.commits, [{**own, "session_id": None, "created_at": created_at}], "dataset_id", "seq")

    def _commit_time(self, commit: Mapping[str, Any]) -> datetime:
        stated = commit["created_at"]
        return datetime.fromisoformat(stated) if self.is_fresh and stated else self.now

    # Rows -----------------------------------------------------------------------------------------------------------

    def _seq(self, stated: int) -> int:
        return self.before + stated

    def _fill(self, row: dict[str, Any], *names: str) -> None:
        """Gives times that a row left out."""
        for name in names:
            if row[name] is None:
                row[name] = row.get("created_at") or self.at.isoformat()

    def _add(self, table: sa.Table, section: str, rows: Rows) -> None:
        if rows:
            self.connection.execute(sa.insert(table), rows)
            self.added[section] += len(rows)
            if section in self.kept:
                self.kept[section] |= {row["id"] for row in rows}

    def _add_or_ignore(self, table: sa.Table, rows: Rows, *key: str) -> None:
        if rows:
            self.connection.execute(insert_or_ignore(self.connection.dialect.name, table, *key), rows)

    def _queue(self, texts: Iterable[tuple[str, int, str]]) -> None:
        """Into the outbox without a vector: an embedder that fits the dataset makes it later."""
        rows = [
            {
                "dataset_id": self.dataset.id,
                "index_name": index,
                "ref_id": ref_id,
                "text": text,
                "seq": self.before + self.document.commits,
                "tries": 0,
                "created_at": self.now,
            }
            for index, ref_id, text in texts
        ]
        if rows:
            self.connection.execute(sa.insert(t.vector_outbox), rows)
            self.queued += len(rows)


_AS_THEY_ARE = (
    "session_id",
    "session_source",
    "chunk_index",
    "start_offset",
    "end_offset",
    "tokens",
    "overlap_tokens",
    "model_id",
    "speaker",
)
_OF_AN_EDGE = (
    "description",
    "model_id",
    "valid_at_source",
    "invalid_at_source",
    "valid_precision",
    "invalid_precision",
)
_TIMES_OF_AN_EDGE = (
    "valid_at",
    "invalid_at",
    "expired_at",
    "valid_at_source",
    "invalid_at_source",
    "closed_by",
)


def _said(row: Mapping[str, Any]) -> str:
    """The text of an artifact with who said it."""
    return f"{row['speaker']}: {row['text']}" if row["speaker"] else row["text"]


def _digest(text: str | None) -> bytes:
    return hashlib.sha256((text or "").encode()).digest()


def _times(row: Mapping[str, Any], *names: str) -> dict[str, datetime | None]:
    return {name: datetime.fromisoformat(row[name]) if row[name] else None for name in names}


def _is_open(edge: Mapping[str, Any]) -> bool:
    return edge["invalid_at"] is None and edge["expired_at"] is None


def _stated(edge: Mapping[str, Any]) -> StatedEdge:
    """A fact of the document as if it were told."""
    times = _times(edge, "valid_at", "invalid_at")
    valid_at = times["valid_at"]
    assert valid_at is not None
    return StatedEdge(
        source="",
        target="",
        relation=edge["relation"],
        description=edge["description"],
        valid_at=valid_at,
        invalid_at=times["invalid_at"],
        valid_at_source=edge["valid_at_source"],
    )
