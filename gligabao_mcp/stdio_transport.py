"""Lines of JSON-RPC between two descriptors and the SDK's server.

The SDK's own transport drops a line that it cannot read without a word, lone surrogates included, and reads in a
thread that keeps the process alive after a signal. This one answers every line and reads in a daemon thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import TypeAlias, cast

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from gligabao_mcp.surrogates import without_lone_surrogates

Incoming: TypeAlias = SessionMessage | Exception
Streams: TypeAlias = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]

_READ_AT_ONCE = 1 << 16
_LINES_AHEAD = 64
_LAST_WORDS_SECONDS = 1.0


@asynccontextmanager
async def transport(stdin: int, stdout: int) -> AsyncGenerator[Streams]:
    """The two streams that the SDK's server runs on; reading ends with the end of stdin."""
    to_server, incoming = anyio.create_memory_object_stream[Incoming](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    written = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_write, from_server, stdout, written)
        tasks.start_soon(_read, stdin, to_server, outgoing.clone())
        yield incoming, outgoing
        await outgoing.aclose()
        with anyio.move_on_after(_LAST_WORDS_SECONDS):
            await written.wait()
        tasks.cancel_scope.cancel()


async def _read(
    stdin: int, to_server: MemoryObjectSendStream[Incoming], replies: MemoryObjectSendStream[SessionMessage]
) -> None:
    lines, room = asyncio.Queue[bytes | None](), threading.Semaphore(_LINES_AHEAD)
    loop = asyncio.get_running_loop()

    def deliver(line: bytes | None) -> None:
        room.acquire()
        loop.call_soon_threadsafe(lines.put_nowait, line)

    threading.Thread(target=_read_lines, args=(stdin, deliver), daemon=True, name="stdin").start()
    async with to_server, replies:
        while (line := await lines.get()) is not None:
            room.release()
            message = read_message(line)
            await (to_server.send(message) if isinstance(message, SessionMessage) else _reply(replies, message))


async def _reply(replies: MemoryObjectSendStream[SessionMessage], error: types.JSONRPCError) -> None:
    await replies.send(SessionMessage(error))


def _read_lines(stdin: int, deliver: Callable[[bytes | None], None]) -> None:
    """Delivers each line, and None at the end. Runs in a thread, with plain reads: a buffered reader would hold a lock
    that the interpreter needs to end."""
    with contextlib.suppress(RuntimeError):  # the loop is gone, and this thread goes with the process
        with contextlib.suppress(OSError):  # as good as the end
            for line in _lines_of(stdin):
                deliver(line)
        deliver(None)


def _lines_of(stdin: int) -> Iterator[bytes]:
    """The lines that are not blank, the last one also without its end."""
    pending = bytearray()
    while chunk := os.read(stdin, _READ_AT_ONCE):
        pending += chunk
        *whole, rest = pending.split(b"\n")
        pending = bytearray(rest)
        yield from (bytes(line) for line in whole if line.strip())
    if pending.strip():
        yield bytes(pending)


def read_message(line: bytes) -> SessionMessage | types.JSONRPCError:
    """The message of a line, whatever bytes are in its strings, or the protocol's error about it."""
    text = without_lone_surrogates(line).decode("utf-8", "replace")
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValidationError:
        return _refusal(text)


def _refusal(text: str) -> types.JSONRPCError:
    try:
        value = cast("object", json.loads(text))
    except (ValueError, RecursionError):
        return _refused(types.PARSE_ERROR, "Parse error", None)
    request_id = cast("dict[str, object]", value).get("id") if isinstance(value, dict) else None
    return _refused(types.INVALID_REQUEST, "Invalid request", request_id if isinstance(request_id, str | int) else None)


def _refused(code: int, message: str, request_id: str | int | None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=message))


async def _write(from_server: MemoryObjectReceiveStream[SessionMessage], stdout: int, written: anyio.Event) -> None:
    async with from_server:
        async for message in from_server:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            # A host that does not read blocks the thread, not the loop, and a signal need not wait for it.
            await anyio.to_thread.run_sync(_write_all, stdout, line, abandon_on_cancel=True)
    written.set()


def _write_all(stdout: int, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(stdout, rest) :]
