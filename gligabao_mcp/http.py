"""The HTTP application: REST, MCP at /v1/gb/mcp, health and the OpenAPI document, for this machine alone by default."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from core.config import Config, Reach
from core.requests import MIB
from gligabao_mcp import rest
from gligabao_mcp.addresses import is_loopback
from gligabao_mcp.bearer import Resource, TokenCheck, asks_for_tokens
from gligabao_mcp.bodies import CleanBody
from gligabao_mcp.endings import QuietEnd
from gligabao_mcp.envelope import GraphHeaders
from gligabao_mcp.errors import failure
from gligabao_mcp.graph_rest import graph_routes
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.hosts import Admission, AdmissionCheck, cors
from gligabao_mcp.mcp_door.server import create_mcp_server
from gligabao_mcp.openapi import document
from gligabao_mcp.rates import RateCheck, limit_of
from gligabao_mcp.transfer import transfer_routes

if TYPE_CHECKING:
    from gligabao_mcp.metrics import Metrics

MCP_PATH = "/v1/gb/mcp"
# A text of 1 MiB in JSON escapes, which is the longest that remember takes, and its envelope.
MAX_MCP_BODY = 8 * MIB


def create_app(
    handle: CoreHandle, config: Config, create_server: Callable[[CoreHandle, Config], Server[Any]] = create_mcp_server
) -> Starlette:
    """The application. Its lifespan opens the core and closes it; one application is served once. `create_server` makes
    the MCP server of it."""
    metrics = _metrics() if is_open(config.metrics, config) else None
    server = create_server(handle, config)
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
        *rest.routes(handle, admin=is_open(config.admin, config)),
        *graph_routes(handle, config),
        *transfer_routes(handle, config),
        *_plain_routes(handle, config),
        *_mcp_routes(mcp),
    ]
    resource = Resource(MCP_PATH, config.public_url)
    middleware = _checks(handle, config, resource)
    if asks_for_tokens(config):
        routes.append(resource.route())
    if metrics is not None:
        from gligabao_mcp.metrics import Counted, route

        routes.append(route(metrics, handle))
        middleware.insert(0, Middleware(Counted, metrics=metrics, routes=routes))
    middleware.insert(0, Middleware(QuietEnd))
    app = Starlette(
        # MCP's own routes, not a mount: a mounted path would answer every call with a redirect first.
        routes=routes,
        middleware=middleware,
        exception_handlers={HTTPException: rest.on_http_exception},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


def _checks(handle: CoreHandle, config: Config, resource: Resource) -> list[Middleware]:
    """What every request has to pass, in this order, whichever route it is for."""
    checks = [Middleware(GraphHeaders), Middleware(AdmissionCheck, admission=Admission(config)), *cors(config)]
    if asks_for_tokens(config):
        checks.append(Middleware(TokenCheck, handle=handle, resource=resource))
    if per_minute := limit_of(config):
        checks.append(Middleware(RateCheck, per_minute=per_minute))
    return checks


def is_open(reach: Reach, config: Config) -> bool:
    """Whether a server of this configuration answers what is for this machine alone by default. One that answers to
    further names is called by others, whatever address it listens on."""
    here = is_loopback(config.host) and not config.allowed_hosts
    return reach == "on" or (reach == "loopback" and here)


def _metrics() -> Metrics:
    from gligabao_mcp.metrics import Metrics

    return Metrics()


def _mcp_routes(mcp: Starlette) -> list[Route]:
    endpoint = next(r.endpoint for r in mcp.routes if isinstance(r, Route) and r.path == MCP_PATH)
    return [Route(path, endpoint=CleanBody(endpoint, MAX_MCP_BODY)) for path in (MCP_PATH, f"{MCP_PATH}/")]


def _plain_routes(handle: CoreHandle, config: Config) -> list[Route]:
    async def healthz(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(request: Request) -> Response:
        try:
            core = await handle.core()
            await core.graph.dataset_names(config.user_id)  # one small read proves that the database answers
        except Exception as error:
            return rest.answer(failure(error), request.scope, 503)
        return JSONResponse({"status": "ready"})

    async def openapi(_request: Request) -> Response:
        return JSONResponse(document())

    return [Route("/healthz", healthz), Route("/readyz", readyz), Route("/openapi.json", openapi)]
