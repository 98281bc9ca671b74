"""SqlGraphQueries: the port GraphQueries over views in a process of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.errors import InvalidRequest, QueriesUnavailable, QueryTimeout, QueryTooLarge
from core.graph import Dataset
from core.rdf.ports import MAX_ROWS, READ_SECONDS, GraphQueries, GraphQuery
from core.rdf.terms import Row, Solutions, Term
from core.rdf.vocabulary import base_of
from storage import tables as t
from storage.database import Database
from storage.journal import rewritten_after
from storage.rdf import messages as m
from storage.rdf.changes import Changes
from storage.rdf.process import Gone, Reply, WorkerProcess
from storage.rdf.rows import changes_since, microseconds, rows_back_at, whole_at

# How often a query may meet another commit than the one that it was made ready for, or a worker that ends.
TRIES = 5
# Up to so many rows lead back to a past commit in the child of each query; so does up to this share of the view.
SMALL, NEAR = 2000, 0.5
# How much later than its deadline a query ends at most.
LATE_SECONDS = 0.4
# A part of a view is loaded in tenths of a second; the worker may have other parts to load first.
BRING_SECONDS = 60.0
# More rows than these are made ready for the caller in a thread: the event loop has others to serve.
MANY_ROWS = 500


class SqlGraphQueries(GraphQueries):
    """Answers over the rows of a database. The first query starts the worker; `close` ends it."""

    def __init__(
        self,
        database: Database,
        *,
        base_iri: str = "",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        process: WorkerProcess | None = None,
    ) -> None:
        self._database = database
        self._base_iri = base_iri
        self._clock = clock
        self._process = process or WorkerProcess()
        self._bringing: dict[tuple[m.Key, bool], asyncio.Task[None]] = {}

    async def solve(self, dataset: Dataset, query: GraphQuery, *, at_seq: int | None = None) -> Solutions:
        end = time.monotonic() + query.seconds
        try:
            async with asyncio.timeout(query.seconds + LATE_SECONDS):
                for _ in range(TRIES):
                    try:
                        reply = await self._tried(dataset, query, at_seq, end)
                    except Gone:
                        continue
                    if reply[0] != m.MISSING:
                        return await _solutions(reply)
        except TimeoutError:
            raise QueryTimeout("the query ran to its deadline and was stopped") from None
        raise _ends_again()

    async def check(self, text: str) -> None:
        for _ in range(TRIES):
            try:
                _checked(await self._process.ask(m.Parse(text, READ_SECONDS), READ_SECONDS))
            except Gone:
                continue
            return
        raise _ends_again()

    @property
    def pid(self) -> int | None:
        """The id of the process that answers; None where none does."""
        return self._process.pid

    async def close(self) -> None:
        """Ends the worker and what is being brought to it."""
        tasks = list(self._bringing.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(self._process.close)

    async def _tried(self, dataset: Dataset, query: GraphQuery, at_seq: int | None, end: float) -> Reply:
        """The worker's answer; MISSING where it had not the view that is needed, and now may have it."""
        head = await self._database.read(lambda connection: _head(connection, dataset.id))
        if at_seq is not None and not 0 <= at_seq <= head:
            raise InvalidRequest("as_of_commit_seq: there is no such commit", param="as_of_commit_seq")
        if at_seq is not None and at_seq < head:
            return await self._past(dataset, query, at_seq, end)
        key = m.Key(dataset.id)
        if at_seq is None:
            run = _run(key, query, end, lowest=head, now=microseconds(self._clock()))
        else:
            run = _run(key, query, end, lowest=head, highest=head)
        reply = await self._process.ask(run, run.seconds)
        if reply[0] == m.MISSING:
            await self._bring(dataset, key, query.facts)
        return reply

    async def _past(self, dataset: Dataset, query: GraphQuery, at_seq: int, end: float) -> Reply:
        """The query at a past commit: on a view of that commit if one is kept, led back from the present if that is not
        far, else on a new view."""
        held = await self._held(dataset, end)
        rewritten = await self._database.read(lambda c: rewritten_after(c, dataset.id, at_seq))
        key = m.Key(dataset.id, at_seq, rewritten)
        if not held.has(key, query.facts):
            if held.seq is None or held.seq < at_seq or held.facts < query.facts:
                await self._bring(dataset, m.Key(dataset.id), query.facts)
                return (m.MISSING,)
            highest, back = await self._database.read(
                lambda c: (_head(c, dataset.id), rows_back_at(c, dataset.id, at_seq))
            )
            if back is not None and _size(back) <= max(SMALL, NEAR * held.size):
                run = _run(m.Key(dataset.id), query, end, lowest=at_seq, highest=highest, back=back)
                return await self._process.ask(run, run.seconds)
            await self._bring(dataset, key, query.facts)
        run = _run(key, query, end, lowest=at_seq)
        return await self._process.ask(run, run.seconds)

    async def _held(self, dataset: Dataset, end: float) -> _Held:
        _, seq, facts, size, past = await self._process.ask(m.Held(dataset.id), _left(end))
        return _Held(seq, facts, size, past)

    async def _bring(self, dataset: Dataset, key: m.Key, facts: bool) -> None:
        """Brings a view to the worker, or up to date: once for all that wait for it, to the end if they go."""
        what = (key, facts)
        task = self._bringing.get(what)
        if task is None:
            self._bringing[what] = task = asyncio.create_task(self._brought(dataset, *what))
            task.add_done_callback(partial(self._is_brought, what))
        await asyncio.shield(task)

    def _is_brought(self, what: tuple[m.Key, bool], task: asyncio.Task[None]) -> None:
        del self._bringing[what]
        if not task.cancelled():
            task.exception()  # those who still wait are told of it

    async def _brought(self, dataset: Dataset, key: m.Key, facts: bool) -> None:
        changes = None
        if key.seq is None:
            held = await self._held(dataset, time.monotonic() + READ_SECONDS)
            if held.seq is not None and held.facts >= facts:
                seq = held.seq
                changes = await self._database.read(lambda connection: changes_since(connection, dataset.id, seq))
            facts = facts or held.facts
        if changes is None:
            changes = await self._database.read(lambda connection: whole_at(connection, dataset.id, key.seq, facts))
        base, now = self._base_iri or base_of(dataset.name), microseconds(self._clock())
        some = m.parts(changes) if changes.whole else [changes]
        for n, part in enumerate(some, 1):
            bring = m.Bring(key, base, facts, now, part, is_first=n == 1, is_last=n == len(some))
            _checked(await self._process.ask(bring, BRING_SECONDS))


