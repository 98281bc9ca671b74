"""What the core asks of the RDF view, of the record of commits and of the store of triples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any, Literal, Protocol

from core.graph import Dataset
from core.rdf.terms import Solutions

Entailment = Literal["none", "subclass", "rdfs"]
RdfFormat = Literal["ntriples", "turtle", "nquads", "trig"]
# Seconds in which a read ends, unless its caller gives it less.
READ_SECONDS = 25.0
# How many rows are counted at most, and how many are handed out where no limit is asked for.
MAX_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class GraphQuery:
    """A SELECT or an ASK that passed the gate (core/rdf/gate.py), its prefixes declared. What a search by meaning found
    stands in it already, as VALUES.

    `facts`: it names the vocabulary of fact nodes, which are part of the graph for such queries only. `seconds` is its
    deadline, from the call to the answer. `limit` None: all rows, up to MAX_ROWS.
    """

    text: str
    limit: int | None = None
    offset: int = 0
    entailment: Entailment = "none"
    facts: bool = False
    seconds: float = READ_SECONDS


class GraphQueries(Protocol):
    """Answers SPARQL over the RDF view of a dataset: what was remembered, projected, and what was loaded.

    The view stands for the commit that is newest when the query starts, and for that moment: facts begin and end by the
    clock, without a commit.
    """

    async def solve(self, dataset: Dataset, query: GraphQuery, *, at_seq: int | None = None) -> Solutions:
        """The rows, at the newest commit, or exactly as they were after the commit `at_seq` (at its time).

        Raises InvalidRequest (param `query`) where the engine can't read it, InvalidRequest (param `as_of_commit_seq`)
        for a commit that is not there, QueryTimeout, QueryTooLarge, and QueriesUnavailable.
        """
        ...

    async def check(self, text: str) -> None:
        """Raises InvalidRequest (param `query`) where the engine can't read a query; runs nothing."""
        ...


@dataclass(frozen=True, slots=True)
class StoredCommit:
    """One numbered write of a dataset."""

    seq: int
    kind: str
    created_at: datetime
    artifact_id: int | None = None
    session_id: str | None = None


class CommitLog(Protocol):
    """The numbered writes of datasets. Commit 0 is the empty dataset, before its first write."""

    async def at(self, dataset: Dataset, moment: datetime) -> StoredCommit | None:
        """The last commit written at that moment or before; None where the first one came later."""
        ...

    async def first(self, dataset: Dataset) -> StoredCommit | None:
        """The first commit; None where there is none."""
        ...

    async def commit(self, dataset: Dataset, seq: int) -> StoredCommit | None:
        """The commit of that number."""
        ...


@dataclass(frozen=True, slots=True)
class Load:
    """Triples to be loaded into a dataset, which is created if it is not there. Nothing is stored unless all of it can
    be read; with `strict` False, lines of N-Triples and N-Quads that can't be read are left out and told of."""

    user_id: str
    dataset: str
    content: IO[bytes]
    format: RdfFormat
    base_iri: str = ""
    graph_iri: str = ""
    strict: bool = True


@dataclass(frozen=True, slots=True)
class LoadProblem:
    """Why a line could not be read; lines count from 1."""

    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load or an update did. `seq` is its commit; None where it changed nothing."""

    dataset: Dataset
    seq: int | None
    created: bool
    lines: int
    triples: int
    resources: int
    """Triples whose object is a record, of those read."""
    added: int
    known_resources: int
    """Triples that were there already, or came twice; below those whose object is a literal."""
    known_literals: int
    predicates: Mapping[str, tuple[int, int]]
    """Each with how many of its triples have a record for their object, and how many a literal. As N-Triples writes
    them."""
    removed: int = 0
    problems: Sequence[LoadProblem] = ()
    """The first of the lines that were left out; `left_out` counts all of them."""
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Once:
    """A name that its caller gave to a write, and the SHA-256 of its content: sent again within a day it is answered
    as the first time, and nothing is written. `answer` makes the response that is kept."""

    key: str
    sha256: str
    answer: Callable[[Loaded], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Kept:
    """The response of a write that was sent before."""

    response: Mapping[str, Any]


class TripleStore(Protocol):
    """The triples that were loaded into datasets, beside what was remembered. A write that changes nothing makes no
    commit. Raises IdempotencyConflict for a name that was given to another write."""

    async def load(self, load: Load, clock: Callable[[], datetime], once: Once | None = None) -> Loaded | Kept:
        """Everything in one commit. Raises InvalidRequest with the line of what can't be read."""
        ...

    async def update(
        self, user_id: str, dataset: str, text: str, clock: Callable[[], datetime], once: Once | None = None
    ) -> Loaded | Kept:
        """INSERT DATA and DELETE DATA, everything of one request in one commit. Raises InvalidRequest (param `update`)
        for every other form."""
        ...
