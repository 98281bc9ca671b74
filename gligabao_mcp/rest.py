"""The REST door: one route per operation, and every failure as a JSON object with `error`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn, cast

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from core.errors import InvalidRequest
from gligabao_mcp.bodies import read_body
from gligabao_mcp.callers import caller_of, parse_for
from gligabao_mcp.envelope import enveloped, is_of_graph
from gligabao_mcp.errors import Failure, failure
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.hanging_up import unless_gone
from gligabao_mcp.operation import Operation
from gligabao_mcp.operations import OPERATIONS


def routes(handle: CoreHandle, *, admin: bool) -> list[Route]:
    """One route per operation of the memory; without those for the admin, unless they are open."""
    return [_route(operation, handle) for operation in OPERATIONS if admin or not operation.admin]


def answer(shown: Failure, scope: Scope, status: int | None = None) -> JSONResponse:
    """A failure as an HTTP response to the request of this scope."""
    status = status or shown.numbers.status
    body = enveloped(shown, scope, status) if is_of_graph(scope["path"]) else shown.body()
    return JSONResponse(body, status_code=status, headers=shown.headers)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """What the router itself refuses (no such path, wrong method), in the envelope of all failures."""
    assert isinstance(error, HTTPException)
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "invalid_request")
    response = answer(Failure(code, error.detail.lower()), request.scope, error.status_code)
    response.headers.update(error.headers or {})
    return response


def _route(operation: Operation[Any, Any], handle: CoreHandle) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            parsed = parse_for(caller_of(request), operation, await _payload(operation, request))
            call = handle.run(operation, parsed)
            body = await (unless_gone(request, call) if operation.observed else call)
            return JSONResponse(body, status_code=202 if operation.is_accepted(body) else 200)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except Exception as error:
            return answer(failure(error), request.scope)

    return Route(_routed(operation), endpoint, methods=[operation.method], name=operation.name)


def _routed(operation: Operation[Any, Any]) -> str:
    """The path for the router. What its last field names may hold a slash: it is sent as %2F and reaches us decoded."""
    last = operation.path_fields[-1] if operation.path.endswith("}") else ""
    names = last and operation.request.model_fields[last].annotation is str
    return operation.path.replace(f"{{{last}}}", f"{{{last}:path}}") if names else operation.path


async def _payload(operation: Operation[Any, Any], request: Request) -> object:
    """The request as JSON would say it: the body or the query string, and what the path names."""
    if operation.method == "GET":
        return {**query_fields(request), **request.path_params}
    payload = read_json(await read_body(request, operation.max_bytes))
    if not request.path_params or not isinstance(payload, Mapping):
        return payload
    return {**cast("Mapping[str, object]", payload), **request.path_params}


def query_fields(request: Request) -> dict[str, str]:
    """The fields of the query string; raises InvalidRequest for one that is there twice."""
    repeated = sorted({name for name in request.query_params if len(request.query_params.getlist(name)) > 1})
    if repeated:
        raise InvalidRequest(f"{repeated[0]}: is given more than once", param=repeated[0])
    return dict(request.query_params)


def read_json(body: bytes) -> object:
    """The JSON value of a body, whatever content type it was sent as; raises InvalidRequest."""
    try:
        return json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise InvalidRequest("the request body is not valid JSON") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
