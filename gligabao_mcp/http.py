"""The HTTP application: REST, MCP at /v1/gb/mcp, health and the OpenAPI document, for this machine alone by default."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from core.config import Config
from core.requests import MIB
from gligabao_mcp import rest
from gligabao_mcp.bodies import CleanBody
from gligabao_mcp.errors import Failure, failure
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.mcp_server import create_mcp_server
from gligabao_mcp.openapi import document

MCP_PATH = "/v1/gb/mcp"
# A text of 1 MiB in JSON escapes, which is the longest that remember takes, and its envelope.
MAX_MCP_BODY = 8 * MIB


def create_app(handle: CoreHandle, config: Config) -> Starlette:
    """The application. Its lifespan opens the core and closes it; one application is served once."""
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
            await handle.core()
            async with server.session_manager.run():
                yield
        finally:
            await handle.close()

    app = Starlette(
        # MCP's own routes, not a mount: a mounted path would answer every call with a redirect first.
        routes=[*rest.routes(handle), *_plain_routes(handle, config), *_mcp_routes(mcp)],
        middleware=[Middleware(LocalOnly)] if is_loopback(config.host) else [],
        exception_handlers={HTTPException: rest.on_http_exception},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


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
    if not is_loopback(_hostname(f"//{host}")):
        return rest.answer(Failure("invalid_request", "the Host header does not name this machine"), 421)
    if origin is not None and not (origin.startswith(("http://", "https://")) and is_loopback(_hostname(origin))):
        return rest.answer(Failure("invalid_request", "the Origin header does not name this machine"), 403)
    return None


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether the name or address can only be this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
