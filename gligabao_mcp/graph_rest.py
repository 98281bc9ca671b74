"""The REST routes of a graph: the dataset is the parameter `graph`, any field may come in the URL or in the body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from core.config import Config
from core.errors import InvalidRequest
from core.graphs.requests import GraphRead
from core.times import rfc3339
from core.uploads import Upload
from gligabao_mcp import __version__
from gligabao_mcp.bodies import read_body, receive_upload
from gligabao_mcp.callers import caller_of, parse_for, scope_of
from gligabao_mcp.envelope import WIRE_VERSION
from gligabao_mcp.errors import Failure, failure
from gligabao_mcp.event_stream import Running, event_stream, wants_events
from gligabao_mcp.graph_operations import GRAPH_OPERATIONS
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.hanging_up import unless_gone
from gligabao_mcp.operation import Operation
from gligabao_mcp.operations import Parsed, execute
from gligabao_mcp.rest import answer, query_fields, read_json

# What clients say of their accounts, and of versions of a graph that there are none of here.
IGNORED = ("stack", "branch")
# Fields of every request of a graph: wrong ones are told alike by all operations.
_SHARED = {*GraphRead.model_fields}


def graph_routes(handle: CoreHandle, config: Config) -> list[Route]:
    """One route per operation of a graph, and GET /version, which tells a client what it may use of them."""
    told = {
        "version": WIRE_VERSION,
        "capabilities": sorted(f"{operation.name}_v1" for operation in GRAPH_OPERATIONS),
        "git_commit": f"v{__version__}",
        "built_at": _built_at(),
        "persisted_format": f"gligabao-mcp {__version__}",
    }

    async def version(_request: Request) -> Response:
        return JSONResponse(told)

    return [Route("/version", version), *(_route(operation, handle, config) for operation in GRAPH_OPERATIONS)]


def _built_at() -> str:
    """When this release was put where it runs."""
    return rfc3339(datetime.fromtimestamp(Path(__file__).stat().st_mtime, UTC))


def _route(operation: Operation[Any, Any], handle: CoreHandle, config: Config) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            parsed = await _parsed(operation, request, config)
            if operation.events and wants_events(request):
                running = Running(handle, operation, parsed)
                return await event_stream(request, running, lambda error: _shown(operation, error))
            body = await _answered(operation, request, handle, parsed)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except Exception as error:
            return answer(_shown(operation, error), request.scope)
        return Response() if operation.says_nothing else JSONResponse(body)

    return Route(operation.path, endpoint, methods=[operation.method], name=operation.name)


async def _answered(
    operation: Operation[Any, Any], request: Request, handle: CoreHandle, parsed: Parsed[Any]
) -> dict[str, Any]:
    """The response body. Whoever hangs up stops a read, and nothing that writes."""
    upload = getattr(parsed.request, operation.body_field, None) if operation.body_field else None
    if not isinstance(upload, Upload):
        return await unless_gone(request, handle.run(operation, parsed))

    async def work() -> dict[str, Any]:
        with upload.file:
            return await execute(operation, await handle.core(), parsed)

    return await unless_gone(request, handle.finish(work()))


# What was sent --------------------------------------------------------------------------------------------------------


async def _parsed(operation: Operation[Any, Any], request: Request, config: Config) -> Parsed[Any]:
    """The request of the operation. Raises InvalidRequest, TooLarge and Forbidden."""
    caller = caller_of(request)
    if caller is not None:
        caller.needs(scope_of(operation))  # before a body is read that may be large
    fields = _parameters(operation, request)
    if operation.body_field:
        return await _with_raw_body(operation, request, fields, config)
    if operation.method in ("POST", "PUT"):
        body = await _json_object(operation, request)
        if both := sorted(fields.keys() & body.keys()):
            raise InvalidRequest(f"{both[0]}: is given in the URL and in the body", param=both[0])
        fields |= body
    return _read(operation, request, fields, config)


def _read(
    operation: Operation[Any, Any], request: Request, fields: Mapping[str, object], config: Config
) -> Parsed[Any]:
    """The request in its fields. Who asks is the user of the token, else of the request, else of the settings."""
    for name in operation.removed:
        if name in fields:
            raise InvalidRequest(f"{name}: is not taken any more", param=name)
    caller = caller_of(request)
    if caller is None and "user_id" in operation.request.model_fields:
        fields = {**fields, "user_id": fields.get("user_id") or config.user_id}
    return parse_for(caller, operation, fields)


def _parameters(operation: Operation[Any, Any], request: Request) -> dict[str, object]:
    """The fields that stand in the URL, and the one that is a header."""
    fields: dict[str, object] = {**query_fields(request), **request.path_params}
    graph = fields.pop("graph", None)
    for name in IGNORED:
        fields.pop(name, None)
    if "idempotency_key" in operation.request.model_fields and (key := request.headers.get("idempotency-key")):
        fields.setdefault("idempotency_key", key)
    if graph is None or "dataset" not in operation.request.model_fields:
        return fields
    if "dataset" in fields:
        raise InvalidRequest("graph: is given as dataset, too", param="graph")
    return {**fields, "dataset": graph}


async def _json_object(operation: Operation[Any, Any], request: Request) -> Mapping[str, object]:
    """The fields in the body; none where it is empty. Raises InvalidRequest and TooLarge."""
    content = await read_body(request, operation.max_bytes)
    body: object = read_json(content) if content.strip() else {}
    if not isinstance(body, Mapping):
        raise InvalidRequest("the request must be a JSON object")
    return cast("Mapping[str, object]", body)


async def _with_raw_body(
    operation: Operation[Any, Any], request: Request, fields: dict[str, object], config: Config
) -> Parsed[Any]:
    name = operation.body_field
    if name in fields:
        raise InvalidRequest(f"{name}: is the body of the request, no parameter", param=name)
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    stated = {**operation.media_types.get(media_type, {}), **fields}
    if operation.request.model_fields[name].annotation is str:
        content = await read_body(request, operation.max_bytes)
        return _read(operation, request, {**stated, name: _utf8(content, name)}, config)
    upload = await receive_upload(request, config.max_import_bytes)
    try:
        return _read(operation, request, {**stated, name: upload}, config)
    except BaseException:
        upload.file.close()
        raise


def _utf8(content: bytes, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InvalidRequest(f"{name}: must be UTF-8", param=name) from None


# What is refused ------------------------------------------------------------------------------------------------------


def _shown(operation: Operation[Any, Any], error: Exception) -> Failure:
    """The failure, by the names that clients of these routes know."""
    shown = failure(error)
    named = re.split(r"[.\[]", shown.param or "")[0]
    if named == "dataset":
        return replace(shown, param="graph", message=re.sub("^dataset: ", "graph: ", shown.message))
    own = {field.alias or name for name, field in operation.request.model_fields.items()}
    is_own = shown.code == InvalidRequest.code and named in {*own, *operation.removed} - _SHARED
    if is_own and operation.refused_as != InvalidRequest.code:
        # Such a code comes with the name of a field, not of a place inside it.
        return replace(shown, code=operation.refused_as, param=named)
    return shown
