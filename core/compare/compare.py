"""compare: what a query finds at one point in time and not at another."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from core.compare.comparing import MAX_READ, USUAL_READ, Compared, Comparison, compare_commits, compare_points
from core.compare.pairing import Change
from core.compare.points import Point, Resolved, ResolvedBy, at_commit, resolve
from core.compare.reading import PointRows
from core.core import Core
from core.graph import Dataset
from core.graphs.graph_of import graph_of
from core.graphs.requests import GraphRead
from core.rdf.terms import Row
from core.requests import Response, Whole
from core.sparql.cursor import Place
from core.sparql.sparql import ENTAILMENT, AnyEntailment
from core.wire import Time

__all__ = ["CompareRequest", "CompareResponse", "compare", "compare_points", "shown_change", "shown_row"]

MAX_KEY = 8
MAX_ENTRIES = 1_000
MAX_CHANGE_ROWS = 20
"""Rows that a change shows of each point."""


class CompareRequest(GraphRead):
    """One query, two points, and how its rows are paired."""

    query: Annotated[
        str, Field(min_length=1, description="A SELECT, at most 20,000 characters. Leave LIMIT out: rows are paged.")
    ]
    before: Annotated[Point, Field(description="The earlier point.")]
    after: Annotated[Point | None, Field(description="The later point. Default: the newest commit.")] = None
    key: Annotated[
        tuple[str, ...],
        Field(
            max_length=MAX_KEY,
            description="The variables that say which record a row is about, at most 8. With a key, changed lists the "
            "keys whose rows differ; without one whole rows are compared.",
        ),
        AfterValidator(lambda names: tuple(name.lstrip("?$") for name in names)),
    ] = ()
    entailment: Annotated[AnyEntailment, ENTAILMENT] = "none"
    max_rows: Annotated[
        Whole, Field(ge=1, le=MAX_READ, description="Rows to read at each point, 1 to 50,000. Default: 20,000.")
    ] = USUAL_READ
    limit: Annotated[
        Whole, Field(ge=1, le=MAX_ENTRIES, description="Entries of each list on a page, 1 to 1,000. Default: 100.")
    ] = 100
    cursor: Annotated[
        str | None, Field(description="The next_cursor of the page before, with the same request: both commits stay.")
    ] = None

    def identity(self, dataset: Dataset) -> list[object]:
        """What a cursor belongs to."""
        points = [point and point.model_dump(mode="json") for point in (self.before, self.after)]
        return ["compare", dataset.id, self.query, *points, list(self.key), self.entailment, self.max_rows]


class CompareChange(BaseModel):
    """A key whose rows differ, with at most 20 rows of each point, without the key's variables."""

    model_config = ConfigDict(frozen=True)

    key: dict[str, Any]
    before: list[dict[str, Any]]
    after: list[dict[str, Any]]


class CompareTotals(BaseModel):
    """How long the lists are, over all pages; unchanged counts keys, without a key rows."""

    model_config = ConfigDict(frozen=True)

    added: int
    removed: int
    changed: int
    unchanged: int


class ComparePoint(BaseModel):
    """Which commit a point stands for, and how much was read there."""

    model_config = ConfigDict(frozen=True)

    resolved_by: ResolvedBy
    as_of_commit_seq: int
    committed_at: Time | None = None
    rows: int
    total: int
    pages: int
    complete: bool
    ms: int


class CompareResponse(Response):
    """This page of each list, and the length of the whole ones. Values are terms of SPARQL 1.1 Query Results JSON."""

    added: list[dict[str, Any]]
    removed: list[dict[str, Any]]
    changed: list[CompareChange]
    totals: CompareTotals
    before: ComparePoint
    after: ComparePoint
    vars: Sequence[str]
    key: Sequence[str]
    offset: Annotated[int, Field(description="Entries of each list before this page.")]
    ms: int
    next_cursor: str | None = None
    notes: Sequence[str] | None = None
    truncated: Annotated[bool | None, Field(description="True: a point was not read whole.")] = None


async def compare(core: Core, request: CompareRequest) -> CompareResponse:
    """Compare what a query finds at two points in time: the rows added, removed and changed between them."""
    began = time.monotonic()
    dataset = await graph_of(core, request)
    before, after, offset = await _place(core, dataset, request)
    comparison = Comparison(request.query, request.key, request.entailment, request.max_rows)
    compared = await compare_commits(core, dataset, comparison, before, after)
    end = offset + request.limit
    found = compared.difference
    is_more = any(len(entries) > end for entries in (found.added, found.removed, found.changed))
    place = Place((before.seq, after.seq), end)
    return CompareResponse(
        added=[shown_row(row) for row in found.added[offset:end]],
        removed=[shown_row(row) for row in found.removed[offset:end]],
        changed=[shown_change(change) for change in found.changed[offset:end]],
        totals=_totals(compared),
        before=_shown_point(compared.before),
        after=_shown_point(compared.after),
        vars=compared.variables,
        key=compared.key,
        offset=offset,
        ms=round(1000 * (time.monotonic() - began)),
        next_cursor=place.cursor(request.identity(dataset)) if is_more else None,
        notes=compared.notes or None,
        truncated=compared.truncated or None,
    )


async def _place(core: Core, dataset: Dataset, request: CompareRequest) -> tuple[Resolved, Resolved, int]:
    """The commits to read, and how many entries were shown before."""
    if request.cursor is None:
        before = await resolve(core, dataset, request.before, "before")
        return before, await resolve(core, dataset, request.after, "after"), 0
    place = Place.read(request.cursor, request.identity(dataset), 2)
    before = await at_commit(core, dataset, request.before, place.seqs[0], "before")
    return before, await at_commit(core, dataset, request.after, place.seqs[1], "after"), place.offset


def shown_row(row: Row) -> dict[str, Any]:
    """A row as JSON."""
    return {name: term.json() for name, term in row.items()}


def shown_change(change: Change) -> CompareChange:
    """A change with as many of its rows as are shown."""
    before, after = ([shown_row(row) for row in rows[:MAX_CHANGE_ROWS]] for rows in (change.before, change.after))
    return CompareChange(key=shown_row(change.key), before=before, after=after)


def _totals(compared: Compared) -> CompareTotals:
    found = compared.difference
    return CompareTotals(
        added=len(found.added),
        removed=len(found.removed),
        changed=len(found.changed),
        unchanged=found.unchanged,
    )


def _shown_point(read: PointRows) -> ComparePoint:
    return ComparePoint(
        resolved_by=read.point.by,
        as_of_commit_seq=read.point.seq,
        committed_at=read.point.at,
        rows=len(read.rows),
        total=read.total,
        pages=read.pages,
        complete=read.complete,
        ms=read.ms,
    )
