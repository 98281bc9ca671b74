"""Calls that take long, in both eras and over every transport: progress, an answer before the client gives up, repeats
that add nothing, and calls that are given up."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import mcp_types as types
import pytest
from mcp import Client

from core.config import Config
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.mcp_door.server import create_mcp_server
from gligabao_mcp.wiring import open_core
from tests import wire as api
from tests.doors.matrix import WAYS, Tools
from tests.handshake import Connection, content_of, shake_hands
from tests.processes import asking, launch, served, stdio
from tests.wire import Said, Slow, Wire

pytestmark = pytest.mark.anyio

ALICE = {"name": "Alice", "type": "person", "description": ""}
PARIS = {"name": "Paris", "type": "place", "description": ""}
LIVES = {"source": "Alice", "relation": "lives_in", "target": "Paris", "description": "Alice lives in Paris."}
READ = api.chat(json.dumps({"entities": [ALICE, PARIS], "edges": [{**LIVES, "valid_at": None, "invalid_at": None}]}))
SUMMARIZED = api.chat(json.dumps({"summary": "Alice lives in Paris."}))
ANSWERED = api.chat(json.dumps({"answer": "In Paris.", "entities": [], "edges": [1]}))
TOLD: dict[str, Any] = {"text": "Alice lives in Paris."}
ASKED = {"query": "Where does Alice live?"}

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(params=WAYS, ids=str)
def connect(request: pytest.FixtureRequest, settings: Config) -> Connect:
    """Connects a client to a server with these settings; the server ends with the connection."""
    assert settings.home is not None
    home, way = settings.home, request.param

    @asynccontextmanager
    async def over(**more: Any) -> AsyncGenerator[Client]:
        stated = {name: getattr(settings, name) for name in ("llm", "llm_base_url", "llm_model")} | more
        environment = {f"GLIGABAO_{name.upper()}": str(value) for name, value in stated.items()}
        if way.transport == "memory":
            config = settings.model_copy(update=more)
            handle = CoreHandle(lambda: open_core(config))
            async with Client(create_mcp_server(handle, config), mode=way.era) as client:
                yield client
            await handle.close()
        elif way.transport == "stdio":
            async with Client(launch(home, **environment), mode=way.era) as client:
                yield client
        else:
            with served(home, **environment) as (url, _):
                async with Client(f"{url}/v1/gb/mcp", mode=way.era) as client:
                    yield client

    return over


def body_of(result: types.CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    return result.structured_content


async def asked(slow: Slow) -> None:
    assert await anyio.to_thread.run_sync(slow.asked.wait, 30)


async def told_to_the_end(client: Client, arguments: dict[str, Any]) -> dict[str, Any]:
    """As a client does that was told how to go on: the same call again, until it has the result."""
    with anyio.fail_after(30):
        while "artifact_id" not in (body := body_of(await client.call_tool("remember", arguments))):
            pass
    return body


async def given_up(client: Client, slow: Slow, tool: str, arguments: dict[str, Any]) -> None:
    """Calls a tool, and cancels the call once the model was asked."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, tool, arguments)
        await asked(slow)
        tasks.cancel_scope.cancel()


async def test_a_call_that_takes_long_is_answered_in_time_and_its_repeat_gets_the_result(
    connect: Connect, wire: Wire
) -> None:
    """C092: the run id before the client gives up; the same call again joins the run."""
    slow = Slow(READ)
    wire.says(slow)
    async with connect(tool_answer_seconds=0.3) as client:
        soft = body_of(await client.call_tool("remember", TOLD))
        assert (soft["remember_run_id"], soft["state"]) == (1, "running")
        assert "do not send another text" in soft["note"]
        assert "call remember again" in soft["note"]
        again = body_of(await client.call_tool("remember", {**TOLD, "session_id": soft["session_id"]}))
        assert (again["remember_run_id"], again["session_id"]) == (1, soft["session_id"])
        slow.let()
        done = await told_to_the_end(client, {**TOLD, "session_id": soft["session_id"]})
        wire.says(ANSWERED)
        found = body_of(await client.call_tool("query", ASKED))
    assert (done["artifact_id"], done["session_id"]) == (1, soft["session_id"])
    assert [edge["relation"] for edge in done["edges"]] == ["lives_in"]
    assert found["answer"] == "In Paris."
    assert len(wire.asked) == 2, "the text was read once"


