"""compare: what a query finds at one point and not at another, page by page, at two commits that stay."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lbb import models

from core.compare import reading
from core.compare.compare import CompareRequest, compare, compare_points
from core.compare.points import Point
from core.core import Core
from core.errors import InvalidRequest, QueryTimeout
from core.graph import Dataset
from core.rdf.ports import GraphQuery
from core.rdf.terms import Solutions
from core.times import rfc3339
from tests.facts import edge, tell_facts
from tests.rdf.in_memory import TurtleQueries
from tests.requirements import requirement
from tests.sparql.catalog import FIRST, PREFIXES, SECOND, load, update

pytestmark = pytest.mark.anyio

SERVICES = PREFIXES + "SELECT ?s ?level WHERE { ?s a k:Service ; field:level ?level } ORDER BY ?s"
BEFORE = {"as_of_commit_seq": 1}


async def compared(core: Core, query: str = SERVICES, **fields: Any) -> models.QueryCompareResponse:
    """The response, as the client's models read it."""
    request = CompareRequest.model_validate({"user_id": "u1", "query": query, "before": BEFORE, **fields})
    return models.QueryCompareResponse.model_validate((await compare(core, request)).body())


def totals(response: models.QueryCompareResponse) -> tuple[int, int, int, int]:
    found = response.totals
    return found.added, found.removed, found.changed, found.unchanged


def names(rows: list[dict[str, models.QueryRewriteTerm]]) -> list[str]:
    return [row["s"].value.rpartition("/")[2] for row in rows]


@pytest.fixture
async def twice(plain: Core) -> Core:
    """The catalogue after both of its commits."""
    await load(plain, FIRST)
    await update(plain, SECOND)
    return plain


@requirement("compare.route", "compare.lists", "ask.one-commit")
async def test_with_a_key_a_record_that_says_something_else_is_changed(twice: Core) -> None:
    found = await compared(twice, key=["?s"])
    assert (totals(found), found.key, found.vars) == ((1, 0, 1, 3), ["s"], ["s", "level"])
    assert names(found.added) == ["points"]
    (change,) = found.changed
    assert change.key["s"].value.endswith("/mailer")
    assert [[row["level"].value for row in rows] for rows in (change.before, change.after)] == [["3"], ["1"]]
    assert "s" not in change.after[0]
    points = [(one.as_of_commit_seq, one.resolved_by.value, one.rows, one.total) for one in (found.before, found.after)]
    assert points == [(1, "request", 4, 4), (2, "latest", 5, 5)]
    assert found.before.complete and found.after.committed_at and not found.truncated


@requirement("compare.route")
async def test_without_a_key_whole_rows_are_compared_forth_and_back(twice: Core) -> None:
    forth = await compared(twice)
    assert (totals(forth), forth.key) == ((2, 1, 0, 3), [])
    assert (names(forth.added), names(forth.removed)) == (["mailer", "points"], ["mailer"])
    back = await compared(twice, before={"as_of_commit_seq": 2}, after=BEFORE)
    assert totals(back) == (1, 2, 0, 3)
    from_nothing = await compared(twice, before={"as_of_commit_seq": 0})
    assert (totals(from_nothing), from_nothing.before.committed_at) == ((5, 0, 0, 0), None)


@requirement("compare.cursor", "compare.lists")
async def test_a_cursor_gives_the_next_entries_of_each_list_and_keeps_both_commits(twice: Core) -> None:
    first = await compared(twice, limit=1)
    assert (names(first.added), names(first.removed), first.offset) == (["mailer"], ["mailer"], 0)
    await update(twice, "DELETE DATA { <https://catalog.test/record/mailer> <https://catalog.test/field/level> 1 }")
    rest = await compared(twice, limit=1, cursor=first.next_cursor)
    assert (names(rest.added), names(rest.removed), rest.offset) == (["points"], [], 1)
    assert (rest.totals, rest.after.as_of_commit_seq, rest.after.resolved_by.value) == (first.totals, 2, "latest")
    assert rest.next_cursor is None
    with pytest.raises(InvalidRequest, match="cursor: belongs to another request"):
        await compared(twice, limit=1, cursor=first.next_cursor, key=["s"])


@requirement("compare.max-rows", "compare.truncated")
async def test_a_point_that_was_not_read_whole_is_told_of(twice: Core) -> None:
    found = await compared(twice, max_rows=4)
    assert (found.truncated, found.before.complete, found.after.complete) == (True, True, False)
    assert (found.after.rows, found.after.total) == (4, 5)
    assert found.notes == ["after: 4 of 5 rows were read, so the difference is not complete"]


