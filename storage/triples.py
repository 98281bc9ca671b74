"""SqlTriples: RDF into the tables in one transaction: everything of a load, or nothing."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.graph import Dataset
from core.rdf.ports import Kept, Load, Loaded, Once
from core.rdf.update import DataOperation, data_operations
from storage import tables as t
from storage.database import Database
from storage.idempotent import keep, kept
from storage.journal import CommitKind, commit_row, touched
from storage.rdf.changes import QuadRow
from storage.rdf.parsing import LINE_BY_LINE, Problems, Source, graph_term, read_quads
from storage.retime import CommitOf
from storage.rows import DATASET, dataset_of
from storage.write import insert_or_ignore, next_commit

# Rows of one INSERT, and parameters of one DELETE; characters of the rows that wait for an INSERT.
_AT_ONCE, _WAITING = 5_000, 16 << 20
NewRow = tuple[bytes, str, str, str, str, int, int | None]
"""Digest, subject, predicate, object, graph, and the commits that it came and went with."""
_COLUMNS = {
    "digest": "bytea",
    "subject": "text",
    "predicate": "text",
    "object": "text",
    "graph": "text",
    "created_seq": "bigint",
    "removed_seq": "bigint",
}


class SqlTriples:
    """core.rdf.ports.TripleStore on SQLAlchemy."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def load(self, load: Load, clock: Callable[[], datetime], once: Once | None = None) -> Loaded | Kept:
        graph = graph_term(load.graph_iri)

        def write(connection: Connection) -> Loaded | Kept:
            return _written(
                connection, load.user_id, load.dataset, clock, once, lambda writing: _load(writing, load, graph)
            )

        try:
            return await self.database.write(write)
        except asyncio.CancelledError:
            load.content.close()  # the writer's thread goes on alone: what it can't read to its end is not stored
            raise

    async def update(
        self, user_id: str, dataset: str, text: str, clock: Callable[[], datetime], once: Once | None = None
    ) -> Loaded | Kept:
        operations = await asyncio.to_thread(data_operations, text)

        def write(connection: Connection) -> Loaded | Kept:
            return _written(connection, user_id, dataset, clock, once, lambda writing: _update(writing, operations))

        return await self.database.write(write)


def _written(
    connection: Connection,
    user_id: str,
    dataset: str,
    clock: Callable[[], datetime],
    once: Once | None,
    work: Callable[[_Writing], Loaded],
) -> Loaded | Kept:
    """One write, unless it was sent before. Where it changes nothing, its commit is taken back."""
    commit = connection.begin_nested()
    writing = _Writing(connection, user_id, dataset, clock)
    if once is not None and (before := kept(connection, user_id, dataset, once)) is not None:
        commit.rollback()
        return before
    loaded = work(writing)
    if loaded.seq is None:
        commit.rollback()
    else:
        commit.commit()
    if once is not None:
        keep(connection, user_id, dataset, once, once.answer(loaded), clock())
    return loaded


def _load(writing: _Writing, load: Load, graph: str) -> Loaded:
    source = Source(load.content)
    problems = Problems("content", tolerant=not load.strict and load.format in LINE_BY_LINE)
    for quad in read_quads(source, load.format, problems, base_iri=load.base_iri, own_nodes=writing.own_nodes):
        writing.add(quad if quad.graph or not graph else quad._replace(graph=graph))
    writing.flush()
    return writing.loaded("load", source.lines, problems)


def _update(writing: _Writing, operations: list[DataOperation]) -> Loaded:
    wanted: dict[QuadRow, bool] = {}
    """Of each triple whether it is there in the end: what is added and taken away again does neither."""
    for number, operation in enumerate(operations):
        is_insert = operation.form == "insert"
        own = f"{writing.own_nodes}{number}_" if is_insert else None
        source = Source(io.BytesIO(f"{operation.prologue}{operation.block}".encode()))
        for quad in read_quads(source, "trig", Problems("update", first_line=operation.line), own_nodes=own):
            wanted[quad] = is_insert
    writing.take_away(quad for quad, is_there in wanted.items() if not is_there)
    for quad, is_there in wanted.items():
        if is_there:
            writing.add(quad)
    writing.flush()
    return writing.loaded("update")


