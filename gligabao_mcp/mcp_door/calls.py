"""Calls of tools: who calls, in which conversation, what is run and what comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from core.events import called_as_tool
from gligabao_mcp.conversation import Conversation, Launch, Rules, Signals, resolve_session, resolve_user
from gligabao_mcp.errors import failure
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.mcp_door.results import error, success
from gligabao_mcp.mcp_door.tools import Profile, operations, tools
from gligabao_mcp.operations import Operation, parse
from gligabao_mcp.schemas import Schema, input_schema

Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """The tools of a profile, over one core."""

    handle: CoreHandle
    rules: Rules
    launch: Launch | None
    profile: Profile

    async def list_tools(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(tools(self.profile)))

    def schema_of(self, name: str) -> Schema | None:
        return next((tool.input_schema for tool in tools(self.profile) if tool.name == name), None)

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        operation = operations(self.profile).get(params.name)
        if operation is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {params.name}")
        arguments = _arguments(operation, params.arguments or {})
        called_as_tool(operation.name)
        signals = self._signals(context, arguments)
        conversation = resolve_session(signals, self.rules, mint=not operation.reads_only)
        try:
            body = await self._run(operation, arguments, signals, conversation)
            self._count(operation.name, None)
            return success(body, conversation)
        except Exception as failed:
            shown = failure(failed)
            self._count(operation.name, shown.code)
            if shown.numbers.mcp_success:
                return success(dict(shown.saved), conversation)
            return error(shown)

    def _count(self, tool: str, error: str | None) -> None:
        if core := self.handle.opened:
            core.monitor.tool_called(tool, error)

    async def _run(
        self, operation: Operation[Any, Any], arguments: dict[str, Any], signals: Signals, conversation: Conversation
    ) -> dict[str, Any]:
        if not arguments.get("user_id"):
            arguments["user_id"] = resolve_user("", signals, self.rules)
        fields = operation.request.model_fields
        if "session_id" in fields and not arguments.get("session_id"):  # of another type: validation says so
            arguments["session_id"] = conversation.session_id
        if "session_source" in fields:
            arguments["session_source"] = None if conversation.source == "none" else conversation.source
        parsed = parse(operation, arguments)
        return await self.handle.run(operation, parsed, minted_session=conversation.source == "minted")

    def _signals(self, context: Context, arguments: Mapping[str, Any]) -> Signals:
        argument, client = arguments.get("session_id"), context.session.client_params
        return Signals(
            argument=argument if isinstance(argument, str) else "",
            headers=cast("Mapping[str, str]", getattr(context.request, "headers", {})),
            meta=cast("Mapping[str, Any]", context.meta or {}),
            client=client.client_info.name if client else "",
            launch=self.launch,
        )


def _arguments(operation: Operation[Any, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with a list or object that a model wrote as a JSON string read."""
    return {name: _unquoted(value) if name in _nested(operation) else value for name, value in given.items()}


def _unquoted(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        read = json.loads(value)
    except ValueError:
        return value
    return cast("object", read) if isinstance(read, list | dict) else value


@cache
def _nested(operation: Operation[Any, Any]) -> frozenset[str]:
    """The fields that take a list or an object."""
    whole = input_schema(operation.request, list(operation.request.model_fields))
    return frozenset(name for name, part in whole["properties"].items() if part.get("type") in ("array", "object"))
