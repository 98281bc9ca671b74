"""MCP of the handshake era over HTTP, request by request, for what a client of the SDK would not do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import httpx2

_HEADERS = {"accept": "application/json, text/event-stream"}
_CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@dataclass(frozen=True)
class Connection:
    """A transport session: the server at `url` knows it by its id."""

    url: str
    session_id: str

    async def call(self, tool: str, **arguments: Any) -> httpx2.Response:
        """The answer to a call of a tool. Cancelled, it breaks the connection without a word."""
        params = {"name": tool, "arguments": arguments}
        return await _post(self.url, {"id": 2, "method": "tools/call", "params": params}, self.session_id)


async def shake_hands(url: str) -> Connection:
    """A new transport session with a server."""
    answer = await _post(url, {"id": 1, "method": "initialize", "params": _CLIENT})
    opened = Connection(url, answer.headers["mcp-session-id"])
    await _post(url, {"method": "notifications/initialized"}, opened.session_id)
    return opened


def content_of(answer: httpx2.Response) -> dict[str, Any]:
    """The structured content of a call's result."""
    (message,) = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
    return json.loads(message)["result"]["structuredContent"]


async def _post(url: str, message: dict[str, Any], session_id: str = "") -> httpx2.Response:
    headers = {**_HEADERS, **({"mcp-session-id": session_id} if session_id else {})}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as client:
        return await client.post(f"{url}/v1/gb/mcp", json={"jsonrpc": "2.0", **message})
