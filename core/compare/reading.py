"""The rows of one query at one point, read page by page until they are all there, too many, or the time is up."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.compare.points import Resolved
from core.core import Core
from core.errors import QueryTimeout
from core.graph import Dataset
from core.rdf.ports import GraphQuery
from core.rdf.terms import Row

PAGE_ROWS = 20_000
"""Few and large: the query runs once for each page."""


@dataclass(frozen=True, slots=True)
class PointRows:
    """What was read at a point: `rows` of `total`, in so many pages. `complete`: these are all."""

    point: Resolved
    variables: Sequence[str]
    rows: Sequence[Row]
    total: int
    pages: int
    complete: bool
    ms: int


async def read_rows(
    core: Core, dataset: Dataset, query: GraphQuery, point: Resolved, max_rows: int, seconds: float
) -> PointRows:
    """At most `max_rows` rows. Stops early, with what it has, where the next page may not come in time; raises
    QueryTimeout where not even the first one did."""
    began = time.monotonic()
    # The newest commit is read as of now: facts end by the clock. A commit that comes meanwhile is not read.
    at_seq = None if point.by == "latest" else point.seq
    read = PointRows(point, (), (), 0, 0, complete=False, ms=0)
    while True:
        started = time.monotonic()
        most = min(PAGE_ROWS, max_rows - len(read.rows))
        page = replace(query, limit=most, offset=len(read.rows), seconds=seconds - (started - began))
        try:
            found = await core.queries.solve(dataset, page, at_seq=at_seq)
        except QueryTimeout:
            if read.pages:
                return read
            raise
        if found.seq != point.seq:
            at_seq = point.seq
            continue
        now = time.monotonic()
        rows = [*read.rows, *found.rows]
        complete = found.complete and len(rows) >= found.total
        ms = round(1000 * (now - began))
        read = PointRows(point, found.variables, rows, found.total, read.pages + 1, complete, ms)
        comes_too_late = now - began + (now - started) > seconds
        if complete or comes_too_late or len(rows) >= max_rows or not found.rows:
            return read
