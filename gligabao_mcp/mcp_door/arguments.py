"""Arguments of tools as models write them, read as the operation takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from gligabao_mcp.operation import Operation
from gligabao_mcp.schemas import Schema, input_schema


def read_arguments(operation: Operation[Any, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with what models do to them undone: a list or an object that came as a JSON string is read, also
    one inside another, and what is null counts as not given. A text stays as it is, even one that is JSON."""
    return cast("dict[str, Any]", _read(given, _shape(operation)))


def _read(value: object, schema: Schema) -> object:
    declared = schema.get("type")
    if isinstance(value, str) and declared in ("array", "object"):
        value = _unquoted(value)
    if isinstance(value, list) and declared == "array":
        return [_read(item, schema.get("items", {})) for item in cast("list[object]", value)]
    if isinstance(value, Mapping) and declared == "object":
        fields: Schema = schema.get("properties", {})
        stated = cast("Mapping[str, object]", value).items()
        return {name: _read(part, fields.get(name, {})) for name, part in stated if part is not None}
    return cast("object", value)


def _unquoted(text: str) -> object:
    try:
        read: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return cast("object", read) if isinstance(read, list | dict) else text


@cache
def _shape(operation: Operation[Any, Any]) -> Schema:
    """The schema of all that the operation takes, what its tool does not list included."""
    fields = operation.request.model_fields.items()
    return input_schema(operation.request, [field.alias or name for name, field in fields])