async def test_a_client_that_cancels_and_repeats_gets_the_one_artifact(connect: Connect, wire: Wire) -> None:
    """C092: remember takes 90 s, the client cancels at 60 and repeats."""
    slow = Slow(READ)
    wire.says(slow)
    async with connect(tool_answer_seconds=1.0) as client:
        await given_up(client, slow, "remember", TOLD)
        running = body_of(await client.call_tool("remember", TOLD))
        assert (running["remember_run_id"], running["state"]) == (1, "running")
        slow.let()
        repeated = await told_to_the_end(client, {**TOLD, "session_id": running["session_id"]})
    assert repeated["artifact_id"] == 1
    assert [edge["relation"] for edge in repeated["edges"]] == ["lives_in"]
    assert len(wire.asked) == 1


async def test_in_the_full_profile_the_run_is_asked_for(connect: Connect, wire: Wire) -> None:
    slow = Slow(READ)
    wire.says(slow)
    async with connect(tool_answer_seconds=0.3, tools="full") as client:
        soft = body_of(await client.call_tool("remember", TOLD))
        assert "call remember_status" in soft["note"]
        status = {"remember_run_id": soft["remember_run_id"]}
        assert body_of(await client.call_tool("remember_status", status))["state"] == "running"
        slow.let()
        with anyio.fail_after(30):
            while (run := body_of(await client.call_tool("remember_status", status)))["state"] == "running":
                await anyio.sleep(0.02)
    assert run["response"]["edges"][0]["relation"] == "lives_in"


