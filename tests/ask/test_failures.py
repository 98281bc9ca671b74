"""What a question comes to when something is missing, fails or takes too long."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import atif
import pytest
import sqlalchemy as sa

from core.ask.ask import ask, ask_events
from core.errors import (
    DailyLimit,
    ModelOverloaded,
    ModelUnavailable,
    QueriesUnavailable,
    QuestionLimit,
    UnknownDataset,
)
from core.graph import Dataset
from core.inferences import Choice, Inference, Usage
from core.rdf.ports import GraphQueries, GraphQuery
from core.rdf.terms import Solutions
from core.talk import CannotCallTools, Talk, Turn
from gligabao_mcp.providers.scripted import ScriptedModel
from tests.ask.asking import Asker, answer, opened, sparql, told_in
from tests.ask.services import TOTAL, USER
from tests.conftest import Tables
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

SPENT = Inference("anthropic", "claude-sonnet-5-5", "claude-sonnet-5-5", Usage(input=1000), error="secret words")
BUSY = ModelOverloaded("secret words of the provider", inferences=[SPENT])


@requirement("ask.no-model", "ask.no-model-to-choose")
async def test_without_a_model_the_ways_out_are_told_and_nothing_is_counted(
    tmp_path: Path, model: ScriptedModel
) -> None:
    async with opened(tmp_path, model, ask_questions_per_day=1) as asked:
        with pytest.raises(ModelUnavailable) as failed:
            await asked.changed(asker=None).ask()
        assert "ANTHROPIC_API_KEY" in failed.value.message
        model.turns(answer("Four."))
        await asked.ask()


@requirement("ask.model-retry", "ask.models-field")
async def test_a_call_that_fails_is_sent_once_more_and_both_are_told(asked: Asker) -> None:
    asked.model.turns(BUSY, sparql(TOTAL), answer("Four."))
    body = await asked.ask()
    assert [call["ok"] for call in body["models"]] == [False, True, True]
    failed = body["models"][0]
    assert (failed["model"], failed["tokens"], failed["cost_micro_usd"]) == ("claude-sonnet-5-5", 1000, 2000)
    assert asked.model.talks[0].messages == asked.model.talks[1].messages


@requirement("ask.model-retry")
async def test_a_call_that_hangs_leaves_time_for_another(asked: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.ask.calls.TURN_SECONDS", 0.05)

    class Hanging(Slow):
        async def turn(self, talk: Talk, choice: Choice) -> Turn:
            if not asked.model.talks:
                asked.model.talks.append(talk)
                await asyncio.sleep(60)
            return await super().turn(talk, choice)

    asked.model.turns(answer("Four."))
    body = await asked.changed(asker=Hanging(asked.model, Clock(), 0)).ask()
    assert ([call["ok"] for call in body["models"]], body["answer"]["text"]) == ([False, True], "Four.")


@requirement("ask.no-model", "ask.model-retry")
async def test_two_failures_before_anything_was_found_are_an_outage_without_the_providers_words(asked: Asker) -> None:
    asked.model.turns(BUSY, BUSY)
    with pytest.raises(ModelUnavailable) as failed:
        await asked.ask()
    assert "secret" not in failed.value.message
    assert len(asked.model.talks) == 2


@requirement("ask.stopped-early")
async def test_a_model_that_is_gone_after_a_step_leaves_the_best_rows(asked: Asker) -> None:
    asked.model.turns(sparql(TOTAL), BUSY, BUSY)
    body = await asked.ask()
    assert "answer" not in body
    assert body["error"] == body["rationale"]
    assert "did not answer" in body["error"]
    assert (body["result"]["row_page"]["total"], body["attempts"]) == (1, 1)
    assert body["query"]["sparql"].endswith(TOTAL)


@requirement("ask.stopped-early")
async def test_a_comparison_or_a_yes_is_worth_telling_too(asked: Asker) -> None:
    timeline = [{"date": "2026-06-10", "as_of_commit_seq": 1}]
    asked.model.turns([("compare", {"query": TOTAL, "since": "2026-06-10"})], BUSY, BUSY)
    body = await asked.ask(timeline=timeline)
    assert (body["history"]["compare"], "result" in body, "error" in body) == (True, False, True)
    asked.model.turns(sparql("ASK { ?s a class:service }"), BUSY, BUSY)
    assert '"boolean":true' in (await asked.ask())["result"]["results"]


@requirement("ask.timings-field")
async def test_milliseconds_are_told_by_what_they_were_spent_on(asked: Asker) -> None:
    asked.model.turns(sparql(TOTAL), answer("Four."), answer("Four."))
    timings = (await asked.ask(anchor=["https://x.test/e/risk"]))["timings"]
    assert timings.keys() == {
        *("ground_ms", "route_ms", "rewrite_ms", "run_ms", "total_ms", "link_ms", "anchor_ms"),
    }
    assert timings["rewrite_ms"] == 2  # the scripted model says 1 for each call
    assert timings["total_ms"] >= timings["ground_ms"] + timings["run_ms"]
    assert "anchor_ms" not in (await asked.ask())["timings"]


async def test_a_server_that_takes_no_tools_is_not_asked_again(asked: Asker) -> None:
    asked.model.turns(CannotCallTools("it takes no tools: secret words", inferences=[SPENT]))
    with pytest.raises(ModelUnavailable) as failed:
        await asked.ask()
    assert failed.value.message == "the model scripted-1 can't call tools; name another in ask_model"


@requirement("ask.stopped-early")
async def test_a_model_that_refuses_has_stopped(asked: Asker) -> None:
    inference = Inference("anthropic", "claude-sonnet-5-5", "claude-sonnet-5-5")
    asked.model.turns(Turn("", [], inference, [], "refused", "cyber"))
    body = await asked.ask()
    assert body["error"] == "the model refused to answer"
    assert [call["ok"] for call in body["models"]] == [False]


async def test_a_turn_that_was_cut_off_is_asked_for_again(asked: Asker) -> None:
    inference = Inference("anthropic", "claude-sonnet-5-5", "claude-sonnet-5-5")
    asked.model.turns(Turn("Let me", [], inference, [], "truncated"), answer("Four."))
    body = await asked.ask()
    assert (body["answer"]["text"], len(body["models"])) == ("Four.", 2)


async def test_an_answer_that_went_back_holds_when_no_better_one_comes(asked: Asker) -> None:
    services = "SELECT ?s WHERE { ?s a class:service } ORDER BY ?s"
    asked.model.turns(sparql(services), answer("One is auth.", "https://x.test/e/auth"), BUSY, BUSY)
    assert (await asked.ask())["answer"]["text"] == "One is auth."


# Limits


@requirement("ask.daily-limit")
async def test_the_questions_of_a_day_are_counted_whoever_asks(tmp_path: Path, model: ScriptedModel) -> None:
    async with opened(tmp_path, model, ask_questions_per_day=2) as asked:
        model.turns(answer("Four."))
        await asked.ask()
        await asked.ask(mode="route")
        for question in (
            ask(asked.core, asked.request("How many?")),
            anext(ask_events(asked.core, asked.request("?"))),
        ):
            with pytest.raises(QuestionLimit):
                await question
    assert len(model.talks) == 1


async def test_a_graph_that_is_not_there_is_not_asked(asked: Asker) -> None:
    with pytest.raises(UnknownDataset):
        await asked.ask(dataset="nowhere")


async def test_main_of_somebody_new_is_an_empty_graph(asked: Asker) -> None:
    asked.model.turns(sparql("SELECT * WHERE { ?s ?p ?o }"), answer("Nothing is known.", route="unanswerable"))
    body = await asked.ask(dataset="main", user_id="somebody new", anchor=["https://x.test/e/risk"])
    assert (body["steps"][0]["rows"], body["grounding"]["classes"]) == (0, 0)
    assert body["anchors"][0]["found"] is False


class Clock:
    """Seconds that go by as a test says."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Slow:
    """A model whose every turn takes so many seconds of the clock."""

    def __init__(self, inner: ScriptedModel, clock: Clock, seconds: float) -> None:
        self.model = inner.model
        self.inner = inner
        self.clock = clock
        self.seconds = seconds
        self.complete = inner.complete

    async def turn(self, talk: Talk, choice: Choice) -> Turn:
        self.clock.seconds += self.seconds
        return await self.inner.turn(talk, choice)


