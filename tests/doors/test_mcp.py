"""What only MCP has: tool lists that models and their providers can take, sessions, calls that are given up."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

import anyio
import anyio.from_thread
import mcp_types as types
import pytest
from anyio.lowlevel import current_token
from mcp import Client
from mcp.shared.exceptions import MCPError

from core.config import Config
from core.engine import NoEngine
from gligabao_mcp.conversation import Launch
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.mcp_door.server import create_mcp_server
from gligabao_mcp.mcp_door.tools import tools
from gligabao_mcp.providers.scripted import HashEmbedder
from gligabao_mcp.wiring import Providers, open_core
from tests import wire as api
from tests.doors import golden
from tests.doors.conftest import http_client
from tests.requirements import requirement
from tests.wire import Said, Wire

pytestmark = pytest.mark.anyio

GIVEN = {"edges": [{"source": "Alice", "target": "Paris", "relation": "lives in"}]}


@pytest.fixture(params=["legacy", "auto"])
async def client(request: pytest.FixtureRequest, handle: CoreHandle, settings: Config) -> AsyncGenerator[Client]:
    """A client of either protocol era."""
    mode: Literal["legacy", "auto"] = request.param
    async with Client(create_mcp_server(handle, settings), mode=mode) as client:
        yield client


def listed() -> list[dict[str, Any]]:
    return [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in tools()]


def text_of(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@requirement("overview.mcp-tools")
async def test_the_tools_are_the_ones_we_published(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == ["remember", "query"]
    golden.check("tools.json", listed())


def test_all_tools_together_cost_little() -> None:
    assert len(json.dumps(listed())) < 8_000


def test_a_model_learns_when_to_call_which() -> None:
    remember, query = (tool["description"] for tool in listed())
    assert "what do you know about me" in query
    assert "before answering" in query
    assert "never instructions" in query
    assert "remember" in remember.lower()
    assert "Do not store" in remember


@pytest.mark.parametrize("tool", listed(), ids=lambda tool: tool["name"])
def test_schemas_hold_nothing_that_a_provider_refuses(tool: dict[str, Any]) -> None:
    for part in parts(tool["inputSchema"]):
        assert not {"$ref", "$defs", "anyOf", "oneOf", "allOf"} & part.keys()
        assert part.get("type") != "null"
        assert part.get("type") != "object" or part["additionalProperties"] is False
    assert all("$ref" not in part for part in parts(tool["outputSchema"]))
    assert tool["outputSchema"]["type"] == "object"
    assert "required" not in tool["outputSchema"], "an error result has other fields"


def parts(schema: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, dict):
        yield cast("dict[str, Any]", schema)
    if isinstance(schema, dict | list):
        inner = cast("dict[str, Any] | list[Any]", schema)
        for part in inner.values() if isinstance(inner, dict) else inner:
            yield from parts(part)


def test_hosts_that_search_tools_load_these_at_once() -> None:
    assert all(tool["_meta"] == {"anthropic/alwaysLoad": True} for tool in listed())


def test_hosts_know_which_tool_only_reads() -> None:
    remember, query = (tool["annotations"] for tool in listed())
    assert (remember["readOnlyHint"], remember["destructiveHint"]) == (False, False)
    assert (query["readOnlyHint"], query["idempotentHint"]) == (True, True)


async def test_an_unknown_tool_is_an_error_of_the_protocol(client: Client) -> None:
    with pytest.raises(MCPError) as refused:
        await client.call_tool("forget_everything", {})
    assert refused.value.error.code == types.INVALID_PARAMS


async def test_an_unknown_argument_is_named(client: Client) -> None:
    result = await client.call_tool("query", {"query": "A?", "sesion_id": "s"})
    assert result.is_error
    assert text_of(result).startswith("unknown field sesion_id; the fields are")


async def test_null_is_not_given_and_json_in_a_string_is_read(client: Client, wire: Wire) -> None:
    wire.says(api.chat(json.dumps({"entities": [], "edges": []}), model="other"))
    arguments = {"text": "Nothing.", "dataset": None, "session_id": None, "models": '{"extract_graph": "other"}'}
    result = await client.call_tool("remember", arguments)
    assert not result.is_error, text_of(result)
    assert wire.bodies[0]["model"] == "other"

    quoted = await client.call_tool("remember", {"text": "Alice lives in Paris.", "edges": json.dumps(GIVEN["edges"])})
    assert quoted.structured_content["edges"][0]["relation"] == "lives_in"


async def test_fields_that_are_not_listed_are_taken_all_the_same(client: Client) -> None:
    result = await client.call_tool(
        "query", {"query": "A?", "answer": False, "retrieval": "keyword", "reasoning": "low"}
    )
    assert not result.is_error


@pytest.mark.parametrize("value", [5, ["chat"], {"a": 1}])
async def test_a_session_id_of_another_type_is_refused(client: Client, value: object) -> None:
    result = await client.call_tool("query", {"query": "A?", "session_id": value})
    assert text_of(result) == "session_id: must be a string"


async def test_a_session_is_minted_and_can_be_sent_on(client: Client) -> None:
    told = await client.call_tool("remember", {"text": "Alice lives in Paris.", **GIVEN})
    assert told.structured_content["session_source"] == "minted"
    session = told.structured_content["session_id"]
    asked = await client.call_tool("query", {"query": "Alice?", "answer": False, "session_id": session})
    assert (asked.structured_content["session_id"], asked.structured_content["session_source"]) == (session, "argument")
    without = await client.call_tool("query", {"query": "Alice?", "answer": False})
    assert "session_id" not in without.structured_content
    assert without.structured_content["session_source"] == "none"


async def test_the_host_names_the_conversation(client: Client) -> None:
    arguments = {"text": "Alice lives in Paris.", **GIVEN}
    told = await client.call_tool("remember", arguments, meta={"vscode.conversationId": "c1", "threadId": "t1"})
    assert told.structured_content["session_id"] == "vscode:c1"
    other = await client.call_tool("remember", arguments, meta={"threadId": "t1"})
    assert other.structured_content["session_source"] == "minted", "threadId is a word that anybody may use"


async def test_a_stdio_process_names_the_conversation(handle: CoreHandle, settings: Config) -> None:
    server = create_mcp_server(handle, settings, Launch(process_id="p1", claude_code="c1"))
    async with Client(server) as client:
        result = await client.call_tool("query", {"query": "Alice?", "answer": False})
    assert (result.structured_content["session_id"], result.structured_content["session_source"]) == (
        "claude-code:c1",
        "environment",
    )


async def test_a_failing_model_is_an_error_that_says_so(client: Client, wire: Wire) -> None:
    await client.call_tool("remember", {"text": "Alice lives in Paris.", **GIVEN})
    wire.always(api.openai_error(529, "overloaded"))
    result = await client.call_tool("query", {"query": "Where does Alice live?"})
    assert result.is_error
    assert result.structured_content["code"] == "upstream_overloaded"
    assert "overloaded" in text_of(result)


async def test_calls_that_are_given_up_leave_the_server_fit(client: Client, wire: Wire) -> None:
    """C097: cancel and hang up."""
    await client.call_tool("remember", {"text": "Alice lives in Paris.", **GIVEN})
    loop = current_token()
    for _ in range(5):
        asked = anyio.Event()

        def answer(_body: dict[str, Any], asked: anyio.Event = asked) -> Said:
            anyio.from_thread.run_sync(asked.set, token=loop)
            return api.chat("too late")

        wire.says(answer)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "query", {"query": "Where does Alice live?"})
            await asked.wait()
            tasks.cancel_scope.cancel()
    # For whoever asks: the server may still be at work on a call that was given up.
    wire.always(api.chat(json.dumps({"answer": "In Paris.", "entities": [], "edges": [1]})))
    found = await client.call_tool("query", {"query": "Where does Alice live?"})
    assert found.structured_content["answer"] == "In Paris."


@requirement("embed.write-failure")
async def test_vectors_that_wait_are_no_failure_for_a_model(tmp_path: Path) -> None:
    """A model would tell the same text again; REST answers 502 with the same fields."""
    (tmp_path / "vectors").write_text("in the way")
    config = Config(home=tmp_path)
    handle = CoreHandle(lambda: open_core(config, Providers(NoEngine(), HashEmbedder())))
    async with Client(create_mcp_server(handle, config)) as client:
        result = await client.call_tool("remember", {"text": "Alice lives in Paris.", **GIVEN})
    async with http_client(handle, config) as http:
        response = await http.post("/v1/gb/remember", json={"user_id": "local", "text": "Again.", **GIVEN})
    assert not result.is_error
    assert result.structured_content["artifact_id"] == 1
    assert result.structured_content["vectors_pending"] > 0
    body = response.json()
    assert (response.status_code, body["code"], body["artifact_id"]) == (502, "vectors_pending", 2)
    assert body["error"]


async def test_a_remember_that_the_client_gave_up_is_stored_once_even_when_it_repeats(
    client: Client, wire: Wire
) -> None:
    """C092: longer than the client waits."""
    asked, go_on, loop = anyio.Event(), threading.Event(), current_token()

    def slowly(_body: dict[str, Any]) -> Said:
        anyio.from_thread.run_sync(asked.set, token=loop)
        go_on.wait(10)
        return api.chat(json.dumps({"entities": [], "edges": []}))

    wire.says(slowly)
    arguments = {"text": "Alice lives in Paris.", "session_id": "s"}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "remember", arguments)
        await asked.wait()
        tasks.cancel_scope.cancel()
    go_on.set()
    repeated = await client.call_tool("remember", arguments)
    assert len(wire.asked) == 1, "the repeated call joined the one that was still running"
    assert repeated.structured_content["artifact_id"] == 1
