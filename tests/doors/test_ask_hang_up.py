"""Whoever hangs up on a question stops its work: the model that is being asked is hung up on, and no other is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client

from tests.doors.bakeries import HOW_MANY, TURTLE, scripts
from tests.processes import Served, launch, served
from tests.requirements import requirement
from tests.scripted_messages import Scripted
from tests.wire import Said, Slow, Wire

pytestmark = pytest.mark.anyio

PATIENCE = 30.0


class Thinking:
    """A model that picks the route at once, and then thinks until the test lets it."""

    def __init__(self) -> None:
        self._scripted = Scripted(*scripts())
        self.slow = Slow(Said({}))

    def __call__(self, body: dict[str, Any]) -> Any:
        return self.slow(body) if body.get("tools") else self._scripted(body)


@pytest.fixture
def thinking(wire: Wire) -> Generator[Thinking]:
    thinking = Thinking()
    wire.always(thinking)
    yield thinking
    thinking.slow.let()


@pytest.fixture
def model(wire: Wire) -> dict[str, str]:
    """What a process is told of the model."""
    return {"GLIGABAO_LLM": "anthropic", "ANTHROPIC_BASE_URL": wire.url, "ANTHROPIC_API_KEY": "sk-test"}


@pytest.fixture
def server(tmp_path: Path, model: dict[str, str]) -> Generator[tuple[str, Served]]:
    with served(tmp_path, **model) as (url, process):
        loaded = httpx.post(f"{url}/v1/graph/import/rdf?format=turtle", content=TURTLE, timeout=60)
        assert loaded.status_code == 200
        yield url, process


@asynccontextmanager
async def asked(url: str, accept: str) -> AsyncGenerator[asyncio.StreamReader]:
    """A question on a connection that is closed at the end of the block."""
    host, port = url.removeprefix("http://").split(":")
    body = json.dumps({"question": HOW_MANY})
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /v1/query/ask HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: {accept}\r\nConnection: close\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    try:
        yield reader
    finally:
        writer.close()
        await writer.wait_closed()


async def until(happened: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE):
        while not happened():
            await asyncio.sleep(0.01)


@requirement("stream.hang-up")
@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
async def test_who_closes_the_connection_is_charged_for_no_further_call(
    server: tuple[str, Served], thinking: Thinking, wire: Wire, accept: str
) -> None:
    url, _ = server
    async with asked(url, accept) as reader:
        await until(thinking.slow.asked.is_set)
        if accept == "text/event-stream":
            await asyncio.wait_for(reader.readuntil(b"event: route"), PATIENCE)
        assert wire.hung_up == 0
    await until(lambda: wire.hung_up == 1)
    calls = len(wire.asked)
    wire.always(Scripted(*scripts()))
    answer = await asyncio.to_thread(httpx.post, f"{url}/v1/query/ask", json={"question": HOW_MANY}, timeout=60)
    assert answer.json()["answer"]["citations"]
    assert len(wire.asked) == calls + 3, "the route and two turns of the question that was answered, and no others"


async def test_a_server_that_ends_says_so_to_whoever_waits_for_events(
    server: tuple[str, Served], thinking: Thinking
) -> None:
    url, process = server
    async with asked(url, "text/event-stream") as reader:
        await until(thinking.slow.asked.is_set)
        process.terminate()
        said = (await asyncio.wait_for(reader.read(), PATIENCE)).decode()
    assert "event: error" in said
    assert '"code":"shutting_down"' in said
    await asyncio.to_thread(process.wait, PATIENCE)


async def test_a_call_of_the_tool_that_is_given_up_stops_too(
    tmp_path: Path, model: dict[str, str], thinking: Thinking, wire: Wire
) -> None:
    async with Client(launch(tmp_path, "--tools", "full", **model)) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "ask", {"question": HOW_MANY})
            await until(thinking.slow.asked.is_set)
            tasks.cancel_scope.cancel()
        await until(lambda: wire.hung_up == 1)
        wire.always(Scripted(*scripts()))
        body = (await client.call_tool("ask", {"question": HOW_MANY})).structured_content
        assert body is not None
        assert "answer" in body
