"""Which commit a dataset was at: by the end of a day, or at a moment."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from lbb import models
from pydantic import ValidationError

from core.core import Core
from core.errors import NotYetVisible, UnknownDataset
from core.graphs.commit_at import CommitAtRequest, CommitAtResponse, commit_at
from tests.facts import edge, tell_facts
from tests.rdf.loading import change, load
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


def at(core: Core, time: str) -> Core:
    """The same memory, as it is used at that time."""
    moment = datetime.fromisoformat(time).replace(tzinfo=UTC)
    return replace(core, clock=lambda: moment)


async def asked(core: Core, **more: Any) -> CommitAtResponse:
    answer = await commit_at(core, CommitAtRequest.model_validate({"user_id": "u1", **more}))
    models.GraphCommitAtResponse.model_validate(answer.body())
    return answer


@pytest.fixture
async def written(plain: Core) -> Core:
    """Three commits on two days: told, loaded, changed."""
    await tell_facts(at(plain, "2026-06-10T08:00:00.000001"), edge("Alice", "knows", "Bob"))
    await load(at(plain, "2026-06-10T23:59:59.999999"), "<urn:a> <urn:b> <urn:c> .")
    await change(at(plain, "2026-06-12T09:00"), "DELETE DATA { <urn:a> <urn:b> <urn:c> }")
    return plain


@requirement("commits.commit-at")
@pytest.mark.parametrize(
    ("point", "seq"),
    [
        ({"date": "2026-06-10"}, 2),
        ({"date": "2026-06-11"}, 2),
        ({"date": "2026-06-12"}, 3),
        ({"date": "9999-12-31"}, 3),
        ({"moment": "2026-06-10T08:00:00.000001Z"}, 1),
        ({"moment": "2026-06-10T10:00:00+02:00"}, None),
        ({"moment": "2026-06-10T10:00:01+02:00"}, 1),
        ({"moment": "2026-06-12T08:59:59Z"}, 2),
        ({"moment": "2026-06-12T09:00:00Z"}, 3),
    ],
)
async def test_the_last_commit_by_then(written: Core, point: dict[str, str], seq: int | None) -> None:
    answer = await asked(written, **point)
    assert answer.as_of_commit_seq == seq
    assert answer.resolved_by == ("commit_time" if seq else None)
    assert (answer.committed_at is None) == (seq is None)
    if "date" in point:
        assert answer.body()["moment"] == f"{point['date']}T23:59:59.999999Z"


@requirement("commits.before-the-first", "commits.without-time")
async def test_before_the_first_commit_there_is_none(written: Core) -> None:
    answer = await asked(written, date="2026-06-09")
    assert answer.as_of_commit_seq is None and answer.committed_at is None
    assert answer.body()["first_commit_at"] == "2026-06-10T08:00:00.000001Z"
    assert answer.note and "2026-06-10T08:00:00.000001Z" in answer.note


async def test_a_graph_without_a_commit_says_so(plain: Core) -> None:
    answer = await asked(plain, date="2026-06-09")
    assert (answer.as_of_commit_seq, answer.first_commit_at, answer.note) == (None, None, "nothing was written yet")
    with pytest.raises(UnknownDataset):
        await asked(plain, date="2026-06-09", dataset="other")


async def test_commits_of_one_moment_are_told_apart_by_their_numbers(plain: Core) -> None:
    """A clock that stands still, or goes back, takes no commit before the last one."""
    for time in ("2026-06-10T08:00", "2026-06-10T08:00", "2026-06-09T08:00"):
        await load(at(plain, time), f"<urn:a> <urn:b> _:{time[8:10]} .")
    assert (await asked(plain, moment="2026-06-10T08:00:00Z")).as_of_commit_seq == 3
    assert (await asked(plain, date="2026-06-09")).as_of_commit_seq is None


@requirement("commits.look-up-limits")
async def test_a_date_is_looked_up_among_many_commits(plain: Core) -> None:
    """No window of commits bounds the look-up: the first of 600 is found as the last is."""
    for number in range(600):
        await load(at(plain, f"2026-06-{10 + number // 100}T08:00"), f"<urn:a> <urn:b> <urn:{number}> .")
    found = [(await asked(plain, date=f"2026-06-{day}")).as_of_commit_seq for day in (10, 12, 15)]
    assert found == [100, 300, 600]


@pytest.mark.parametrize(
    ("point", "wrong"),
    [
        ({}, "date: give it or moment"),
        ({"date": "2026-06-10", "moment": "2026-06-10T00:00:00Z"}, "date: give it or moment"),
        ({"date": "2026-06"}, "must be a date such as"),
        ({"date": "2026-02-30"}, "must be a date such as"),
        ({"date": "2026-06-10T00:00:00Z"}, "must be a date such as"),
        ({"date": 20260610}, "must be a date such as"),
        ({"moment": "2026-06-10"}, "must be an RFC 3339 time"),
        ({"moment": "yesterday"}, "must be an RFC 3339 time"),
    ],
)
def test_exactly_one_point_is_named(point: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValidationError, match=wrong):
        CommitAtRequest.model_validate({"user_id": "u1", **point})


async def test_a_floor_that_is_not_written_yet_is_told(written: Core) -> None:
    assert (await asked(written, date="2026-06-12", min_indexed_seq=3)).as_of_commit_seq == 3
    with pytest.raises(NotYetVisible):
        await asked(written, date="2026-06-12", min_indexed_seq=4)
