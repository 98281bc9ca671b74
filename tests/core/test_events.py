"""One event for each call: what it was, how it went, what it took. Never a text."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from core.core import Core
from core.errors import ModelFailed
from core.events import Event
from core.inferences import Choice
from core.ports import Completion, ModelCall, Prompt
from core.prices import Price
from gligabao_mcp.operation import Operation
from gligabao_mcp.operations import ADMIN_COSTS, QUERY, REMEMBER, execute, parse
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from storage import events as ring
from storage.events import SqlEvents
from tests.conftest import Opener, Tables
from tests.facts import ALICE_WORKS_AT_ACME, answer, edge, graph, tell, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

DOLLAR = {"scripted-1": Price(input=10_000)}


async def call(core: Core, operation: Operation[Any, Any], **payload: Any) -> dict[str, Any]:
    return await execute(operation, core, parse(operation, {"user_id": "u1", **payload}))


async def events(core: Core) -> list[dict[str, Any]]:
    assert isinstance(core.events, SqlEvents)
    await core.events.flush()
    return [event for _, event in await core.events.newest(100)]


@requirement("query.session-id-recorded")
async def test_each_call_is_one_event_with_its_session_and_what_it_took(opened: Opener, model: ScriptedModel) -> None:
    moved = graph("Alice:person", edges=[edge("Alice", "works_at", "Nord", valid_at="2026-01-01")])
    model.replies(ALICE_WORKS_AT_ACME, moved, verdicts(verdict(contradicts=[1])), answer("At Nord.", edges=[2]))
    async with opened(prices=DOLLAR) as core:
        await call(core, REMEMBER, text="Alice works at Acme.")
        told = await call(core, REMEMBER, text="Alice moved to Nord.", session_id="s1", dataset="main")
        await call(core, QUERY, query="Where does Alice work?", session_id="s1")
        first, second, asked = await events(core)
    assert (first["type"], first["session_id"]) == ("remember", None)
    assert second == {
        "time": second["time"],
        "type": "remember",
        "run_id": told["remember_run_id"],
        "user_id": "u1",
        "dataset": "main",
        "session_id": "s1",
        "status": "ok",
        "http_status": 200,
        "latency_ms": second["latency_ms"],
        "models": ["hash-1", "scripted-1"],
        "tokens": {**second["tokens"], "cached_input": 0, "cache_write": 0, "output": 40, "thinking": 0},
        "cost_usd": 2.0,
        "counts": {"entities": 1, "edges": 1, "invalidated": 1, "vectors": 3},
        "error": None,
    }
    assert second["tokens"]["input"] > 200
    assert second["latency_ms"] >= 0
    assert (asked["type"], asked["run_id"], asked["session_id"]) == ("query", None, "s1")
    assert (asked["models"], asked["cost_usd"]) == (["scripted-1"], 1.0)
    assert asked["counts"] == {"entities": 2, "edges": 1, "invalidated": 0, "vectors": 0}


async def test_a_failed_call_is_told_by_its_code_alone(core: Core, model: ScriptedModel) -> None:
    model.replies(ModelFailed("the model said Zanzibar"))
    with pytest.raises(ModelFailed):
        await call(core, REMEMBER, text="A secret of Zanzibar.")
    with pytest.raises(Exception, match="not found"):
        await call(core, QUERY, query="Zanzibar?", dataset="nowhere")
    failed, missing = await events(core)
    assert (failed["status"], failed["http_status"], failed["error"]) == ("error", 502, "model_failed")
    assert isinstance(failed["run_id"], int)
    assert (missing["status"], missing["http_status"], missing["error"]) == ("error", 404, "not_found")


async def test_a_question_whose_asker_went_away_is_an_event_too(core: Core, model: ScriptedModel) -> None:
    model.replies(ALICE_WORKS_AT_ACME)
    await tell(core)

    async def never(prompt: Prompt, choice: Choice) -> Completion:
        await asyncio.Event().wait()
        raise AssertionError

    model.complete = never
    asking = asyncio.create_task(call(core, QUERY, query="Where does Alice work?"))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert [(event["error"], event["http_status"]) for event in await events(core)] == [("cancelled", 499)]


async def test_calls_at_the_same_time_do_not_count_each_others_tokens(opened: Opener, model: ScriptedModel) -> None:
    model.replies(*[graph()] * 4)
    async with opened(prices=DOLLAR) as core:
        await asyncio.gather(*(call(core, REMEMBER, user_id=f"u{i}", text="Nothing.") for i in range(4)))
        assert [event["cost_usd"] for event in await events(core)] == [1.0] * 4


async def test_a_run_that_nobody_waits_for_tells_when_it_has_ended(opened: Opener, model: ScriptedModel) -> None:
    model.replies(ALICE_WORKS_AT_ACME, ModelFailed("no"))
    async with opened(prices=DOLLAR) as core:
        accepted = await call(core, REMEMBER, text="Alice works at Acme.", wait=False, session_id="s1")
        while not await events(core):
            pass
        refused = await call(core, REMEMBER, text="Alice works at Nord.", wait=False)
        while len(await events(core)) == 1:
            pass
        done, failed = await events(core)
    assert (done["run_id"], done["session_id"]) == (accepted["remember_run_id"], "s1")
    assert (done["status"], done["http_status"], done["cost_usd"]) == ("ok", 200, 1.0)
    assert done["counts"]["edges"] == 1
    assert (failed["run_id"], failed["error"]) == (refused["remember_run_id"], "model_failed")


async def test_looking_at_costs_is_no_event(core: Core) -> None:
    await execute(ADMIN_COSTS, core, parse(ADMIN_COSTS, {"db": core.database}))
    assert await events(core) == []


async def test_no_event_holds_a_text(
    core: Core, model: ScriptedModel, tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gligabao.events")
    model.replies(
        graph("Zanzibar:place:Zanzibar", edges=[edge("Zanzibar", "hides", "gold", description="Zanzibar hides gold.")]),
        answer("Zanzibar hides gold."),
        "Zanzibar",
        "Zanzibar",
    )
    await call(core, REMEMBER, text="Zanzibar hides gold.")
    await call(core, QUERY, query="What does Zanzibar hide?")
    with pytest.raises(ModelFailed):
        await call(core, REMEMBER, text="Zanzibar hides more.")
    assert len(await events(core)) == 3
    rows = json.dumps([{**row, "created_at": ""} for row in tables.rows("SELECT * FROM gb_events")])
    lines = [record.getMessage() for record in caplog.records if record.name == "gligabao.events"]
    assert [json.loads(line)["type"] for line in lines] == ["remember", "query", "remember"]
    for word in ("Zanzibar", "gold", "hide"):
        assert word not in rows
        assert word not in "".join(lines)


async def test_the_oldest_events_make_room(core: Core, monkeypatch: pytest.MonkeyPatch, tables: Tables) -> None:
    monkeypatch.setattr(ring, "KEPT", 3)
    for count in range(5):
        await call(core, QUERY, query="Anything?", session_id=f"s{count}", answer=False)
        await events(core)
    assert [event["session_id"] for event in await events(core)] == ["s2", "s3", "s4"]
    assert tables.count("gb_events") == 3


async def test_what_was_told_before_the_end_is_written_at_the_end(opened: Opener, tables: Tables) -> None:
    async with opened() as core:
        await call(core, QUERY, query="Anything?", answer=False)
    assert tables.count("gb_events") == 1


async def test_a_reader_goes_on_where_it_was(core: Core) -> None:
    for session in ("s1", "s2", "s3"):
        await call(core, QUERY, query="Anything?", session_id=session, answer=False)
    await events(core)
    newest = await core.events.newest(2)
    assert [event["session_id"] for _, event in newest] == ["s2", "s3"]
    assert await core.events.newest(10, after=newest[0][0]) == newest[1:]
    assert await core.events.newest(10, after=newest[1][0]) == []


class Watching:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.stages: list[str] = []
        self.calls: list[tuple[str, float]] = []
        self.runs: list[str] = []
        self.rows: list[tuple[int, int]] = []
        self.vectors: dict[str, int] = {}

    def take(self, event: Event) -> None:
        self.events.append(event)

    def called(self, call: ModelCall, cost: float) -> None:
        self.calls.append((call.stage, cost))

    def staged(self, stage: str, seconds: float) -> None:
        assert seconds >= 0
        self.stages.append(stage)

    def ran(self, status: str) -> None:
        self.runs.append(status)

    def waited(self, seconds: float) -> None:
        assert seconds >= 0

    def stored(self, stored: Any) -> None:
        self.rows.append((len(stored.edges), len(stored.invalidated)))

    def tool_called(self, tool: str, error: str | None) -> None:
        raise AssertionError("no tool is called here")

    def written(self, index: str, vectors: int) -> None:
        self.vectors[index] = self.vectors.get(index, 0) + vectors


async def test_whoever_watches_is_told_what_happens_inside(core: Core, model: ScriptedModel) -> None:
    watching = Watching()
    core.monitor.watched_by(watching)
    model.replies(ALICE_WORKS_AT_ACME, ModelFailed("no"))
    await call(core, REMEMBER, text="Alice works at Acme.")
    with pytest.raises(ModelFailed):
        await call(core, REMEMBER, text="Alice works at Nord.")
    assert [event.status for event in watching.events] == ["ok", "error"]
    assert watching.stages == ["extract_graph", "store", "extract_graph"]
    assert watching.calls == [("extract_graph", 0.0), ("embed", 0.0)]
    assert watching.runs == ["succeeded", "failed"]
    assert watching.rows == [(1, 0)]
    assert watching.vectors["entities"] == 2


async def test_vectors_that_are_made_later_are_recorded_too(
    opened: Opener, plain: Core, embedder: HashEmbedder, model: ScriptedModel, tables: Tables
) -> None:
    other = HashEmbedder(model="other-1")
    async with opened() as core:
        model.replies(ALICE_WORKS_AT_ACME, graph("Ivo:person"))
        await tell(core)
        await tell(replace(core, embedder=other), "Ivo is here.")
        before = tables.count("gb_inferences")
        repair = getattr(core.vectors, "repair")  # noqa: B009 - what a timer does
        await repair()
        (late,) = tables.rows("SELECT * FROM gb_inferences WHERE id > :id ORDER BY id", id=before)
    assert (late["type"], late["stage"], late["user_id"], late["model"]) == ("embedding", "embed", "u1", "hash-1")
