"""JSON schemas of the operations' models, plain enough for every MCP client and model provider."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import BaseModel

Schema = dict[str, Any]

# What costs tokens and tells a model nothing it can act on. `required` of results goes because an error result has
# other fields, and there are clients that hold those against the schema too.
_NOISE = frozenset({"title", "default", "$defs"})


def input_schema(
    model: type[BaseModel], fields: Sequence[str], *, optional: Collection[str] = (), required: Collection[str] = ()
) -> Schema:
    """The schema of a tool's arguments: these fields alone, flat, without references, unions or null. `optional` and
    `required` say otherwise than the request: a door may fill in the one, and offer no way around the other."""
    whole = _plain(model, "validation")
    asked = [*whole.get("required", []), *required]
    required = [name for name in fields if name in asked and name not in optional]
    return {
        "type": "object",
        "properties": {name: whole["properties"][name] for name in fields},
        "required": required,
        "additionalProperties": False,
    }


def output_schema(model: type[BaseModel], more: Mapping[str, Schema], others: Sequence[type[BaseModel]] = ()) -> Schema:
    """The schema of a tool's structured result, with `more` properties that the door adds. Of a property that results
    of `others` have too it says what holds for all of them: clients refuse a result that breaks the schema."""
    properties = _properties(model)
    for other in map(_properties, others):
        for name in properties.keys() & other.keys():
            properties[name] = {k: v for k, v in properties[name].items() if other[name].get(k) == v}
    return {"type": "object", "properties": {**properties, **more}}


def _properties(model: type[BaseModel]) -> Schema:
    return _without_words(_plain(model, "serialization")["properties"])


def _plain(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> Schema:
    whole = model.model_json_schema(mode=mode)
    plain = _simplified(whole, whole.get("$defs", {}))
    assert isinstance(plain, dict)
    return cast("Schema", plain)


def _simplified(part: object, defs: Mapping[str, Schema]) -> object:
    if isinstance(part, list):
        return [_simplified(item, defs) for item in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    schema = cast("Schema", part)
    if "$ref" in schema:
        known = defs[str(schema["$ref"]).rsplit("/", 1)[-1]]
        schema = {**known, **{key: value for key, value in schema.items() if key != "$ref"}}
    if "anyOf" in schema:
        schema = _without_null(schema)
    if "properties" in schema:  # names of fields are no keywords: a field may be called title
        properties = {name: _simplified(value, defs) for name, value in schema["properties"].items()}
        schema = {**schema, "properties": properties}
    kept = {key: value for key, value in schema.items() if key not in _NOISE}
    return {key: value if key == "properties" else _simplified(value, defs) for key, value in kept.items()}


def _without_null(schema: Schema) -> Schema:
    choices = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**choices[0], **rest} if len(choices) == 1 else {**rest, "anyOf": choices}


def _without_words(properties: Mapping[str, Any]) -> Schema:
    return {name: _typed(value) for name, value in properties.items()}


def _typed(schema: Mapping[str, Any]) -> Schema:
    """The types of a result without their descriptions: a model reads the result itself."""
    typed: Schema = {key: schema[key] for key in ("type", "enum") if key in schema}
    if "items" in schema:
        typed["items"] = _typed(schema["items"])
    if "properties" in schema:
        typed["properties"] = _without_words(schema["properties"])
    return typed
