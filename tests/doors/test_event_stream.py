"""Server-sent events over a real connection: what comes, in which form, and what happens when a client goes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from core.config import Config
from gligabao_mcp import event_stream
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.http import create_app
from tests.doors.probes import Probe, probed
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

PATIENCE = 20.0


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Probe:
    return probed(monkeypatch)


@pytest.fixture
async def port(probe: Probe, handle: CoreHandle, settings: Config) -> AsyncGenerator[int]:
    """The port of a server with the probes."""
    server = uvicorn.Server(uvicorn.Config(create_app(handle, settings), port=0, log_level="error"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await task


@asynccontextmanager
async def asked(port: int, words: str, accept: str = "text/event-stream") -> AsyncGenerator[asyncio.StreamReader]:
    """A request for the probe's answer; what comes back. The connection is closed at the end."""
    body = json.dumps({"words": words})
    head = f"POST /v1/query/probe HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: {accept}\r\nConnection: close\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    try:
        yield reader
    finally:
        writer.close()
        await writer.wait_closed()


async def answered(port: int, words: str) -> tuple[str, str]:
    """The head and the body of the whole answer, its chunks joined."""
    async with asked(port, words) as reader:
        head, _, body = (await asyncio.wait_for(reader.read(), PATIENCE)).decode().partition("\r\n\r\n")
    return head, body


def events(body: str) -> list[tuple[str, Any]]:
    """The events in a chunked body."""
    lines = [line for line in body.replace("\r\n", "\n").split("\n") if line.startswith(("event:", "data:"))]
    names = [line.removeprefix("event: ") for line in lines[::2]]
    return list(zip(names, (json.loads(line.removeprefix("data: ")) for line in lines[1::2]), strict=True))


@requirement("stream.accept-header", "stream.done-event")
async def test_each_step_is_an_event_of_a_name_and_one_line_of_data(port: int) -> None:
    head, body = await answered(port, "words")
    assert "200 OK" in head
    assert "content-type: text/event-stream" in head
    assert "x-request-id: req_" in head
    (step, first), (done, last) = events(body)
    assert (step, first) == ("step", {"n": 1, "input": "two\nlines\u2028and more"})
    assert (done, last["got"]["words"]) == ("done", "words")
    assert "\u2028" not in body, "a reader that splits lines there would lose half of the event"


@requirement("stream.early-errors")
async def test_what_fails_before_the_first_event_is_an_answer_like_any_other(port: int) -> None:
    for words, status in (("", "400"), ("limit", "429"), ("no model", "503")):
        head, body = await answered(port, words)
        assert f"HTTP/1.1 {status}" in head
        assert "application/json" in head
        assert json.loads(body)["error"]["message"]


@requirement("stream.error-event")
async def test_what_fails_later_is_the_last_event(port: int) -> None:
    _, body = await answered(port, "break")
    names = [name for name, _ in events(body)]
    assert names == ["step", "error"]
    code = "rewrite_model_unavailable"
    assert events(body)[-1][1] == {"status": 503, "code": code, "message": "no model answers"}


async def test_while_nothing_comes_the_connection_is_kept_alive(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "QUIET_SECONDS", 0.01)
    async with asked(port, "go on") as reader:
        await asyncio.wait_for(reader.readuntil(b": keep-alive\n\n"), PATIENCE)


@requirement("stream.hang-up")
@pytest.mark.parametrize("words", ["go on", "wait"])
async def test_who_closes_the_connection_stops_the_work(port: int, probe: Probe, words: str) -> None:
    """Whether or not an event has come, and for a plain request too."""
    async with asked(port, words, "text/event-stream" if words == "go on" else "application/json") as reader:
        await asyncio.wait_for(probe.started.wait(), PATIENCE)
        if words == "go on":
            await asyncio.wait_for(reader.readuntil(b"and more"), PATIENCE)
        assert not probe.stopped.is_set()
    await asyncio.wait_for(probe.stopped.wait(), PATIENCE)


async def test_who_goes_before_the_first_event_stops_the_work(port: int, probe: Probe) -> None:
    probe.slow_to_start = True
    async with asked(port, "words"):
        await asyncio.wait_for(probe.started.wait(), PATIENCE)
    await asyncio.wait_for(probe.stopped.wait(), PATIENCE)
