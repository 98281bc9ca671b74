"""SqlRereading: the facts of a part replaced by what a better engine read from it, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.errors import Conflict
from core.graph import Artifact, Dataset, Edge, Entity, EntityRef, Extraction, GraphChange, Known
from core.ports import Order
from core.reconcile import Triple
from core.reextract import Replaced, Written
from storage import tables as t
from storage.database import Database
from storage.doctor import queue
from storage.forget import (
    _ends_of_others,  # pyright: ignore[reportPrivateUsage]
    _Forget,  # pyright: ignore[reportPrivateUsage]
    _Going,  # pyright: ignore[reportPrivateUsage]
    _unsupported,  # pyright: ignore[reportPrivateUsage]
)
from storage.graph import known_of
from storage.journal import commit_row, touched
from storage.names import named
from storage.retime import CommitOf, retime, told
from storage.rows import DATASET, dataset_of
from storage.wording import reworded_facts
from storage.write import (
    _Store,  # pyright: ignore[reportPrivateUsage]
    next_commit,
)

UNDO_FOR = timedelta(days=30)
_READ = ("knowledge", "episode", "chunk")


class _NothingHappened(Exception):
    """Ends a transaction that was only tried, with what it found."""

    def __init__(self, found: tuple[Known, Replaced]) -> None:
        super().__init__()
        self.found = found


class SqlRereading:
    """core.reextract.Rereading on SQLAlchemy."""

    def __init__(self, database: Database, owner: str) -> None:
        self.database = database
        self.owner = owner

    async def written_by(self, dataset: Dataset, model_id: str) -> list[Written]:
        return await self.database.read(lambda connection: _written_by(connection, dataset, model_id))

    async def known_without(
        self, dataset: Dataset, part: Written, extraction: Extraction, model_id: str, clock: Callable[[], datetime]
    ) -> tuple[Known, Replaced]:
        def tried(connection: Connection) -> None:
            before = connection.execute(DATASET.where(t.datasets.c.id == dataset.id)).one_or_none()
            if before is None:
                raise Conflict("the dataset was forgotten meanwhile")
            gone = _remove(connection, dataset, part, extraction, model_id, clock)
            known = replace(known_of(connection, dataset, extraction, {}), seq=dataset_of(before).head_seq)
            raise _NothingHappened((known, gone.counted(part)))

        try:
            await self.database.write(tried)
        except _NothingHappened as ended:
            return ended.found
        raise AssertionError("a tried transaction always ends so")

    async def replace(self, change: GraphChange, part: Written, model_id: str) -> Replaced:
        return await self.database.write(lambda connection: _replace(connection, change, part, model_id, self.owner))


def _written_by(connection: Connection, dataset: Dataset, model_id: str) -> list[Written]:
    a, e = t.artifacts, t.edges
    first_read_in = sa.select(e.c.artifact_id).where(e.c.dataset_id == dataset.id, e.c.model_id == model_id)
    mine = (a.c.dataset_id == dataset.id) & a.c.kind.in_(_READ)
    found = connection.execute(sa.select(a).where(mine, a.c.id.in_(first_read_in)).order_by(a.c.id)).all()
    parts: list[Written] = []
    for (seq, conversation), rows in groupby(found, lambda row: (row.seq, _is_message(row))):
        if conversation:  # messages are read with those that they were told together with
            select = sa.select(a).where(mine, a.c.seq == seq, a.c.kind == "episode").order_by(a.c.id)
            parts.append(_part(connection.execute(select).all(), conversation=True))
        else:
            parts += [_part([row], conversation=False) for row in rows]
    return parts


def _is_message(row: sa.Row[tuple[object, ...]]) -> bool:
    return row.kind == "episode" and row.index_name == "chunks"


def _part(rows: Sequence[sa.Row[tuple[object, ...]]], *, conversation: bool) -> Written:
    artifacts = tuple(
        Artifact(
            row.kind,
            row.text,
            row.session_id,
            row.valid_at,
            speaker=row.speaker,
            external_id=row.external_id,
            session_source=row.session_source,
        )
        for row in rows
    )
    return Written(tuple(int(row.id) for row in rows), artifacts, conversation)


# What goes ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Gone:
    """What was taken out, and the facts of the part that the new reading states again."""

    facts: set[int]
    entities: set[int]
    again: set[int]
    shared: set[int]
    reopened: int = 0

    def counted(self, part: Written) -> Replaced:
        return Replaced(
            part.ids,
            removed=len(self.facts),
            reworded=len(self.again),
            kept=len(self.shared),
            reopened=self.reopened,
        )


def _remove(
    connection: Connection,
    dataset: Dataset,
    part: Written,
    extraction: Extraction,
    model_id: str,
    clock: Callable[[], datetime],
) -> _Gone:
    """Takes out what only this part supports and the new reading does not state; what that had closed is open again.
    What others support loses this part's word."""
    found = _going(connection, dataset, part, extraction, model_id)
    if found.shared:
        _unlink(connection, dataset, part, found.shared, clock)
    if not (found.facts or found.entities):
        return found
    order = Order(dataset.user_id, dataset.name, "artifact", part.ids[0], clock, UNDO_FOR, lambda _removal: None)
    removal = _Forget(connection, order, dataset, _Going(entities=found.entities, edges=found.facts), "").run()
    if removal.tombstone is not None:
        mine = t.tombstones.c.id == removal.tombstone.id
        connection.execute(sa.update(t.tombstones).where(mine).values(action="reextract"))
    if removal.dataset is not None:
        c = t.commits.c
        mine = (c.dataset_id == dataset.id) & (c.seq == removal.dataset.head_seq)
        connection.execute(sa.update(t.commits).where(mine).values(kind="reextract"))
    return replace(found, reopened=int(removal.counts.get("reopened", 0)))


