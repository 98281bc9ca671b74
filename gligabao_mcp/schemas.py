"""JSON schemas of the operations' models, plain enough for every MCP client and model provider."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, cast

from pydantic import BaseModel

Schema = dict[str, Any]

# What costs tokens and tells a model nothing it can act on. `required` of results goes because an error result has
# other fields, and there are clients that hold those against the schema too.
_NOISE = frozenset({"title", "default", "$defs"})
# Of arguments, what no model runs into, and what the error says to the one that does.
_LIMITS = frozenset({"minimum", "maximum", "exclusiveMaximum", "maxLength", "maxItems", "format"})


def input_schema(
    model: type[BaseModel],
    fields: Sequence[str],
    *,
    required: Collection[str] = (),
    described: Mapping[str, str] = MappingProxyType({}),
) -> Schema:
    """The schema of a tool's arguments: these fields alone, flat, without references, unions or null. `required` are
    those that the request could do without, where the door offers no way around them; `described` are fields of which
    it says something else than the request."""
    whole = _plain(model, "validation", _NOISE | _LIMITS)
    asked = [*whole.get("required", []), *required]
    said = {name: {"description": described[name]} if name in described else {} for name in fields}
    return {
        "type": "object",
        "properties": {name: whole["properties"][name] | said[name] for name in fields},
        "required": [name for name in fields if name in asked],
        "additionalProperties": False,
    }


def output_schema(models: Sequence[type[BaseModel]], fields: Sequence[str], more: Mapping[str, Schema]) -> Schema:
    """The schema of a tool's structured result, which is one of the models: these of its fields, or of `more` that the
    door adds. Of a field that several models have it says what holds for all of them: clients refuse a result that
    breaks the schema. Of the items of a list it says the type and no more: a model reads the items themselves."""
    properties: Schema = {}
    for model in map(_properties, models):
        for name in model.keys() & {*fields}:
            known = properties.get(name, model[name])
            properties[name] = {key: value for key, value in known.items() if model[name].get(key) == value}
    properties = {**more, **properties}
    return {"type": "object", "properties": {name: properties[name] for name in fields}}


def _properties(model: type[BaseModel]) -> Schema:
    return _typed(_plain(model, "serialization", _NOISE))["properties"]


def _plain(model: type[BaseModel], mode: Literal["validation", "serialization"], left_out: Collection[str]) -> Schema:
    whole = model.model_json_schema(mode=mode)
    plain = _simplified(whole, whole.get("$defs", {}), left_out)
    assert isinstance(plain, dict)
    return cast("Schema", plain)


def _simplified(part: object, defs: Mapping[str, Schema], left_out: Collection[str]) -> object:
    if isinstance(part, list):
        return [_simplified(item, defs, left_out) for item in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    schema = cast("Schema", part)
    if "$ref" in schema:
        known = defs[str(schema["$ref"]).rsplit("/", 1)[-1]]
        schema = {**known, **{key: value for key, value in schema.items() if key != "$ref"}}
    if "anyOf" in schema:
        schema = _without_null(schema)
    if isinstance(schema.get("type"), list):  # some providers know one type alone; a number may come as a string
        schema: Schema = {**schema, "type": "string"}
    if "properties" in schema:  # names of fields are no keywords: a field may be called title
        properties = {name: _simplified(value, defs, left_out) for name, value in schema["properties"].items()}
        schema = {**schema, "properties": properties}
    kept = {key: value for key, value in schema.items() if key not in left_out}
    plain = {key: value if key == "properties" else _simplified(value, defs, left_out) for key, value in kept.items()}
    if "items" in plain and "description" in plain:  # the list says what its items are
        cast("Schema", plain["items"]).pop("description", None)
    return plain


def _without_null(schema: Schema) -> Schema:
    choices = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**choices[0], **rest} if len(choices) == 1 else {**rest, "anyOf": choices}


def _typed(schema: Mapping[str, Any]) -> Schema:
    """The types of a result without their descriptions."""
    types = {choice.get("type") for choice in schema.get("anyOf", [schema])}
    one = types.pop() if len(types) == 1 else None
    typed: Schema = {"type": one} if one else {}
    if "type" in schema.get("items", {}):
        typed["items"] = {"type": schema["items"]["type"]}
    if "properties" in schema:
        typed["properties"] = {name: _typed(value) for name, value in schema["properties"].items()}
    return typed
