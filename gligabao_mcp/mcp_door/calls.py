"""Calls of tools: who calls, in which conversation, what is run and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from starlette.requests import ClientDisconnect

from core.events import called_as_tool
from gligabao_mcp.callers import Caller, caller_of, parse_for
from gligabao_mcp.conversation import Conversation, Launch, Rules, Signals, resolve_session, resolve_user
from gligabao_mcp.errors import failure
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.hanging_up import unless_gone
from gligabao_mcp.mcp_door.arguments import read_arguments
from gligabao_mcp.mcp_door.failures import check_is_first_page
from gligabao_mcp.mcp_door.fitted import fitted
from gligabao_mcp.mcp_door.fitted_graph import fitted_graph
from gligabao_mcp.mcp_door.links import source_links
from gligabao_mcp.mcp_door.progress import Steps, reporting
from gligabao_mcp.mcp_door.results import error, success
from gligabao_mcp.mcp_door.signals import Context, signals_of
from gligabao_mcp.mcp_door.tools import Profile, operations, tools
from gligabao_mcp.operation import Operation
from gligabao_mcp.operations import Parsed
from gligabao_mcp.schemas import Schema

GOES_ON = "The text is kept and read on by itself, also after a restart: do not send another text for it. "
HOW_TO_GO_ON: Mapping[Profile, str] = {
    "default": "To wait for its answer, call remember again with the same text and this session_id.",
    "full": "To see how it goes, call remember_status with this remember_run_id.",
}


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """The tools of a profile, over one core."""

    handle: CoreHandle
    rules: Rules
    launch: Launch | None
    profile: Profile
    answer_seconds: float
    """After which a call that goes on by itself is answered with its run."""
    result_tokens: int

    async def list_tools(self, _context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        check_is_first_page(params)
        return types.ListToolsResult(tools=list(tools(self.profile)))

    def schema_of(self, name: str) -> Schema | None:
        return next((tool.input_schema for tool in tools(self.profile) if tool.name == name), None)

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        offered = operations(self.profile).get(params.name)
        if offered is None:
            raise MCPError(
                code=types.INVALID_PARAMS, message=f"Unknown tool; the tools are {', '.join(operations(self.profile))}"
            )
        arguments = read_arguments(offered, params.arguments or {})
        signals = signals_of(context, self.launch, arguments.get("session_id"))
        conversation = resolve_session(signals, self.rules, mint=_keeps_session(offered))
        try:
            operation, arguments = _meant(offered, arguments)
            caller, named = caller_of(context.request), _named(offered, operation)
            parsed = self._parsed(caller, operation, arguments, named, signals, conversation)
            run = self._run(context, operation, parsed, minted=conversation.source == "minted")
            with called_as_tool(offered.name):
                body = await unless_gone(context.request, run)
            body = self._in_room(operation, body, arguments)
            self._count(offered.name, None)
            return success(body, conversation, source_links(parsed.request, body))
        except ClientDisconnect:
            return types.CallToolResult(content=[], is_error=True)  # nobody reads it
        except Exception as failed:
            shown = failure(failed)
            self._count(offered.name, shown.code)
            saved = fitted(dict(shown.saved), arguments, self.result_tokens)
            return success(saved, conversation) if shown.numbers.mcp_success else error(replace(shown, saved=saved))

    async def _run(
        self, context: Context, operation: Operation[Any, Any], parsed: Parsed[Any], *, minted: bool
    ) -> dict[str, Any]:
        """The response body; of a call that takes long, its run and how to get the answer. The client is told meanwhile
        how far it is."""
        if operation.events is not None:
            async with reporting(context) as watcher:
                return await self.handle.stream(operation, parsed, Steps(watcher).take)
        if operation.accepted is None:
            return await self.handle.run(operation, parsed, minted_session=minted)
        async with reporting(context) as watcher:
            body = await self.handle.run(
                operation, parsed, minted_session=minted, patience=self.answer_seconds, watcher=watcher
            )
        if parsed.request.wait and operation.is_accepted(body):
            body["note"] = GOES_ON + HOW_TO_GO_ON[self.profile]
        return body

    def _in_room(
        self, operation: Operation[Any, Any], body: dict[str, Any], arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """The body as a model reads it, in as many tokens as a result may have."""
        if operation.of_graph:
            return fitted_graph(operation.name, body, self.result_tokens)
        return fitted(body, arguments, self.result_tokens)

    def _count(self, tool: str, error: str | None) -> None:
        if core := self.handle.opened:
            core.monitor.tool_called(tool, error)

    def _parsed(
        self,
        caller: Caller | None,
        operation: Operation[Any, Any],
        arguments: dict[str, Any],
        named: Sequence[str],
        signals: Signals,
        conversation: Conversation,
    ) -> Parsed[Any]:
        if arguments.get("user_id") in (None, ""):  # of another type: validation says so
            arguments["user_id"] = resolve_user("", signals, self.rules)
        fields = operation.request.model_fields
        if "session_id" in fields and arguments.get("session_id") in (None, ""):
            arguments["session_id"] = conversation.session_id
        if "session_source" in fields:
            arguments["session_source"] = None if conversation.source == "none" else conversation.source
        return parse_for(caller, operation, arguments, named=named)


def _meant(offered: Operation[Any, Any], arguments: dict[str, Any]) -> tuple[Operation[Any, Any], dict[str, Any]]:
    """The operation behind a tool, and its arguments. Raises InvalidRequest."""
    choose = offered.tool.choose if offered.tool else None
    return choose(arguments) if choose else (offered, arguments)


def _named(offered: Operation[Any, Any], operation: Operation[Any, Any]) -> Sequence[str]:
    """The fields that a call with an unknown one is told of: no model should think of users."""
    if operation.tool:
        return operation.tool.fields
    taken = offered.request.model_fields.keys() - {"user_id"}
    return [name for name in operation.request.model_fields if name in taken]


def _keeps_session(operation: Operation[Any, Any]) -> bool:
    """Whether it stores something under a session: only then is one worth making."""
    return not operation.reads_only and "session_id" in operation.request.model_fields