@requirement("ask.deadline", "ask.stopped-early")
async def test_with_little_time_left_the_model_has_to_answer(asked: Asker) -> None:
    clock = Clock()
    slow = Slow(asked.model, clock, 25)
    asked.model.turns(sparql(TOTAL), sparql(TOTAL), answer("Four."))
    body = await asked.changed(asker=slow, monotonic=clock).ask()
    assert (body["answer"]["text"], len(body["steps"])) == ("Four.", 1)
    assert [len(talk.tools) for talk in asked.model.talks] == [6, 6, 1]
    assert body["timings"]["total_ms"] == 75_000


@requirement("ask.deadline", "ask.rounds-and-steps")
async def test_a_round_of_slow_queries_leaves_time_for_the_answer(asked: Asker) -> None:
    clock = Clock()

    class Long(Watched):
        async def solve(self, dataset: Dataset, query: GraphQuery, *, at_seq: int | None = None) -> Solutions:
            if query.text.endswith(TOTAL):
                clock.seconds += 8
            return await super().solve(dataset, query, at_seq=at_seq)

    asked.model.turns(sparql(TOTAL) * 12, answer("Four."))
    body = await asked.changed(queries=Long(asked.core.queries), monotonic=clock).ask()
    assert (body["answer"]["text"], len(body["steps"])) == ("Four.", 6)
    assert "Call answer now" in told_in(asked.last)[-1]
    assert body["timings"]["total_ms"] == 48_000


