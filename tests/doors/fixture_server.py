"""The product's own MCP server with the tools that the official conformance suite asks for: progress, errors, images
and questions to the user.

`python -m tests.doors.fixture_server PORT` serves it, with a memory that goes at the end, for a run of the suite.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from core.config import Config
from core.errors import ModelFailed
from gligabao_mcp.conversation import Launch
from gligabao_mcp.errors import failure
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.http import create_app
from gligabao_mcp.mcp_door.results import error
from gligabao_mcp.mcp_door.server import create_mcp_server
from gligabao_mcp.wiring import open_core
from tests.drawn import as_base64, drawn

Context = ServerRequestContext[Any, Any]
Result = types.CallToolResult | types.InputRequiredResult
Questions = Mapping[str, types.ElicitRequest | types.CreateMessageRequest | types.ListRootsRequest]
Answers = Mapping[str, types.InputResponse]


def create_fixture_server(handle: CoreHandle, config: Config, launch: Launch | None = None) -> Server[Any]:
    """What create_mcp_server makes, with the tools and the prompt of the suite beside its own."""
    server = create_mcp_server(handle, config, launch)
    listed, called, prompted = (_handler(server, name) for name in ("tools/list", "tools/call", "prompts/get"))

    async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        own = await listed(context, params)
        return own.model_copy(update={"tools": [*own.tools, *(_tool(name) for name in TOOLS)]})

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> Any:
        tool = TOOLS.get(params.name)
        return await (tool(context, params) if tool else called(context, params))

    async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> Any:
        if params.name != "test_input_required_result_prompt":
            return await prompted(context, params)
        answers = await _asked(context, params, {"user_context": _elicit("What context should it use?", "context")})
        if isinstance(answers, types.InputRequiredResult):
            return answers
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=_told(answers)))
        return types.GetPromptResult(messages=[message])

    server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, get_prompt)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name))
    return server


def _handler(server: Server[Any], method: str) -> Callable[..., Awaitable[Any]]:
    entry = server.get_request_handler(method)
    assert entry
    return entry.handler


def _tool(name: str) -> types.Tool:
    message = {"message": {"type": "string"}} if name == "test_elicitation" else {}
    return types.Tool(name=name, description="Only in tests.", input_schema={"type": "object", "properties": message})


# Results --------------------------------------------------------------------------------------------------------------


def _said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def simple_text(_context: Context, _params: types.CallToolRequestParams) -> Result:
    return _said("This is a simple text response for testing.")


async def image_content(_context: Context, _params: types.CallToolRequestParams) -> Result:
    image = types.ImageContent(type="image", data=as_base64(drawn()), mime_type="image/png")
    return types.CallToolResult(content=[image])


async def mixed_content(_context: Context, _params: types.CallToolRequestParams) -> Result:
    text = types.TextContent(type="text", text="Multiple content types test:")
    image = types.ImageContent(type="image", data=as_base64(drawn()), mime_type="image/png")
    json_text = types.TextResourceContents(
        uri="test://mixed-content-resource", mime_type="application/json", text='{"test":"data","value":123}'
    )
    return types.CallToolResult(content=[text, image, types.EmbeddedResource(type="resource", resource=json_text)])


async def error_handling(_context: Context, _params: types.CallToolRequestParams) -> Result:
    """A failure of the product, told as its own tools tell it."""
    return error(failure(ModelFailed("This tool intentionally returns an error for testing")))


async def with_progress(context: Context, _params: types.CallToolRequestParams) -> Result:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
        await asyncio.sleep(0.05)
    return _said("Done.")


# Questions ------------------------------------------------------------------------------------------------------------


async def elicitation(context: Context, params: types.CallToolRequestParams) -> Result:
    message = str((params.arguments or {}).get("message", "Who are you?"))
    return await _answered(context, params, {"user": _elicit(message, "username", "email")})


async def defaults(context: Context, params: types.CallToolRequestParams) -> Result:
    form = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await _answered(context, params, {"form": _form("Fill it in.", form)})


async def enums(context: Context, params: types.CallToolRequestParams) -> Result:
    options = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{i}", "title": f"{name} Option"} for i, name in enumerate(("First", "Second", "Third"), 1)
    ]
    legacy = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
    form = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", **legacy},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await _answered(context, params, {"form": _form("Choose.", form)})


async def missing_capability(context: Context, params: types.CallToolRequestParams) -> Result:
    return await _answered(context, params, {"greeting": _sample("Generate a greeting")})


@dataclass(frozen=True)
class Rounds:
    """A tool that asks in rounds; with `state` it keeps in the client how far it is."""

    rounds: Sequence[Questions]
    state: bool = False
    only_what_the_client_can: bool = False

    async def __call__(self, context: Context, params: types.CallToolRequestParams) -> Result:
        done = int(params.request_state or 0)
        told: dict[str, types.InputResponse] = {}
        for place, questions in enumerate(self.rounds[done:], done):
            state = str(place) if self.state else None
            if self.only_what_the_client_can:
                questions = {key: asked for key, asked in questions.items() if not _lacks(context, asked)}
            # An answer belongs to the round that it was sent to.
            given = params if place == done else params.model_copy(update={"input_responses": None})
            answers = await _asked(context, given, questions, state)
            if isinstance(answers, types.InputRequiredResult):
                return answers
            told.update(answers)
        return _said(f"state-ok {_told(told)}")


def _form(message: str, properties: Mapping[str, Any], required: Sequence[str] = ()) -> types.ElicitRequest:
    schema = {"type": "object", "properties": dict(properties), "required": list(required)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def _elicit(message: str, *names: str, kind: str = "string") -> types.ElicitRequest:
    return _form(message, {name: {"type": kind} for name in names}, names)


def _sample(text: str) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=100))


async def _answered(context: Context, params: types.CallToolRequestParams, questions: Questions) -> Result:
    answers = await _asked(context, params, questions)
    return answers if isinstance(answers, types.InputRequiredResult) else _said(_told(answers))


async def _asked(
    context: Context, params: types.InputResponseRequestParams, questions: Questions, state: str | None = None
) -> Answers | types.InputRequiredResult:
    """The answers: sent with this request, or in the handshake era asked for meanwhile; else what is to be asked."""
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return {key: await _sent(context, question) for key, question in questions.items()}
    given = params.input_responses or {}
    if all(_fits(question, given.get(key)) for key, question in questions.items()):
        return {key: given[key] for key in questions}
    for question in questions.values():
        if capability := _lacks(context, question):
            raise _not_declared(capability)
    return types.InputRequiredResult(input_requests=dict(questions), request_state=state)


async def _sent(context: Context, question: Any) -> Any:
    if capability := _lacks(context, question):
        raise _not_declared(capability)
    answer = _ANSWERS[type(question)]
    # Over HTTP the question goes into the stream of the call that asks it.
    metadata = ServerMessageMetadata(related_request_id=context.request_id)
    return await context.session.send_request(question, answer, metadata=metadata)


_ANSWERS: Mapping[type[Any], type[Any]] = {
    types.ElicitRequest: types.ElicitResult,
    types.CreateMessageRequest: types.CreateMessageResult,
    types.ListRootsRequest: types.ListRootsResult,
}


_CAPABILITIES: Mapping[type[Any], str] = {
    types.ElicitRequest: "elicitation",
    types.CreateMessageRequest: "sampling",
    types.ListRootsRequest: "roots",
}


def _fits(question: Any, answer: Any) -> bool:
    if not isinstance(answer, _ANSWERS[type(question)]):
        return False
    if not isinstance(answer, types.ElicitResult) or answer.action != "accept":
        return True
    return set(question.params.requested_schema["required"]) <= (answer.content or {}).keys()


def _lacks(context: Context, question: Any) -> str | None:
    """The capability that the client would need and did not declare."""
    name = _CAPABILITIES[type(question)]
    return None if getattr(context.session.client_capabilities, name, None) is not None else name


def _not_declared(capability: str) -> MCPError:
    data: dict[str, Any] = {"requiredCapabilities": {capability: {}}}
    return MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, f"the client has no {capability}", data)


def _told(answers: Answers) -> str:
    return ", ".join(f"{key}: {_in_words(answer)}" for key, answer in answers.items())


def _in_words(answer: types.InputResponse) -> str:
    if isinstance(answer, types.ElicitResult):
        return f"action={answer.action}, content={json.dumps(answer.content or {})}"
    return answer.model_dump_json(by_alias=True, exclude_none=True)


_NAME = _elicit("What is your name?", "name")
_CONFIRM = _elicit("Please confirm", "ok", kind="boolean")
_EVERY: Questions = {"user_name": _NAME, "greeting": _sample("Greet!"), "client_roots": types.ListRootsRequest()}

TOOLS: Mapping[str, Callable[[Context, types.CallToolRequestParams], Awaitable[Result]]] = {
    "test_simple_text": simple_text,
    "test_image_content": image_content,
    "test_multiple_content_types": mixed_content,
    "test_error_handling": error_handling,
    "test_tool_with_progress": with_progress,
    "test_elicitation": elicitation,
    "test_elicitation_sep1034_defaults": defaults,
    "test_elicitation_sep1330_enums": enums,
    "test_missing_capability": missing_capability,
    "test_streaming_elicitation": elicitation,
    "test_input_required_result_elicitation": Rounds([{"user_name": _NAME}]),
    "test_input_required_result_sampling": Rounds([{"capital_question": _sample("What is the capital of France?")}]),
    "test_input_required_result_list_roots": Rounds([{"client_roots": types.ListRootsRequest()}]),
    "test_input_required_result_request_state": Rounds([{"confirm": _CONFIRM}], state=True),
    "test_input_required_result_tampered_state": Rounds([{"confirm": _CONFIRM}], state=True),
    "test_input_required_result_multiple_inputs": Rounds([_EVERY], state=True),
    "test_input_required_result_multi_round": Rounds(
        [{"step1": _elicit("Step 1: What is your name?", "name")}, {"step2": _elicit("Step 2: Which color?", "color")}],
        state=True,
    ),
    "test_input_required_result_capabilities": Rounds([_EVERY], only_what_the_client_can=True),
}


def main(port: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        config = Config(home=Path(home), llm="none", port=port)
        handle = CoreHandle(lambda: open_core(config))
        uvicorn.run(create_app(handle, config, create_fixture_server), port=port, log_level="warning")


if __name__ == "__main__":
    main(int(sys.argv[1]))
