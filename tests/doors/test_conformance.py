"""What the official conformance suite asks of a server, asked with the SDK's client: the suite itself needs Node."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx2
import mcp_types as types
import pytest
import uvicorn
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.shared.exceptions import MCPError

from core.config import Config
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.http import MCP_PATH, create_app
from tests.doors.fixture_server import create_fixture_server

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings(tmp_path: Path) -> Config:
    return Config(home=tmp_path, llm="none")


async def filled_in(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    """A user who gives every field its default, or a word."""
    assert isinstance(params, types.ElicitRequestFormParams)
    values = {"boolean": True, "array": ["option1"]}
    properties: Mapping[str, Any] = params.requested_schema["properties"]
    content = {
        name: schema.get("default", values.get(schema["type"], f"my {name}")) for name, schema in properties.items()
    }
    return types.ElicitResult(action="accept", content=content)


@asynccontextmanager
async def listening(handle: CoreHandle, settings: Config) -> AsyncGenerator[str]:
    """The address of the whole application with the fixture server, over real HTTP."""
    app = create_app(handle, settings, create_fixture_server)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}{MCP_PATH}"
        finally:
            server.should_exit = True
            await serving


@pytest.fixture(params=["legacy, memory", "auto, memory", "legacy, HTTP", "auto, HTTP"])
async def client(request: pytest.FixtureRequest, handle: CoreHandle, settings: Config) -> AsyncGenerator[Client]:
    """A client of either era that can be asked, over memory and HTTP."""
    mode: Literal["legacy", "auto"] = "legacy" if "legacy" in request.param else "auto"
    if "memory" in request.param:
        server = create_fixture_server(handle, settings)
        async with Client(server, mode=mode, elicitation_callback=filled_in) as client:
            yield client
    else:
        async with (
            listening(handle, settings) as url,
            Client(url, mode=mode, elicitation_callback=filled_in) as client,
        ):
            yield client


def text_of(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


# Results --------------------------------------------------------------------------------------------------------------


async def test_the_tools_of_the_product_are_there_beside_the_fixtures(client: Client) -> None:
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names[:2] == ["remember", "query"]
    assert "test_simple_text" in names
    assert text_of(await client.call_tool("test_simple_text")) == "This is a simple text response for testing."
    told = await client.call_tool("remember", {"text": "Alice lives in Paris.", "edges": []})
    assert told.structured_content["artifact_id"] == 1


async def test_an_image_and_an_embedded_resource_arrive(client: Client) -> None:
    [image] = (await client.call_tool("test_image_content")).content
    assert isinstance(image, types.ImageContent)
    assert (image.mime_type, image.data[:11]) == ("image/png", "iVBORw0KGgo")
    mixed = (await client.call_tool("test_multiple_content_types")).content
    assert [block.type for block in mixed] == ["text", "image", "resource"]


async def test_a_failure_is_a_result_that_the_model_can_read(client: Client) -> None:
    result = await client.call_tool("test_error_handling")
    assert result.is_error
    assert text_of(result) == "This tool intentionally returns an error for testing"


async def test_progress_comes_in_order_before_the_result(client: Client) -> None:
    seen: list[tuple[float, float | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total))

    assert text_of(await client.call_tool("test_tool_with_progress", progress_callback=on_progress)) == "Done."
    assert seen == [(0, 100), (50, 100), (100, 100)]
    await client.call_tool("test_tool_with_progress")
    assert len(seen) == 3, "nobody asked for more"


# Questions to the user ------------------------------------------------------------------------------------------------


async def test_a_tool_asks_the_user_in_both_eras(client: Client) -> None:
    answered = text_of(await client.call_tool("test_elicitation", {"message": "Who are you?"}))
    assert answered == 'user: action=accept, content={"username": "my username", "email": "my email"}'


async def test_a_form_has_defaults_and_every_kind_of_choice(client: Client) -> None:
    filled = text_of(await client.call_tool("test_elicitation_sep1034_defaults"))
    assert json.loads(filled.partition("content=")[2]) == {
        "name": "John Doe",
        "age": 30,
        "score": 95.5,
        "status": "active",
        "verified": True,
    }
    chosen = text_of(await client.call_tool("test_elicitation_sep1330_enums"))
    assert json.loads(chosen.partition("content=")[2])["untitledMulti"] == ["option1"]


async def test_questions_can_come_in_rounds_that_keep_a_state(client: Client) -> None:
    assert text_of(await client.call_tool("test_input_required_result_request_state")).startswith("state-ok confirm:")
    rounds = text_of(await client.call_tool("test_input_required_result_multi_round"))
    assert 'step2: action=accept, content={"color": "my color"}' in rounds


async def test_what_a_client_did_not_declare_is_not_asked_of_it(client: Client) -> None:
    with pytest.raises(MCPError) as refused:
        await client.call_tool("test_missing_capability")
    error = refused.value.error
    assert error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert error.data == {"requiredCapabilities": {"sampling": {}}}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_user_may_decline(handle: CoreHandle, settings: Config, mode: Literal["legacy", "auto"]) -> None:
    async def decline(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    server = create_fixture_server(handle, settings)
    async with Client(server, mode=mode, elicitation_callback=decline) as client:
        assert text_of(await client.call_tool("test_elicitation")) == "user: action=decline, content={}"


# On the wire ----------------------------------------------------------------------------------------------------------

REVISION = "2026-07-28"
ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True)
class Raw:
    """Requests of the stateless era as they go over HTTP, each header as the test wants it."""

    client: httpx2.AsyncClient

    async def ask(
        self, method: str, params: Mapping[str, Any] | None = None, **headers: str | None
    ) -> tuple[int, dict[str, Any]]:
        """The status and the message of the answer."""
        params = {"_meta": ENVELOPE, **(params or {})}
        name = params.get("name", params.get("uri"))
        sent = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": REVISION,
            "mcp-method": method,
            "mcp-name": name,
            **{header.replace("_", "-"): value for header, value in headers.items()},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        response = await self.client.post(
            MCP_PATH, json=message, headers={header: value for header, value in sent.items() if value is not None}
        )
        return response.status_code, response.json()


@pytest.fixture
async def raw(rest: httpx2.AsyncClient) -> Raw:
    return Raw(rest)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "forget_everything", "arguments": {}}),
        ("prompts/get", {"name": "nope"}),
        ("prompts/get", {"name": "recall", "arguments": {}}),
        ("resources/read", {"uri": "gligabao://main/artifacts/1"}),
        ("resources/list", {"cursor": "nope"}),
        ("tools/call", {"arguments": {}}),
        ("completion/complete", {"ref": {"type": "ref/prompt"}, "argument": {"name": "a", "value": "b"}}),
    ],
)
async def test_what_is_wrong_with_a_request_is_invalid_params(raw: Raw, method: str, params: dict[str, Any]) -> None:
    _, answer = await raw.ask(method, params)
    assert answer["error"]["code"] == types.INVALID_PARAMS


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"mcp_method": "tools/list"}, types.HEADER_MISMATCH),
        ({"mcp_method": None}, types.HEADER_MISMATCH),
        ({"mcp_name": "remember"}, types.HEADER_MISMATCH),
        ({"mcp_name": None}, types.HEADER_MISMATCH),
        ({"mcp_protocol_version": "2199-01-01"}, types.HEADER_MISMATCH),
    ],
)
async def test_headers_that_say_something_else_than_the_body_are_refused(
    raw: Raw, headers: dict[str, str | None], code: int
) -> None:
    call = {"name": "query", "arguments": {"query": "?", "answer": False}}
    assert (await raw.ask("tools/call", call))[0] == 200
    status, answer = await raw.ask("tools/call", call, **headers)
    assert (status, answer["error"]["code"]) == (400, code)


async def test_a_revision_that_is_not_known_is_told_which_are(raw: Raw) -> None:
    later = "2199-01-01"
    meta = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": later}
    status, answer = await raw.ask("tools/list", {"_meta": meta}, mcp_protocol_version=later)
    assert (status, answer["error"]["code"]) == (400, types.UNSUPPORTED_PROTOCOL_VERSION)
    assert REVISION in answer["error"]["data"]["supported"]


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "resources/subscribe"])
async def test_what_this_era_has_no_more_is_not_found(raw: Raw, method: str) -> None:
    status, answer = await raw.ask(method)
    assert (status, answer["error"]["code"]) == (404, types.METHOD_NOT_FOUND)


async def test_the_server_declares_what_it_has_and_no_more(raw: Raw) -> None:
    _, answer = await raw.ask("server/discover")
    changes = {"listChanged": False}
    assert answer["result"]["capabilities"] == {
        "completions": {},
        "prompts": changes,
        "resources": {"subscribe": False, **changes},
        "tools": changes,
    }
    named = answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert named["name"] == "gligabao" and named["version"]


@pytest.mark.parametrize(
    ("method", "params", "scope"),
    [
        ("server/discover", {}, "public"),
        ("tools/list", {}, "public"),
        ("prompts/list", {}, "public"),
        ("resources/templates/list", {}, "public"),
        ("resources/list", {}, "private"),
        ("resources/read", {"uri": "gligabao://datasets"}, "private"),
    ],
)
async def test_only_what_is_the_same_for_everybody_may_be_kept(
    raw: Raw, method: str, params: dict[str, Any], scope: str
) -> None:
    _, answer = await raw.ask(method, params)
    result = answer["result"]
    assert (result["cacheScope"], result["ttlMs"] > 0, result["resultType"]) == (scope, scope == "public", "complete")


async def test_a_resource_is_of_the_user_that_a_tool_would_mean(raw: Raw) -> None:
    told: dict[str, Any] = {"user_id": "u2", "text": "Alice lives in Paris.", "edges": []}
    assert (await raw.client.post("/v1/gb/remember", json=told)).status_code == 200
    uri = {"uri": "gligabao://main/artifacts/1"}
    _, theirs = await raw.ask("resources/read", uri, gligabao_user_id="u2")
    assert theirs["result"]["contents"][0]["text"].endswith("\n---\n\nAlice lives in Paris.")
    _, mine = await raw.ask("resources/read", uri)
    assert mine["error"]["data"] == uri


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "localhost:7878", "origin": "http://localhost:7878"}, 200),
    ],
)
async def test_a_page_of_another_site_gets_nothing(
    rest: httpx2.AsyncClient, headers: dict[str, str], status: int
) -> None:
    known = {"accept": "application/json, text/event-stream", "mcp-protocol-version": REVISION}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}}
    response = await rest.post(MCP_PATH, json=message, headers={**known, "mcp-method": "tools/list", **headers})
    assert response.status_code == status
