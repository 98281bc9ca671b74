"""Runs: an app's answers, and our own, checked against goldens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from lbb import models

import core.evals.run_answers as answering
import storage.evals
from core.core import Core
from core.embeddings.declare import DeclareEmbeddingRequest, declare_embedding
from core.embeddings.embeddings import RefreshEmbeddingRequest, refresh_embedding
from core.errors import QueriesUnavailable, QueryTimeout, UnknownDataset
from core.evals.goldens import CreateGoldenRequest, GoldenRequest, GoldensRequest, create_golden, delete_golden, goldens
from core.evals.label import LabelRequest, label
from core.evals.results import EvalResults, VerdictDetail
from core.evals.run import RunRequest, run_goldens
from core.evals.run_answers import RunAnswersRequest, run_answers
from core.evals.summary import (
    EvalsRequest,
    JudgeRequest,
    ResultsRequest,
    SetSettingsRequest,
    judge,
    results,
    set_settings,
    settings,
    summary,
)
from core.evals.traces import NewTrace, TraceRequest, TracesRequest, record_trace, trace, traces
from core.graph import Dataset
from core.graphs.graph_of import graph_of
from core.graphs.requests import GraphRequest
from core.rdf.ports import GraphQuery
from core.rdf.terms import Solutions
from gligabao_mcp.providers.scripted import ScriptedModel
from tests.ask.asking import answer, opened, sparql
from tests.ask.services import CLASS, COUNT, GRAPH, TOTAL, USER
from tests.conftest import Opener
from tests.evals.shop import AGGREGATE, COUNTS, HOW_MANY, LATER, PREFIXES, SERVICES, TIER_1, TURTLE, asked, shop
from tests.rdf.in_memory import TurtleQueries
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Shop:
    """A memory over the shop with one golden: how many services each team runs."""

    core: Core
    dataset: Dataset
    golden: str

    async def check(self, *answers: dict[str, Any], runner: str = "agent", **more: Any) -> EvalResults:
        given = [{"golden": self.golden, **one} for one in answers]
        request = RunAnswersRequest.model_validate({"user_id": "u1", "answers": given, "runner": runner, **more})
        found = await run_answers(self.core, request)
        models.EvalRunResponse.model_validate(found.body())
        return found.results

    async def verdict(self, **given: Any) -> VerdictDetail:
        return (await self.check(given)).verdicts[self.golden]

    async def golden_of(self, question: str, query: str, **said: Any) -> str:
        trace_id = await asked(self.core, self.dataset, query, question)
        made = (await label(self.core, LabelRequest(user_id="u1", trace=trace_id, valid=True, **said))).golden
        assert made is not None
        return made.id


@pytest.fixture
async def shop_(core: Core) -> Shop:
    over, dataset = await shop(core)
    made = Shop(over, dataset, "")
    return replace(made, golden=await made.golden_of(HOW_MANY, COUNTS))


@requirement("evals.run-answers", "evals.checks")
async def test_an_answer_with_the_same_rows_passes(shop_: Shop) -> None:
    by_name = PREFIXES + "SELECT (COUNT(?s) AS ?c) ?name { ?s p:team [ rdfs:label ?name ] } GROUP BY ?name"
    for query in (COUNTS, by_name):
        results = await shop_.check({"sparql": query, "reply": {"text": "Two and one."}, "cost_micro_usd": 1200})
        detail = results.verdicts[shop_.golden]
        assert (detail.verdict, detail.via, detail.message, detail.item_count) == ("pass", "app", None, 2)
        assert detail.query_check and (detail.query_check.same, detail.query_check.extra) == (2, 0)
        assert detail.reply and detail.reply.text == "Two and one."
        assert (results.runner, results.total, results.passed, results.score) == ("agent", 1, 1, 1.0)
        assert results.cost_micro_usd == 1200


@requirement("evals.checks")
async def test_other_rows_fail_and_say_how_many(shop_: Shop) -> None:
    detail = await shop_.verdict(sparql=COUNTS.replace("?s p:team ?t", "?s p:team ?t ; p:tier 1"))
    assert detail.query_check and (detail.query_check.same, detail.query_check.missing, detail.query_check.extra) == (
        1,
        1,
        1,
    )
    assert (detail.verdict, detail.message) == ("fail", "missing rows: 1; extra rows: 1")


@requirement("evals.checks")
async def test_judged_rows_count_beside_the_golden_query(shop_: Shop) -> None:
    golden = await shop_.golden_of("Which services are there?", SERVICES)
    trace_id = await asked(shop_.core, shop_.dataset, SERVICES, "Which services are there?")
    risk, ledger, _ = (await trace(shop_.core, TraceRequest(user_id="u1", id=trace_id))).results.items
    said = [{"id": risk.id, "valid": False}, {"id": ledger.id, "valid": True}]
    await label(shop_.core, LabelRequest.model_validate({"user_id": "u1", "trace": trace_id, "items": said}))
    detail = (await shop_.check({"golden": golden, "sparql": SERVICES})).verdicts[golden]
    assert (detail.verdict, detail.message) == ("fail", "returned rows that were judged wrong: 1")
    assert (detail.relevant_returned, detail.wrong_returned, detail.unknown_returned) == (1, 1, 1)
    assert (detail.precision, detail.recall) == (0.5, 1.0)


@requirement("evals.checks")
async def test_a_query_of_another_type_fails_with_the_same_rows(tmp_path: Path, model: ScriptedModel) -> None:
    by_meaning = 'SELECT ?s { ?s search:similarTo "a service" ; search:top 4 }'
    async with opened(tmp_path, model) as asker:
        declared = {"user_id": USER, "dataset": GRAPH, "class": f"{CLASS}service", "from": ["label"]}
        made = await declare_embedding(asker.core, DeclareEmbeddingRequest.model_validate(declared))
        await refresh_embedding(asker.core, RefreshEmbeddingRequest(user_id=USER, dataset=GRAPH, name=made.name))
        dataset = await graph_of(asker.core, GraphRequest(user_id=USER, dataset=GRAPH))
        new = NewTrace("Which are services?", "ask", by_meaning, "none", 2, None, route=AGGREGATE)
        trace_id = await record_trace(asker.core, dataset, new)
        said = LabelRequest(user_id=USER, dataset=GRAPH, trace=trace_id or "", valid=True)
        golden = (await label(asker.core, said)).golden
        assert golden and golden.query_type == "search"
        answers = [{"golden": golden.id, "sparql": "SELECT ?s { ?s a class:service }"}]
        given = {"user_id": USER, "dataset": GRAPH, "answers": answers}
        found = (await run_answers(asker.core, RunAnswersRequest.model_validate(given))).results
    detail = found.verdicts[golden.id]
    assert detail.query_check and (detail.query_check.same, detail.query_check.missing) == (4, 0)
    assert (detail.verdict, detail.message) == ("fail", "the query is sparql, not search")


@requirement("evals.unanswerable")
async def test_an_answer_without_a_query_says_that_there_is_none(shop_: Shop) -> None:
    wrong = await shop_.verdict(reply={"text": "I can't tell."})
    assert (wrong.verdict, wrong.message) == ("fail", "the question has an answer")
    salaries = await shop_.golden_of(
        "What do they earn?", PREFIXES + "SELECT ?x { ?s p:salary ?x }", route="unanswerable"
    )
    results = await shop_.check({"golden": salaries})
    assert results.verdicts[salaries].verdict == "pass"
    results = await shop_.check({"golden": salaries, "sparql": SERVICES})
    assert results.verdicts[salaries].verdict == "fail"


@requirement("evals.route-check")
@pytest.mark.parametrize(
    ("route", "check"),
    [
        ({"kind": "lookup", "confidence": 0.6, "by": "router"}, ("lookup", 0.6, False)),
        ({"kind": "aggregate", "confidence": 0.9, "by": "router"}, ("aggregate", 0.9, True)),
        (
            {"kind": "lookup", "confidence": 1, "by": "rewriter", "probabilities": {"aggregate": 0.8, "lookup": 0.2}},
            ("aggregate", 0.8, True),
        ),
        ({"kind": "lookup", "confidence": 1, "by": "caller"}, None),
    ],
)
async def test_the_router_is_scored_and_changes_no_verdict(
    shop_: Shop, route: dict[str, Any], check: tuple[str, float, bool] | None
) -> None:
    results = await shop_.check({"sparql": COUNTS, "route": route})
    detail = results.verdicts[shop_.golden]
    found = detail.route_check
    assert detail.verdict == "pass"
    assert (found and (found.router, found.probability, found.right)) == check
    assert (results.route_checked, results.route_right) == ((1, int(check[2])) if check else (None, None))


async def test_an_error_and_a_query_that_can_not_be_run_are_errors(shop_: Shop) -> None:
    said = await shop_.check({"error": "the model timed out"})
    assert (said.verdicts[shop_.golden].message, said.errors, said.score) == ("the model timed out", 1, 0.0)
    for broken in ("SELECT ?s WHERE {", "DELETE WHERE { ?s ?p ?o }", "SELECT ?s { ?s nobody:knows ?o }"):
        detail = await shop_.verdict(sparql=broken)
        assert detail.verdict == "error" and (detail.message or "").startswith("query: ")


async def test_answers_are_read_at_the_commit_that_they_name(core: Core) -> None:
    over, dataset = await shop(core, TURTLE, LATER)
    made = Shop(over, dataset, "")
    golden = await made.golden_of("Which services are there?", SERVICES)
    then = PREFIXES + "SELECT ?s { VALUES ?s { e:risk e:ledger e:auth } }"
    results = await made.check({"golden": golden, "sparql": then, "as_of_commit_seq": 1})
    assert results.verdicts[golden].verdict == "pass"
    results = await made.check({"golden": golden, "sparql": then})
    assert results.verdicts[golden].verdict == "fail"


async def test_a_write_between_the_two_queries_changes_no_verdict(shop_: Shop) -> None:
    class Moving(TurtleQueries):
        """Has its second commit as soon as a query was answered."""

        async def solve(self, dataset: Dataset, query: GraphQuery, *, at_seq: int | None = None) -> Solutions:
            seq = at_seq or (1 if not self.asked else 2)
            return await super().solve(dataset, query, at_seq=seq)

    over = replace(shop_, core=replace(shop_.core, queries=Moving(TURTLE, LATER)))
    assert (await over.verdict(sparql=COUNTS)).verdict == "pass"


async def test_what_is_no_golden_question_is_skipped(shop_: Shop) -> None:
    made = await create_golden(shop_.core, CreateGoldenRequest(user_id="u1", sparql=SERVICES))
    results = await shop_.check({"golden": made.golden.id, "sparql": SERVICES}, {"golden": "0" * 24})
    assert {detail.verdict for detail in results.verdicts.values()} == {"skipped"}
    assert (results.total, results.skipped, results.score) == (2, 2, 1.0)


async def test_what_is_not_checked_in_time_is_skipped(shop_: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(TurtleQueries):
        """Answers twenty queries, and hangs at the next."""

        async def solve(self, dataset: Dataset, query: GraphQuery, *, at_seq: int | None = None) -> Solutions:
            await asyncio.sleep(60 if len(self.asked) >= 20 else 0)
            return await super().solve(dataset, query, at_seq=at_seq)

    monkeypatch.setattr(answering, "ANSWERS_SECONDS", 2.0)
    ids = [await shop_.golden_of(f"Question {n}?", SERVICES) for n in range(60)]
    over = replace(shop_, core=replace(shop_.core, queries=Slow(TURTLE)))
    results = await over.check(*({"golden": id_, "sparql": SERVICES} for id_ in ids))
    assert (results.total, results.failed, results.errors) == (60, 0, 0)
    assert 0 < results.passed < 60 and results.passed + results.skipped == 60
    late = next(detail for detail in results.verdicts.values() if detail.verdict == "skipped")
    assert late.message == "not met within 2 seconds"


async def test_an_outage_is_an_error_and_no_result(shop_: Shop) -> None:
    class Down(TurtleQueries):
        async def solve(self, dataset: Dataset, query: GraphQuery, *, at_seq: int | None = None) -> Solutions:
            raise QueriesUnavailable("the process that answers queries could not be started")

    over = replace(shop_, core=replace(shop_.core, queries=Down(TURTLE)))
    with pytest.raises(QueriesUnavailable):
        await over.check({"sparql": COUNTS})
    assert (await results(shop_.core, ResultsRequest(user_id="u1", runner="agent"))).results == []


async def test_a_query_stopped_at_its_deadline_is_an_error_of_that_answer(shop_: Shop) -> None:
    class Late(TurtleQueries):
        async def solve(self, dataset: Dataset, query: GraphQuery, *, at_seq: int | None = None) -> Solutions:
            if "tier" in query.text:
                raise QueryTimeout("the query ran for 8 seconds and was stopped")
            return await super().solve(dataset, query, at_seq=at_seq)

    golden = await shop_.golden_of("Which services are there?", SERVICES)
    over = replace(shop_, core=replace(shop_.core, queries=Late(TURTLE)))
    found = await over.check({"sparql": TIER_1}, {"golden": golden, "sparql": SERVICES})
    assert (found.errors, found.passed) == (1, 1)


@requirement("evals.results-by-runner")
async def test_the_runs_of_each_runner_are_a_series_of_their_own(shop_: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage.evals, "RESULTS_KEPT", 3)
    for runner in ("one", "two", "one", "one", "one"):
        await shop_.check({"sparql": COUNTS}, runner=runner)
    assert [await runs_of(shop_.core, runner) for runner in ("one", "two", None)] == [3, 1, 0]
    listed = await results(shop_.core, ResultsRequest(user_id="u1", runner="one", limit=2))
    models.EvalResultsListResponse.model_validate(listed.body())
    assert len(listed.results) == 2 and listed.results[0].ran_at >= listed.results[1].ran_at


async def runs_of(core: Core, runner: str | None) -> int:
    return len((await results(core, ResultsRequest(user_id="u1", runner=runner))).results)


@pytest.mark.parametrize(
    "given",
    [
        {"answers": [{"golden": "a", "confidence": 1}]},
        {"answers": [{"golden": "a"}, {"golden": "a"}]},
        {"answers": [{"golden": ""}]},
        {"answers": [{"golden": "a", "route": {"kind": "guess", "confidence": 1, "by": "router"}}]},
        {"answers": [{"golden": "a", "sparql": "x" * 20_001}]},
        {"answers": [{"golden": "a", "reply": {"text": "x" * 8_001}}]},
        {"answers": [{"golden": f"g{n}"} for n in range(2_001)]},
        {"answers": [], "runner": "My Agent"},
        {"answers": [], "runner": "a" * 41},
        {"runner": "agent"},
    ],
)
def test_answers_outside_their_limits_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        RunAnswersRequest.model_validate({"user_id": "u1", **given})


# Our own runs ---------------------------------------------------------------------------------------------------------


async def test_frozen_queries_are_run_and_their_rows_compared(core: Core) -> None:
    core, _ = await shop(core)
    made = await create_golden(core, CreateGoldenRequest(user_id="u1", sparql=SERVICES))
    first = (await run_goldens(core, RunRequest(user_id="u1"))).results
    assert first.verdicts[made.golden.id].verdict == "pass" and first.verdicts[made.golden.id].via == "query"
    fewer = replace(core, queries=TurtleQueries(TURTLE.replace("e:risk a c:service", "e:risk a c:former")))
    second = (await run_goldens(fewer, RunRequest(user_id="u1"))).results
    detail = second.verdicts[made.golden.id]
    assert (detail.verdict, detail.message, detail.recall) == ("fail", "missing rows that were judged right: 1", 2 / 3)
    assert (second.score, second.regression) == (0.0, True)
    told = await summary(core, EvalsRequest(user_id="u1"))
    models.EvalSummaryResponse.model_validate(told.body())
    assert [point.score for point in told.history] == [1.0, 0.0]
    assert (told.goldens, told.goldens_manual, told.judged_results) == (1, 1, 3)
    assert told.latest and told.latest.failed == 1


@asynccontextmanager
async def services(home: Path, model: ScriptedModel) -> AsyncGenerator[tuple[Core, str]]:
    """The loop with a scripted model, and the golden of a question that it answered."""
    async with opened(home, model) as asker:
        model.turns(sparql(COUNT), answer("They run some."))
        body = await asker.ask(HOW_MANY, today="2026-03-01", route="aggregate")
        said = LabelRequest(user_id=USER, dataset=GRAPH, trace=body["result"]["trace_id"], valid=True)
        golden = (await label(asker.core, said)).golden
        assert golden is not None
        yield asker.core, golden.id


@requirement("ask.records-a-trace")
async def test_an_answered_question_leaves_a_trace_of_question_query_and_rows(
    tmp_path: Path, model: ScriptedModel
) -> None:
    async with opened(tmp_path, model) as asker:
        model.turns(sparql(COUNT), answer("They run some."))
        body = await asker.ask(HOW_MANY)
        kept = await trace(asker.core, TraceRequest(user_id=USER, dataset=GRAPH, id=body["result"]["trace_id"]))
    assert (kept.request, kept.sparql, kept.surface) == (HOW_MANY, body["query"]["sparql"], "ask")
    assert kept.reply and kept.reply.text == "They run some."
    assert kept.results.item_count == 2
    assert kept.ask and kept.ask.today is not None


async def test_golden_questions_are_asked_again_as_they_were_asked(tmp_path: Path, model: ScriptedModel) -> None:
    async with services(tmp_path, model) as (core, golden):
        before = len((await traces(core, TracesRequest(user_id=USER, dataset=GRAPH))).traces)
        model.turns(sparql(COUNT), answer("Two each."), sparql(TOTAL), answer("Four."))
        right = (await run_goldens(core, RunRequest(user_id=USER, dataset=GRAPH))).results
        wrong = (await run_goldens(core, RunRequest(user_id=USER, dataset=GRAPH))).results
        after = len((await traces(core, TracesRequest(user_id=USER, dataset=GRAPH))).traces)
    models.EvalRunResponse.model_validate({"results": right.body()})
    detail = right.verdicts[golden]
    assert (detail.verdict, detail.via, detail.reply and detail.reply.text) == ("pass", "ask", "Two each.")
    assert detail.cost_micro_usd is not None and right.cost_micro_usd == detail.cost_micro_usd
    assert wrong.verdicts[golden].verdict == "fail"
    assert before == after == 1
    assert "2026-03-01" in str(model.talks[-1].messages[0])


async def test_where_no_model_answers_each_question_is_an_error(tmp_path: Path, model: ScriptedModel) -> None:
    async with services(tmp_path, model) as (core, golden):
        results = (await run_goldens(replace(core, asker=None), RunRequest(user_id=USER, dataset=GRAPH))).results
    assert (results.verdicts[golden].verdict, results.errors) == ("error", 1)


async def test_words_that_are_no_question_are_an_error_of_that_golden(shop_: Shop) -> None:
    golden = await shop_.golden_of(" ", SERVICES)
    found = (await run_goldens(replace(shop_.core, asker=None), RunRequest(user_id="u1"))).results
    assert found.verdicts[golden].message == "the question is outside the limits of ask"


async def test_a_run_meets_so_many_goldens_and_tells_of_the_others(core: Core) -> None:
    core, _ = await shop(core)
    for query in (SERVICES, TIER_1, COUNTS):
        await create_golden(core, CreateGoldenRequest(user_id="u1", sparql=query))
    changed = await set_settings(core, SetSettingsRequest(user_id="u1", max_goldens=2, threshold=0.5))
    models.EvalSettings.model_validate(changed.body())
    assert (await settings(core, EvalsRequest(user_id="u1"))) == changed
    results = (await run_goldens(core, RunRequest(user_id="u1"))).results
    assert (results.passed, results.skipped, results.score, results.regression) == (2, 1, 1.0, False)
    assert (await goldens(core, GoldensRequest(user_id="u1"))).version == results.goldens_version == 3


async def test_settings_that_two_change_at_once_are_both_kept(core: Core) -> None:
    core, _ = await shop(core)
    changes: list[dict[str, Any]] = [{"threshold": 0.5}, {"max_goldens": 7}, {"mode": "off"}]
    await asyncio.gather(*(set_settings(core, SetSettingsRequest(user_id="u1", **change)) for change in changes))
    kept = await settings(core, EvalsRequest(user_id="u1"))
    assert (kept.threshold, kept.max_goldens, kept.mode) == (0.5, 7, "off")


async def test_settings_are_kept_in_both_databases_and_apart(opened_twice: AbstractAsyncContextManager[Core]) -> None:
    async with opened_twice as core:
        assert (await settings(core, EvalsRequest(user_id="u1"))).threshold == 0.75


@pytest.fixture
async def opened_twice(opened: Opener) -> AbstractAsyncContextManager[Core]:
    async with opened() as core:
        await shop(core)
        await set_settings(core, SetSettingsRequest(user_id="u1", threshold=0.75))
    return opened()


async def test_of_a_memory_that_holds_nothing_there_is_nothing_to_run(core: Core) -> None:
    told = await summary(core, EvalsRequest(user_id="nobody"))
    assert (told.goldens, told.latest, told.judge.available) == (0, None, False)
    for refused in (
        run_goldens(core, RunRequest(user_id="nobody")),
        create_golden(core, CreateGoldenRequest(user_id="nobody", sparql=SERVICES)),
        set_settings(core, SetSettingsRequest(user_id="nobody", threshold=0.5)),
    ):
        with pytest.raises(UnknownDataset):
            await refused


async def test_in_a_memory_that_holds_nothing_there_is_no_golden_to_delete(core: Core) -> None:
    gone = await delete_golden(core, GoldenRequest(user_id="nobody", id="0" * 24))
    assert (gone.deleted, gone.suite_version) == (False, 0)


async def test_no_model_judges(core: Core) -> None:
    with pytest.raises(Exception, match="no model judges answers here"):
        await judge(core, JudgeRequest(user_id="u1"))
