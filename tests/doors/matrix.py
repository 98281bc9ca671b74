"""Every way that an MCP client comes: both protocol eras, in memory, over pipes and over HTTP."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import mcp_types as types
from mcp import Client

from core.config import Config
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.mcp_door.server import create_mcp_server
from gligabao_mcp.wiring import open_core
from tests.processes import launch, served

Era = Literal["legacy", "auto"]
Transport = Literal["memory", "stdio", "HTTP"]


class Way(NamedTuple):
    """How a client comes."""

    era: Era
    transport: Transport

    def __str__(self) -> str:
        return f"{self.transport}, {'handshake' if self.era == 'legacy' else 'stateless'} era"

    @property
    def session_source(self) -> str:
        """Where remember reads the session of a call that names none."""
        if self.transport == "stdio":
            return "process"
        return "connection" if self == ("legacy", "HTTP") else "minted"


WAYS = [Way(era, transport) for transport in ("memory", "stdio", "HTTP") for era in ("legacy", "auto")]
_users = itertools.count(1)


class Clients:
    """A client for each way with all tools, opened when a test first asks for it and shared with the tests after it: a
    process takes a second to start. Servers ask the model at `model_url`."""

    def __init__(self, folder: Path, model_url: str) -> None:
        self._folder = folder
        self._model = {"llm": "openai", "llm_base_url": f"{model_url}/v1", "llm_model": "qwen3", "tools": "full"}
        self._clients: dict[Way, asyncio.Future[Client]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._ended = asyncio.Event()

    async def through(self, way: Way) -> Client:
        """The client that comes this way."""
        if way not in self._clients:
            self._clients[way] = asyncio.get_running_loop().create_future()
            # A task of its own enters and leaves it, whichever test asked for it.
            self._tasks.append(asyncio.create_task(self._keep_open(way, self._clients[way])))
        return await self._clients[way]

    async def close(self) -> None:
        self._ended.set()
        await asyncio.gather(*self._tasks)

    async def _keep_open(self, way: Way, opened: asyncio.Future[Client]) -> None:
        try:
            async with self._connected(way) as client:
                opened.set_result(client)
                await self._ended.wait()
        except Exception as error:
            if opened.done():
                raise
            opened.set_exception(error)

    @asynccontextmanager
    async def _connected(self, way: Way) -> AsyncGenerator[Client]:
        home = self._folder / "-".join(way)
        flags = [part for name, value in self._model.items() for part in (f"--{name.replace('_', '-')}", value)]
        if way.transport == "stdio":
            async with Client(launch(home, *flags), mode=way.era) as client:
                yield client
        elif way.transport == "HTTP":
            with served(home, *flags) as (url, _):
                async with Client(f"{url}/v1/gb/mcp", mode=way.era) as client:
                    yield client
        else:
            config = Config.model_validate({"home": home, **self._model})
            handle = CoreHandle(lambda: open_core(config))
            async with Client(create_mcp_server(handle, config), mode=way.era) as client:
                yield client
            await handle.close()


@dataclass(frozen=True)
class Tools:
    """The tools as one client calls them, for a user of this test alone."""

    way: Way
    client: Client
    user_id: str = field(default_factory=lambda: f"user {next(_users)}")
    meta: types.RequestParamsMeta | None = None
    """What the host says with each call."""

    async def call(self, tool: str, **arguments: Any) -> types.CallToolResult:
        """The result of a call; whatever it is, what a model reads in it stands there twice, and alike."""
        whole = {"user_id": self.user_id, **arguments}
        result = await self.client.call_tool(tool, whole, meta=self.meta)
        body, text = result.structured_content, text_of(result)
        assert result.is_error == ("error" in body)
        assert text == body["error"] if result.is_error else json.loads(text) == body
        return result

    async def done(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The body of a call that succeeds."""
        result = await self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        return result.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The one line of a call that is refused."""
        result = await self.call(tool, **arguments)
        assert result.is_error
        assert "\n" not in text_of(result)
        return text_of(result)


def text_of(result: types.CallToolResult) -> str:
    """The text that a client shows that knows nothing but texts."""
    first = result.content[0]
    assert isinstance(first, types.TextContent)
    return first.text