class _Writing:
    """One commit of triples; holds the dataset's row from its start."""

    def __init__(self, connection: Connection, user_id: str, name: str, clock: Callable[[], datetime]) -> None:
        self.connection = connection
        fresh = {"user_id": user_id, "name": name, "head_seq": 0, "created_at": clock()}
        make = insert_or_ignore(connection.dialect.name, t.datasets, "user_id", "name", "forgotten_id")
        self.created = connection.execute(make.returning(t.datasets.c.id), fresh).first() is not None
        taken = next_commit(connection, user_id, name, clock)
        assert taken is not None  # it was made in this transaction
        self.dataset, now = taken
        self.commit = CommitOf(self.dataset.id, self.dataset.head_seq, now)
        # What the names of its blank nodes begin with: no other commit of the dataset has such.
        self.own_nodes = nodes_of(self.commit.seq)
        self.read: Counter[bool] = Counter()
        """How many triples were read and, below, added: by whether their object is a literal."""
        self.added: Counter[bool] = Counter()
        self.removed = 0
        self.predicates: dict[str, tuple[int, int]] = {}
        self._waiting: dict[bool, list[NewRow]] = {False: [], True: []}
        self._size = 0

    def add(self, quad: QuadRow) -> None:
        literal = quad.object.startswith('"')
        self.read[literal] += 1
        resources, literals = self.predicates.get(quad.predicate, (0, 0))
        self.predicates[quad.predicate] = (resources + (not literal), literals + literal)
        waiting = self._waiting[literal]
        waiting.append(new_row(quad, self.commit.seq))
        self._size += sum(map(len, quad))
        if self._size > _WAITING:
            self.flush()
        elif len(waiting) == _AT_ONCE:
            self._insert(literal)

    def flush(self) -> None:
        for literal in self._waiting:
            self._insert(literal)
        self._size = 0

    def _insert(self, literal: bool) -> None:
        self.added[literal] += insert_new(self.connection, self.commit.dataset_id, self._waiting[literal])
        self._waiting[literal] = []

    def take_away(self, quads: Iterable[QuadRow]) -> None:
        q = t.quads.c
        digests = [_digest(quad) for quad in quads]
        there = sa.update(t.quads).where(q.dataset_id == self.commit.dataset_id, q.removed_seq.is_(None))
        for start in range(0, len(digests), _AT_ONCE):
            some = there.where(q.digest.in_(digests[start : start + _AT_ONCE]))
            self.removed += self.connection.execute(some.values(removed_seq=self.commit.seq)).rowcount

    def loaded(self, kind: CommitKind, lines: int = 0, problems: Problems | None = None) -> Loaded:
        """What was done, with its commit; without one where there was nothing to do."""
        added = self.added.total()
        changed = bool(added or self.removed)
        if changed:
            commit_row(self.connection, self.commit, kind, {"added": added, "removed": self.removed}, touched())
        return Loaded(
            dataset=self.dataset if changed else self._before(),
            seq=self.commit.seq if changed else None,
            created=self.created and changed,
            lines=lines,
            triples=self.read.total(),
            resources=self.read[False],
            added=added,
            removed=self.removed,
            known_resources=self.read[False] - self.added[False],
            known_literals=self.read[True] - self.added[True],
            predicates=self.predicates,
            problems=problems.told if problems else (),
            left_out=problems.count if problems else 0,
        )

    def _before(self) -> Dataset:
        """The dataset without the commit that it does not get; 0 stands for the id of one that was not there."""
        row = self.connection.execute(DATASET.where(t.datasets.c.id == self.dataset.id)).one()
        dataset = dataset_of(row)
        return Dataset(0 if self.created else dataset.id, dataset.user_id, dataset.name, dataset.head_seq - 1)


# Rows -----------------------------------------------------------------------------------------------------------------


def nodes_of(seq: int) -> str:
    """What the names of blank nodes that came with a commit begin with."""
    return f"c{seq}_"


def new_row(quad: QuadRow, created_seq: int, removed_seq: int | None = None) -> NewRow:
    """The row of a triple that is there from one commit on, until another if it was taken away since."""
    return _digest(quad), quad.subject, quad.predicate, quad.object, quad.graph, created_seq, removed_seq


def _digest(quad: QuadRow) -> bytes:
    return hashlib.sha256(" ".join(quad).encode()).digest()


def insert_new(connection: Connection, dataset_id: int, rows: Sequence[NewRow]) -> int:
    """Inserts the triples of a dataset that are not there; how many."""
    if not rows:
        return 0
    if connection.dialect.name == "sqlite":
        # Without the parameters of SQLAlchemy, which would take a third of a load.
        return connection.exec_driver_sql(_INSERT, [(dataset_id, *row) for row in rows]).rowcount
    columns = dict(zip(_COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    return connection.execute(_INSERT_MANY, {"dataset_id": dataset_id, **columns}).rowcount


_INTO = f"INSERT INTO gb_quads (dataset_id, {', '.join(_COLUMNS)})"
_NEW_ONES = "ON CONFLICT (dataset_id, digest) WHERE removed_seq IS NULL DO NOTHING"
_INSERT = f"{_INTO} VALUES (?, {', '.join('?' for _ in _COLUMNS)}) {_NEW_ONES}"
# On PostgreSQL a column at a time: a parameter for each value would take five times as long.
_ARRAYS = ", ".join(f"CAST(:{name} AS {kind}[])" for name, kind in _COLUMNS.items())
_INSERT_MANY = sa.text(f"{_INTO} SELECT :dataset_id, * FROM unnest({_ARRAYS}) {_NEW_ONES}")
