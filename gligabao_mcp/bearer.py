"""Bearer tokens over HTTP: where they are asked for, every route asks but those of `is_public`, REST and MCP alike."""

from __future__ import annotations

import re

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from core.access import ACCESS_SCOPES, check_token
from core.config import Config
from core.errors import InvalidRequest, Unauthorized
from gligabao_mcp import rest
from gligabao_mcp.addresses import is_loopback
from gligabao_mcp.callers import TokenUser
from gligabao_mcp.conversation import USER_HEADER, header_text
from gligabao_mcp.errors import failure
from gligabao_mcp.handle import CoreHandle

_ADDRESS = re.compile(r"https?://[A-Za-z0-9._:\[\]-]+")
WELL_KNOWN = "/.well-known/"
# What says nothing of anybody's memory, and what tells how to get in.
OPEN_PATHS = ("/healthz", "/readyz", "/openapi.json", "/version")


def asks_for_tokens(config: Config) -> bool:
    """Whether requests over HTTP need a token."""
    return config.tokens == "on" or (config.tokens == "auto" and not is_loopback(config.host) and not config.insecure)


def check_exposure(config: Config) -> None:
    """Raises InvalidRequest where other machines would be let in without a token and nobody said that they may."""
    if not is_loopback(config.host) and not asks_for_tokens(config) and not config.insecure:
        raise InvalidRequest(
            f"host: {config.host} is open to other machines, and tokens are off: leave out --tokens off and make "
            "tokens (gligabao token create), listen on 127.0.0.1, or let everybody in with --insecure",
            param="host",
        )


def is_public(path: str) -> bool:
    """Whether a path is answered without a token."""
    return path in OPEN_PATHS or path.startswith(WELL_KNOWN)


class Resource:
    """The MCP endpoint as an OAuth resource (RFC 9728). Tokens are made on the command line: there is no authorization
    server but this one, and it has no endpoints."""

    def __init__(self, path: str, public_url: str) -> None:
        self._path = path
        self._public_url = public_url.rstrip("/")
        if public_url and not _ADDRESS.fullmatch(self._public_url):
            raise InvalidRequest(
                "public_url: must be an address such as https://memory.example.com, and no more", param="public_url"
            )

    def metadata_url(self, connection: HTTPConnection) -> str:
        """Where its metadata is."""
        return f"{self._address(connection)}{self.metadata_path}"

    @property
    def metadata_path(self) -> str:
        return f"{WELL_KNOWN}oauth-protected-resource{self._path}"

    def route(self) -> Route:
        """GET its metadata."""

        async def metadata(request: Request) -> Response:
            address = self._address(request)
            return JSONResponse(
                {
                    "resource": f"{address}{self._path}",
                    "authorization_servers": [address],
                    "scopes_supported": list(ACCESS_SCOPES),
                    "bearer_methods_supported": ["header"],
                    "resource_name": "Gligabao memory",
                }
            )

        return Route(self.metadata_path, metadata, methods=["GET"], name="metadata")

    def _address(self, connection: HTTPConnection) -> str:
        """As it was called, which the check of Host has seen, unless a setting says how it is known."""
        return self._public_url or f"{connection.scope['scheme']}://{connection.headers.get('host', '')}"


class TokenCheck:
    """Lets requests in that show a token that holds, and tells what is behind it whose they are.

    Others get 401 with the address of the metadata (RFC 9728). A database that can't be asked is no wrong token: 503.
    """

    def __init__(self, app: ASGIApp, handle: CoreHandle, resource: Resource) -> None:
        self._app = app
        self._handle = handle
        self._resource = resource

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_public(scope["path"]):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        try:
            scope["user"] = await self._user(connection)
        except Exception as error:
            await self._refused(error, connection)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _user(self, connection: HTTPConnection) -> TokenUser:
        """Raises Unauthorized, and Forbidden for one whose header names another user than the token."""
        kind, _, secret = connection.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            raise Unauthorized(
                "this server asks for a token: send Authorization: Bearer gbt_... (gligabao token create)"
            )
        core = await self._handle.core()
        token = await check_token(core.tokens, secret.strip(), core.clock())
        if token is None:
            raise Unauthorized("the token is unknown, revoked or expired")
        user = TokenUser(token)
        if named := header_text(connection.headers, USER_HEADER):
            user.caller.is_user(named)
        return user

    def _refused(self, error: Exception, connection: HTTPConnection) -> Response:
        response = rest.answer(failure(error), connection.scope)
        if isinstance(error, Unauthorized):
            # Who sent nothing is not told that it was wrong (RFC 6750, 3.1).
            wrong = 'error="invalid_token", ' if "authorization" in connection.headers else ""
            metadata = self._resource.metadata_url(connection)
            response.headers["WWW-Authenticate"] = f'Bearer {wrong}scope="read write", resource_metadata="{metadata}"'
        return response
