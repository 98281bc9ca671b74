"""A memory behind each door: the same operation sent over REST, MCP and the command line."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import anyio.to_thread
import httpx2
import pytest
from click.testing import CliRunner
from mcp import Client

from core.config import Config
from gligabao_mcp.cli import cli
from gligabao_mcp.errors import TABLE
from gligabao_mcp.every_operation import EVERY
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.http import create_app
from gligabao_mcp.mcp_door.server import create_mcp_server
from gligabao_mcp.wiring import open_core
from tests.doors.matrix import WAYS, Clients, Tools
from tests.wire import Wire


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """One event loop for all tests of doors: they share clients."""
    return "asyncio"


@pytest.fixture(scope="session")
def server_of_models() -> Generator[Wire]:
    with Wire() as wire:
        yield wire


@pytest.fixture
def wire(server_of_models: Wire) -> Wire:
    """A language model over HTTP, with the replies that the test gives it."""
    server_of_models.forget()
    return server_of_models


@pytest.fixture
def settings(wire: Wire, tmp_path: Path) -> Config:
    """Settings of a memory of its own that asks that model."""
    return Config(home=tmp_path, llm="openai", llm_base_url=f"{wire.url}/v1", llm_model="qwen3")


@pytest.fixture
async def handle(settings: Config) -> AsyncGenerator[CoreHandle]:
    handle = CoreHandle(lambda: open_core(settings))
    yield handle
    await handle.close()


@pytest.fixture(params=["legacy", "auto"])
async def client(request: pytest.FixtureRequest, handle: CoreHandle, settings: Config) -> AsyncGenerator[Client]:
    """A client of either protocol era, on a server in memory."""
    mode: Literal["legacy", "auto"] = request.param
    async with Client(create_mcp_server(handle, settings), mode=mode) as client:
        yield client


def failure_of(answer: httpx2.Response) -> tuple[str, str]:
    """The code and the text of a failure over REST, in either envelope."""
    body = answer.json()
    told = body["error"] if isinstance(body["error"], dict) else {"code": body["code"], "message": body["error"]}
    return told["code"], told["message"]


@dataclass(frozen=True)
class Outcome:
    """What came out of a door: `ok` or the code of a failure, and the JSON object."""

    code: str
    body: Mapping[str, Any]


class Door(Protocol):
    """One way in."""

    async def send(self, operation: str, payload: Mapping[str, Any]) -> Outcome: ...


@dataclass(frozen=True)
class Rest:
    client: httpx2.AsyncClient

    async def send(self, operation: str, payload: Mapping[str, Any]) -> Outcome:
        response = await self.client.post(f"/v1/gb/{operation}", content=json.dumps(payload))
        body = response.json()
        code = body["code"] if "error" in body else "ok"
        assert response.status_code == (200 if code == "ok" else TABLE[code].status)
        return Outcome(code, body)


@dataclass(frozen=True)
class Mcp:
    """A client that others share: u1 is a user of this test alone."""

    tools: Tools

    async def send(self, operation: str, payload: Mapping[str, Any]) -> Outcome:
        user_id = self.tools.user_id if payload["user_id"] == "u1" else payload["user_id"]
        body = (await self.tools.call(operation, **{**payload, "user_id": user_id})).structured_content
        return Outcome(body.get("code", "ok"), body)


@dataclass(frozen=True)
class CommandLine:
    home: Path
    settings: Config

    async def send(self, operation: str, payload: Mapping[str, Any]) -> Outcome:
        main = next(row.main_field for row in EVERY if row.name == operation)
        flags = [part for name, value in payload.items() if name != main for part in _flag(name, value)]
        known = {"llm": "openai", "llm_base_url": self.settings.llm_base_url, "llm_model": self.settings.llm_model}
        flags += [part for name, value in known.items() for part in _flag(name, value)]
        arguments = [operation, "--json", "--home", str(self.home), *flags, "--", payload.get(main, "")]
        result = await anyio.to_thread.run_sync(lambda: CliRunner().invoke(cli, arguments))
        body = json.loads(result.stdout)
        code = body["code"] if "error" in body else "ok"
        assert result.exit_code == (0 if code == "ok" else TABLE[code].exit_code), result.output
        return Outcome(code, body)


def _flag(name: str, value: object) -> list[str]:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    return [f"--{flag}", value if isinstance(value, str) else json.dumps(value)]


@asynccontextmanager
async def http_client(handle: CoreHandle, settings: Config) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of the HTTP application, which runs with its lifespan."""
    app = create_app(handle, settings)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1:7878") as client,
    ):
        yield client


@pytest.fixture
async def rest(handle: CoreHandle, settings: Config) -> AsyncGenerator[httpx2.AsyncClient]:
    async with http_client(handle, settings) as client:
        yield client


@pytest.fixture(scope="session")
async def clients(server_of_models: Wire, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Clients]:
    clients = Clients(tmp_path_factory.mktemp("clients"), server_of_models.url)
    yield clients
    await clients.close()


@pytest.fixture(params=WAYS, ids=str)
async def tools(request: pytest.FixtureRequest, clients: Clients, wire: Wire) -> Tools:
    """The tools, through each way that a client comes."""
    return Tools(request.param, await clients.through(request.param))


@pytest.fixture(params=["rest", "command line", *WAYS], ids=str)
async def door(
    request: pytest.FixtureRequest, handle: CoreHandle, settings: Config, clients: Clients
) -> AsyncGenerator[Door]:
    """Each way in."""
    if request.param == "rest":
        async with http_client(handle, settings) as client:
            yield Rest(client)
    elif request.param == "command line":
        assert settings.home is not None
        yield CommandLine(settings.home, settings)
    else:
        yield Mcp(Tools(request.param, await clients.through(request.param)))