@requirement("ask.no-model", "ask.deadline")
async def test_a_model_that_never_answers_is_an_outage_although_the_time_is_up(asked: Asker) -> None:
    clock = Clock()

    class Silent(Slow):
        async def turn(self, talk: Talk, choice: Choice) -> Turn:
            clock.seconds += 40 if clock.seconds < 40 else 20
            raise TimeoutError

    with pytest.raises(ModelUnavailable):
        await asked.changed(asker=Silent(asked.model, clock, 0), monotonic=clock).ask()
    assert clock.seconds == 60


@requirement("ask.deadline", "ask.stopped-early")
async def test_after_sixty_seconds_the_work_stops_with_the_best_rows(asked: Asker) -> None:
    clock = Clock()
    slow = Slow(asked.model, clock, 31)
    asked.model.turns(sparql(TOTAL), sparql(TOTAL))
    body = await asked.changed(asker=slow, monotonic=clock).ask()
    assert body["error"] == "the question took longer than the 60 s that it has"
    assert (len(body["steps"]), body["result"]["row_page"]["total"]) == (1, 1)


class Watched:
    """Queries that tell how long each may take, and do nothing else where they are told to hang."""

    def __init__(self, inner: GraphQueries, *, hang: bool = False) -> None:
        self.inner = inner
        self.hang = hang
        self.seconds: list[float] = []
        self.ended = asyncio.Event()

    async def solve(self, dataset: Dataset, query: GraphQuery, *, at_seq: int | None = None) -> Solutions:
        self.seconds.append(query.seconds)
        if self.hang and query.text.endswith(TOTAL):
            try:
                await asyncio.sleep(60)
            finally:
                self.ended.set()
        return await self.inner.solve(dataset, query, at_seq=at_seq)

    async def check(self, text: str) -> None:
        await self.inner.check(text)


@requirement("ask.query-time")
async def test_a_query_gets_eight_seconds_and_a_comparison_twelve(asked: Asker) -> None:
    queries = Watched(asked.core.queries)
    timeline = [{"date": "2026-06-10", "as_of_commit_seq": 1}]
    asked.model.turns(sparql(TOTAL), [("compare", {"query": TOTAL, "since": "2026-06-10"})], answer("Four."))
    await asked.changed(queries=queries).ask(timeline=timeline)
    one, *two = queries.seconds[-3:]
    assert 7.5 < one <= 8
    assert 11.5 < sum(two[:1]) + two[1] / 2 <= 12.5


