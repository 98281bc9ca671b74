"""What OpenAPI says of the routes of a graph: where their fields come from, and how their failures look, differs from
those of the memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.graphs.requests import GraphRead
from gligabao_mcp.envelope import WIRE_VERSION
from gligabao_mcp.errors import TABLE
from gligabao_mcp.operation import Operation

Schema = dict[str, Any]

_GRAPH = {
    "name": "graph",
    "in": "query",
    "required": False,
    "description": "The dataset. Default: main.",
    "schema": {"type": "string"},
}
_IDEMPOTENCY_KEY = {
    "name": "idempotency-key",
    "in": "header",
    "required": False,
    "description": "A name for this write: sent again with the same content, it is answered alike and writes nothing.",
    "schema": {"type": "string"},
}
_EVENTS = "Each step as a server-sent event: its name, and its data as JSON on one line."
# What belongs to a request as such, and is therefore shown beside `graph` though it may stand in the body, too.
_IN_THE_URL = tuple(name for name in GraphRead.model_fields if name != "dataset")


def described(
    operation: Operation[Any, Any],
    parameters: Callable[..., list[Schema]],
    answers: Callable[..., Schema],
    failures: Mapping[str, Schema],
) -> Schema:
    """The operation without its security. `parameters` and `answers` make the parameters and the JSON content of
    models."""
    shown: Schema = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [_GRAPH, *_parameters(operation, parameters)],
        "responses": {"200": _done(operation, answers), **failures},
    }
    if operation.body_field:
        shown["requestBody"] = {"required": True, "content": _raw(operation)}
    elif operation.method in ("POST", "PUT"):
        shown["requestBody"] = {
            "required": _asks_for_something(operation),
            "description": f"A JSON object of at most {operation.max_bytes} bytes.",
            "content": answers(operation.request.__name__),
        }
    return shown


def _parameters(operation: Operation[Any, Any], parameters: Callable[..., list[Schema]]) -> list[Schema]:
    """Those of the URL and the headers; the user may be left out."""
    in_body = operation.method in ("POST", "PUT") and not operation.body_field
    fields = operation.request.model_fields
    left_out = {"dataset", "idempotency_key", operation.body_field, *(fields if in_body else ())} - {*_IN_THE_URL}
    shown = [one for one in parameters(operation.request, operation.path_fields) if one["name"] not in left_out]
    shown = [one | {"required": one["required"] and one["name"] != "user_id"} for one in shown]
    return [*shown, _IDEMPOTENCY_KEY] if "idempotency_key" in fields else shown


def _raw(operation: Operation[Any, Any]) -> Schema:
    field = operation.request.model_json_schema(mode="validation")["properties"][operation.body_field]
    schema = {name: value for name, value in field.items() if name in ("type", "format")}
    return {kind: {"schema": schema} for kind in operation.media_types or ("text/plain",)}


def _done(operation: Operation[Any, Any], answers: Callable[..., Schema]) -> Schema:
    if operation.says_nothing:
        return {"description": "Done. The body is empty."}
    content = answers(*(model.__name__ for model in (operation.response, *operation.others)))
    if operation.events:
        content |= {"text/event-stream": {"schema": {"type": "string", "description": _EVENTS}}}
    return {"description": "Done.", "content": content}


def _asks_for_something(operation: Operation[Any, Any]) -> bool:
    fields = operation.request.model_fields.items()
    return any(field.is_required() for name, field in fields if name not in _IN_THE_URL)


def without_user(definitions: dict[str, Schema], operations: Sequence[Operation[Any, Any]]) -> None:
    """Takes back that requests of these operations must name a user."""
    for operation in operations:
        schema = definitions.get(operation.request.__name__, {})
        if "user_id" in schema.get("required", ()):
            schema["required"] = [name for name in schema["required"] if name != "user_id"]


def version() -> Schema:
    """GET /version."""
    meaning = "What these routes are to their clients: the version of their contract and what they serve."
    names = ("version", "git_commit", "built_at", "persisted_format")
    properties: Schema = {name: {"type": "string"} for name in names}
    properties["version"]["const"] = WIRE_VERSION
    properties["capabilities"] = {"type": "array", "items": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    return {
        "operationId": "version",
        "summary": meaning,
        "responses": {"200": {"description": meaning, "content": {"application/json": {"schema": schema}}}},
    }


def error_schema() -> Schema:
    """A failure on these routes."""
    text = {"type": "string"}
    error: Schema = {
        "type": {**text, "description": "The kind of failure: invalid_request_error, auth_error, api_error, ..."},
        "code": {**text, "enum": list(TABLE), "description": "What went wrong, for a program."},
        "message": {**text, "description": "What went wrong, for a person."},
        "param": {**text, "description": "The field that is wrong."},
        "request_id": {**text, "description": "As in the header x-request-id."},
        "doc_url": {"type": ["string", "null"]},
        "retryable": {"type": "boolean", "description": "Whether the same may be answered some seconds later."},
        "retry_after_seconds": {"type": "integer"},
        "details": {"type": "object"},
        "did_you_mean": {**text, "description": "What is called in place of a route that is gone."},
    }
    required = ["type", "code", "message", "request_id", "doc_url"]
    return {
        "type": "object",
        "properties": {
            "error": {"type": "object", "properties": error, "required": required},
            "did_you_mean": error["did_you_mean"],
        },
        "required": ["error"],
    }
