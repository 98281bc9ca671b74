"""The steps of one question: what the model's tools do, and what each found."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, cast, get_args

from core.ask import arguments as args
from core.ask.deadline import COMPARE_SECONDS, QUERY_SECONDS, Deadline
from core.ask.known import candidate_line
from core.ask.places import Place, Places
from core.ask.response import ToolName
from core.ask.seen import Seen
from core.ask.told import iris_of, shown_differences, shown_rows, told_difference, told_rows
from core.compare.comparing import Compared, compare_points
from core.compare.points import Point
from core.core import Core
from core.describe.describe import describe_parts
from core.describe.grounding import Grounding
from core.errors import (
    GligabaoError,
    IndexUnavailable,
    InvalidRequest,
    ModelFailed,
    NoEmbedding,
    NotConfigured,
    NotYetVisible,
    QueryTimeout,
    QueryTooLarge,
)
from core.graph import Dataset
from core.names.names import link_names
from core.rdf.gate import checked
from core.sparql.response import Ran
from core.sparql.sparql import run_sparql

MAX_STEPS = 12
_CANDIDATES = 5
# What the model is told of and may correct; anything else ends the question.
_CORRECTABLE = (
    InvalidRequest,
    NoEmbedding,
    NotConfigured,
    NotYetVisible,
    QueryTimeout,
    QueryTooLarge,
    IndexUnavailable,
    ModelFailed,
)
# A query is stopped by who runs it; this is for what else may hang.
_GRACE = 1.0


@dataclass(frozen=True, slots=True)
class QueryFound:
    """The rows of a query, at a past commit or at the newest one."""

    ran: Ran
    entailment: args.Entailed
    place: Place | None


@dataclass(frozen=True, slots=True)
class CompareFound:
    """What differs between a past commit and a later one. `seq` is the later one."""

    compared: Compared
    entailment: args.Entailed
    earlier: Place
    seq: int


Found = QueryFound | CompareFound


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was taken. `line` says what it was asked in one line, `text` what the model reads of what came of it;
    `error` why it failed. `rows`: how many rows its query has, or how many entries differ."""

    n: int
    tool: ToolName
    input: Mapping[str, Any]
    line: str
    text: str
    ms: int
    error: str | None = None
    rows: int | None = None
    found: Found | None = None


@dataclass(frozen=True, slots=True)
class _Done:
    text: str
    rows: int | None = None
    found: Found | None = None


@dataclass(slots=True)
class Steps:
    """Takes the steps, and keeps them. What the model reads is put among what it has `seen`."""

    core: Core
    dataset: Dataset
    grounding: Grounding
    places: Places
    seen: Seen
    deadline: Deadline
    limit: int
    taken: list[Step] = field(default_factory=list[Step])

    @property
    def left(self) -> int:
        """How many more may be taken."""
        return MAX_STEPS - len(self.taken)

    async def take(self, tool: str, stated: Mapping[str, Any]) -> Step:
        """Takes a step; one that fails says why. Raises what ends the question: an outage."""
        assert tool in get_args(ToolName)
        name = cast("ToolName", tool)
        began = self.deadline.now()
        seconds = self.deadline.share(COMPARE_SECONDS if tool == "compare" else QUERY_SECONDS)
        done, error = _Done(""), None
        try:
            async with asyncio.timeout(seconds + _GRACE):
                done = await self._run(name, stated, seconds)
        except TimeoutError:
            error = f"it took longer than {seconds:.0f} s"
        except _CORRECTABLE as failure:
            error = _why(failure)
        step = Step(
            n=len(self.taken) + 1,
            tool=name,
            input=args.shown(stated),
            line=args.line_of(name, stated),
            text=done.text if error is None else error,
            ms=self.deadline.ms(began),
            error=error,
            rows=done.rows,
            found=done.found,
        )
        self.taken.append(step)
        return step

    async def _run(self, tool: ToolName, stated: Mapping[str, Any], seconds: float) -> _Done:
        if tool == "sparql":
            return await self._sparql(args.read_arguments(args.SparqlArguments, stated), seconds)
        if tool == "compare":
            return await self._compare(args.read_arguments(args.CompareArguments, stated), seconds)
        if tool == "describe":
            return await self._describe(args.read_arguments(args.DescribeArguments, stated))
        if tool == "find_entities":
            return await self._find(args.read_arguments(args.FindEntitiesArguments, stated).text)
        place = await self.places.of_date(args.read_arguments(args.CommitForDateArguments, stated).date)
        return _Done(place.told())

    async def _sparql(self, asked: args.SparqlArguments, seconds: float) -> _Done:
        place = self.places.at(asked.as_of_commit_seq)
        ran = await run_sparql(
            self.core,
            self.dataset,
            checked(asked.query, self.grounding.prefixes).text,
            limit=self.limit,
            entailment=asked.entailment,
            at_seq=place.seq if place else None,
            seconds=seconds,
        )
        self.seen.add(iris_of(shown_rows(ran.solutions)))
        total = None if ran.solutions.boolean is not None else ran.solutions.total
        return _Done(told_rows(ran.solutions, self.limit), total, QueryFound(ran, asked.entailment, place))

    async def _compare(self, asked: args.CompareArguments, seconds: float) -> _Done:
        since, until = asked.since, asked.until
        if isinstance(since, date) and isinstance(until, date) and until < since:
            raise InvalidRequest("until: is before since", param="until")
        earlier = await self.places.of(since)
        later = self.places.usual if until is None else await self.places.of(until)
        if later and later.seq < earlier.seq:
            raise InvalidRequest("until: is before since", param="until")
        compared = await compare_points(
            self.core,
            self.dataset,
            checked(asked.query, self.grounding.prefixes).text,
            Point(as_of_commit_seq=earlier.seq),
            Point(as_of_commit_seq=later.seq) if later else None,
            key=asked.key,
            entailment=asked.entailment,
            seconds=seconds,
        )
        found = compared.difference
        self.seen.add(iris_of(shown_differences(compared)))
        differ = len(found.added) + len(found.removed) + len(found.changed)
        return _Done(
            told_difference(compared),
            differ,
            CompareFound(compared, asked.entailment, earlier, compared.after.point.seq),
        )

    async def _find(self, text: str) -> _Done:
        linked = await link_names(self.core, self.dataset, text, _CANDIDATES, phrase=True)
        if not linked.ready:
            raise NotYetVisible("the names of this graph are still being read; find the record by its label in a query")
        self.seen.add(candidate.iri for candidate in linked.candidates)
        lines = [candidate_line(candidate) for candidate in linked.candidates]
        return _Done("\n".join(lines) or "no record has such a name")

    async def _describe(self, asked: args.DescribeArguments) -> _Done:
        described = await describe_parts(
            self.core,
            self.dataset,
            classes=tuple(self.seen.whole(name) for name in asked.classes),
            properties=tuple(self.seen.whole(name) for name in asked.properties),
            at_seq=self.places.usual.seq if self.places.usual else None,
        )
        self.seen.read(described.text)
        return _Done(described.text)


def _why(failure: GligabaoError) -> str:
    """Why a step failed. What a provider said stays here."""
    if isinstance(failure, ModelFailed):
        return "searching by meaning failed: the words of the query could not be embedded"
    return failure.message
