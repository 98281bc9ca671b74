"""What models write as arguments: whatever it is, it is read as it was meant or refused in one line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from core.errors import InvalidRequest
from gligabao_mcp.ask_tool import ASK_TOOL
from gligabao_mcp.errors import MAX_LINE
from gligabao_mcp.every_operation import EVERY
from gligabao_mcp.mcp_door.arguments import read_arguments
from gligabao_mcp.mcp_door.tools import operations
from gligabao_mcp.operation import Operation
from gligabao_mcp.operations import REMEMBER, TOOLS_ALONE, parse

EDGE = {"source": "Alice", "target": "Paris", "relation": "lives in"}
WHOLE: dict[str, dict[str, Any]] = {
    "remember": {"user_id": "u1", "text": "Alice lives in Paris.", "edges": [EDGE]},
    "remember_status": {"user_id": "u1", "remember_run_id": 1},
    "query": {"user_id": "u1", "query": "Alice?"},
    "forget": {"user_id": "u1", "scope": "edge", "id": 1},
    "browse": {"user_id": "u1", "what": "edges"},
}
VALUES: tuple[Any, ...] = (
    *("hearsay", "", " ", "5", "-5", "true", "null", "[]", "{}", '["hearsay"]', '{"a": "hearsay"}', "[" * 9_000),
    *(5, -5, 0, 1.5, 10**30, True, False, None, [], {}, ["hearsay"], [["hearsay"]], {"a": "hearsay"}, [None], [{}]),
    *(
        "hearsay " * 40_000,
        "hearsay\x00\n",
        "\ud800",
        [EDGE | {"a": "hearsay"}],
        [{"text": "hearsay", "id": ["hearsay"]}],
    ),
)


@pytest.mark.parametrize("tool", WHOLE)
def test_any_value_of_any_argument_is_taken_or_refused_in_one_line(tool: str) -> None:
    operation = operations("full")[tool]
    for name in operation.request.model_fields:
        for value in VALUES:
            said = refusal(operation, WHOLE[tool] | {name: value})
            assert "hearsay" not in said and "\n" not in said, (name, value)
            assert len(said) <= MAX_LINE


@pytest.mark.parametrize("operation", (*EVERY, *TOOLS_ALONE, ASK_TOOL), ids=lambda operation: operation.name)
def test_true_is_no_number_in_any_field_of_any_operation(operation: Operation[Any, Any]) -> None:
    schemas = operation.request.model_json_schema()["properties"]
    others = ("id", "v")  # a name too, and what is always 1
    numbers = [name for name, schema in schemas.items() if is_number(schema) and name not in others]
    for name in numbers:
        assert f"{name}: must be a whole number" in refusal(operation, {"user_id": "u1", name: True})
        assert f"{name}: " not in refusal(operation, {"user_id": "u1", name: "5"})


def is_number(schema: Mapping[str, Any]) -> bool:
    return any(choice.get("type") == "integer" for choice in schema.get("anyOf", [schema]))


def refusal(operation: Operation[Any, Any], given: dict[str, Any]) -> str:
    """The line of a call that is refused; empty for one that is taken."""
    named = operation.tool.fields if operation.tool else ()
    try:
        parse(operation, read_arguments(operation, given), named=named)
    except InvalidRequest as error:
        return error.message
    return ""


@pytest.mark.parametrize(
    "edges",
    [
        [EDGE],
        json.dumps([EDGE]),
        [json.dumps(EDGE)],
        json.dumps([json.dumps(EDGE)]),
        [EDGE | {"valid_at": None, "description": None}],
        f" {json.dumps([EDGE], indent=2)}\n",
    ],
)
def test_a_list_of_objects_is_read_however_it_was_quoted(edges: object) -> None:
    """C095: lists as strings."""
    read = read_arguments(REMEMBER, {"text": "x", "edges": edges})
    assert read == {"text": "x", "edges": [EDGE]}


def test_only_what_is_declared_as_a_list_or_an_object_is_read_from_a_string() -> None:
    given = {"text": "[1]", "session_id": '{"a": 1}', "unknown": "[1]", "entities": [{"name": "[1]"}], "edges": "[1"}
    assert read_arguments(REMEMBER, given) == given


def test_what_is_null_is_not_given() -> None:
    given = {"text": "x", "kind": None, "messages": [{"text": "x", "speaker": None}], "unknown": None}
    assert read_arguments(REMEMBER, given) == {"text": "x", "messages": [{"text": "x"}]}