def _going(connection: Connection, dataset: Dataset, part: Written, extraction: Extraction, model_id: str) -> _Gone:
    ids, e, link, names = set(part.ids), t.edges, t.edge_artifacts, t.entity_artifacts
    known = named(connection, dataset.id, _keys(extraction))
    triples = set(_triples(extraction, known))
    select = sa.select(e.c.id, e.c.source_id, e.c.target_id, e.c.relation, e.c.model_id).join(
        link, link.c.edge_id == e.c.id
    )
    rows = connection.execute(select.where(link.c.artifact_id.in_(ids)).distinct()).all()
    again = {row.id for row in rows if (row.source_id, row.target_id, row.relation) in triples}
    alone = _unsupported(connection, link, link.c.edge_id, ids)
    facts = {row.id for row in rows if row.model_id == model_id and row.id in alone - again}
    shared = {row.id for row in rows} - again - alone
    stay = {entity.id for entity in known.values()}
    lonely = _unsupported(connection, names, names.c.entity_id, ids) - stay
    entities = lonely - _ends_of_others(connection, lonely, facts)
    return _Gone(facts, entities, again, shared)


def _keys(extraction: Extraction) -> set[str]:
    stated = {entity.ref.key for entity in extraction.entities}
    return stated | {extraction.ref(name).key for edge in extraction.edges for name in (edge.source, edge.target)}


def _triples(extraction: Extraction, known: Mapping[EntityRef, Entity]) -> Iterable[Triple]:
    for edge in extraction.edges:
        source, target = known.get(extraction.ref(edge.source)), known.get(extraction.ref(edge.target))
        if source and target:
            yield source.id, target.id, edge.relation


def _unlink(
    connection: Connection, dataset: Dataset, part: Written, facts: set[int], clock: Callable[[], datetime]
) -> None:
    """Facts that others state too: without this part's words, and with the times that the others give them."""
    link = t.edge_artifacts
    reworded_facts(connection, facts, frozenset(part.ids))
    mine = link.c.artifact_id.in_(part.ids) & link.c.edge_id.in_(facts)
    before = told(connection, facts, frozenset(part.ids))
    connection.execute(sa.delete(link).where(mine))
    taken = next_commit(connection, dataset.user_id, dataset.name, clock)
    assert taken is not None  # its row was read in this transaction
    commit = CommitOf(dataset.id, taken[0].head_seq, taken[1])
    reopened = retime(connection, commit, before)
    commit_row(connection, commit, "reextract", {"reopened": reopened}, touched(edges=facts))


# What comes -----------------------------------------------------------------------------------------------------------


class _Restore(_Store):
    """Stores a reading of artifacts that are there already."""

    kind = "reextract"
    ids: tuple[int, ...] = ()
    held: Sequence[Edge] = ()

    def _artifacts(self) -> list[int]:
        return list(self.ids)

    def _facts(self, entities: dict[EntityRef, Entity], read: Sequence[int]) -> tuple[list[Edge], tuple[int, ...]]:
        held, invalidated = super()._facts(entities, read)
        self.held = held
        return held, invalidated


def _replace(connection: Connection, change: GraphChange, part: Written, model_id: str, owner: str) -> Replaced:
    mine = (t.datasets.c.user_id == change.user_id) & (t.datasets.c.name == change.dataset)
    row = connection.execute(DATASET.where(mine).with_for_update()).one_or_none()
    there = sa.select(sa.func.count()).where(t.artifacts.c.id.in_(part.ids))
    if row is None or connection.execute(there).scalar_one() != len(part.ids):
        raise Conflict("the text was forgotten while it was read; nothing was changed")
    dataset = dataset_of(row)
    gone = _remove(connection, dataset, part, change.extraction, model_id, change.clock)
    work = _Restore(connection, change, owner)
    work.ids = part.ids
    stored = work.run()
    _reword(connection, dataset, change.extraction, work.held, model_id)
    return replace(gone.counted(part), added=len({edge.id for edge in stored.edges} - gone.again))


def _reword(
    connection: Connection, dataset: Dataset, extraction: Extraction, held: Sequence[Edge], model_id: str
) -> None:
    """Facts and entities of the weaker engine that the better one states too: in its words, under its name."""
    poorer: set[int] = set()
    for stated, edge in zip(extraction.edges, held, strict=True):
        if edge.model_id == model_id:
            words = stated.description or edge.description
            values = {"model_id": extraction.model_id, "description": words}
            connection.execute(sa.update(t.edges).where(t.edges.c.id == edge.id).values(values))
            if words != edge.description:
                poorer.add(edge.id)
    known = named(connection, dataset.id, _keys(extraction))
    ids = {entity.id for entity in known.values() if entity.model_id == model_id}
    connection.execute(sa.update(t.entities).where(t.entities.c.id.in_(ids)).values(model_id=extraction.model_id))
    if dataset.embedding_model is not None and poorer:
        waiting = (t.vector_outbox.c.dataset_id == dataset.id) & (t.vector_outbox.c.index_name == "edges")
        some = t.vector_outbox.c.ref_id.in_(poorer) & (t.vector_outbox.c.op == "upsert")
        connection.execute(sa.delete(t.vector_outbox).where(waiting & some))
        queue(connection, dataset.id, "edges", sorted(poorer))
