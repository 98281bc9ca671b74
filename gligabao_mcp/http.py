"""The HTTP application: REST, MCP at /v1/gb/mcp, health and the OpenAPI document, for this machine alone by default."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from core.config import Config, Reach
from core.requests import MIB
from gligabao_mcp import rest
from gligabao_mcp.addresses import host_of, is_loopback
from gligabao_mcp.bodies import CleanBody
from gligabao_mcp.errors import Failure, failure
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.mcp_door.server import create_mcp_server
from gligabao_mcp.openapi import document
from gligabao_mcp.transfer import transfer_routes

if TYPE_CHECKING:
    from gligabao_mcp.metrics import Metrics

MCP_PATH = "/v1/gb/mcp"
# A text of 1 MiB in JSON escapes, which is the longest that remember takes, and its envelope.
MAX_MCP_BODY = 8 * MIB


def create_app(handle: CoreHandle, config: Config) -> Starlette:
    """The application. Its lifespan opens the core and closes it; one application is served once."""
    metrics = _metrics() if is_open(config.metrics, config.host) else None
    server = create_mcp_server(handle, config)
    mcp = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        max_request_body_size=MAX_MCP_BODY,
        # The check stands in front of the whole application instead: REST needs it as much.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        try:
            core = await handle.core()
            if metrics is not None:
                core.monitor.watched_by(metrics)
            async with server.session_manager.run():
                yield
        finally:
            await handle.close()

    routes = [
        *rest.routes(handle, admin=is_open(config.admin, config.host)),
        *transfer_routes(handle, config),
        *_plain_routes(handle, config),
        *_mcp_routes(mcp),
    ]
    middleware = [Middleware(LocalOnly)] if is_loopback(config.host) else []
    if metrics is not None:
        from gligabao_mcp.metrics import Counted, route

        routes.append(route(metrics, handle))
        middleware.insert(0, Middleware(Counted, metrics=metrics, routes=routes))
    app = Starlette(
        # MCP's own routes, not a mount: a mounted path would answer every call with a redirect first.
        routes=routes,
        middleware=middleware,
        exception_handlers={HTTPException: rest.on_http_exception},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


def is_open(reach: Reach, host: str) -> bool:
    """Whether a server on this address answers what is for this machine alone by default."""
    return reach == "on" or (reach == "loopback" and is_loopback(host))


def _metrics() -> Metrics:
    from gligabao_mcp.metrics import Metrics

    return Metrics()


def _mcp_routes(mcp: Starlette) -> list[Route]:
    endpoint = next(r.endpoint for r in mcp.routes if isinstance(r, Route) and r.path == MCP_PATH)
    return [Route(path, endpoint=CleanBody(endpoint, MAX_MCP_BODY)) for path in (MCP_PATH, f"{MCP_PATH}/")]


def _plain_routes(handle: CoreHandle, config: Config) -> list[Route]:
    async def healthz(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(_request: Request) -> Response:
        try:
            core = await handle.core()
            await core.graph.dataset_names(config.user_id)  # one small read proves that the database answers
        except Exception as error:
            return rest.answer(failure(error), 503)
        return JSONResponse({"status": "ready"})

    async def openapi(_request: Request) -> Response:
        return JSONResponse(document())

    return [Route("/healthz", healthz), Route("/readyz", readyz), Route("/openapi.json", openapi)]


class LocalOnly:
    """Refuses requests that a web page on this machine was tricked into sending (DNS rebinding): Host and Origin must
    name this machine. 421 for a wrong Host, 403 for a wrong Origin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := _refusal(Headers(scope=scope))):
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _refusal(headers: Headers) -> Response | None:
    host, origin = headers.get("host", ""), headers.get("origin")
    if not is_loopback(host_of(f"//{host}")):
        return rest.answer(Failure("invalid_request", "the Host header does not name this machine"), 421)
    if origin is not None and not (origin.startswith(("http://", "https://")) and is_loopback(host_of(origin))):
        return rest.answer(Failure("invalid_request", "the Origin header does not name this machine"), 403)
    return None
