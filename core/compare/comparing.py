"""One query at two points of a dataset's history, and what differs between its rows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.compare.pairing import Difference, in_order, paired
from core.compare.points import Point, Resolved, resolve
from core.compare.reading import PointRows, read_rows
from core.core import Core
from core.errors import InvalidRequest
from core.graph import Dataset
from core.rdf.gate import Checked
from core.rdf.ports import READ_SECONDS, GraphQuery
from core.sparql.gate import checked_for
from core.sparql.shape import shape_of
from core.sparql.similar import similar_in
from core.sparql.sparql import AnyEntailment, stated_entailment

MAX_READ = 50_000
USUAL_READ = 20_000
COMPARE_SECONDS = 12.0
"""For a comparison that is one of several steps."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared, and how much of it is read of each point at most."""

    query: str
    key: tuple[str, ...] = ()
    entailment: AnyEntailment = "none"
    max_rows: int = USUAL_READ
    seconds: float = READ_SECONDS


@dataclass(frozen=True, slots=True)
class Compared:
    """What differs, and what was read to know it. `truncated`: of a point there are more rows, so there may be more
    differences and fewer."""

    checked: Checked
    key: Sequence[str]
    variables: Sequence[str]
    difference: Difference
    before: PointRows
    after: PointRows
    notes: Sequence[str]

    @property
    def truncated(self) -> bool:
        """Whether a point was not read whole."""
        return not (self.before.complete and self.after.complete)


async def compare_points(
    core: Core,
    dataset: Dataset,
    text: str,
    before: Point,
    after: Point | None = None,
    *,
    key: Sequence[str] = (),
    entailment: AnyEntailment = "none",
    max_rows: int = USUAL_READ,
    seconds: float = COMPARE_SECONDS,
) -> Compared:
    """Runs a SELECT at two points, one after the other, and pairs its rows by the variables in `key`, without one as
    wholes. `after` None is the newest commit.

    Raises InvalidRequest (param `query`, `key`, `before`, `after` or `entailment`), QueryTimeout, QueryTooLarge and
    QueriesUnavailable.
    """
    comparison = Comparison(text, tuple(key), entailment, max_rows, seconds)
    earlier = await resolve(core, dataset, before, "before")
    later = await resolve(core, dataset, after, "after")
    return await compare_commits(core, dataset, comparison, earlier, later)


async def compare_commits(
    core: Core, dataset: Dataset, comparison: Comparison, before: Resolved, after: Resolved
) -> Compared:
    """`compare_points` for points whose commits are known."""
    began = time.monotonic()
    regime = stated_entailment(comparison.entailment)
    checked = await checked_for(core, dataset, comparison.query)
    if checked.form != "SELECT":
        raise InvalidRequest("query: must be a SELECT, its rows are compared", param="query")
    if similar_in(checked.text):
        raise InvalidRequest(
            "query: a search by meaning knows the newest commit only, nothing to compare", param="query"
        )
    query = GraphQuery(checked.text, entailment=regime, facts=checked.facts)
    # The later point gets what the earlier one leaves, at least half of the time.
    earlier = await read_rows(core, dataset, query, before, comparison.max_rows, comparison.seconds / 2)
    left = comparison.seconds - (time.monotonic() - began)
    later = await read_rows(core, dataset, query, after, comparison.max_rows, left)
    key = _known(comparison.key, later.variables)
    is_ordered = shape_of(checked.text).is_ordered
    difference = await asyncio.to_thread(_difference, earlier, later, key, is_ordered=is_ordered)
    return Compared(checked, key, later.variables, difference, earlier, later, tuple(_notes(checked, earlier, later)))


def _difference(before: PointRows, after: PointRows, key: Sequence[str], *, is_ordered: bool) -> Difference:
    old, new = (point.rows if is_ordered else in_order(point.rows, point.variables) for point in (before, after))
    return paired(old, new, after.variables, key)


def _known(key: Sequence[str], variables: Sequence[str]) -> tuple[str, ...]:
    unknown = [name for name in key if name not in variables]
    if unknown:
        raise InvalidRequest(f"key: the query answers {', '.join(variables)}, and no other variables", param="key")
    return tuple(dict.fromkeys(key))


def _notes(checked: Checked, before: PointRows, after: PointRows) -> Iterator[str]:
    """What to know about the result."""
    for name, point in (("before", before), ("after", after)):
        if not point.complete:
            more = "" if point.total > len(point.rows) else " or more"
            yield f"{name}: {len(point.rows)} of {point.total}{more} rows were read, so the difference is not complete"
    if shape_of(checked.text).limit is not None:
        yield "the query has a LIMIT: rows that it leaves out at one point can seem added or removed"
    if any(term.kind == "bnode" for point in (before, after) for row in point.rows for term in row.values()):
        yield "blank nodes are compared as if all were the same, because their labels mean nothing outside one read"
