"""The rows that the RDF view is made of, read from the tables: now, after any past commit, and what lies between."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.errors import InvalidRequest
from storage import tables as t
from storage.rdf.changes import ArtifactRow, Changes, EntityRow, FactRow, QuadRow, microseconds
from storage.rdf.unmerged import Alias, Unmerging, merges_since, with_aliases
from storage.tombstones import batches

# How much of an artifact's text the view shows.
BEGINNING = 200
_UNTOLD = ("", None, (), ())


def whole_at(connection: Connection, dataset_id: int, seq: int | None, facts: bool) -> Changes:
    """All rows of a dataset, now or as they were after that commit. Without `facts` the facts come without words and
    sources, and no artifacts.

    What was forgotten is gone from the past too. What was merged is there as it was before, unless the merge was
    purged: then it is one in the past too. Raises InvalidRequest (param `as_of_commit_seq`) for a commit that is not
    there.
    """
    head, at = point = _head(connection, dataset_id)
    if seq is not None and seq != head:
        at = _time_of(connection, dataset_id, seq, point)
    reading = _Reading(connection, dataset_id, head if seq is None else seq, at, head)
    entities, told = reading.graph(full=facts)
    return Changes(
        reading.seq,
        at,
        entities=entities,
        facts=told,
        artifacts=reading.artifacts() if facts else {},
        quads=reading.quads(),
        whole=True,
    )


def changes_since(connection: Connection, dataset_id: int, seq: int) -> Changes | None:
    """The rows that may have changed after that commit, as they are now. None where nobody knows which these are, so
    that all have to be read."""
    head, at = _head(connection, dataset_id)
    touched = _Touched.after(connection, dataset_id, seq, head)
    return touched and touched.changes(_Reading(connection, dataset_id, head, at, head), since=seq)


def rows_back_at(connection: Connection, dataset_id: int, at_seq: int) -> Changes | None:
    """The rows that may have changed after that commit, as they were at it: what leads from the present back there.
    None where nobody knows which these are. Raises InvalidRequest as `whole_at` does."""
    head, at = point = _head(connection, dataset_id)
    at = _time_of(connection, dataset_id, at_seq, point) if at_seq != head else at
    touched = _Touched.after(connection, dataset_id, at_seq, head)
    return touched and touched.changes(_Reading(connection, dataset_id, at_seq, at, head), since=at_seq)


def _head(connection: Connection, dataset_id: int) -> tuple[int, int]:
    """The number of the newest commit, and its time; of a dataset that is not there (yet), which holds nothing, 0."""
    d = t.datasets.c
    select = sa.select(d.head_seq, sa.func.coalesce(d.head_at, d.created_at, type_=t.Time)).where(d.id == dataset_id)
    row = connection.execute(select).one_or_none()
    return (int(row[0]), microseconds(row[1])) if row else (0, 0)


def _time_of(connection: Connection, dataset_id: int, seq: int, head: tuple[int, int]) -> int:
    """When that commit was written; before the first, when the dataset was made."""
    if not 0 <= seq <= head[0]:
        raise InvalidRequest("as_of_commit_seq: there is no such commit", param="as_of_commit_seq")
    c = t.commits.c
    last = sa.select(c.created_at).where(c.dataset_id == dataset_id, c.seq <= seq).order_by(c.seq.desc()).limit(1)
    made = sa.select(t.datasets.c.created_at).where(t.datasets.c.id == dataset_id)
    return microseconds(connection.execute(last).scalar() or connection.execute(made).scalar_one())


# What commits touched -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Touched:
    """The ids of what some commits added, changed or took away. Of triples their rows tell."""

    entities: set[int]
    edges: set[int]
    artifacts: set[int]

    @classmethod
    def after(cls, connection: Connection, dataset_id: int, seq: int, head: int) -> _Touched | None:
        c = t.commits.c
        rows = connection.execute(sa.select(c.touched).where(c.dataset_id == dataset_id, c.seq > seq)).scalars().all()
        if seq > head or len(rows) != head - seq or None in rows:
            return None
        return cls(*({i for row in rows for i in row.get(name, ())} for name in ("entities", "edges", "artifacts")))

    def changes(self, reading: _Reading, since: int) -> Changes:
        entities, facts = reading.graph(self.entities, self.edges)
        return Changes(
            reading.seq,
            reading.at,
            entities=_or_none(self.entities, entities),
            facts=_or_none(self.edges, facts),
            artifacts=_or_none(self.artifacts, reading.artifacts(self.artifacts)),
            quads=reading.changed_quads(since),
        )


def _or_none(ids: Iterable[int], rows: Mapping[int, Any]) -> dict[int, Any]:
    return {i: rows.get(i) for i in ids}


# Rows -----------------------------------------------------------------------------------------------------------------


class _Microseconds(dict[Any, Any]):
    """Times as the driver hands them out, in microseconds. Most come more than once: a commit has one time."""

    def __missing__(self, value: str | datetime) -> int:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        self[value] = found = microseconds(moment)
        return found


def _raw(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """A column as the driver hands it out: making a datetime of each time would cost more than the rest."""
    return sa.type_coerce(column, sa.types.NULLTYPE)


class _Reading:
    """The rows of a dataset as they were after a commit; `seq` is the newest one for now, `at` its time. All of them,
    or some by id: those that are there then."""

    def __init__(self, connection: Connection, dataset_id: int, seq: int, at: int, head: int) -> None:
        self.connection = connection
        self.dataset_id = dataset_id
        self.seq = seq
        self.at = at
        self.is_past = seq < head
        self.micros = _Microseconds({None: None})

    def graph(
        self, entity_ids: Iterable[int] | None = None, edge_ids: Iterable[int] | None = None, *, full: bool = True
    ) -> tuple[dict[int, EntityRow], dict[int, FactRow]]:
        """The entities, and the facts: without `full` each without words and sources."""
        entities, facts = self._entities(entity_ids), self._facts(edge_ids, full=full)
        aliases = self._aliases(entity_ids)
        later: dict[int, EntityRow] = {}
        if self.is_past and (merges := merges_since(self.connection, self.dataset_id, self.seq)):
            back = Unmerging(self.connection, self.dataset_id, self.seq, self.at, entities, facts, aliases, full)
            back.undo(merges)
            ends = {end for fact in facts.values() for end in (fact.source_id, fact.target_id)} - entities.keys()
            later = {i: row for i, row in back.later.items() if i in ends} | self._later(ends)
        elif self.is_past:
            later = self._ends_of_then(entity_ids)
        entities |= later
        with_aliases(entities, aliases.values())
        return entities, facts

    def _aliases(self, ids: Iterable[int] | None) -> dict[int, Alias]:
        """The names of entities that were merged into others, by the ids that they had."""
        a, micros = t.aliases.c, self.micros
        rows = self._rows((a.former_id, a.entity_id, a.name, _raw(a.created_at)), a.entity_id, None, ids)
        return {
            i: Alias(entity_id, name)
            for i, entity_id, name, created in rows
            if not self.is_past or micros[created] <= self.at
        }

    def _entities(self, ids: Iterable[int] | None) -> dict[int, EntityRow]:
        e, v = t.entities.c, t.entity_versions.c
        columns = (e.id, e.name, e.type, e.description)
        rows = self._rows(columns, e.id, e.created_seq, ids)
        found = {i: EntityRow(name, type_, description) for i, name, type_, description in rows}
        for i, name, type_, description in self._before(v.entity_id, (v.name, v.type, v.description), v.seq, ids):
            if i in found:
                found[i] = EntityRow(name, type_, description)
        return found

    def _ends_of_then(self, ids: Iterable[int] | None) -> dict[int, EntityRow]:
        """Entities that came later and that facts of then are about by now, as one that another was merged into or that
        stands for one that was forgotten."""
        e, f = t.entities.c, t.edges.c
        # The sum keeps SQLite from walking through the commits instead of going to the facts of one entity.
        its = (f.dataset_id == self.dataset_id) & (f.created_seq + 0 <= self.seq)
        return self._later(ids, sa.or_(*(sa.exists().where(its, end == e.id) for end in (f.source_id, f.target_id))))

    def _later(self, ids: Iterable[int] | None, which: sa.ColumnElement[bool] | None = None) -> dict[int, EntityRow]:
        """Entities that came later: nobody had said of them what they are."""
        e = t.entities.c
        is_later = e.created_seq > self.seq
        rows = self._rows((e.id, e.name, e.type), e.id, None, ids, is_later if which is None else is_later & which)
        return {i: EntityRow(name, type_, "") for i, name, type_ in rows}

    def _facts(self, ids: Iterable[int] | None, *, full: bool) -> dict[int, FactRow]:
        e, micros = t.edges.c, self.micros
        times = (_raw(e.valid_at), _raw(e.invalid_at), _raw(e.created_at), _raw(e.expired_at))
        words = (e.description, e.artifact_id) if full else ()
        columns = (e.id, e.source_id, e.relation, e.target_id, *times, *words)
        artifacts, sessions = self._sources(ids) if full else ({}, {})
        found: dict[int, FactRow] = {}
        for i, source, relation, target, valid, invalid, created, expired, *said in self._rows(
            columns, e.id, e.created_seq, ids
        ):
            then = (micros[valid], micros[invalid], micros[created], micros[expired])
            told = (*said, tuple(artifacts.get(i, ())), tuple(sessions.get(i, ()))) if full else _UNTOLD
            found[i] = FactRow._make((source, relation, target, *then, *told))
        self._as_they_were(found, ids)
        return found

    def _as_they_were(self, found: dict[int, FactRow], ids: Iterable[int] | None) -> None:
        v, micros = t.edge_versions.c, self.micros
        times = (_raw(v.valid_at), _raw(v.invalid_at), _raw(v.expired_at))
        for i, valid, invalid, expired in self._before(v.edge_id, times, v.seq, ids):
            if (fact := found.get(i)) is not None:
                then = {"valid_at": micros[valid], "invalid_at": micros[invalid], "expired_at": micros[expired]}
                found[i] = fact._replace(**then)

    def _sources(self, ids: Iterable[int] | None) -> tuple[dict[int, list[int]], dict[int, list[str]]]:
        """The artifacts that state each fact, and the sessions that told it, in order."""
        link, told, e = t.edge_artifacts.c, t.edge_sessions.c, t.edges.c
        artifacts: dict[int, list[int]] = defaultdict(list)
        # Links are found by their facts: no index leads from a dataset to them.
        mine = link.edge_id.in_(sa.select(e.id).where(e.dataset_id == self.dataset_id)) if ids is None else None
        for i, artifact_id in self._rows((link.edge_id, link.artifact_id), link.edge_id, link.seq, ids, mine):
            artifacts[i].append(artifact_id)
        sessions: dict[int, list[str]] = defaultdict(list)
        for i, session_id in self._rows((told.edge_id, told.session_id), told.edge_id, None, ids, self._seen(told)):
            sessions[i].append(session_id)
        for found in (*artifacts.values(), *sessions.values()):
            found.sort()
        return artifacts, sessions

    def _seen(self, told: Any) -> sa.ColumnElement[bool]:
        """A session tells its first fact in a commit, and has the time of it."""
        if not self.is_past:
            return sa.true()
        c = t.commits.c
        mine = sa.select(c.created_at).where(c.dataset_id == self.dataset_id, c.seq <= self.seq)
        return told.first_seen_at <= mine.order_by(c.seq.desc()).limit(1).scalar_subquery()

    def artifacts(self, ids: Iterable[int] | None = None) -> dict[int, ArtifactRow]:
        a, micros = t.artifacts.c, self.micros
        beginning = sa.func.substr(a.text, 1, BEGINNING)
        columns = (a.id, a.kind, _raw(a.valid_at), _raw(a.created_at), a.session_id, a.speaker, a.parent_id, beginning)
        return {
            i: ArtifactRow(kind, micros[valid], micros[created], *more)
            for i, kind, valid, created, *more in self._rows(columns, a.id, a.seq, ids)
        }

    def quads(self) -> dict[int, QuadRow]:
        """The triples that were loaded, and not taken away."""
        q = t.quads.c
        there = q.removed_seq.is_(None) | (q.removed_seq > self.seq) if self.is_past else q.removed_seq.is_(None)
        columns = (q.id, q.subject, q.predicate, q.object, q.graph)
        rows = self._rows(columns, q.id, q.created_seq, None, there)
        return {i: QuadRow(subject, predicate, object_, graph) for i, subject, predicate, object_, graph in rows}

    def changed_quads(self, since: int) -> dict[int, QuadRow | None]:
        """The triples that came or went after a commit, each as it is in this reading."""
        q = t.quads.c
        columns = (q.id, q.created_seq, q.removed_seq, q.subject, q.predicate, q.object, q.graph)
        found: dict[int, QuadRow | None] = {}
        for moved in (q.created_seq, q.removed_seq):
            select = sa.select(*columns).where(q.dataset_id == self.dataset_id, moved > since)
            for i, created, removed, *terms in self.connection.execute(select):
                is_there = created <= self.seq and (removed is None or removed > self.seq)
                found[i] = QuadRow(*terms) if is_there else None
        return found

    def _rows(
        self,
        columns: Iterable[sa.ColumnElement[Any]],
        key: sa.Column[int],
        since: sa.Column[int] | None,
        ids: Iterable[int] | None,
        which: sa.ColumnElement[bool] | None = None,
    ) -> Iterator[Any]:
        """The rows that were there after the commit, all or by their key."""
        dataset = key.table.c.dataset_id
        select = sa.select(*columns)
        if which is not None:
            select = select.where(which)
        if self.is_past and since is not None:
            select = select.where(since <= self.seq)
        if ids is None:
            yield from self.connection.execute(select.where(dataset == self.dataset_id))
            return
        # The sum keeps SQLite from walking an index over the whole dataset instead of going to these rows.
        select = select.where(dataset + 0 == self.dataset_id)
        for some in batches(ids):
            yield from self.connection.execute(select.where(key.in_(some)))

    def _before(
        self,
        key: sa.Column[int],
        columns: Iterable[sa.ColumnElement[Any]],
        seq: sa.Column[int],
        ids: Iterable[int] | None,
    ) -> Iterator[Any]:
        """What rows said after the commit, where they say something else now: the first that was replaced later."""
        if not self.is_past:
            return
        select = sa.select(key, *columns).where(seq > self.seq).order_by(key, seq.desc())
        dataset = key.table.c.dataset_id
        if ids is None:
            yield from self.connection.execute(select.where(dataset == self.dataset_id))
            return
        for some in batches(ids):
            yield from self.connection.execute(select.where(dataset + 0 == self.dataset_id, key.in_(some)))
