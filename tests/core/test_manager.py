"""The remember manager: whose turn it is, and what becomes of a call whose caller or process is gone."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from core.config import Config
from core.core import Core
from core.engine import NoEngine, PromptedEngine
from core.errors import Conflict, ModelFailed, NotConfigured, QueueFull, ShuttingDown, StorageBusy, TakenOver
from core.inferences import Choice
from core.ports import Completion, Prompt, RunOf
from core.remember import manager
from core.remember.remember import remember
from core.remember.request import RememberRequest
from core.remember.response import Accepted
from core.remember.runs import RunRequest, RunResponse, remember_status
from gligabao_mcp.operations import REMEMBER, parse
from gligabao_mcp.operations import execute as carry_out
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core
from storage import database as rules
from storage.database import Database
from storage.events import SqlEvents
from storage.tables import jobs
from tests.conftest import Opener, Tables
from tests.facts import ALICE_WORKS_AT_ACME, ask, edge, graph, tell, tell_facts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

GONE = "elsewhere|1|1"
"""A process on another host: whether it lives is only known by its lease."""


class Gate:
    """A model that answers once it is let, and says when it was asked."""

    def __init__(self, *replies: Any) -> None:
        self.scripted = ScriptedModel(*replies)
        self.model = self.scripted.model
        self.asked = asyncio.Event()
        self.opened = asyncio.Event()
        self.texts: list[str] = []
        self.at_once = self.most_at_once = 0

    async def complete(self, prompt: Prompt, choice: Choice) -> Completion:
        self.texts.append(prompt.user.partition("<text>")[2].partition("</text>")[0])
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        self.asked.set()
        await self.opened.wait()
        self.at_once -= 1
        return await self.scripted.complete(prompt, choice)


@asynccontextmanager
async def process(config: Config, model: Any, owner: str | None = None, **settings: Any) -> AsyncGenerator[Core]:
    """A memory as another process opens it; one of that name, if it has one."""
    engine = NoEngine() if model is None else PromptedEngine(model)
    async with open_core(config.model_copy(update=settings), Providers(engine, HashEmbedder()), drain=0.5) as core:
        ports: list[Any] = [core.graph, core.runs, core.vectors, core.manager.jobs]
        for port in ports:
            port.owner = owner or port.owner
        yield core


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.01)


def told(core: Core, text: str, **more: Any) -> asyncio.Task[Any]:
    return asyncio.create_task(remember(core, RememberRequest(user_id="u1", text=text, **more)))


async def status(core: Core, run_id: int, user_id: str = "u1") -> RunResponse:
    return await remember_status(core, RunRequest(user_id=user_id, remember_run_id=run_id))


async def ended(core: Core, run_id: int) -> RunResponse:
    """The run, once it has."""
    async with asyncio.timeout(30):
        while (run := await status(core, run_id)).state not in ("succeeded", "failed"):
            await asyncio.sleep(0.02)
    return run


async def kept_while_it_waits(core: Core, call: asyncio.Task[Any]) -> Accepted:
    """How the run of the call stands, once the call waits for it."""
    async with asyncio.timeout(30):
        while (kept := await core.manager.keep(call)) is None:
            await asyncio.sleep(0.01)
    return kept


def abandoned(core: Core, owner: str = GONE, **lease: Any) -> None:
    """Gives every job of the database to a process that is gone."""
    values = {"owner": owner, "lease_until": datetime.now(UTC) - timedelta(seconds=1)} | lease
    execute(core, sa.update(jobs).values(**values))


def database(core: Core) -> Database:
    graph_store: Any = core.graph
    return graph_store.database


def execute(core: Core, statement: sa.Executable) -> None:
    database(core).write_now(lambda connection: connection.execute(statement))


def states(tables: Tables) -> list[tuple[str, str | None]]:
    return [(r["status"], r["error"]) for r in tables.rows("SELECT status, error FROM gb_remember_runs ORDER BY id")]


# One at a time --------------------------------------------------------------------------------------------------------


@requirement("manager.one-at-a-time", "runlog.queued", "runlog.unused-stage")
async def test_calls_of_one_dataset_go_one_after_the_other_in_order_of_arrival(config: Config, tables: Tables) -> None:
    gate = Gate(*[graph("Bo")] * 5)
    async with process(config, gate) as core:
        calls = [told(core, f"Text {i}.") for i in range(4)]
        beside = told(core, "Beside.", dataset="other")
        await until(lambda: len(gate.texts) == 2 and tables.count("gb_jobs") == 5)
        waiting = await status(core, 2)
        assert (waiting.state, {stage.status for stage in waiting.stages.values()}) == ("queued", {"not_started"})
        assert (await ask(core, "Bo?", answer=False)).evidence.entities == [], "a question never waits"
        assert await core.runs.waiting() == 3
        gate.opened.set()
        answers = await asyncio.gather(*calls)
        await beside
    assert [text for text in gate.texts if text != "Beside."] == [f"Text {i}." for i in range(4)]
    assert [answer.artifact_id for answer in answers] == sorted(answer.artifact_id for answer in answers)
    assert gate.most_at_once == 2, "another dataset goes on beside"
    assert tables.count("gb_jobs") == 0


@requirement("manager.one-at-a-time")
async def test_two_processes_take_turns_in_the_order_in_which_they_were_asked(config: Config, tables: Tables) -> None:
    first, second = Gate(*[graph("Bo")] * 2), Gate(graph("Bo"))
    async with process(config, first) as one, process(config, second, "elsewhere|2|2") as two:
        calls = [told(one, "First.")]
        await first.asked.wait()
        calls.append(told(two, "Second."))
        await until(lambda: tables.count("gb_jobs") == 2)
        calls.append(told(one, "Third."))
        await until(lambda: tables.count("gb_jobs") == 3)
        assert second.texts == []
        first.opened.set()
        await second.asked.wait()
        assert first.texts == ["First."], "the third waits for the second"
        second.opened.set()
        answers = await asyncio.gather(*calls)
    assert [answer.remember_run_id for answer in answers] == [1, 2, 3]
    assert states(tables) == [("succeeded", None)] * 3


async def test_a_failing_call_holds_nobody_up(config: Config, tables: Tables) -> None:
    gate = Gate(ModelFailed("no"), ValueError("nobody foresaw this"), graph("Bo"))
    gate.opened.set()
    async with process(config, gate) as core:
        outcomes = await asyncio.gather(*(told(core, f"Text {i}.") for i in range(3)), return_exceptions=True)
    assert [type(outcome).__name__ for outcome in outcomes] == ["ModelFailed", "ValueError", "RememberResponse"]
    assert states(tables) == [("failed", "no"), ("failed", "ValueError"), ("succeeded", None)]


async def test_a_full_queue_refuses_with_a_row_and_no_wait(config: Config, tables: Tables) -> None:
    gate = Gate(*[graph("Bo")] * 3)
    async with process(config, gate, queue_size=2) as core:
        calls = [told(core, "One."), told(core, "Two.", dataset="other")]
        await until(lambda: tables.count("gb_jobs") == 2)
        with pytest.raises(QueueFull) as full:
            await tell(core, "Three.", idempotency_key="k")
        assert full.value.retry_after == 5
        gate.opened.set()
        await asyncio.gather(*calls)
        assert (await tell(core, "Three.", idempotency_key="k")).entities
    assert states(tables)[2:] == [("failed", "queue full"), ("succeeded", None)]


# Callers that hang up, and the end of the process ---------------------------------------------------------------------


@requirement("runlog.queued")
async def test_who_hangs_up_before_its_turn_has_its_text_dropped(config: Config, tables: Tables) -> None:
    gate = Gate(*[graph("Bo")] * 2)
    async with process(config, gate) as core:
        first, second, third = told(core, "First."), told(core, "Second."), told(core, "Third.")
        await until(lambda: core.manager.in_queue(second) and core.manager.in_queue(third))
        second.cancel()
        await until(lambda: tables.count("gb_jobs") == 2)
        gate.opened.set()
        await asyncio.gather(first, third)
    assert gate.texts == ["First.", "Third."]
    assert states(tables) == [("succeeded", None), ("failed", "canceled"), ("succeeded", None)]
    assert [row["text"] for row in tables.rows("SELECT text FROM gb_artifacts ORDER BY id")] == ["First.", "Third."]


async def test_who_hangs_up_while_its_text_is_read_stops_nothing(config: Config, tables: Tables) -> None:
    gate = Gate(ALICE_WORKS_AT_ACME)
    async with process(config, gate) as core:
        call = told(core, "Alice works at Acme.")
        await gate.asked.wait()
        call.cancel()
        await asyncio.wait([call])
        gate.opened.set()
        assert (await ended(core, 1)).state == "succeeded"
    assert tables.count("gb_edges") == 1


@requirement("runlog.queued")
async def test_a_process_that_ends_finishes_what_runs_and_refuses_the_rest(config: Config, tables: Tables) -> None:
    gate = Gate(graph("Bo"), graph("Cem"))
    async with process(config, gate) as core:
        running, queued = told(core, "First."), told(core, "Second.")
        await until(lambda: tables.count("gb_jobs") == 2)
        kept = await remember(core, RememberRequest(user_id="u1", text="Third.", wait=False))
        core.manager.stop()
        with pytest.raises(ShuttingDown, match="server is shutting down"):
            await queued
        with pytest.raises(ShuttingDown):
            await tell(core, "Fourth.")
        gate.opened.set()
        assert (await running).artifact_id == 1
    assert states(tables) == [("succeeded", None), ("failed", "server is shutting down"), ("started", None)]
    assert isinstance(kept, Accepted)
    async with process(config, gate) as core:
        assert (await ended(core, kept.remember_run_id)).state == "succeeded"
    assert gate.texts == ["First.", "Third."]


async def test_what_does_not_end_in_time_is_failed_or_left_to_the_next_start(config: Config, tables: Tables) -> None:
    gate, later = Gate(), Gate(graph("Bo"))
    later.opened.set()
    async with process(config, gate) as core:
        lost = told(core, "Lost.", dataset="other")
        kept = await remember(core, RememberRequest(user_id="u1", text="Kept.", wait=False))
        await until(lambda: len(gate.texts) == 2)
    with pytest.raises(ShuttingDown):
        await lost
    assert isinstance(kept, Accepted)
    async with process(config, later) as core:
        assert (await ended(core, kept.remember_run_id)).state == "succeeded"
    assert sorted(states(tables)) == [("failed", "server is shutting down"), ("succeeded", None)]


# Calls that go on by themselves ---------------------------------------------------------------------------------------


async def test_a_call_that_does_not_wait_is_on_disk_before_its_answer(config: Config, tables: Tables) -> None:
    """C082: the reply holds a run id that can be read, and the raw text is on disk before it."""
    gate = Gate(ALICE_WORKS_AT_ACME)
    async with process(config, gate) as core:
        answer = await remember(core, RememberRequest(user_id="u1", text="Alice works at Acme.", wait=False))
        assert answer.body() == {"remember_run_id": 1, "state": "queued"}
        (job,) = tables.rows("SELECT request FROM gb_jobs")
        assert "Alice works at Acme." in str(job["request"])
        gate.opened.set()
        run = await ended(core, 1)
        assert run.response is not None and run.response.body()["edges"][0]["relation"] == "works_at"
        gate.scripted.replies(ModelFailed("the provider is down"))
        await remember(core, RememberRequest(user_id="u1", text="Alice left Acme.", wait=False))
        failed = await ended(core, 2)
    assert (failed.state, failed.error, failed.response) == ("failed", "the provider is down", None)
    assert tables.count("gb_jobs") == 0


async def test_a_call_that_waits_can_be_kept_and_outlives_its_process(config: Config, tables: Tables) -> None:
    """C092: who was told the id of a run finds it, whatever becomes of the process."""
    gate, later = Gate(), Gate(graph("Bo"), graph("Cem"))
    later.opened.set()
    async with process(config, gate) as core:
        running, queued = told(core, "Bo.", session_id="s"), told(core, "Cem.")
        await until(lambda: len(gate.texts) == 1 and core.manager.in_queue(queued))
        assert [row["request"] for row in tables.rows("SELECT request FROM gb_jobs")] == [None, None]
        kept = [await core.manager.keep(call) for call in (running, queued)]
        assert [one and (one.remember_run_id, one.state, one.session_id) for one in kept] == [
            (1, "running", "s"),
            (2, "queued", None),
        ]
        assert not core.manager.in_queue(queued), "nobody drops it any more"
    outcomes = await asyncio.gather(running, queued, return_exceptions=True)
    assert [isinstance(outcome, ShuttingDown) and outcome.goes_on for outcome in outcomes] == [True, True]
    async with process(config, later) as core:
        assert [(await ended(core, run_id)).state for run_id in (1, 2)] == ["succeeded", "succeeded"]
    assert later.texts == ["Bo.", "Cem."]


async def test_who_leaves_before_its_text_is_in_the_queue_loses_nothing(config: Config, tables: Tables) -> None:
    gate, later = Gate(), Gate(graph("Bo"))
    later.opened.set()
    async with process(config, gate) as core:
        call = told(core, "Bo.")
        await asyncio.sleep(0)
        core.manager.leave(call)
        await until(lambda: any(row["request"] for row in tables.rows("SELECT request FROM gb_jobs")))
    await asyncio.wait([call])
    async with process(config, later) as core:
        assert (await ended(core, 1)).state == "succeeded"


async def test_a_run_that_another_process_ends_is_one_event(config: Config) -> None:
    gate, later = Gate(), Gate(graph("Bo"))
    later.opened.set()
    async with process(config, gate) as core:
        call = asyncio.create_task(carry_out(REMEMBER, core, parse(REMEMBER, {"user_id": "u1", "text": "Bo."})))
        await kept_while_it_waits(core, call)
    await asyncio.wait([call])
    async with process(config, later) as core:
        assert isinstance(core.events, SqlEvents)
        told_of = list[dict[str, Any]]()
        async with asyncio.timeout(30):
            while not told_of:
                await core.events.flush()
                told_of = [event for _, event in await core.events.newest(10)]
                await asyncio.sleep(0.01)
    assert [(event["type"], event["run_id"], event["status"]) for event in told_of] == [("remember", 1, "ok")]


async def test_a_call_that_is_repeated_after_a_crash_joins_what_was_taken_up(config: Config, tables: Tables) -> None:
    """C092: the same text in the same session while it runs."""
    stuck, gate = Gate(), Gate(graph("Bo"), graph("Bo"), graph("Bo"))
    async with process(config, stuck, GONE) as dead:
        lost = told(dead, "Bo.", session_id="s")
        await stuck.asked.wait()
        await kept_while_it_waits(dead, lost)
        abandoned(dead)
        async with process(config, gate) as core:
            again = told(core, "Bo.", session_id="s")
            others = [told(core, "Bo.", session_id="t"), told(core, "Bo.")]
            await gate.asked.wait()
            gate.opened.set()
            assert (await again).remember_run_id == 1
            assert {(await other).remember_run_id for other in others} == {2, 3}
        lost.cancel()
        stuck.opened.set()
    await asyncio.wait([lost])
    assert tables.count("gb_artifacts") == 3


async def test_what_is_waited_for_elsewhere_is_kept_already(config: Config) -> None:
    gate = Gate(graph("Bo"))
    async with process(config, gate) as one, process(config, Gate(), "elsewhere|2|2") as two:
        first = told(one, "Bo.", idempotency_key="k")
        await gate.asked.wait()
        second = told(two, "Bo.", idempotency_key="k")
        assert (await kept_while_it_waits(two, second)).remember_run_id == 1
        gate.opened.set()
        assert (await first) == (await second)
        assert await one.manager.keep(first) is None, "it has its answer"


async def test_who_waits_for_a_run_of_another_process_does_not_hold_the_end_up(config: Config) -> None:
    gate = Gate(graph("Bo"))
    async with process(config, gate) as one:
        first = told(one, "Bo.", idempotency_key="k")
        await gate.asked.wait()
        async with process(config, Gate(), "elsewhere|2|2") as two:
            second = told(two, "Bo.", idempotency_key="k")
            await kept_while_it_waits(two, second)
            two.manager.stop()
            async with asyncio.timeout(30):
                with pytest.raises(ShuttingDown):
                    await second
        gate.opened.set()
        assert (await first).artifact_id == 1


async def test_a_database_that_is_held_is_told_before_a_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(graph("Bo"))
    gate.opened.set()
    async with process(Config(home=tmp_path), gate) as core:
        with (
            closing(sqlite3.connect(tmp_path / "gligabao.db", isolation_level=None)) as other,
            monkeypatch.context() as hurried,
        ):
            hurried.setattr(rules, "BUSY_MS", 20)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageBusy):
                await tell(core, "Bo.")
            assert gate.texts == []
        assert (await tell(core, "Bo.")).remember_run_id == 1, "the first one left nothing"


async def test_a_run_that_goes_is_kept_when_its_caller_leaves(config: Config, tables: Tables) -> None:
    gate, later = Gate(), Gate(graph("Bo"))
    later.opened.set()
    async with process(config, gate) as core:
        running, queued = told(core, "Bo."), told(core, "Cem.")
        await until(lambda: len(gate.texts) == 1 and core.manager.in_queue(queued))
        core.manager.leave(queued)
        core.manager.leave(running)
        await until(lambda: states(tables)[1:] == [("failed", "canceled")])
    await asyncio.gather(running, queued, return_exceptions=True)
    async with process(config, later) as core:
        assert (await ended(core, 1)).state == "succeeded"
    assert later.texts == ["Bo."]


@requirement("runlog.read")
async def test_the_response_of_a_run_reads_as_it_was_given(config: Config) -> None:
    messages = [{"id": "m1", "text": "I am Bo."}, {"id": "m2", "text": "I throw pots."}]
    again = [*messages, {"text": "Bye."}]
    gate = Gate(graph("Bo", "pots", edges=[edge("Bo", "throws", "pots", said_in=[1])]), graph("Bo"), graph("Bo"))
    gate.opened.set()
    async with process(config, gate) as core:
        given = [
            await remember(core, RememberRequest.model_validate({"user_id": "u1", **request}))
            for request in (
                {"messages": messages, "session_id": "s1"},
                {"messages": again},
                {"text": "Bo.", "kind": "episode", "reference_time": "2026-03-01T10:00:00Z"},
                {"text": "Ann owns a kiln.", "edges": [{"source": "Ann", "target": "kiln", "relation": "owns"}]},
            )
        ]
        for number, response in enumerate(given, 1):
            stored = (await status(core, number)).response
            assert stored is not None
            assert _without_order(stored.body()) == _without_order(response.body())


def _without_order(body: dict[str, Any]) -> dict[str, Any]:
    """What a text alone said of an entity is not kept, and rows come by id."""
    rows = {name: sorted(row["id"] for row in body[name]) for name in ("entities", "edges")}
    return body | rows


async def test_a_run_of_another_user_is_a_run_that_is_not_there(core: Core) -> None:
    await tell_facts(core, edge("Ann", "knows", "Ben"))
    texts: list[str] = []
    for run_id, user_id in ((1, "u2"), (99, "u1"), (2**63 - 1, "u1")):
        with pytest.raises(Exception, match="no run of that id") as missing:
            await status(core, run_id, user_id)
        texts.append(str(missing.value))
    assert len(set(texts)) == 1


# Keys -----------------------------------------------------------------------------------------------------------------


async def test_the_same_key_joins_the_run_and_is_answered_the_same(config: Config, tables: Tables) -> None:
    """C092: the same call again joins the running one and adds nothing twice."""
    gate = Gate(ALICE_WORKS_AT_ACME)
    request: dict[str, Any] = {"text": "Alice works at Acme.", "idempotency_key": "k1"}
    async with process(config, gate) as one, process(config, Gate(), "elsewhere|2|2") as two:
        first = told(one, **request)
        await gate.asked.wait()
        second, elsewhere = told(one, **request), told(two, **request)
        accepted = await remember(two, RememberRequest(user_id="u1", wait=False, **request))
        assert accepted.body() == {"remember_run_id": 1, "state": "queued"}
        with pytest.raises(Conflict, match=r"^idempotency_key: ") as other:
            await tell(one, "Another text.", idempotency_key="k1")
        assert other.value.param == "idempotency_key"
        gate.opened.set()
        answers = [*await asyncio.gather(first, second, elsewhere), await told(two, **request)]
        later = await remember(one, RememberRequest(user_id="u1", wait=False, session_id="minted", **request))
        assert (await told(one, "Another text.", dataset="other", edges=[], idempotency_key="k1")).remember_run_id == 2
    assert all(answer.body() == answers[0].body() for answer in (*answers, later))
    assert (tables.count("gb_remember_runs"), len(gate.texts)) == (2, 1)


async def test_two_processes_that_race_with_one_key_start_one_run(config: Config, tables: Tables) -> None:
    async with process(config, None) as one, process(config, None, "elsewhere|2|2") as two:
        fact = {"edges": [edge("Ann", "knows", "Ben")]}
        calls = [told(core, "Ann knows Ben.", idempotency_key="k", **fact) for core in (one, two) * 4]
        answers = await asyncio.gather(*calls)
    assert {answer.artifact_id for answer in answers} == {1}
    assert tables.count("gb_remember_runs") == tables.count("gb_artifacts") == 1


async def test_a_failed_run_frees_its_key(config: Config, tables: Tables) -> None:
    gate = Gate(ModelFailed("no"), graph("Bo"))
    gate.opened.set()
    async with process(config, gate) as core:
        with pytest.raises(ModelFailed):
            await tell(core, "Bo.", idempotency_key="k")
        assert (await tell(core, "Bo.", idempotency_key="k")).remember_run_id == 2
    assert states(tables) == [("failed", "no"), ("succeeded", None)]


# What a process that is gone left -------------------------------------------------------------------------------------


@requirement("runlog.dead-process")
async def test_a_waiting_call_does_not_wait_for_the_dead(config: Config, tables: Tables) -> None:
    stuck, gate = Gate(), Gate(graph("Bo"), graph("Cem"))
    gate.opened.set()
    async with process(config, stuck, GONE) as dead, process(config, gate) as core:
        lost = told(dead, "Lost.")
        await stuck.asked.wait()
        kept = await remember(dead, RememberRequest(user_id="u1", text="Kept.", wait=False))
        abandoned(core)
        await tell(core, "New.")
        assert isinstance(kept, Accepted)
        assert (await ended(core, kept.remember_run_id)).state == "succeeded"
        assert gate.texts == ["Kept.", "New."], "in the order of arrival"
        stuck.opened.set()
        stuck.scripted.replies(graph("Zora"))
        with pytest.raises(TakenOver):
            await lost
    assert states(tables) == [("failed", "interrupted"), ("succeeded", None), ("succeeded", None)]
    assert tables.rows("SELECT name FROM gb_entities WHERE name = 'Zora'") == [], "the zombie stored nothing"


async def test_a_process_without_an_engine_leaves_what_it_cannot_read_and_is_not_held_up(
    config: Config, tables: Tables
) -> None:
    stuck, gate = Gate(), Gate(graph("Bo"))
    gate.opened.set()
    async with process(config, stuck, GONE) as dead:
        await remember(dead, RememberRequest(user_id="u1", text="Bo.", wait=False))
        await stuck.asked.wait()
        async with process(config, None) as core:
            abandoned(core)
            with pytest.raises(NotConfigured):
                await tell(core, "Cem.")
            assert (await tell_facts(core, edge("Ann", "knows", "Ben"))).edges
            assert (await status(core, 1)).state != "failed"
        async with process(config, gate) as core:
            assert (await ended(core, 1)).state == "succeeded"
    assert gate.texts == ["Bo."]


async def test_a_process_that_is_open_takes_up_what_another_leaves(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager, "LOOK_SECONDS", 0.02)
    stuck, gate = Gate(), Gate(graph("Bo"))
    gate.opened.set()
    async with process(config, gate) as core, process(config, stuck, GONE) as dead:
        await remember(dead, RememberRequest(user_id="u1", text="Bo.", wait=False))
        await stuck.asked.wait()
        execute(core, sa.update(jobs).values(owner="nobody-knows|1|1", lease_until=datetime(2026, 1, 1, tzinfo=UTC)))
        assert (await ended(core, 1)).state == "succeeded"


async def test_a_lease_is_renewed_while_a_run_goes(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager, "LOOK_SECONDS", 0.02)
    gate = Gate(graph("Bo"))
    async with process(config, gate) as core:
        call = told(core, "Bo.")
        await gate.asked.wait()
        soon = datetime.now(UTC) + timedelta(seconds=1)
        execute(core, sa.update(jobs).values(lease_until=soon))
        lease = sa.select(jobs.c.lease_until)
        await until(lambda: database(core).read_now(lambda connection: connection.execute(lease).scalar_one()) > soon)
        gate.opened.set()
        await call


@requirement("runlog.dead-process")
async def test_a_resumed_run_uses_the_time_of_its_first_attempt_and_its_record(
    opened: Opener, config: Config, tables: Tables
) -> None:
    stuck = Gate()
    gate = Gate(graph("Bo"))
    gate.opened.set()
    async with process(config, stuck, GONE) as dead:
        await remember(dead, RememberRequest(user_id="u1", text="Bo came today.", wait=False))
        await stuck.asked.wait()
        began = (await status(dead, 1)).created_at
        async with process(config, gate) as core:
            abandoned(core)
            await tell_facts(core, edge("Ann", "knows", "Ben"))
            run = await ended(core, 1)
    assert run.response is not None
    body = run.response.body()
    assert (body["valid_at"], body["reference_time_source"]) == (run.body()["created_at"], "server")
    assert run.created_at == began
    assert run.stages["extract_graph"].status == "succeeded"


@requirement("chunks.failure-keeps-earlier")
async def test_a_failed_run_names_the_artifact_that_stays(config: Config, tables: Tables) -> None:
    summary = {"summary": "Boats."}
    gate = Gate(graph("Bo"), summary, "no JSON", "no JSON")
    gate.opened.set()
    async with process(config, gate, chunk_size=64) as core:
        with pytest.raises(ModelFailed):
            await tell(core, "Bo mends boats in the harbour every day. " * 20)
        failed = await status(core, 1)
    assert (failed.state, failed.artifact_id) == ("failed", 1)
    assert failed.stages["extract_graph"].status == "failed"


async def test_the_row_of_a_run_never_changes_after_its_end(core: Core, tables: Tables) -> None:
    await tell_facts(core, edge("Ann", "knows", "Ben"))
    before = tables.rows("SELECT * FROM gb_remember_runs")
    await core.runs.finish(RunOf("u1", "main", None, 1), [], artifact_id=None, error="late")
    assert tables.rows("SELECT * FROM gb_remember_runs") == before
    assert await core.runs.counts() == {"succeeded": 1}
