"""A talk with tools, over the wire of both APIs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from core.errors import ModelFailed
from core.inferences import Choice
from core.talk import CannotCallTools, SystemPart, Talk, Told, ToolCall, ToolResult, ToolSpec, Turn
from gligabao_mcp.providers.anthropic import AnthropicModel
from gligabao_mcp.providers.openai import OpenAIModel
from tests.requirements import requirement
from tests.wire import Said, Wire, chat, message, openai_error

pytestmark = pytest.mark.anyio

SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SPARQL = ToolSpec("sparql", "Runs a query.", SCHEMA)
SYSTEM = (SystemPart("Fixed.", cached=True), SystemPart(""), SystemPart("This graph."))
TALK = Talk(SYSTEM, [Told("How many?")], [SPARQL], 4096)
THOUGHT = {"type": "thinking", "thinking": "", "signature": "c2ln"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "sparql", "input": {"query": "ASK {}"}}
KEPT = {"cache_control": {"type": "ephemeral"}}


@pytest.fixture
async def claude(wire: Wire) -> AsyncIterator[AnthropicModel]:
    model = AnthropicModel(api_key="sk-ant-test", base_url=wire.url, model="claude-sonnet-5-5", max_retries=0)
    yield model
    await model.aclose()


@pytest.fixture
async def local(wire: Wire) -> AsyncIterator[OpenAIModel]:
    model = OpenAIModel(model="qwen3", base_url=f"{wire.url}/v1", max_retries=0)
    yield model
    await model.aclose()


def thoughtful(*blocks: Mapping[str, Any], stop_reason: str = "tool_use") -> Said:
    said = message(model="claude-sonnet-5-5", stop_reason=stop_reason)
    assert isinstance(said.body, Mapping)
    return Said({**said.body, "content": list(blocks)}, headers=said.headers)


def calling(*calls: Mapping[str, Any], content: str | None = None, finish_reason: str = "tool_calls") -> Said:
    said = chat(content, finish_reason=finish_reason)
    assert isinstance(said.body, Mapping)
    told = {"role": "assistant", "content": content, "refusal": None, "tool_calls": list(calls)}
    choice = {"index": 0, "finish_reason": finish_reason, "message": told}
    return Said({**said.body, "choices": [choice]}, headers=said.headers)


def function(arguments: str, **marks: object) -> Mapping[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": "sparql", "arguments": arguments}, **marks}


@requirement("ask.model")
async def test_claude_is_offered_tools_and_thinks_between_them(wire: Wire, claude: AnthropicModel) -> None:
    wire.says(thoughtful(THOUGHT, {"type": "text", "text": "Looking."}, USE))
    turn = await claude.turn(TALK, Choice())
    assert wire.bodies == [
        {
            "model": "claude-sonnet-5-5",
            "max_tokens": 4096,
            "system": [{"type": "text", "text": "Fixed.", **KEPT}, {"type": "text", "text": "This graph."}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "How many?", **KEPT}]}],
            "tools": [{"name": "sparql", "description": "Runs a query.", "input_schema": SCHEMA}],
            "tool_choice": {"type": "auto"},
            "thinking": {"type": "between_tools"},
        }
    ]
    assert (turn.text, turn.calls) == ("Looking.", [ToolCall("toolu_1", "sparql", {"query": "ASK {}"})])
    assert (turn.stop, turn.inference.model) == ("finished", "claude-sonnet-5-5")


async def test_the_turn_of_claude_goes_back_unchanged_thoughts_included(wire: Wire, claude: AnthropicModel) -> None:
    wire.says(thoughtful(THOUGHT, USE), thoughtful({"type": "text", "text": "Two."}, stop_reason="end_turn"))
    turn = await claude.turn(TALK, Choice())
    results = [ToolResult("toolu_1", "no such class", failed=True)]
    await claude.turn(Talk(SYSTEM, [*TALK.messages, turn, Told("Now answer.", results)], [SPARQL], 4096), Choice())
    question, said, told = wire.bodies[1]["messages"]
    assert question == {"role": "user", "content": [{"type": "text", "text": "How many?"}]}
    assert said == {"role": "assistant", "content": [THOUGHT, USE]}
    failed = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no such class", "is_error": True}
    assert told == {"role": "user", "content": [failed, {"type": "text", "text": "Now answer.", **KEPT}]}


@pytest.mark.parametrize(("stop_reason", "stop"), [("max_tokens", "truncated"), ("refusal", "refused")])
async def test_a_turn_that_claude_does_not_finish_says_so(
    wire: Wire, claude: AnthropicModel, stop_reason: str, stop: str
) -> None:
    wire.says(thoughtful(USE, stop_reason=stop_reason))
    turn = await claude.turn(TALK, Choice())
    assert turn.stop == stop
    assert stop == "refused" or not turn.calls


async def test_a_compatible_server_is_offered_functions(wire: Wire, local: OpenAIModel) -> None:
    wire.says(calling(function('{"query": "ASK {}"}'), content="Looking."))
    turn = await local.turn(TALK, Choice())
    (body,) = wire.bodies
    assert body["messages"] == [
        {"role": "system", "content": "Fixed.\n\nThis graph."},
        {"role": "user", "content": "How many?"},
    ]
    function_ = {"name": "sparql", "description": "Runs a query.", "parameters": SCHEMA}
    assert body["tools"] == [{"type": "function", "function": function_}]
    assert (body["model"], body["max_tokens"], "tool_choice" in body) == ("qwen3", 4096, False)
    assert (turn.text, turn.calls) == ("Looking.", [ToolCall("call_1", "sparql", {"query": "ASK {}"})])


async def test_the_calls_of_a_compatible_server_go_back_with_its_own_marks(wire: Wire, local: OpenAIModel) -> None:
    wire.says(calling(function("{}", extra_content={"thought_signature": "abc"})), chat("Two."))
    turn = await local.turn(TALK, Choice())
    results = [ToolResult("call_1", "3 rows")]
    await local.turn(Talk(SYSTEM, [*TALK.messages, turn, Told("Now answer.", results)], [SPARQL], 4096), Choice())
    assert wire.bodies[1]["messages"][2:] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [function("{}", extra_content={"thought_signature": "abc"})],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "3 rows"},
        {"role": "user", "content": "Now answer."},
    ]


@pytest.mark.parametrize("arguments", ["", "{", '"ASK {}"', "[1]"])
async def test_arguments_that_are_no_object_are_none(wire: Wire, local: OpenAIModel, arguments: str) -> None:
    wire.says(calling(function(arguments)))
    turn: Turn = await local.turn(TALK, Choice())
    assert turn.calls == [ToolCall("call_1", "sparql", {})]


async def test_a_call_without_its_usual_parts_is_one_and_goes_back_whole(wire: Wire, local: OpenAIModel) -> None:
    bare = {"function": {"name": "sparql", "arguments": {"query": "ASK {}"}}}
    custom = {"id": "c", "type": "custom", "custom": {"name": "x", "input": "y"}}
    wire.says(calling(bare, custom), chat("Two."))
    turn = await local.turn(TALK, Choice())
    assert turn.calls == [ToolCall("call_0", "sparql", {"query": "ASK {}"})]
    await local.turn(
        Talk(SYSTEM, [*TALK.messages, turn, Told("", [ToolResult("call_0", "no")])], [SPARQL], 99), Choice()
    )
    assert wire.bodies[1]["messages"][2]["tool_calls"] == [
        {"id": "call_0", "type": "function", "function": {"name": "sparql", "arguments": '{"query": "ASK {}"}'}}
    ]


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "library/gemma:2b does not support tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (404, "No endpoints found that support tool use"),
    ],
)
async def test_a_server_that_takes_no_tools_is_told_apart(
    wire: Wire, local: OpenAIModel, status: int, text: str
) -> None:
    wire.says(openai_error(status, text))
    with pytest.raises(CannotCallTools) as failed:
        await local.turn(TALK, Choice())
    assert "tool" in failed.value.message
    assert failed.value.inferences[0].error


async def test_a_server_that_has_answered_takes_tools(wire: Wire, local: OpenAIModel) -> None:
    wire.says(calling(function("{}")), openai_error(400, "the tool message is too long"))
    turn = await local.turn(TALK, Choice())
    told = Told("", [ToolResult("call_1", "3 rows")])
    with pytest.raises(ModelFailed) as failed:
        await local.turn(Talk(SYSTEM, [*TALK.messages, turn, told], [SPARQL], 4096), Choice())
    assert not isinstance(failed.value, CannotCallTools)


async def test_another_refusal_is_an_ordinary_failure(wire: Wire, local: OpenAIModel) -> None:
    wire.says(openai_error(400, "the prompt is too long"))
    with pytest.raises(ModelFailed) as failed:
        await local.turn(TALK, Choice())
    assert not isinstance(failed.value, CannotCallTools)
