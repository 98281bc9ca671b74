"""The store transaction: one GraphChange, decided again on the rows read inside it, then written whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from core.errors import Conflict, Stale, TakenOver
from core.extraction import CALLER
from core.graph import Artifact, Dataset, Edge, Entity, EntityRef, Extraction, GraphChange, Source, Stored
from core.reconcile import Placed, Reconciled, corrected, reconcile, with_ids
from core.text import DEFAULT_TYPE, fold, name_key
from storage import tables as t
from storage.images import insert_image
from storage.jobs import LEASE as JOB_LEASE
from storage.journal import CommitKind, touched
from storage.names import named
from storage.rows import DATASET, EDGE, SAME, at_triples, dataset_of, edge_of

# How long a process may take to bring its vectors to the index before another one does it.
LEASE = timedelta(seconds=30)

# Building a statement costs more than running it, so the hot ones are built once.
_MINE = (
    (t.datasets.c.user_id == sa.bindparam("whose"))
    & (t.datasets.c.name == sa.bindparam("dataset"))
    & (t.datasets.c.forgotten_id == 0)
)
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
_MENTIONED = sa.update(t.entities).where(t.entities.c.id == sa.bindparam("row"))
_NEW_TIMES = sa.update(t.edges).where(t.edges.c.id == sa.bindparam("row"))
# Holds the job until the commit, so that nobody takes it over meanwhile.
_STILL_MINE = (
    sa.update(t.jobs)
    .where(t.jobs.c.run_id == sa.bindparam("row"), t.jobs.c.owner == sa.bindparam("me"))
    .values(lease_until=sa.bindparam("until", type_=t.Time))
)
_WHOSE = (
    sa.select(t.runs.c.status, t.jobs.c.owner)
    .select_from(t.runs.outerjoin(t.jobs, t.jobs.c.run_id == t.runs.c.id))
    .where(t.runs.c.id == sa.bindparam("row"))
)
_THERE = sa.select(t.artifacts.c.id).where(
    t.artifacts.c.id == sa.bindparam("row"), t.artifacts.c.dataset_id == sa.bindparam("dataset")
)
_INSERT_VECTORS = sa.insert(t.vector_outbox)
_INSERT_COMMIT = sa.insert(t.commits)
# The sum keeps SQLite from walking an index over the whole dataset instead of going to these rows.
_BY_ID = EDGE.where(
    t.edges.c.id.in_(sa.bindparam("ids", expanding=True)), t.edges.c.dataset_id + 0 == sa.bindparam("dataset")
)
_CLOSED_BY = EDGE.where(
    t.edges.c.dataset_id == sa.bindparam("dataset"), t.edges.c.closed_by.in_(sa.bindparam("ids", expanding=True))
)


def next_commit(
    connection: Connection,
    user_id: str,
    name: str,
    clock: Callable[[], datetime],
    model: str | None = None,
    dim: int | None = None,
) -> tuple[Dataset, datetime] | None:
    """The dataset with its next commit number, and the time of the commit: never before that of the last one. None
    where the user has no such dataset.

    Holds the dataset's row from here on, so that one dataset has one writer at a time.
    """
    values = {"whose": user_id, "dataset": name, "model": model, "dim": dim, "now": clock()}
    row = connection.execute(_NEXT_COMMIT, values).one_or_none()
    return (dataset_of(row[:-1]), row[-1]) if row else None


def store(connection: Connection, change: GraphChange, owner: str) -> Stored:
    """Everything the change holds, or nothing. Raises Stale when what it was decided on has moved."""
    return _Store(connection, change, owner).run()


class _Store:
    """One change on its way into the tables; every step reads what the steps before it left."""

    kind: CommitKind = "remember"

    def __init__(self, connection: Connection, change: GraphChange, owner: str) -> None:
        self.connection = connection
        self.change = change
        self.owner = owner
        self.dataset, self.now = self._take_commit()
        self.seq = self.dataset.head_seq
        self.new_entities: set[int] = set()
        """Entities that this change stored: no stored fact is about them."""
        self.described: set[int] = set()
        """Stored entities that it describes otherwise."""
        self.retimed: set[int] = set()
        """Stored facts that it gives other times."""
        self._refuse_if_taken_over()

    def run(self) -> Stored:
        entities = self._entities()
        listed = list(dict.fromkeys(entity.ref for entity in self.change.extraction.entities))
        self._refuse_if_stale({entity.id for entity in entities.values()})
        artifact_ids = self._artifacts()
        read = [artifact_ids[position] for position in self.change.sources]
        held, invalidated = self._facts(entities, read)
        edges = list({edge.id: edge for edge in held}.values())
        mentioned = list({entity.id: entity for entity in entities.values()}.values())
        links = _Links.of(self.change.extraction, entities, held, len(read))
        self._link(links, read)
        queued = self._queue(mentioned, edges, artifact_ids)
        self._commit_row(artifact_ids, read, mentioned, edges, invalidated)
        self._register_caller()
        ids = {entities[ref].id for ref in listed}
        return Stored(
            dataset=self.dataset,
            seq=self.seq,
            created_at=self.now,
            artifact_ids=tuple(artifact_ids),
            sources=tuple(Source(i, tuple(links.entities[n]), tuple(links.edges[n])) for n, i in enumerate(read)),
            entities=tuple(entities[ref] for ref in listed),
            endpoints=tuple(entity for entity in mentioned if entity.id not in ids),
            edges=tuple(edges),
            invalidated=invalidated,
            queued=queued,
        )

    def _take_commit(self) -> tuple[Dataset, datetime]:
        """The dataset with its next commit number, created if need be, and the time of the commit."""
        change = self.change
        if change.read_seq is None:
            fresh = {"user_id": change.user_id, "name": change.dataset, "head_seq": 0, "created_at": change.clock()}
            self._insert_or_ignore(t.datasets, [fresh], ["user_id", "name", "forgotten_id"])
        index = (change.vectors.model, change.vectors.dim) if change.vectors else (None, None)
        taken = next_commit(self.connection, change.user_id, change.dataset, change.clock, *index)
        if taken is None:
            raise Stale("the dataset was forgotten meanwhile")
        dataset, now = taken
        if change.vectors is not None and not dataset.takes(change.vectors.model, change.vectors.dim):
            raise Stale("another process gave the dataset its embedding model meanwhile")
        return dataset, now

    def _refuse_if_taken_over(self) -> None:
        """A process that was taken for dead, and is not, stores nothing any more: another one goes on with its run."""
        run = {"row": self.change.run_id, "me": self.owner, "until": datetime.now(UTC) + JOB_LEASE}
        if self.change.run_id is None or self.connection.execute(_STILL_MINE, run).rowcount:
            return
        found = self.connection.execute(_WHOSE, run).one_or_none()
        if found and (found.status != "started" or found.owner is not None):
            raise TakenOver("another process took this run for dead and ended it or goes on with it")

    def _refuse_if_stale(self, entity_ids: set[int]) -> None:
        read = self.change.read_seq or 0
        if not entity_ids or not self.change.extraction.edges or self.seq == read + 1:
            return
        touched = t.edges.c.source_id.in_(entity_ids) | t.edges.c.target_id.in_(entity_ids)
        newer = (t.edges.c.dataset_id == self.dataset.id) & (t.edges.c.created_seq > read) & touched
        if self.connection.execute(sa.select(t.edges.c.id).where(newer).limit(1)).first():
            raise Stale("facts on the same entities were stored meanwhile")

    def _artifacts(self) -> list[int]:
        """The ids of the artifacts, parents before what hangs off them."""
        ids: list[int] = []
        self._refuse_orphans()
        for position, artifact in enumerate(self.change.artifacts):
            parent_id = artifact.parent_id if artifact.parent is None else ids[artifact.parent]
            searched = position in self.change.sources  # a parent by its chunks, a summary not at all
            ids += self._inserted(t.artifacts, [self._artifact_row(artifact, parent_id, searched=searched)])
            if artifact.image is not None:
                insert_image(self.connection, self.dataset.id, ids[-1], artifact.image)
        return ids

    def _refuse_orphans(self) -> None:
        """A text that was forgotten while its chunks are read gets no more of them."""
        for parent_id in {artifact.parent_id for artifact in self.change.artifacts} - {None}:
            if not self.connection.execute(_THERE, {"row": parent_id, "dataset": self.dataset.id}).first():
                raise Conflict("the text was forgotten while it was read; what is left of it was not stored")

    def _artifact_row(self, artifact: Artifact, parent_id: int | None, *, searched: bool) -> dict[str, Any]:
        span = artifact.span
        return {
            "dataset_id": self.dataset.id,
            "kind": artifact.kind,
            "text": artifact.text,
            "text_key": fold(artifact.as_text) if searched else None,
            "index_name": artifact.index,
            "session_id": artifact.session_id,
            "session_source": artifact.session_source,
            "valid_at": artifact.valid_at,
            "created_at": self.now,
            "seq": self.seq,
            "run_id": self.change.run_id,
            "parent_id": parent_id,
            "chunk_index": span and span.index,
            "start_offset": span and span.start,
            "end_offset": span and span.end,
            "tokens": span and span.tokens,
            "overlap_tokens": span and span.overlap_tokens,
            "model_id": artifact.model_id,
            "inference_id": artifact.inference_id,
            "speaker": artifact.speaker,
            "external_id": artifact.external_id,
        }

    # Entities ---------------------------------------------------------------------------------------------------------

    def _entities(self) -> dict[EntityRef, Entity]:
        """Every entity that the text lists or an edge names, in that order, stored if it was not there."""
        extraction = self.change.extraction
        wanted: dict[EntityRef, tuple[str, str]] = {e.ref: (e.name, e.description) for e in extraction.entities}
        for edge in extraction.edges:
            for name in (edge.source, edge.target):
                wanted.setdefault(extraction.ref(name), (name, ""))
        known = named(self.connection, self.dataset.id, {ref.key for ref in wanted})
        new = [self._new_entity(ref, *wanted[ref]) for ref in wanted if ref not in known]
        ids = self._inserted(t.entities, [self._entity_row(entity) for entity in new])
        self.new_entities = set(ids)
        added = {
            ref: replace(e, id=i) for ref, e, i in zip((r for r in wanted if r not in known), new, ids, strict=True)
        }
        mentioned = self._mention({ref: known[ref] for ref in wanted if ref in known}, wanted)
        return {ref: added.get(ref) or mentioned[ref] for ref in wanted}

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
            self.described = {told[ref].id for ref in described}
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

    def _facts(self, entities: dict[EntityRef, Entity], read: Sequence[int]) -> tuple[list[Edge], tuple[int, ...]]:
        """For each fact of the extraction the row that holds it now, and the ids of the facts that were closed."""
        extraction = self.change.extraction
        told = [self.change.artifacts[position] for position in self.change.sources]
        placed = [
            Placed(
                edge,
                entities[extraction.ref(edge.source)],
                entities[extraction.ref(edge.target)],
                verdict,
                read[edge.said_in[0]],
                told[edge.said_in[0]].valid_at,
            )
            for edge, verdict in zip(extraction.edges, self.change.verdicts, strict=True)
        ]
        reconciled = reconcile(placed, self._touched(placed), model_id=extraction.model_id, now=self.now)
        self._change_facts(reconciled)
        ids = self._insert_facts(reconciled)
        self._name_closers(reconciled, ids)
        return with_ids(reconciled.edges, ids), reconciled.invalidated

    def _touched(self, placed: Sequence[Placed]) -> list[Edge]:
        """The stored facts that the new ones may repeat, end or contradict, and those that these had closed."""
        triples = [fact.triple for fact in placed if self.new_entities.isdisjoint((fact.source.id, fact.target.id))]
        found = self._edges(SAME, at_triples(self.dataset.id, triples)) if triples else {}
        verdicts = [fact.verdict for fact in placed]
        wanted = {i for v in verdicts for i in (*v.contradicts, v.duplicate_of or 0, *corrected(v))} - {0}
        if wanted:
            found |= self._edges(_BY_ID, {"dataset": self.dataset.id, "ids": list(wanted)})
        while wanted:
            by = {"dataset": self.dataset.id, "ids": list(wanted)}
            closed = {i: edge for i, edge in self._edges(_CLOSED_BY, by).items() if i not in found}
            found |= closed
            wanted = set(closed)
        return list(found.values())

    def _edges(self, select: sa.Select[*tuple[Any, ...]], values: Mapping[str, object]) -> dict[int, Edge]:
        return {edge.id: edge for edge in map(edge_of, self.connection.execute(select, values))}

    def _insert_facts(self, reconciled: Reconciled) -> dict[int, int]:
        """The ids of the new facts, by the ones that they were reconciled under."""
        rows = [self._edge_row(edge) | precision for edge, precision in _with_precision(reconciled)]
        ids = dict(zip((edge.id for _, edge in reconciled.new), self._inserted(t.edges, rows), strict=True))
        for _, edge in reconciled.new:
            if edge.closed_by in ids:  # by one that was read together with it, and had no id before
                self.connection.execute(_NEW_TIMES, [{"row": ids[edge.id], "closed_by": ids[edge.closed_by]}])
        return ids

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
            "closed_by": edge.closed_by if (edge.closed_by or 0) > 0 else None,
            "created_seq": self.seq,
            "expired_seq": self.seq if edge.expired_at else None,
        }

    def _change_facts(self, reconciled: Reconciled) -> None:
        """New times for stored facts; the old ones stay readable in gb_edge_versions. Before the new ones come: a fact
        that is told anew closes the one that stood in its place."""
        if reconciled.changed:
            versions = [self._edge_version(before) for before, _ in reconciled.changed]
            self._insert_or_ignore(t.edge_versions, versions, ["edge_id", "seq"])
            self.retimed = {before.id for before, _ in reconciled.changed}
            for before, after in reconciled.changed:
                self.connection.execute(_NEW_TIMES, [self._new_times(before, after)])

    def _name_closers(self, reconciled: Reconciled, ids: dict[int, int]) -> None:
        """The ids of the new facts, in the stored ones that they closed."""
        closers = [
            {"row": after.id, "closed_by": ids[after.closed_by]}
            for _, after in reconciled.changed
            if after.closed_by in ids
        ]
        if closers:
            self.connection.execute(_NEW_TIMES, closers)

    def _edge_version(self, before: Edge) -> dict[str, Any]:
        return {
            "edge_id": before.id,
            "seq": self.seq,
            "dataset_id": self.dataset.id,
            "changed_at": self.now,
            "valid_at": before.valid_at,
            "invalid_at": before.invalid_at,
            "expired_at": before.expired_at,
            "valid_at_source": before.valid_at_source,
            "invalid_at_source": before.invalid_at_source,
            "closed_by": before.closed_by,
        }

    def _new_times(self, before: Edge, after: Edge) -> dict[str, Any]:
        values: dict[str, Any] = {
            "row": after.id,
            "valid_at": after.valid_at,
            "valid_at_source": after.valid_at_source,
            "invalid_at": after.invalid_at,
            "invalid_at_source": after.invalid_at_source,
            "expired_at": after.expired_at,
            "closed_by": after.closed_by if (after.closed_by or 0) > 0 else None,
        }
        if after.invalid_at != before.invalid_at:
            values |= {"invalid_set_at": self.now, "invalid_set_seq": self.seq}
        if after.expired_at is not None and before.expired_at is None:
            values |= {"expired_seq": self.seq}
        return values

    # Links, vectors, the commit ---------------------------------------------------------------------------------------

    def _link(self, links: _Links, read: Sequence[int]) -> None:
        """Provenance: each artifact, and the session if there is one, stands behind its rows, repeats included."""
        self._link_rows(t.entity_artifacts, "entity_id", links.entities, read)
        self._link_rows(t.edge_artifacts, "edge_id", links.edges, read, "states_end")
        self._link_session(t.entity_sessions, "entity_id", {i for linked in links.entities for i in linked})
        self._link_session(t.edge_sessions, "edge_id", {i for linked in links.edges for i in linked})

    def _link_rows(
        self, table: sa.Table, key: str, links: Sequence[Mapping[int, bool]], read: Sequence[int], flag: str = ""
    ) -> None:
        rows: list[dict[str, Any]] = [
            {key: i, "artifact_id": artifact_id, "dataset_id": self.dataset.id, "seq": self.seq}
            | ({flag: value} if flag else {})
            for artifact_id, linked in zip(read, links, strict=True)
            for i, value in linked.items()
        ]
        self._insert_or_ignore(table, rows, [key, "artifact_id"])

    def _link_session(self, table: sa.Table, key: str, ids: Iterable[int]) -> None:
        session_id = self.change.artifacts[0].session_id
        row = {"dataset_id": self.dataset.id, "session_id": session_id, "first_seen_at": self.now}
        if session_id:
            self._insert_or_ignore(table, [{key: i} | row for i in sorted(ids)], [key, "session_id"])

    def _queue(self, entities: Iterable[Entity], edges: Iterable[Edge], artifact_ids: Sequence[int]) -> dict[str, int]:
        """The vectors of all that is embedded into the outbox, leased, for this process brings them; how many by
        index."""
        vectors = self.change.vectors
        if vectors is None and not self.change.embed_later:
            return {}
        texts: list[tuple[str, int, str]] = [("entities", e.id, e.as_text) for e in entities]
        texts += [("edges", e.id, e.as_text) for e in edges]
        texts += [
            (artifact.index, i, artifact.as_text)
            for artifact, i in zip(self.change.artifacts, artifact_ids, strict=True)
            if artifact.index
        ]
        rows = [
            self._outbox_row(index, ref_id, text, vectors.of.get(text) if vectors else None)
            for index, ref_id, text in texts
        ]
        if rows:
            self.connection.execute(_INSERT_VECTORS, rows)
        return dict(Counter(index for index, _, _ in texts))

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

    def _commit_row(
        self,
        artifact_ids: Sequence[int],
        read: Sequence[int],
        entities: Sequence[Entity],
        edges: Sequence[Edge],
        invalidated: Sequence[int],
    ) -> None:
        is_correction = self.change.artifacts[0].kind == "correction"
        row = {
            "dataset_id": self.dataset.id,
            "seq": self.seq,
            "run_id": self.change.run_id,
            "artifact_id": read[0],
            "session_id": self.change.artifacts[0].session_id,
            "counts": {"entities": len(entities), "edges": len(edges), "invalidated": len(invalidated)},
            "invalidated": list(invalidated),
            "kind": "correct" if is_correction else self.kind,
            "touched": touched(
                entities=self.new_entities | self.described,
                edges=self.retimed.union(edge.id for edge in edges),
                artifacts=artifact_ids,
            ),
            "created_at": self.now,
        }
        self.connection.execute(_INSERT_COMMIT, [row])

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


@dataclass(frozen=True, slots=True)
class _Links:
    """For each source that was read, the ids of the rows that it names and states; of a fact, whether it says the end
    too."""

    entities: list[dict[int, bool]]
    edges: list[dict[int, bool]]

    @classmethod
    def of(
        cls, extraction: Extraction, entities: Mapping[EntityRef, Entity], held: Sequence[Edge], sources: int
    ) -> _Links:
        links = cls([{} for _ in range(sources)], [{} for _ in range(sources)])
        for stated in extraction.entities:
            for source in stated.named_in:
                links.entities[source][entities[stated.ref].id] = True
        for stated, edge in zip(extraction.edges, held, strict=True):
            ends = stated.invalid_at is not None
            for source in stated.said_in:
                for name in (stated.source, stated.target):
                    links.entities[source][entities[extraction.ref(name)].id] = True
                links.edges[source][edge.id] = links.edges[source].get(edge.id, False) or ends
        return links


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
