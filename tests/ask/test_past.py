"""Questions about the past: the commit that a date stands for, and what changed since."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.rdf.ports import StoredCommit
from tests.ask.asking import Asker, answer, sparql, told_in
from tests.ask.services import PREFIXES, TOTAL, load, record, records
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

TIMELINE = [
    {"date": "2026-06-18", "as_of_commit_seq": 2, "label": "addendum"},
    {"date": "2026-06-10", "as_of_commit_seq": 1, "label": "scope check"},
]
TEAM_COUNT = "SELECT ?t (COUNT(?s) AS ?n) WHERE { ?s a class:service ; p:team ?t } GROUP BY ?t"


def placed(date: str) -> list[tuple[str, dict[str, Any]]]:
    return [("commit_for_date", {"date": date})]


def counted(body: dict[str, Any]) -> str:
    return json.loads(body["result"]["results"])["results"]["bindings"][0]["n"]["value"]


@requirement("commits.timeline", "commits.history-field", "ask.as-of-commit-seq")
async def test_a_date_is_read_as_the_last_point_of_the_timeline_not_after_it(asked: Asker) -> None:
    asked.model.turns(placed("2026-06-17"), sparql(TOTAL, as_of_commit_seq=1), answer("Three."))
    body = await asked.ask("How many were there on 17 June?", timeline=TIMELINE)
    assert counted(body) == "3"
    assert body["history"] == {
        "compare": False,
        "as_of_date": "2026-06-17",
        "as_of_commit_seq": 1,
        "resolved_by": "timeline",
        "label": "scope check",
    }
    assert body["query"]["as_of_commit_seq"] == 1
    assert told_in(asked.model.talks[1])[-1] == "step 1: as_of_commit_seq 1 (scope check)"


@requirement("commits.of-a-date", "commits.history-field")
async def test_without_a_timeline_a_date_is_the_end_of_its_day_by_the_times_of_the_commits(asked: Asker) -> None:
    today = datetime.now(UTC).date().isoformat()
    asked.model.turns(placed(today), sparql(TOTAL, as_of_commit_seq=2), answer("Four."))
    body = await asked.ask()
    assert (counted(body), body["history"]["resolved_by"]) == ("4", "commit_time")
    assert body["history"]["as_of_commit_seq"] == 2


@requirement("commits.before-the-first", "commits.never-another", "commits.without-time")
@pytest.mark.parametrize("timeline", [[], TIMELINE])
async def test_a_date_before_the_beginning_is_a_failed_step(asked: Asker, timeline: list[Any]) -> None:
    asked.model.turns(placed("2001-01-01"), sparql(TOTAL, as_of_commit_seq=1), answer("The graph can't tell."))
    body = await asked.ask(timeline=timeline)
    assert [step["ok"] for step in body["steps"]] == [False, False]
    assert "the graph can't tell what held then" in body["steps"][0]["error"]
    assert not {"query", "result", "history"} & body.keys()


@requirement("commits.never-another")
async def test_no_query_reads_a_commit_that_nothing_leads_to(asked: Asker) -> None:
    asked.model.turns(
        placed("2026-06-19"), sparql(TOTAL, as_of_commit_seq=1), sparql(TOTAL, as_of_commit_seq=2), answer("Four.")
    )
    body = await asked.ask(timeline=TIMELINE)
    assert [step["ok"] for step in body["steps"]] == [True, False, True]
    assert "call commit_for_date first" in body["steps"][1]["error"]


@requirement("commits.history-field")
async def test_the_question_itself_may_name_a_commit(asked: Asker) -> None:
    asked.model.turns(sparql(TOTAL, as_of_commit_seq=1), answer("Three."))
    body = await asked.ask("How many were there after commit 1?")
    assert counted(body) == "3"
    assert body["history"] == {"compare": False, "as_of_commit_seq": 1, "resolved_by": "request"}


@requirement("ask.as-of-commit-seq", "commits.history-field", "ask.one-commit")
async def test_every_query_reads_the_commit_of_the_request(asked: Asker) -> None:
    asked.model.turns(sparql(TOTAL), answer("Three."))
    body = await asked.ask(as_of_commit_seq=1)
    assert (counted(body), body["grounding"]["commit_seq"]) == ("3", 1)
    assert body["history"] == {"compare": False, "as_of_commit_seq": 1, "resolved_by": "request"}
    assert "after commit 1" in told_in(asked.model.talks[0])[0]


@requirement("ask.as-of-commit-seq", "ask.one-commit")
@pytest.mark.parametrize(("of", "records"), [({"as_of_commit_seq": 1}, 3), ({}, 4)])
async def test_a_description_is_of_the_commit_of_the_request(asked: Asker, of: dict[str, Any], records: int) -> None:
    asked.model.turns([("describe", {"classes": ["class:service"]})], answer("I see."))
    await asked.ask(**of)
    assert f"class:service {records} records" in told_in(asked.last)[-1]


async def test_a_date_after_the_commit_of_the_request_is_refused(asked: Asker) -> None:
    asked.model.turns(placed("2026-06-19"), answer("I can't tell."))
    body = await asked.ask(as_of_commit_seq=1, timeline=TIMELINE)
    assert "later than commit 1" in body["steps"][0]["error"]


@pytest.mark.parametrize(("of", "named"), [({"as_of_commit_seq": 1}, 2), ({}, 99)])
async def test_a_commit_after_the_one_of_the_request_is_not_read_whoever_names_it(
    asked: Asker, of: dict[str, Any], named: int
) -> None:
    asked.model.turns(sparql(TOTAL, as_of_commit_seq=named), answer("I can't tell."))
    (step,) = (await asked.ask(f"How many were there after commit {named}?", **of))["steps"]
    assert (step["ok"], step["error"].startswith("as_of_commit_seq: ")) == (False, True)


async def test_an_answer_from_the_newest_commit_has_no_history(asked: Asker) -> None:
    asked.model.turns(sparql(TOTAL, as_of_commit_seq=2), answer("Four."))
    assert "history" not in await asked.ask()


# What changed


def changed(query: str = TEAM_COUNT, **more: Any) -> list[tuple[str, dict[str, Any]]]:
    return [("compare", {"query": query, "since": "2026-06-10", "key": ["?t"], **more})]


@requirement("compare.step", "compare.history", "ask.query-field", "ask.attempts")
async def test_a_comparison_tells_what_differs_since_a_date(asked: Asker) -> None:
    asked.model.turns(changed(), answer("Identity has one more.", record("identity")))
    body = await asked.ask("What changed since 10 June?", timeline=TIMELINE)
    history = body["history"]
    assert (history["compare"], history["as_of_date"], history["as_of_commit_seq"]) == (True, "2026-06-10", 1)
    assert (history["resolved_by"], history["label"], history["key"]) == ("timeline", "scope check", ["t"])
    assert history["totals"] == {"added": 0, "removed": 0, "changed": 1, "unchanged": 1}
    (change,) = history["changed"]
    assert change["key"]["t"]["value"] == record("identity")
    assert [change[point][0]["n"]["value"] for point in ("before", "after")] == ["1", "2"]
    assert body["query"]["as_of_commit_seq"] == 2
    assert "result" not in body
    assert (body["steps"][0]["rows"], body["attempts"]) == (1, 1)


@requirement("compare.step")
async def test_a_comparison_may_end_at_a_date_or_at_the_commit_of_the_request(asked: Asker) -> None:
    services = "SELECT ?s WHERE { ?s a class:service }"
    asked.model.turns(changed(services, key=[], until="2026-06-18"), answer("One.", record("mail")))
    body = await asked.ask(timeline=TIMELINE)
    assert [row["s"]["value"] for row in body["history"]["added"]] == [record("mail")]
    asked.model.turns(changed(services, key=[]), answer("Nothing."))
    body = await asked.ask(timeline=TIMELINE, as_of_commit_seq=1)
    assert body["history"]["totals"] == {"added": 0, "removed": 0, "changed": 0, "unchanged": 3}


@requirement("compare.step", "compare.history")
@pytest.mark.parametrize("points", [{"since": 1}, {"since": "1", "until": "2"}])
async def test_commits_that_the_question_names_can_be_compared(asked: Asker, points: dict[str, Any]) -> None:
    asked.model.turns(changed(**points), answer("Identity has one more.", record("identity")))
    body = await asked.ask("What changed between commit 1 and commit 2?")
    history = body["history"]
    assert (history["as_of_commit_seq"], history["resolved_by"], "as_of_date" in history) == (1, "request", False)
    assert (history["totals"]["changed"], body["query"]["as_of_commit_seq"]) == (1, 2)


async def test_no_comparison_reads_a_commit_that_nothing_leads_to(asked: Asker) -> None:
    asked.model.turns(changed(since=1), changed(since=2), answer("Nothing.", step=2))
    body = await asked.ask()
    assert [step["ok"] for step in body["steps"]] == [False, True]
    assert "call commit_for_date first" in body["steps"][0]["error"]
    assert body["history"]["totals"]["unchanged"] == 2


@pytest.mark.parametrize("points", [{"until": "2026-06-01"}, {"since": 2, "until": 1}])
async def test_a_comparison_backwards_in_time_is_refused(asked: Asker, points: dict[str, Any]) -> None:
    asked.model.turns(changed(**points), answer("I can't tell."))
    body = await asked.ask("What was between commit 2 and commit 1?", timeline=TIMELINE)
    assert body["steps"][0]["error"] == "until: is before since"


@requirement("compare.history-500", "privacy.rows")
async def test_lists_show_500_entries_and_the_model_reads_30(asked: Asker) -> None:
    await load(asked.core, PREFIXES + "".join(f"e:n{n:03} a c:note .\n" for n in range(501)))
    notes = "SELECT ?s WHERE { ?s a class:note } ORDER BY ?s"
    asked.model.turns(changed(notes, key=[]), answer("Many."))
    body = await asked.ask(timeline=TIMELINE)
    assert (len(body["history"]["added"]), body["history"]["totals"]["added"]) == (500, 501)
    assert body["history"]["truncated"] is True
    told = told_in(asked.last)[1]
    assert told.count(record("n")) == 30


@requirement("ask.citations-match-rows")
async def test_an_answer_about_changes_cites_what_differs(asked: Asker) -> None:
    asked.model.turns(changed(), *[answer("Payments.", record("payments"))] * 2)
    body = await asked.ask("What did the payments team change?", timeline=TIMELINE)
    assert "elsewhere than the rows of step 1" in told_in(asked.last)[-1]
    assert body["answer"]["citations"] == records("payments")


async def test_two_dates_between_commits_are_two_commits(asked: Asker) -> None:
    """By the times of the commits, without a timeline."""
    began = datetime(2026, 5, 1, tzinfo=UTC)

    class Log:
        async def at(self, _dataset: object, moment: datetime) -> StoredCommit | None:
            days = (moment - began) // timedelta(days=1)
            return StoredCommit(min(2, days // 10 + 1), "import", began) if days >= 0 else None

        async def first(self, _dataset: object) -> StoredCommit | None:
            return StoredCommit(1, "import", began)

        async def commit(self, _dataset: object, seq: int) -> StoredCommit | None:
            return StoredCommit(seq, "import", began) if 0 < seq <= 2 else None

    asked.core = replace(asked.core, commits=Log())
    asked.model.turns(changed(since="2026-05-02", until="2026-05-20"), answer("One more.", record("identity")))
    body = await asked.ask()
    assert (body["history"]["as_of_commit_seq"], body["query"]["as_of_commit_seq"]) == (1, 2)
    assert body["history"]["resolved_by"] == "commit_time"
