"""The REST door: one route per operation, and every failure as a JSON object with `error`."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from core.errors import InvalidRequest
from gligabao_mcp.bodies import read_body
from gligabao_mcp.errors import Failure, failure
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.operations import OPERATIONS, Operation, parse


def routes(handle: CoreHandle) -> list[Route]:
    """One POST route per operation."""
    return [_route(operation, handle) for operation in OPERATIONS]


def answer(shown: Failure, status: int | None = None) -> JSONResponse:
    """A failure as an HTTP response."""
    return JSONResponse(shown.body(), status_code=status or shown.numbers.status, headers=shown.headers)


async def on_http_exception(_request: Request, error: Exception) -> Response:
    """What the router itself refuses (no such path, wrong method), in the envelope of all failures."""
    assert isinstance(error, HTTPException)
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "invalid_request")
    response = answer(Failure(code, error.detail.lower()), error.status_code)
    response.headers.update(error.headers or {})
    return response


def _route(operation: Operation[Any, Any], handle: CoreHandle) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            parsed = parse(operation, read_json(await read_body(request, operation.max_bytes)))
            return JSONResponse(await handle.run(operation, parsed))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except Exception as error:
            return answer(failure(error))

    return Route(operation.path, endpoint, methods=["POST"], name=operation.name)


def read_json(body: bytes) -> object:
    """The JSON value of a body, whatever content type it was sent as; raises InvalidRequest."""
    try:
        return json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise InvalidRequest("the request body is not valid JSON") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
