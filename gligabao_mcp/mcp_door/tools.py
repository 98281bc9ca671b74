"""What a model sees: one tool per operation that is one, generated from the table of operations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import mcp_types as types

from gligabao_mcp.operation import Operation, Tool
from gligabao_mcp.operations import OPERATIONS, TOOLS_ALONE
from gligabao_mcp.schemas import Schema, input_schema, output_schema

Profile = Literal["default", "full"]

# What a model is told of fields that a program chooses freely: it fills in what it is offered, and a memory in many
# datasets, or sessions that nobody had, help no one.
_TO_A_MODEL = {
    "session_id": "The session_id of earlier results of this conversation.",
    "dataset": "Only if the user named one. Default: main.",
}
# What the door adds to a result that it had to cut.
_ADDED: Mapping[str, Schema] = {
    "shown": {"type": "object"},
    "total": {"type": "object"},
    "cursor": {"type": "string"},
}


@cache
def tools(profile: Profile = "default") -> tuple[types.Tool, ...]:
    """The tools of a profile, in the order of the table."""
    return tuple(_tool(operation, tool) for operation, tool in _rows(profile))


@cache
def operations(profile: Profile = "default") -> Mapping[str, Operation[Any, Any]]:
    """The operations of a profile by the names of their tools."""
    return {operation.name: operation for operation, _ in _rows(profile)}


def _rows(profile: Profile) -> list[tuple[Operation[Any, Any], Tool]]:
    rows = [*OPERATIONS, *TOOLS_ALONE]
    if profile == "full":
        from gligabao_mcp.ask_tool import ASK_TOOL  # the operations of its modes take a while to import

        rows.append(ASK_TOOL)
    return [(row, row.tool) for row in rows if row.tool and row.tool.profile in ("default", profile)]


def _tool(operation: Operation[Any, Any], tool: Tool) -> types.Tool:
    return types.Tool(
        name=operation.name,
        title=operation.title,
        description=tool.description,
        input_schema=input_schema(
            operation.request,
            tool.fields,
            required={operation.main_field} if operation.main_is_text else (),
            described=_TO_A_MODEL,
        ),
        output_schema=output_schema((operation.response, *operation.others), tool.results, _ADDED),
        annotations=types.ToolAnnotations(
            read_only_hint=operation.reads_only, destructive_hint=operation.destroys, open_world_hint=False
        ),
        # Some hosts show a model only the names of tools until it searches: a memory that has to be searched for is
        # a memory that is not used. What is called now and then may be searched for.
        _meta={"anthropic/alwaysLoad": True} if tool.profile == "default" else None,
    )