@requirement("compare.route", "commits.of-a-date")
async def test_dates_and_moments_stand_for_the_last_commit_until_then(twice: Core) -> None:
    commit = await twice.commits.commit(Dataset(1, "u1", "main", 2), 1)
    assert commit is not None
    by_moment = await compared(twice, before={"moment": rfc3339(commit.created_at)}, key=["s"])
    assert (by_moment.before.as_of_commit_seq, by_moment.before.resolved_by.value) == (1, "commit_time")
    assert totals(by_moment) == (1, 0, 1, 3)
    today = datetime.now(UTC).date()
    by_date = await compared(twice, before={"date": str(today)}, after={"date": str(today + timedelta(days=1))})
    assert (by_date.before.as_of_commit_seq, totals(by_date)) == (2, (0, 0, 0, 5))
    with pytest.raises(InvalidRequest, match="before: is before the graph began; the first commit was written at"):
        await compared(twice, before={"date": "1999-12-31"})


async def test_what_was_remembered_is_compared_too(plain: Core) -> None:
    await tell_facts(plain, edge("Alice", "lives_in", "Paris"))
    await tell_facts(plain, edge("Bob", "lives_in", "Rome"))
    query = "SELECT ?who ?where { ?who rel:lives_in ?city . ?city rdfs:label ?where }"
    found = await compared(plain, query, key=["who"])
    assert [row["where"].value for row in found.added] == ["Rome"]
    assert totals(found) == (1, 0, 0, 1)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"query": "ASK {}"}, "query"),
        ({"query": 'SELECT ?s { ?s search:similarTo "tills" }'}, "query"),
        ({"key": ["nothing"]}, "key"),
        ({"before": {"as_of_commit_seq": 3}}, "before"),
        ({"after": {"as_of_commit_seq": 3}}, "after"),
        ({"entailment": "owl"}, "entailment"),
        ({"cursor": ""}, "cursor"),
    ],
)
async def test_what_can_not_be_compared_is_refused_by_its_field(
    twice: Core, fields: dict[str, Any], param: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await compared(twice, **fields)
    assert refused.value.param == param


@pytest.mark.parametrize(
    "fields",
    [
        {"before": {}},
        {"before": {"date": "2026-01-01", "as_of_commit_seq": 1}},
        {"before": {"date": "2026-13-01"}},
        {"before": {"moment": "2026-01-01"}},
        {"key": [f"v{number}" for number in range(9)]},
        {"limit": 0},
        {"limit": 1_001},
        {"max_rows": 50_001},
        {"before": {"commit": 1}},
    ],
)
def test_a_request_outside_its_limits_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        CompareRequest.model_validate({"user_id": "u1", "query": SERVICES, "before": BEFORE, **fields})


async def test_blank_nodes_and_a_limit_are_told_of(plain: Core) -> None:
    await load(plain, "_:a <urn:says> 1 .")
    await load(plain, "<urn:b> <urn:says> 2 .")
    found = await compared(plain, "SELECT ?s ?n { ?s <urn:says> ?n } LIMIT 9")
    assert totals(found) == (1, 0, 0, 1)
    assert found.notes is not None
    assert [note.partition(":")[0].partition(",")[0] for note in found.notes] == [
        "the query has a LIMIT",
        "blank nodes are compared as if all were the same",
    ]


class Paged(TurtleQueries):
    """Times out at the query of that number."""

    def __init__(self, *commits: str, out_of_time_at: int = 99) -> None:
        super().__init__(*commits)
        self.out_of_time_at = out_of_time_at
        self.tries = 0

    async def solve(self, dataset: Dataset, query: GraphQuery, *, at_seq: int | None = None) -> Solutions:
        self.tries += 1
        if self.tries == self.out_of_time_at:
            raise QueryTimeout("too late")
        return await super().solve(dataset, query, at_seq=at_seq)


MANY = "\n".join(f"<urn:{number}> <urn:says> {number} ." for number in range(50))


@requirement("compare.max-rows", "compare.truncated")
async def test_rows_are_read_page_by_page_until_the_time_is_up(plain: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PAGE_ROWS", 20)
    dataset = await load(plain, MANY)
    await load(plain, "<urn:x> <urn:says> 1 .")
    query = "SELECT ?s ?n { ?s <urn:says> ?n }"
    whole = replace(plain, queries=Paged(MANY, MANY))
    found = await compare_points(whole, dataset, query, Point(as_of_commit_seq=1), Point(as_of_commit_seq=1))
    assert (found.before.pages, found.before.complete, found.truncated) == (3, True, False)
    assert found.difference.unchanged == 50
    cut = replace(plain, queries=Paged(MANY, MANY, out_of_time_at=3))
    found = await compare_points(cut, dataset, query, Point(as_of_commit_seq=1), Point(as_of_commit_seq=1))
    assert (found.before.pages, len(found.before.rows), found.before.total) == (2, 40, 50)
    assert found.truncated
    with pytest.raises(QueryTimeout):
        late = replace(plain, queries=Paged(MANY, MANY, out_of_time_at=1))
        await compare_points(late, dataset, query, Point(as_of_commit_seq=1))


async def test_a_commit_that_comes_between_the_pages_is_not_read(plain: Core) -> None:
    before = await load(plain, FIRST)
    await update(plain, SECOND)
    found = await compare_points(plain, before, SERVICES, Point(as_of_commit_seq=1))
    assert (found.after.point.seq, len(found.after.rows)) == (1, 4)
