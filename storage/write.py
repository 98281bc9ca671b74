"""The store transaction: one GraphChange, decided again on the rows read inside it, then written whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from core.errors import Stale
from core.extraction import CALLER
from core.graph import Dataset, Edge, Entity, EntityRef, GraphChange, StatedEdge, Stored, Verdict
from core.temporal import Closing, Settlement, settle, superseded_by
from core.text import DEFAULT_TYPE, fold, name_key
from storage import tables as t
from storage.rows import DATASET, EDGE, ENTITY, dataset_of, edge_of, entity_of

# How long a process may take to bring its vectors to the index before another one does it.
LEASE = timedelta(seconds=30)


def store(connection: Connection, change: GraphChange, owner: str) -> Stored:
    """Everything the change holds, or nothing. Raises Stale when what it was decided on has moved."""
    return _Store(connection, change, owner).run()


class _Store:
    """One change on its way into the tables; every step reads what the steps before it left."""

    def __init__(self, connection: Connection, change: GraphChange, owner: str) -> None:
        self.connection = connection
        self.change = change
        self.owner = owner
        self.now = change.artifact.created_at
        self.dataset = self._take_commit()
        self.seq = self.dataset.head_seq

    def run(self) -> Stored:
        ids = self._entities()
        listed = [ids[e.ref] for e in self.change.extraction.entities]
        self._refuse_if_stale(set(ids.values()))
        artifact_id = self._artifact()
        edge_ids, invalidated = self._edges(ids, artifact_id)
        unique = list(dict.fromkeys(edge_ids))
        self._link("entity", list(dict.fromkeys(ids.values())), artifact_id)
        self._link("edge", unique, artifact_id)
        entities = self._rows(ENTITY, t.entities.c.id, ids.values(), entity_of)
        edges = self._rows(EDGE, t.edges.c.id, unique, edge_of)
        queued = self._queue(entities, edges)
        self._commit_row(artifact_id, len(entities), len(unique), len(invalidated))
        self._register_caller()
        return Stored(
            dataset=self.dataset,
            seq=self.seq,
            artifact_id=artifact_id,
            entities=tuple(entities[i] for i in listed),
            endpoints=tuple(e for i, e in entities.items() if i not in listed),
            edges=tuple(edges[i] for i in unique),
            invalidated=tuple(sorted(invalidated)),
            queued=queued,
        )

    def _take_commit(self) -> Dataset:
        """The dataset with its next commit number. Holds its row, so that one dataset has one writer at a time."""
        change = self.change
        fresh = {"user_id": change.user_id, "name": change.dataset, "head_seq": 0, "created_at": self.now}
        self._insert_or_ignore(t.datasets, [fresh], ["user_id", "name"])
        values: dict[str, Any] = {"head_seq": t.datasets.c.head_seq + 1}
        if change.vectors is not None:
            values["embedding_model"] = sa.func.coalesce(t.datasets.c.embedding_model, change.vectors.model)
            values["embedding_dim"] = sa.func.coalesce(t.datasets.c.embedding_dim, change.vectors.dim)
        mine = (t.datasets.c.user_id == change.user_id) & (t.datasets.c.name == change.dataset)
        row = self.connection.execute(
            sa.update(t.datasets).where(mine).values(values).returning(*DATASET.selected_columns)
        )
        return dataset_of(row.one())

    def _refuse_if_stale(self, entity_ids: set[int]) -> None:
        read = self.change.read_seq or 0
        if not entity_ids or not self.change.extraction.edges or self.seq == read + 1:
            return
        touched = t.edges.c.source_id.in_(entity_ids) | t.edges.c.target_id.in_(entity_ids)
        newer = (t.edges.c.dataset_id == self.dataset.id) & (t.edges.c.created_seq > read) & touched
        if self.connection.execute(sa.select(t.edges.c.id).where(newer).limit(1)).first():
            raise Stale("facts on the same entities were stored meanwhile")

    def _artifact(self) -> int:
        artifact = self.change.artifact
        row = {
            "dataset_id": self.dataset.id,
            "kind": artifact.kind,
            "text": artifact.text,
            "session_id": artifact.session_id,
            "valid_at": artifact.valid_at,
            "created_at": artifact.created_at,
            "seq": self.seq,
        }
        return self._inserted(t.artifacts, [row])[0]

    # Entities ---------------------------------------------------------------------------------------------------------

    def _entities(self) -> dict[EntityRef, int]:
        """The id of every entity that the text lists or an edge names, in that order, stored if it was not there."""
        extraction = self.change.extraction
        stored = self._stored_entities({e.ref.key for e in extraction.entities} | self._endpoint_keys())
        by_ref = {EntityRef(name_key(e.name), e.type): e for e in stored}
        by_name: dict[str, Entity] = {}
        for entity in stored:
            by_name.setdefault(name_key(entity.name), entity)
        wanted: dict[EntityRef, tuple[str, str]] = {e.ref: (e.name, e.description) for e in extraction.entities}
        for edge in extraction.edges:
            for name in (edge.source, edge.target):
                wanted.setdefault(extraction.ref(name), (name, ""))
        ids: dict[EntityRef, int] = {}
        new: list[EntityRef] = []
        for ref, (_, description) in wanted.items():
            known = by_name.get(ref.key) if ref.type is None else by_ref.get(ref)
            if known is None:
                new.append(ref)
            else:
                ids[ref] = known.id
                self._mention(known, description)
        ids |= zip(new, self._inserted(t.entities, [self._entity_row(ref, *wanted[ref]) for ref in new]), strict=True)
        return {ref: ids[ref] for ref in wanted}

    def _endpoint_keys(self) -> set[str]:
        return {name_key(name) for edge in self.change.extraction.edges for name in (edge.source, edge.target)}

    def _stored_entities(self, keys: set[str]) -> list[Entity]:
        mine = (t.entities.c.dataset_id == self.dataset.id) & t.entities.c.name_key.in_(keys)
        return [entity_of(row) for row in self.connection.execute(ENTITY.where(mine).order_by(t.entities.c.id))]

    def _entity_row(self, ref: EntityRef, name: str, description: str) -> dict[str, Any]:
        return {
            "dataset_id": self.dataset.id,
            "name": name,
            "name_key": ref.key,
            "type": ref.type or DEFAULT_TYPE,
            "description": description,
            "desc_key": fold(description),
            "model_id": self.change.extraction.model_id,
            "created_at": self.now,
            "updated_at": self.now,
            "created_seq": self.seq,
            "text_seq": self.seq,
        }

    def _mention(self, known: Entity, description: str) -> None:
        """A stored entity named again is recent again; a non-empty description replaces its own."""
        values: dict[str, Any] = {"updated_at": self.now}
        if description and description != known.description:
            values |= {"description": description, "desc_key": fold(description), "text_seq": self.seq}
            before = {
                "entity_id": known.id,
                "seq": self.seq,
                "dataset_id": self.dataset.id,
                "changed_at": self.now,
                "name": known.name,
                "type": known.type,
                "description": known.description,
            }
            self._insert_or_ignore(t.entity_versions, [before], ["entity_id", "seq"])
        self.connection.execute(sa.update(t.entities).where(t.entities.c.id == known.id).values(values))

    # Facts ------------------------------------------------------------------------------------------------------------

    def _edges(self, ids: Mapping[EntityRef, int], artifact_id: int) -> tuple[list[int], set[int]]:
        """The id of the stored fact for each stated one, in order, and the ids of the facts that were closed.

        Facts are settled oldest first, so that of two that close the same one the earlier sets its end.
        """
        extraction = self.change.extraction
        placed: dict[int, int] = {}
        invalidated: set[int] = set()
        for index in sorted(range(len(extraction.edges)), key=lambda i: extraction.edges[i].valid_at):
            new = extraction.edges[index]
            source, target = ids[extraction.ref(new.source)], ids[extraction.ref(new.target)]
            settled = self._settle(new, source, target, self.change.verdicts[index])
            placed[index] = (
                settled.merged_into
                or self._inserted(t.edges, [self._edge_row(new, source, target, artifact_id, settled)])[0]
            )
            for closing in settled.changes:
                self._change_times(closing, placed[index])
            invalidated.update(settled.invalidated)
        return [placed[i] for i in range(len(extraction.edges))], invalidated

    def _settle(self, new: StatedEdge, source: int, target: int, verdict: Verdict) -> Settlement:
        triple = (
            (t.edges.c.source_id == source) & (t.edges.c.target_id == target) & (t.edges.c.relation == new.relation)
        )
        named = {*verdict.contradicts, *([] if verdict.duplicate_of is None else [verdict.duplicate_of])}
        return settle(
            new,
            same=self._facts(triple),
            candidates=self._facts(t.edges.c.id.in_(named)) if named else [],
            superseded=self._superseded(verdict.contradicts),
            verdict=verdict,
            reference_time=self.change.artifact.valid_at,
            now=self.now,
        )

    def _facts(self, where: sa.ColumnElement[bool]) -> list[Edge]:
        found = EDGE.where((t.edges.c.dataset_id == self.dataset.id) & where).order_by(t.edges.c.id)
        return [edge_of(row) for row in self.connection.execute(found)]

    def _superseded(self, edge_ids: Sequence[int]) -> list[Edge]:
        closed: dict[int, Edge] = {}
        frontier = set(edge_ids)
        while frontier:
            step = [e for e in self._facts(t.edges.c.closed_by.in_(frontier)) if e.id not in closed]
            closed |= {e.id: e for e in step}
            frontier = {e.id for e in step}
        return superseded_by(edge_ids, list(closed.values()))

    def _edge_row(
        self, new: StatedEdge, source: int, target: int, artifact_id: int, settled: Settlement
    ) -> dict[str, Any]:
        ended = settled.invalid_at is not None
        return {
            "dataset_id": self.dataset.id,
            "source_id": source,
            "target_id": target,
            "relation": new.relation,
            "description": new.description,
            "artifact_id": artifact_id,
            "model_id": self.change.extraction.model_id,
            "valid_at": new.valid_at,
            "invalid_at": settled.invalid_at,
            "created_at": self.now,
            "expired_at": settled.expired_at,
            "valid_at_source": new.valid_at_source,
            "invalid_at_source": settled.invalid_at_source,
            "valid_precision": new.valid_precision,
            "invalid_precision": new.invalid_precision,
            "invalid_set_at": self.now if ended else None,
            "invalid_set_seq": self.seq if ended else None,
            "closed_by": settled.closed_by,
            "created_seq": self.seq,
            "expired_seq": self.seq if settled.expired_at else None,
        }

    def _change_times(self, closing: Closing, new_id: int) -> None:
        """The fact's new times; its old ones stay readable in gb_edge_versions."""
        row = self.connection.execute(sa.select(t.edges).where(t.edges.c.id == closing.edge_id)).one()
        before = {
            "edge_id": row.id,
            "seq": self.seq,
            "dataset_id": self.dataset.id,
            "changed_at": self.now,
            "valid_at": row.valid_at,
            "invalid_at": row.invalid_at,
            "expired_at": row.expired_at,
        }
        self._insert_or_ignore(t.edge_versions, [before], ["edge_id", "seq"])
        values: dict[str, Any] = {
            "valid_at": closing.valid_at,
            "valid_at_source": closing.valid_at_source,
            "invalid_at": closing.invalid_at,
            "invalid_at_source": closing.invalid_at_source,
            "expired_at": closing.expired_at,
        }
        if closing.invalid_at != row.invalid_at:
            values |= {"invalid_set_at": self.now, "invalid_set_seq": self.seq}
        if closing.expired_at is not None and row.expired_at is None:
            values |= {"expired_seq": self.seq}
        if closing.closed_by_new:
            values |= {"closed_by": new_id}
        self.connection.execute(sa.update(t.edges).where(t.edges.c.id == closing.edge_id).values(values))

    # Links, vectors, the commit ---------------------------------------------------------------------------------------

    def _link(self, kind: str, ids: Sequence[int], artifact_id: int) -> None:
        """Provenance: the artifact, and the session if there is one, stand behind these rows, repeats included."""
        artifacts, sessions = t.metadata.tables[f"gb_{kind}_artifacts"], t.metadata.tables[f"gb_{kind}_sessions"]
        base = [{f"{kind}_id": i, "dataset_id": self.dataset.id} for i in ids]
        rows = [row | {"artifact_id": artifact_id, "seq": self.seq} for row in base]
        self._insert_or_ignore(artifacts, rows, [f"{kind}_id", "artifact_id"])
        if session_id := self.change.artifact.session_id:
            rows = [row | {"session_id": session_id, "first_seen_at": self.now} for row in base]
            self._insert_or_ignore(sessions, rows, [f"{kind}_id", "session_id"])

    def _queue(self, entities: Mapping[int, Entity], edges: Mapping[int, Edge]) -> int:
        """The vectors of every entity and fact of the text into the outbox; leased, for this process brings them."""
        vectors = self.change.vectors
        if vectors is None and not self.change.embed_later:
            return 0
        texts = [("entities", e.id, e.as_text) for e in entities.values()]
        texts += [("edges", e.id, e.as_text) for e in edges.values()]
        rows = [
            self._outbox_row(index, ref_id, text, vectors.of.get(text) if vectors else None)
            for index, ref_id, text in texts
        ]
        if rows:
            self.connection.execute(sa.insert(t.vector_outbox), rows)
        return len(rows)

    def _outbox_row(self, index: str, ref_id: int, text: str, vector: bytes | None) -> dict[str, Any]:
        return {
            "dataset_id": self.dataset.id,
            "index_name": index,
            "ref_id": ref_id,
            "text": text,
            "vector": vector,
            "seq": self.seq,
            "owner": self.owner if vector else None,
            "lease_until": self.now_for_lease() if vector else None,
            "tries": 0,
            "created_at": self.now,
        }

    def now_for_lease(self) -> datetime:
        return datetime.now(self.now.tzinfo) + LEASE

    def _commit_row(self, artifact_id: int, entities: int, edges: int, invalidated: int) -> None:
        row = {
            "dataset_id": self.dataset.id,
            "seq": self.seq,
            "run_id": self.change.run_id,
            "artifact_id": artifact_id,
            "session_id": self.change.artifact.session_id,
            "counts": {"entities": entities, "edges": edges, "invalidated": invalidated},
            "created_at": self.now,
        }
        self.connection.execute(sa.insert(t.commits).values(row))

    def _register_caller(self) -> None:
        """Models register with their inferences; a caller that read the text itself has none."""
        if self.change.extraction.model_id == CALLER:
            row = {"name": CALLER, "provider": CALLER, "first_seen_at": self.now}
            self._insert_or_ignore(t.models, [row], ["name"])

    # SQL --------------------------------------------------------------------------------------------------------------

    def _rows(self, select: Any, column: sa.Column[int], ids: Iterable[int], read: Any) -> dict[int, Any]:
        wanted = list(dict.fromkeys(ids))
        found = (
            {row[0]: read(row) for row in self.connection.execute(select.where(column.in_(wanted)))} if wanted else {}
        )
        return {i: found[i] for i in wanted}

    def _inserted(self, table: sa.Table, rows: list[dict[str, Any]]) -> list[int]:
        if not rows:
            return []
        insert = sa.insert(table).returning(table.c.id, sort_by_parameter_order=True)
        return [int(i) for i in self.connection.execute(insert, rows).scalars()]

    def _insert_or_ignore(self, table: sa.Table, rows: list[dict[str, Any]], key: list[str]) -> None:
        if rows:
            self.connection.execute(insert_or_ignore(self.connection, table, key), rows)


def insert_or_ignore(connection: Connection, table: sa.Table, key: list[str]) -> Any:
    """An INSERT that leaves a row alone that is already there."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    return dialect.insert(table).on_conflict_do_nothing(index_elements=key)