class _Held(NamedTuple):
    """What the worker holds of a dataset, as Shelf.held tells it."""

    seq: int | None
    facts: bool
    size: int
    past: tuple[tuple[int, int, bool], ...]

    def has(self, key: m.Key, facts: bool) -> bool:
        """Whether there is a view of that past commit, with fact nodes where they are asked for."""
        seqs = (key.seq, key.rewritten)
        return any((seq, rewritten) == seqs and has_facts >= facts for seq, rewritten, has_facts in self.past)


def _run(
    key: m.Key,
    query: GraphQuery,
    end: float,
    *,
    lowest: int,
    highest: int | None = None,
    now: int | None = None,
    back: Changes | None = None,
) -> m.Run:
    return m.Run(
        key=key,
        text=query.text,
        facts=query.facts,
        limit=query.limit,
        offset=query.offset,
        counted=MAX_ROWS,
        entailment=query.entailment,
        seconds=_left(end),
        lowest=lowest,
        highest=highest,
        now=now,
        back=back,
    )


def _ends_again() -> QueriesUnavailable:
    return QueriesUnavailable("the process that answers queries ended again and again; send the query again")


def _left(end: float) -> float:
    return max(0.0, end - time.monotonic())


def _head(connection: Connection, dataset_id: int) -> int:
    """The newest commit; 0 for a dataset that is not there (yet), which holds nothing."""
    return int(connection.execute(sa.select(t.datasets.c.head_seq).where(t.datasets.c.id == dataset_id)).scalar() or 0)


def _size(changes: Changes) -> int:
    return len(changes.entities) + len(changes.facts) + len(changes.artifacts) + len(changes.quads)


def _checked(reply: Reply) -> Reply:
    """The reply, where it is an answer; the failure that it tells else."""
    kind = reply[0]
    if kind == m.REFUSED:
        raise InvalidRequest(f"query: {reply[1]}", param="query")
    if kind == m.TIMEOUT:
        raise QueryTimeout("the query ran to its deadline and was stopped")
    if kind == m.TOO_LARGE:
        raise QueryTooLarge("the query or its answer needs more memory than one may have; it was stopped")
    if kind == m.FAILED:
        raise QueriesUnavailable(f"the process that answers queries failed ({reply[1]})")
    return reply


async def _solutions(reply: Reply) -> Solutions:
    _, seq, ms, names, rows, total, complete, boolean = _checked(reply)

    def read() -> list[Row]:
        return [{name: Term(*cell) for name, cell in zip(names, row, strict=True) if cell} for row in rows]

    found = read() if len(rows) <= MANY_ROWS else await asyncio.to_thread(read)
    return Solutions(names, found, total, seq, ms, complete, boolean)
