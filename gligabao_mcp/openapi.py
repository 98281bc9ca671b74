"""The OpenAPI document, generated from the table of operations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from core.access import AccessScope
from gligabao_mcp import __version__, graph_openapi, transfer
from gligabao_mcp.bearer import WELL_KNOWN
from gligabao_mcp.callers import scope_of
from gligabao_mcp.errors import TABLE
from gligabao_mcp.every_operation import EVERY
from gligabao_mcp.graph_operations import GRAPH_OPERATIONS
from gligabao_mcp.operation import Operation

_TOKEN = (
    "Asked for where the setting `tokens` says so. The user comes from the token: `user_id` may be left out, and "
    "another user is refused with 403."
)
_REF = "#/components/schemas/{model}"
# The envelopes of failures: of the memory, and of a graph.
ERROR, GRAPH_ERROR = "Error", "GraphError"


@cache
def document() -> dict[str, Any]:
    """OpenAPI 3.1: every operation, health, metrics, and every failure with what it means."""
    models = [
        *((operation.request, "validation") for operation in EVERY if not operation.body_field),
        *((model, "serialization") for operation in EVERY for model in (operation.response, *operation.others)),
        *transfer.MODELS,
    ]
    _, definitions = models_json_schema(models, ref_template=_REF)  # pyright: ignore[reportArgumentType]
    graph_openapi.without_user(definitions["$defs"], GRAPH_OPERATIONS)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "gligabao-mcp",
            "version": __version__,
            "summary": "A memory for AI agents: dated facts with their sources.",
        },
        "paths": {
            **_paths(),
            **transfer.described(_parameters, _failures(), _json, security),
            "/healthz": {"get": _health("healthz", "The process runs.")},
            "/readyz": {"get": _health("readyz", "The database is open and answers.")},
            "/metrics": {"get": _metrics()},
            "/version": {"get": graph_openapi.version()},
            f"{WELL_KNOWN}oauth-protected-resource/v1/gb/mcp": {"get": _metadata()},
        },
        "components": {
            "schemas": {
                **definitions["$defs"],
                ERROR: _error_schema(),
                GRAPH_ERROR: graph_openapi.error_schema(),
            },
            "responses": {**_failure_responses(ERROR), **_failure_responses(GRAPH_ERROR)},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": _TOKEN}},
        },
    }


def _paths() -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for operation in EVERY:
        described = _of_graph(operation) if operation.of_graph else _of_memory(operation)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    return paths


def _of_memory(operation: Operation[Any, Any]) -> dict[str, Any]:
    return _get(operation) if operation.method == "GET" else _post(operation)


def _of_graph(operation: Operation[Any, Any]) -> dict[str, Any]:
    failures = _failures(GRAPH_ERROR)
    shown = graph_openapi.described(operation, _parameters, _json, failures)
    return {**shown, "security": security(scope_of(operation))}


def _get(operation: Operation[Any, Any]) -> dict[str, Any]:
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "security": security(scope_of(operation)),
        "parameters": _parameters(operation.request, operation.path_fields),
        "responses": {
            **_done(operation),
            **_failures(),
        },
    }


def security(scope: AccessScope) -> list[dict[str, list[AccessScope]]]:
    """What a request shows: nothing, or where tokens are asked for a token of this scope."""
    return [{}, {"token": [scope]}]


def _parameters(request: type[BaseModel], path_fields: Sequence[str] = ()) -> list[dict[str, Any]]:
    schema = request.model_json_schema(mode="validation")
    return [
        {
            "name": name,
            "in": "path" if name in path_fields else "query",
            "required": name in schema.get("required", ()) or name in path_fields,
            "description": field.get("description", ""),
            "schema": _schema_of(field),
        }
        for name, field in schema["properties"].items()
    ]


def _schema_of(field: dict[str, Any]) -> dict[str, Any]:
    """A parameter's schema; no default where it may be left out."""
    shown = {key: value for key, value in field.items() if key not in ("description", "title")}
    return {key: value for key, value in shown.items() if key != "default" or value is not None}


def _post(operation: Operation[Any, Any]) -> dict[str, Any]:
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "security": security(scope_of(operation)),
        "requestBody": {
            "required": True,
            "description": f"A JSON object of at most {operation.max_bytes} bytes.",
            "content": _json(operation.request.__name__),
        },
        "responses": {
            **_done(operation),
            **_failures(),
        },
    }


def _done(operation: Operation[Any, Any]) -> dict[str, Any]:
    """The answers of a call that went well, by status."""
    later = operation.accepted
    models = [operation.response, *(model for model in operation.others if model is not later)]
    done = {"200": {"description": "Done.", "content": _json(*(model.__name__ for model in models))}}
    if later is not None:
        done["202"] = {"description": "Kept, and not done yet.", "content": _json(later.__name__)}
    return done


def _failures(envelope: str = ERROR) -> dict[str, Any]:
    """Every failure by its status, told once for all operations (_failure_responses)."""
    return {status: {"$ref": f"#/components/responses/{envelope}{status}"} for status in _meanings()}


def _failure_responses(envelope: str) -> dict[str, Any]:
    """What the failures of each status mean, in one of the two envelopes."""
    return {
        f"{envelope}{status}": {"description": "\n".join(meanings), "content": _json(envelope)}
        for status, meanings in _meanings().items()
    }


def _meanings() -> dict[str, list[str]]:
    meanings: dict[str, list[str]] = {}
    for code, numbers in sorted(TABLE.items(), key=lambda row: row[1].status):
        if numbers.status != HTTPStatus.METHOD_NOT_ALLOWED:
            meanings.setdefault(str(numbers.status), []).append(f"`{code}`: {numbers.meaning}")
    return meanings


def _health(name: str, meaning: str) -> dict[str, Any]:
    status = {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}
    return {
        "operationId": name,
        "summary": meaning,
        "responses": {"200": {"description": meaning, "content": {"application/json": {"schema": status}}}},
    }


def _json(*models: str) -> dict[str, Any]:
    """A JSON body of one of these models."""
    refs = [{"$ref": _REF.format(model=model)} for model in models]
    return {"application/json": {"schema": refs[0] if len(refs) == 1 else {"anyOf": refs}}}


def _metrics() -> dict[str, Any]:
    meaning = "What was counted since the start, for Prometheus. Only where the setting `metrics` opens it."
    return {
        "operationId": "metrics",
        "summary": meaning,
        "security": security("admin"),
        "responses": {
            "200": {"description": meaning, "content": {"text/plain": {"schema": {"type": "string"}}}},
            **_failures(),
        },
    }


def _metadata() -> dict[str, Any]:
    """RFC 9728."""
    meaning = "What the MCP endpoint is to OAuth clients. Only where tokens are asked for; needs none itself."
    return {
        "operationId": "metadata",
        "summary": meaning,
        "responses": {
            "200": {"description": meaning, "content": {"application/json": {"schema": {"type": "object"}}}},
            **_failures(),
        },
    }


def _error_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "description": "A failure. One that saved something first also has the fields of the response.",
        "properties": {
            "error": {"type": "string", "description": "What went wrong, for a person."},
            "code": {"type": "string", "enum": list(TABLE), "description": "What went wrong, for a program."},
            "param": {"type": "string", "description": "The field that is wrong."},
        },
        "required": ["error", "code"],
    }
