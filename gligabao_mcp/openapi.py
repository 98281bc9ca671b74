"""The OpenAPI document, generated from the table of operations."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from typing import Any

from pydantic.json_schema import models_json_schema

from gligabao_mcp import __version__
from gligabao_mcp.errors import TABLE
from gligabao_mcp.operations import OPERATIONS, Operation

_REF = "#/components/schemas/{model}"


@cache
def document() -> dict[str, Any]:
    """OpenAPI 3.1: one POST per operation, the two health routes, and every failure with what it means."""
    models = [
        *((operation.request, "validation") for operation in OPERATIONS),
        *((operation.response, "serialization") for operation in OPERATIONS),
    ]
    _, definitions = models_json_schema(models, ref_template=_REF)  # pyright: ignore[reportArgumentType]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "gligabao-mcp",
            "version": __version__,
            "summary": "A memory for AI agents: dated facts with their sources.",
        },
        "paths": {
            **{operation.path: {"post": _post(operation)} for operation in OPERATIONS},
            "/healthz": {"get": _health("healthz", "The process runs.")},
            "/readyz": {"get": _health("readyz", "The database is open and answers.")},
        },
        "components": {"schemas": {**definitions["$defs"], "Error": _error_schema()}},
    }


def _post(operation: Operation[Any, Any]) -> dict[str, Any]:
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "requestBody": {
            "required": True,
            "description": f"A JSON object of at most {operation.max_bytes} bytes.",
            "content": _json(operation.request.__name__),
        },
        "responses": {
            "200": {"description": "Done.", "content": _json(operation.response.__name__)},
            **_failures(),
        },
    }


def _failures() -> dict[str, Any]:
    meanings: dict[int, list[str]] = {}
    for code, numbers in TABLE.items():
        if numbers.status != HTTPStatus.METHOD_NOT_ALLOWED:
            meanings.setdefault(numbers.status, []).append(f"`{code}`: {numbers.meaning}")
    return {
        str(status): {"description": "\n".join(meanings[status]), "content": _json("Error")}
        for status in sorted(meanings)
    }


def _health(name: str, meaning: str) -> dict[str, Any]:
    status = {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}
    return {
        "operationId": name,
        "summary": meaning,
        "responses": {"200": {"description": meaning, "content": {"application/json": {"schema": status}}}},
    }


def _json(model: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.format(model=model)}}}


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
