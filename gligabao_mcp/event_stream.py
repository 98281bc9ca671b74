"""Server-sent events: an operation's answer step by step, for clients that accept text/event-stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from core.ask.events import Event
from gligabao_mcp.errors import Failure
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.hanging_up import unless_gone
from gligabao_mcp.operation import Operation
from gligabao_mcp.operations import Parsed

# Proxies take a connection on which nothing comes for half a minute for a dead one.
QUIET_SECONDS = 15.0
KEEP_ALIVE = b": keep-alive\n\n"


def wants_events(request: Request) -> bool:
    """Whether the client asks for events."""
    return "text/event-stream" in request.headers.get("accept", "").lower()


async def event_stream(request: Request, running: Running, shown: Callable[[Exception], Failure]) -> Response:
    """The events as a response, once the first is there. What the operation raises before it is raised here; what it
    raises later is the last event, as `shown`."""
    try:
        first = await unless_gone(request, running.next())
    except BaseException:
        await running.stop()
        raise
    return EventStream(running, first, shown)


class Running:
    """An operation that runs in a task of its own and tells its events."""

    def __init__(self, handle: CoreHandle, operation: Operation[Any, Any], parsed: Parsed[Any]) -> None:
        self._told = asyncio.Queue[Event | None]()
        self._task = asyncio.create_task(handle.stream(operation, parsed, self._told.put_nowait))
        self._task.add_done_callback(lambda _: self._told.put_nowait(None))

    async def next(self) -> Event | None:
        """The next event; None after the last. Raises what the operation raises."""
        event = await self._told.get()
        if event is None:
            self._task.result()
        return event

    async def stop(self) -> None:
        """Ends it where it stands, and waits for its end."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


class EventStream(StreamingResponse):
    """Sends the events as they come. A client that closes the connection stops the operation."""

    def __init__(self, running: Running, first: Event | None, shown: Callable[[Exception], Failure]) -> None:
        # Proxies that gather a response before they pass it on would show no step before the last.
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(_frames(running, first, shown), headers=headers, media_type="text/event-stream")
        self._running = running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await unless_gone(Request(scope, receive), self.stream_response(send))
        finally:
            await self._running.stop()


async def _frames(
    running: Running, event: Event | None, shown: Callable[[Exception], Failure]
) -> AsyncGenerator[bytes]:
    while event is not None:
        yield frame(event.name, event.data)
        coming = asyncio.create_task(running.next())
        try:
            while not (await asyncio.wait((coming,), timeout=QUIET_SECONDS))[0]:
                yield KEEP_ALIVE
            event = coming.result()
        except Exception as error:
            told = shown(error)
            yield frame("error", {"status": told.numbers.status, "code": told.code, "message": told.message})
            return
        finally:
            coming.cancel()


def frame(name: str, told: Mapping[str, Any]) -> bytes:
    """One event: its name, and its data as JSON on one line.

    >>> frame("step", {"n": 1})
    b'event: step\\ndata: {"n":1}\\n\\n'
    """
    # In ASCII: some readers take U+2028 and the like for the end of a line.
    return f"event: {name}\ndata: {json.dumps(told, separators=(',', ':'))}\n\n".encode()
