"""The store transaction: one GraphChange, decided again on the rows read inside it, then written whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from core.errors import Stale
from core.extraction import CALLER
from core.graph import Dataset, Edge, Entity, EntityRef, GraphChange, Stored
from core.reconcile import Placed, Reconciled, reconcile, with_ids
from core.text import DEFAULT_TYPE, fold, name_key
from storage import tables as t
from storage.rows import DATASET, EDGE, ENTITY, SAME, at_triples, dataset_of, edge_of, entity_of

# How long a process may take to bring its vectors to the index before another one does it.
LEASE = timedelta(seconds=30)

# Building a statement costs more than running it, so the hot ones are built once.
_MINE = (t.datasets.c.user_id == sa.bindparam("whose")) & (t.datasets.c.name == sa.bindparam("dataset"))
_NOW = sa.bindparam("now", type_=t.Time)
_NEXT_COMMIT = (
    sa.update(t.datasets)
    .where(_MINE)
    .values(
        head_seq=t.datasets.c.head_seq + 1,
        embedding_model=sa.func.coalesce(t.datasets.c.embedding_model, sa.bindparam("model", type_=sa.String)),
        embedding_dim=sa.func.coalesce(t.datasets.c.embedding_dim, sa.bindparam("dim", type_=sa.Integer)),
        head_at=sa.case((t.datasets.c.head_at > _NOW, t.datasets.c.head_at), else_=_NOW),
    )
    .returning(*DATASET.selected_columns, t.datasets.c.head_at)
)
_NAMED = ENTITY.where(
    t.entities.c.dataset_id == sa.bindparam("dataset"),
    t.entities.c.name_key.in_(sa.bindparam("keys", expanding=True)),
).order_by(t.entities.c.id)
_MENTIONED = sa.update(t.entities).where(t.entities.c.id == sa.bindparam("row"))
_NEW_TIMES = sa.update(t.edges).where(t.edges.c.id == sa.bindparam("row"))
# The sum keeps SQLite from walking an index over the whole dataset instead of going to these rows.
_BY_ID = EDGE.where(
    t.edges.c.id.in_(sa.bindparam("ids", expanding=True)), t.edges.c.dataset_id + 0 == sa.bindparam("dataset")
)
_CLOSED_BY = EDGE.where(
    t.edges.c.dataset_id == sa.bindparam("dataset"), t.edges.c.closed_by.in_(sa.bindparam("ids", expanding=True))
)


def store(connection: Connection, change: GraphChange, owner: str) -> Stored:
    """Everything the change holds, or nothing. Raises Stale when what it was decided on has moved."""
    return _Store(connection, change, owner).run()


class _Store:
    """One change on its way into the tables; every step reads what the steps before it left."""

    def __init__(self, connection: Connection, change: GraphChange, owner: str) -> None:
        self.connection = connection
        self.change = change
        self.owner = owner
        self.dataset, self.now = self._take_commit()
        self.seq = self.dataset.head_seq

    def run(self) -> Stored:
        entities = self._entities()
        listed = list(dict.fromkeys(entity.ref for entity in self.change.extraction.entities))
        self._refuse_if_stale({entity.id for entity in entities.values()})
        artifact_id = self._artifact()
        edges, invalidated = self._facts(entities, artifact_id)
        mentioned = list({entity.id: entity for entity in entities.values()}.values())
        self._link("entity", [entity.id for entity in mentioned], artifact_id)
        self._link("edge", [edge.id for edge in edges], artifact_id)
        queued = self._queue(mentioned, edges)
        self._commit_row(artifact_id, len(mentioned), len(edges), len(invalidated))
        self._register_caller()
        ids = {entities[ref].id for ref in listed}
        return Stored(
            dataset=self.dataset,
            seq=self.seq,
            created_at=self.now,
            artifact_id=artifact_id,
            entities=tuple(entities[ref] for ref in listed),
            endpoints=tuple(entity for entity in mentioned if entity.id not in ids),
            edges=edges,
            invalidated=invalidated,
            queued=queued,
        )

    def _take_commit(self) -> tuple[Dataset, datetime]:
        """The dataset with its next commit number, and the time of the commit: never before that of the last one.

        Holds the dataset's row from here on, so that one dataset has one writer at a time.
        """
        change = self.change
        if change.read_seq is None:
            fresh = {"user_id": change.user_id, "name": change.dataset, "head_seq": 0, "created_at": change.clock()}
            self._insert_or_ignore(t.datasets, [fresh], ["user_id", "name"])
        index = (change.vectors.model, change.vectors.dim) if change.vectors else (None, None)
        values = {"whose": change.user_id, "dataset": change.dataset, "model": index[0], "dim": index[1]}
        *row, now = self.connection.execute(_NEXT_COMMIT, values | {"now": change.clock()}).one()
        dataset = dataset_of(row)
        if change.vectors is not None and not dataset.takes(change.vectors.model, change.vectors.dim):
            raise Stale("another process gave the dataset its embedding model meanwhile")
        return dataset, now

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
            "created_at": self.now,
            "seq": self.seq,
        }
        return self._inserted(t.artifacts, [row])[0]

    # Entities ---------------------------------------------------------------------------------------------------------

    def _entities(self) -> dict[EntityRef, Entity]:
        """Every entity that the text lists or an edge names, in that order, stored if it was not there."""
        extraction = self.change.extraction
        wanted: dict[EntityRef, tuple[str, str]] = {e.ref: (e.name, e.description) for e in extraction.entities}
        for edge in extraction.edges:
            for name in (edge.source, edge.target):
                wanted.setdefault(extraction.ref(name), (name, ""))
        known = self._known({ref.key for ref in wanted})
        new = [self._new_entity(ref, *wanted[ref]) for ref in wanted if ref not in known]
        ids = self._inserted(t.entities, [self._entity_row(entity) for entity in new])
        added = {
            ref: replace(e, id=i) for ref, e, i in zip((r for r in wanted if r not in known), new, ids, strict=True)
        }
        mentioned = self._mention({ref: known[ref] for ref in wanted if ref in known}, wanted)
        return {ref: added.get(ref) or mentioned[ref] for ref in wanted}

    def _known(self, keys: set[str]) -> dict[EntityRef, Entity]:
        """The stored entities of these names, by name and type, and by name alone (the first of that name)."""
        known: dict[EntityRef, Entity] = {}
        for row in self.connection.execute(_NAMED, {"dataset": self.dataset.id, "keys": list(keys)}):
            entity = entity_of(row)
            key = name_key(entity.name)
            known[EntityRef(key, entity.type)] = entity
            known.setdefault(EntityRef(key, None), entity)
        return known

    def _new_entity(self, ref: EntityRef, name: str, description: str) -> Entity:
        model_id = self.change.extraction.model_id
        return Entity(0, name, ref.type or DEFAULT_TYPE, description, model_id, self.now, self.now)

    def _entity_row(self, entity: Entity) -> dict[str, Any]:
        return {
            "dataset_id": self.dataset.id,
            "name": entity.name,
            "name_key": name_key(entity.name),
            "type": entity.type,
            "description": entity.description,
            "desc_key": fold(entity.description),
            "model_id": entity.model_id,
            "created_at": self.now,
            "updated_at": self.now,
            "created_seq": self.seq,
            "text_seq": self.seq,
        }

    def _mention(
        self, known: dict[EntityRef, Entity], wanted: dict[EntityRef, tuple[str, str]]
    ) -> dict[EntityRef, Entity]:
        """Stored entities named again are recent again; a non-empty description replaces the stored one."""
        told = {
            ref: replace(e, updated_at=self.now, description=wanted[ref][1] or e.description)
            for ref, e in known.items()
        }
        described = [ref for ref, entity in told.items() if entity.description != known[ref].description]
        if told:
            rows = [{"row": i, "updated_at": self.now} for i in {entity.id for entity in told.values()}]
            self.connection.execute(_MENTIONED, rows)
        if described:
            self._insert_or_ignore(
                t.entity_versions, [self._entity_version(known[ref]) for ref in described], ["entity_id", "seq"]
            )
            self.connection.execute(_MENTIONED, [self._description(told[ref]) for ref in described])
        return told

    def _description(self, entity: Entity) -> dict[str, Any]:
        text = entity.description
        return {"row": entity.id, "description": text, "desc_key": fold(text), "text_seq": self.seq}

    def _entity_version(self, before: Entity) -> dict[str, Any]:
        return {
            "entity_id": before.id,
            "seq": self.seq,
            "dataset_id": self.dataset.id,
            "changed_at": self.now,
            "name": before.name,
            "type": before.type,
            "description": before.description,
        }

    # Facts ------------------------------------------------------------------------------------------------------------

    def _facts(self, entities: dict[EntityRef, Entity], artifact_id: int) -> tuple[tuple[Edge, ...], tuple[int, ...]]:
        """The facts of the text as they are stored now, each once, and the ids of those that were closed."""
        extraction = self.change.extraction
        placed = [
            Placed(edge, entities[extraction.ref(edge.source)], entities[extraction.ref(edge.target)], verdict)
            for edge, verdict in zip(extraction.edges, self.change.verdicts, strict=True)
        ]
        reconciled = reconcile(
            placed,
            self._touched(placed),
            artifact_id=artifact_id,
            model_id=extraction.model_id,
            reference_time=self.change.artifact.valid_at,
            now=self.now,
        )
        ids = self._insert_facts(reconciled)
        self._change_facts(reconciled, ids)
        return with_ids(reconciled, ids), reconciled.invalidated

    def _touched(self, placed: Sequence[Placed]) -> list[Edge]:
        """The stored facts that the new ones may repeat, end or contradict, and those that these had closed."""
        if not placed:
            return []
        found = self._edges(SAME, at_triples(self.dataset.id, (fact.triple for fact in placed)))
        named = {i for fact in placed for i in (*fact.verdict.contradicts, fact.verdict.duplicate_of or 0)} - {0}
        if named:
            found |= self._edges(_BY_ID, {"dataset": self.dataset.id, "ids": list(named)})
        while named:
            by = {"dataset": self.dataset.id, "ids": list(named)}
            closed = {i: edge for i, edge in self._edges(_CLOSED_BY, by).items() if i not in found}
            found |= closed
            named = set(closed)
        return list(found.values())

    def _edges(self, select: sa.Select[*tuple[Any, ...]], values: Mapping[str, object]) -> dict[int, Edge]:
        return {edge.id: edge for edge in map(edge_of, self.connection.execute(select, values))}

    def _insert_facts(self, reconciled: Reconciled) -> dict[int, int]:
        """The ids of the new facts, by the ones that they were reconciled under."""
        rows = [self._edge_row(edge) | precision for edge, precision in _with_precision(reconciled)]
        return dict(zip((edge.id for _, edge in reconciled.new), self._inserted(t.edges, rows), strict=True))

    def _edge_row(self, edge: Edge) -> dict[str, Any]:
        ended = edge.invalid_at is not None
        return {
            "dataset_id": self.dataset.id,
            "source_id": edge.source_id,
            "target_id": edge.target_id,
            "relation": edge.relation,
            "description": edge.description,
            "artifact_id": edge.artifact_id,
            "model_id": edge.model_id,
            "valid_at": edge.valid_at,
            "invalid_at": edge.invalid_at,
            "created_at": self.now,
            "expired_at": edge.expired_at,
            "valid_at_source": edge.valid_at_source,
            "invalid_at_source": edge.invalid_at_source,
            "invalid_set_at": self.now if ended else None,
            "invalid_set_seq": self.seq if ended else None,
            "closed_by": edge.closed_by,
            "created_seq": self.seq,
            "expired_seq": self.seq if edge.expired_at else None,
        }

    def _change_facts(self, reconciled: Reconciled, ids: dict[int, int]) -> None:
        """New times for stored facts; the old ones stay readable in gb_edge_versions."""
        changes = [
            (before, replace(after, closed_by=ids.get(after.closed_by or 0, after.closed_by)))
            for before, after in reconciled.changed
        ]
        if changes:
            versions = [self._edge_version(before) for before, _ in changes]
            self._insert_or_ignore(t.edge_versions, versions, ["edge_id", "seq"])
            for before, after in changes:
                self.connection.execute(_NEW_TIMES, [self._new_times(before, after)])

    def _edge_version(self, before: Edge) -> dict[str, Any]:
        return {
            "edge_id": before.id,
            "seq": self.seq,
            "dataset_id": self.dataset.id,
            "changed_at": self.now,
            "valid_at": before.valid_at,
            "invalid_at": before.invalid_at,
            "expired_at": before.expired_at,
        }

    def _new_times(self, before: Edge, after: Edge) -> dict[str, Any]:
        values: dict[str, Any] = {
            "row": after.id,
            "valid_at": after.valid_at,
            "valid_at_source": after.valid_at_source,
            "invalid_at": after.invalid_at,
            "invalid_at_source": after.invalid_at_source,
            "expired_at": after.expired_at,
            "closed_by": after.closed_by,
        }
        if after.invalid_at != before.invalid_at:
            values |= {"invalid_set_at": self.now, "invalid_set_seq": self.seq}
        if after.expired_at is not None and before.expired_at is None:
            values |= {"expired_seq": self.seq}
        return values

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

    def _queue(self, entities: Iterable[Entity], edges: Iterable[Edge]) -> int:
        """The vectors of every entity and fact of the text into the outbox; leased, for this process brings them."""
        vectors = self.change.vectors
        if vectors is None and not self.change.embed_later:
            return 0
        texts = [("entities", e.id, e.as_text) for e in entities] + [("edges", e.id, e.as_text) for e in edges]
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
            "lease_until": datetime.now(UTC) + LEASE if vector else None,
            "tries": 0,
            "created_at": self.now,
        }

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
        self.connection.execute(sa.insert(t.commits), [row])

    def _register_caller(self) -> None:
        """Models register with their inferences; a caller that read the text itself has none."""
        if self.change.extraction.model_id == CALLER:
            row = {"name": CALLER, "provider": CALLER, "first_seen_at": self.now}
            self._insert_or_ignore(t.models, [row], ["name"])

    # SQL --------------------------------------------------------------------------------------------------------------

    def _inserted(self, table: sa.Table, rows: list[dict[str, Any]]) -> list[int]:
        if not rows:
            return []
        return [int(i) for i in self.connection.execute(_insert_returning(table), rows).scalars()]

    def _insert_or_ignore(self, table: sa.Table, rows: list[dict[str, Any]], key: list[str]) -> None:
        if rows:
            self.connection.execute(insert_or_ignore(self.connection.dialect.name, table, *key), rows)


def _with_precision(reconciled: Reconciled) -> Iterable[tuple[Edge, dict[str, Any]]]:
    """The new facts with how much of their dates was said."""
    for stated, edge in reconciled.new:
        yield edge, {"valid_precision": stated.valid_precision, "invalid_precision": stated.invalid_precision}


@cache
def _insert_returning(table: sa.Table) -> Any:
    return sa.insert(table).returning(table.c.id, sort_by_parameter_order=True)


@cache
def insert_or_ignore(dialect_name: str, table: sa.Table, *key: str) -> Any:
    """An INSERT that leaves a row alone that is already there."""
    dialect = postgresql if dialect_name == "postgresql" else sqlite
    return dialect.insert(table).on_conflict_do_nothing(index_elements=list(key))
