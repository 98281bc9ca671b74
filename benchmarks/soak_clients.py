"""The clients of a soak: over HTTP in both eras and over stdio, with every way to leave a call half way."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from itertools import count
from typing import IO, Any, Literal, Protocol

import anyio
from mcp import Client

from benchmarks.pipes import GLIGABAO

PATIENCE = 60.0
EXIT_SECONDS = 10.0
_LINE_LIMIT = 1 << 24


class Failed(Exception):
    """The server answered with an error; the message is its code."""


class Gone(Exception):
    """The connection broke, or the server gave no answer in time."""


class Caller(Protocol):
    """One client. It connects when it has to."""

    name: str

    async def call(self, tool: str, arguments: Mapping[str, Any], patience: float = PATIENCE) -> dict[str, Any] | None:
        """What the tool answers; None when the call was cancelled after `patience` seconds."""
        ...

    async def hang_up(self, tool: str, arguments: Mapping[str, Any], after: float) -> str:
        """Calls, and breaks the connection after so many seconds; how."""
        ...

    async def close(self) -> None:
        """Leaves in good order."""
        ...


class HttpCaller:
    """A client of the SDK."""

    def __init__(self, name: str, port: int, mode: Literal["legacy", "auto"]) -> None:
        self.name = name
        self._port = port
        self._mode: Literal["legacy", "auto"] = mode
        self._connection: _Connection | None = None

    async def call(self, tool: str, arguments: Mapping[str, Any], patience: float = PATIENCE) -> dict[str, Any] | None:
        result = None
        try:
            client = await self._connected()
            with anyio.move_on_after(patience):
                result = await client.call_tool(tool, dict(arguments))
        except Exception as failure:
            await self.close()
            raise Gone(f"{type(failure).__name__}: {failure}") from failure
        if result is None:
            if patience == PATIENCE:
                raise Gone(f"no answer in {PATIENCE:g} s")
            return None
        body: dict[str, Any] = result.structured_content
        if result.is_error:
            raise Failed(body["code"])
        return body

    async def _connected(self) -> Client:
        if self._connection is None:
            self._connection = _Connection(Client(f"http://127.0.0.1:{self._port}/v1/gb/mcp", mode=self._mode))
        return await asyncio.wait_for(asyncio.shield(self._connection.client), PATIENCE)

    async def hang_up(self, tool: str, arguments: Mapping[str, Any], after: float) -> str:
        """The request over a bare socket, which is reset."""
        envelope: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": tool, "arguments": dict(arguments), "_meta": envelope}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        head = (
            f"POST /v1/gb/mcp HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            f"Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError as failure:
            raise Gone(str(failure)) from failure
        writer.write(head.encode() + body)
        await asyncio.sleep(after)
        writer.transport.abort()
        return "connection reset"

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


class _Connection:
    """A client of the SDK in a task of its own: when the server goes, the SDK cancels the task that connected."""

    def __init__(self, client: Client) -> None:
        self.client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._hold(client))

    async def close(self) -> None:
        self._over.set()
        await asyncio.wait([self._task], timeout=EXIT_SECONDS)
        self._task.cancel()

    async def _hold(self, client: Client) -> None:
        try:
            async with client:
                self.client.set_result(client)
                await self._over.wait()
        except Exception as failure:
            if not self.client.done():
                self.client.set_exception(failure)


class StdioCaller:
    """A host with a process of its own, in the handshake era."""

    def __init__(self, name: str, environ: Mapping[str, str], dice: random.Random, log: IO[bytes]) -> None:
        self.name = name
        self._log = log
        self._environ = dict(environ)
        self._dice = dice
        self._ids = count(1)
        self._process: asyncio.subprocess.Process | None = None

    async def call(self, tool: str, arguments: Mapping[str, Any], patience: float = PATIENCE) -> dict[str, Any] | None:
        process = await self._started()
        request_id = self._send(process, "tools/call", {"name": tool, "arguments": dict(arguments)})
        try:
            message = await asyncio.wait_for(_answer(process, request_id), patience)
        except TimeoutError:
            if patience == PATIENCE:
                raise Gone(f"no answer in {PATIENCE:g} s") from None
            self._send(process, "notifications/cancelled", {"requestId": request_id}, notification=True)
            return None
        if "error" in message:
            raise Failed(str(message["error"]))
        result = message["result"]
        if result.get("isError"):
            raise Failed(result["structuredContent"]["code"])
        return result["structuredContent"]

    async def hang_up(self, tool: str, arguments: Mapping[str, Any], after: float) -> str:
        process = await self._started()
        self._send(process, "tools/call", {"name": tool, "arguments": dict(arguments)})
        await asyncio.sleep(after)
        if self._dice.random() < 0.5:
            process.kill()
            await process.wait()
            self._process = None
            return "kill -9"
        await self.close()
        return "stdin closed"

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin
        process.stdin.close()
        try:
            code = await asyncio.wait_for(process.wait(), EXIT_SECONDS)
        except TimeoutError:
            process.kill()
            raise Failed(f"did not leave within {EXIT_SECONDS:g} s of the end of stdin") from None
        if code:
            raise Failed(f"left with exit code {code}")

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None:
            pipe = asyncio.subprocess.PIPE
            self._process = process = await asyncio.create_subprocess_exec(
                *GLIGABAO, stdin=pipe, stdout=pipe, stderr=self._log, env=self._environ, limit=_LINE_LIMIT
            )
            client = {"name": self.name, "version": "1"}
            params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
            await asyncio.wait_for(_answer(process, self._send(process, "initialize", params)), PATIENCE)
            self._send(process, "notifications/initialized", {}, notification=True)
        return self._process

    def _send(
        self, process: asyncio.subprocess.Process, method: str, params: Mapping[str, Any], *, notification: bool = False
    ) -> int:
        request_id = next(self._ids)
        numbered = {} if notification else {"id": request_id}
        message = {"jsonrpc": "2.0", "method": method, "params": dict(params), **numbered}
        assert process.stdin
        process.stdin.write(json.dumps(message).encode() + b"\n")
        return request_id


async def _answer(process: asyncio.subprocess.Process, request_id: int) -> dict[str, Any]:
    assert process.stdout
    while line := await process.stdout.readline():
        message = json.loads(line)
        if message.get("id") == request_id:
            return message
    raise Gone("the process has gone")