@requirement("stream.hang-up")
@pytest.mark.parametrize("hangs", ["model", "query"])
async def test_closing_the_stream_stops_what_goes_on(asked: Asker, hangs: str) -> None:
    queries = Watched(asked.core.queries, hang=hangs == "query")
    begun, ended = asyncio.Event(), asyncio.Event()

    class Hanging(ScriptedModel):
        async def turn(self, talk: Talk, choice: Choice) -> Turn:
            begun.set()
            if hangs == "query":
                return await asked.model.turn(talk, choice)
            try:
                await asyncio.sleep(60)
            finally:
                ended.set()
            raise AssertionError

    asked.model.turns(sparql(TOTAL))
    core = replace(asked.core, asker=Hanging(), queries=queries)
    events = ask_events(core, asked.request("How many?"))
    assert [(await anext(events)).name for _ in range(2)] == ["grounding", "route"]
    waiting = asyncio.ensure_future(anext(events))
    await begun.wait()
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await events.aclose()
    assert (ended if hangs == "model" else queries.ended).is_set()


@requirement("stream.hang-up")
async def test_a_plain_question_that_is_given_up_stops_too(asked: Asker) -> None:
    queries = Watched(asked.core.queries, hang=True)
    asked.model.turns(sparql(TOTAL))
    work = asyncio.create_task(ask(replace(asked.core, queries=queries), asked.request("How many?")))
    while not asked.model.talks:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert queries.ended.is_set()


async def test_an_outage_of_the_queries_is_no_answer(asked: Asker) -> None:
    class Down(Watched):
        async def solve(self, dataset: Dataset, query: GraphQuery, *, at_seq: int | None = None) -> Solutions:
            if query.text.endswith(TOTAL):
                raise QueriesUnavailable("the process could not be started")
            return await super().solve(dataset, query, at_seq=at_seq)

    asked.model.turns(sparql(TOTAL))
    with pytest.raises(QueriesUnavailable):
        await asked.changed(queries=Down(asked.core.queries)).ask()


async def test_a_spent_day_refuses_the_question_and_ends_one_that_goes_on(asked: Asker) -> None:
    limit = DailyLimit("the daily spend limit is reached", retry_after=60)
    asked.model.turns(limit)
    with pytest.raises(DailyLimit):
        await asked.ask()
    asked.model.turns(sparql(TOTAL), limit)
    body = await asked.ask()
    assert (body["error"], body["result"]["row_page"]["total"]) == ("the daily spend limit is reached", 1)


# Records


@requirement("ask.models-field")
async def test_every_call_is_an_inference_of_the_question(asked: Asker, tmp_path: Path) -> None:
    asked.model.replies({"kind": "lookup", "probabilities": {"lookup": 1}})
    asked.model.turns(sparql(TOTAL), answer("Four."))
    await asked.ask(route=None)
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'gligabao.db'}")
    rows = Tables(engine).rows("SELECT type, stage, user_id, prompt_hash FROM gb_inferences ORDER BY id")
    engine.dispose()
    assert [(row["type"], row["stage"], row["user_id"]) for row in rows] == [
        ("query", "route", USER),
        ("query", "ask", USER),
        ("query", "ask", USER),
    ]
    assert [len(row["prompt_hash"]) for row in rows] == [12] * 3
    assert len({row["prompt_hash"] for row in rows}) == 2


@requirement("ask.models-field")
async def test_the_course_of_a_question_is_a_trajectory_where_these_are_kept(
    tmp_path: Path, model: ScriptedModel
) -> None:
    async with opened(tmp_path, model, trajectory=True) as asked:
        model.replies({"kind": "lookup", "probabilities": {"lookup": 1}})
        model.turns(BUSY, sparql(TOTAL), answer("Four."))
        await asked.ask("How many services are there?", route=None)
    (file,) = (tmp_path / "trajectories").glob("ask-*.json")
    trajectory = atif.Trajectory.model_validate_json(file.read_bytes())
    user, *steps = trajectory.steps
    assert user.message == "How many services are there?"
    assert [step.extra and step.extra["step"] for step in steps] == ["route", "ask", "ask", "ask", "ask"]
    assert [bool(step.tool_calls) for step in steps] == [False, False, False, True, False]
    assert [step.llm_call_count for step in steps] == [1, 1, 1, 0, 1]
