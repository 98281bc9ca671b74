"""What a model sees: one tool per operation that is one, generated from the table of operations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import mcp_types as types

from gligabao_mcp.operations import OPERATIONS, Operation, Tool
from gligabao_mcp.schemas import Schema, input_schema, output_schema

Profile = Literal["default", "full"]

_SESSION: Mapping[str, Schema] = {"session_id": {"type": "string"}, "session_source": {"type": "string"}}


@cache
def tools(profile: Profile = "default") -> tuple[types.Tool, ...]:
    """The tools of a profile, in the order of the table."""
    return tuple(_tool(operation, tool) for operation, tool in _rows(profile))


@cache
def operations(profile: Profile = "default") -> Mapping[str, Operation[Any, Any]]:
    """The operations of a profile by the names of their tools."""
    return {operation.name: operation for operation, _ in _rows(profile)}


def _rows(profile: Profile) -> list[tuple[Operation[Any, Any], Tool]]:
    return [(row, row.tool) for row in OPERATIONS if row.tool and row.tool.profile in ("default", profile)]


def _tool(operation: Operation[Any, Any], tool: Tool) -> types.Tool:
    return types.Tool(
        name=operation.name,
        title=operation.title,
        description=f"{operation.summary} {tool.when}",
        input_schema=input_schema(
            operation.request,
            tool.fields,
            optional={"user_id"},
            required={operation.main_field} if operation.main_is_text else (),
        ),
        output_schema=output_schema(operation.response, _SESSION, operation.others),
        annotations=types.ToolAnnotations(
            title=operation.title,
            read_only_hint=operation.reads_only,
            destructive_hint=operation.destroys,
            idempotent_hint=operation.reads_only,
            open_world_hint=False,
        ),
        # Some hosts show a model only the names of tools until it searches: a memory that has to be searched for is
        # a memory that is not used.
        _meta={"anthropic/alwaysLoad": True},
    )