async def test_who_asked_for_progress_is_told_the_stage_and_the_chunk(tools: Tools, wire: Wire) -> None:
    """C092: progress notifications when a token is given."""

    def reads(body: dict[str, Any]) -> Said:
        return READ if "entities" in json.dumps(body["response_format"]) else SUMMARIZED

    wire.always(reads)
    seen: list[tuple[float, float | None, str | None]] = []

    async def watch(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    arguments = {"user_id": tools.user_id, "text": "Alice lives in Paris. " * 400}
    told = body_of(await tools.client.call_tool("remember", arguments, progress_callback=watch))
    chunks = len(told["chunks"])
    numbers, messages = [number for number, _, _ in seen], [message for _, _, message in seen]
    assert numbers == sorted(set(numbers)), "each is greater than the one before"
    assert chunks > 1
    for chunk in range(1, chunks + 1):
        assert f"chunk {chunk} of {chunks}: extract_graph" in messages
        assert f"chunk {chunk} of {chunks}: store" in messages
    assert seen[-1] == (chunks, chunks, f"{chunks} of {chunks} chunks stored")


async def test_who_did_not_ask_for_progress_is_told_nothing(wire: Wire, settings: Config) -> None:
    assert settings.home is not None
    wire.always(READ)
    with stdio(settings.home, **asking(settings.llm_base_url)) as server:
        server.initialize()
        assert server.call("remember", **TOLD)["artifact_id"] == 1
        assert server.close() == 0
        assert len(server.lines) == 2, "two requests, two answers"


async def test_calls_given_up_while_a_text_is_read_leave_whole_texts_and_a_fit_server(tools: Tools, wire: Wire) -> None:
    """C097: cancel during extraction x 20, then query."""
    for number in range(20):
        slow = Slow(READ)
        wire.says(slow)
        told = {"user_id": tools.user_id, "text": f"Alice lives in Paris, said for the {number}th time."}
        await given_up(tools.client, slow, "remember", told)
        slow.let()
    with anyio.fail_after(60):
        while (await tools.done("browse", what="artifacts"))["total"] < 20:
            await anyio.sleep(0.05)
    wire.says(ANSWERED)
    assert (await tools.done("query", **ASKED))["answer"] == "In Paris."
    assert (await tools.done("browse", what="edges"))["total"] == 1, "told twenty times, stored once"
    assert (await tools.done("browse", what="artifacts"))["total"] == 20


async def test_a_question_given_up_stops_its_model_call(tools: Tools, wire: Wire) -> None:
    """C097: cancel stops model calls."""
    wire.says(READ)
    await tools.done("remember", **TOLD)
    slow = Slow(ANSWERED)
    wire.says(slow)
    await given_up(tools.client, slow, "query", {"user_id": tools.user_id, **ASKED})
    with anyio.fail_after(30):
        while not wire.hung_up:
            await anyio.sleep(0.02)
    wire.says(ANSWERED)
    assert (await tools.done("query", **ASKED))["answer"] == "In Paris."


async def test_a_connection_that_breaks_is_a_call_given_up(settings: Config, wire: Wire) -> None:
    """C092, C097: over HTTP in the handshake era a client whose connection breaks can say nothing of it."""
    assert settings.home is not None
    first, second = Slow(READ), Slow(ANSWERED)
    wire.says(first, second)
    with served(settings.home, **asking(settings.llm_base_url)) as (url, _):
        connection = await shake_hands(url)
        await broken_off(connection, first, "remember", TOLD)
        first.let()
        told = content_of(await connection.call("remember", **TOLD))
        await broken_off(connection, second, "query", ASKED)
        with anyio.fail_after(30):
            while not wire.hung_up:
                await anyio.sleep(0.02)
    assert (told["artifact_id"], told["remember_run_id"]) == (1, 1)
    assert len(wire.asked) == 2


async def test_over_rest_a_question_given_up_stops_its_model_call(settings: Config, wire: Wire) -> None:
    """C097: cancel stops model calls."""
    assert settings.home is not None
    slow = Slow(ANSWERED)
    wire.says(READ, slow)
    with served(settings.home, **asking(settings.llm_base_url)) as (url, _):
        async with httpx2.AsyncClient(base_url=url, timeout=30) as client, anyio.create_task_group() as tasks:
            await client.post("/v1/gb/remember", json={"user_id": "u1", **TOLD})
            tasks.start_soon(lambda: client.post("/v1/gb/query", json={"user_id": "u1", **ASKED}))
            await asked(slow)
            tasks.cancel_scope.cancel()
        with anyio.fail_after(30):
            while not wire.hung_up:
                await anyio.sleep(0.02)


async def broken_off(connection: Connection, slow: Slow, tool: str, arguments: dict[str, Any]) -> None:
    """Calls a tool, and breaks the connection once the model was asked."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: connection.call(tool, **arguments))
        await asked(slow)
        tasks.cancel_scope.cancel()


async def test_no_answer_is_sent_twice_nor_after_its_call_was_given_up(wire: Wire, settings: Config) -> None:
    """C097: on the bytes of a pipe."""
    assert settings.home is not None
    with stdio(settings.home, **asking(settings.llm_base_url)) as server:
        server.initialize()
        for number in range(2, 22):
            slow = Slow(READ)
            wire.says(slow)
            server.send("tools/call", {"name": "remember", "arguments": {"text": f"Text {number}."}}, number)
            await asked(slow)
            server.send("notifications/cancelled", {"requestId": number})
            slow.let()
        wire.always(ANSWERED)
        server.send("tools/call", {"name": "query", "arguments": ASKED}, 99)
        while server.receive()["id"] != 99:
            pass
        assert server.close() == 0
        answered = [json.loads(line)["id"] for line in server.lines]
    assert len(answered) == len(set(answered))
    assert {0, 99} <= set(answered)


async def test_a_run_that_was_answered_with_its_id_outlives_the_process(settings: Config, wire: Wire) -> None:
    """C092, C071: kill -9 after the answer."""
    assert settings.home is not None
    slow = Slow(READ)
    wire.says(slow)
    wire.always(READ)
    more = asking(settings.llm_base_url, GLIGABAO_TOOLS="full", GLIGABAO_TOOL_ANSWER_SECONDS="0.2")
    with stdio(settings.home, **more) as server:
        server.initialize()
        soft = server.call("remember", **TOLD, session_id="s")
        assert soft["state"] == "running"
        server.process.kill()
        server.ended()
    slow.let()
    with stdio(settings.home, **more) as server:
        server.initialize()
        with anyio.fail_after(60):
            while (run := server.call("remember_status", remember_run_id=soft["remember_run_id"]))[
                "state"
            ] != "succeeded":
                await anyio.sleep(0.05)
        assert run["session_id"] == "s"
        assert [edge["relation"] for edge in run["response"]["edges"]] == ["lives_in"]
        assert server.close() == 0
