"""Which names a server answers to, and which web pages may call it: checked in front of every route.

A page that any site serves can send requests to the machines its reader reaches, and with DNS rebinding it can read the
answers. Neither works where Host must be a name of the server and Origin a page that is let in.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from core.config import Config
from core.errors import InvalidRequest
from gligabao_mcp import rest
from gligabao_mcp.addresses import is_loopback
from gligabao_mcp.errors import Failure

logger = logging.getLogger(__name__)

_NAME = r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\]|\*"
_HOST = re.compile(rf"({_NAME})(?::(\d{{1,5}}|\*))?")
_ORIGIN = re.compile(rf"(?:([a-z][a-z0-9+.-]*)://)?({_NAME})(?::(\d{{1,5}}|\*))?")
_ANY_PORT = r"(?::\d{1,5})?"
# Each refused name is logged once, up to this many: strangers choose them.
MAX_LOGGED = 100

CORS_HEADERS = (
    *("Accept", "Authorization", "Content-Type", "Last-Event-ID"),
    *("Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"),
    *("Gligabao-Session-Id", "Gligabao-User-Id"),
    *("Idempotency-Key", "Lbb-Version"),
)
CORS_EXPOSED = (
    *("Mcp-Session-Id", "WWW-Authenticate", "Retry-After", "Content-Disposition"),
    *("X-Request-Id", "Lbb-Version"),
)


class Admission:
    """Which names are this server and which pages may call it, by the settings. Raises InvalidRequest for a setting
    that can't be read."""

    def __init__(self, config: Config) -> None:
        self._beyond = not is_loopback(config.host)
        self._own = config.host.lower()
        self._hosts = host_pattern(config.allowed_hosts)
        self._origins = origin_pattern("allowed_origins", config.allowed_origins)
        self._readers = origin_pattern("cors_origins", config.cors_origins)

    def of_host(self, host: str) -> bool:
        """Whether a Host header, in lower case, is a name of this server."""
        read = _HOST.fullmatch(host)
        if read is None:
            return False
        name = read[1].strip("[]")
        # An address can't be rebound, only a name can.
        ours = name == self._own or is_loopback(name) or (self._beyond and _is_address(name))
        return ours or bool(self._hosts.fullmatch(host))

    def of_origin(self, origin: str, host: str) -> bool:
        """Whether an Origin header, in lower case, is a page on this machine, of this server, or one that is let in."""
        read = _ORIGIN.fullmatch(origin)
        if read is not None and read[1] in ("http", "https"):
            own = origin.partition("://")[2] == host
            if own or is_loopback(read[2].strip("[]")):
                return True
        return bool(self._origins.fullmatch(origin) or self._readers.fullmatch(origin))


class AdmissionCheck:
    """Refuses a Host that is no name of this server with 421, and an Origin that is not let in with 403; the text and
    the log name the setting that would let it in."""

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        self._app = app
        self._admission = admission
        self._logged: set[tuple[str, str]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refused := self._refusal(Headers(scope=scope))):
            await rest.answer(refused, scope)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> Failure | None:
        # Joined as one that comes several times may be: no list of names is a name.
        host, origin = (", ".join(headers.getlist(name)).lower() for name in ("host", "origin"))
        if not self._admission.of_host(host):
            return self._refused("host_refused", "Host", "is no name of this server", "allowed_hosts", host)
        if "origin" in headers and not self._admission.of_origin(origin, host):
            return self._refused("origin_refused", "Origin", "names no page that is let in", "allowed_origins", origin)
        return None

    def _refused(self, code: str, header: str, wrong: str, setting: str, value: str) -> Failure:
        text = f"the {header} header {wrong}; if it should be let in, add it to the setting {setting}"
        if (header, value) not in self._logged and len(self._logged) < MAX_LOGGED:
            self._logged.add((header, value))
            logger.warning("refused a request: %s (sent: %s)", text, ascii(value[:100]))
        return Failure(code, text)


def cors(config: Config) -> list[Middleware]:
    """What lets pages of `cors_origins` read answers; nothing where there are none."""
    if not config.cors_origins:
        return []
    pages = origin_pattern("cors_origins", config.cors_origins)
    return [
        Middleware(
            CORSMiddleware,
            allow_origin_regex=pages.pattern,
            allow_methods=("GET", "POST", "PUT", "DELETE"),
            allow_headers=CORS_HEADERS,
            expose_headers=CORS_EXPOSED,
            allow_private_network=True,
        )
    ]


def host_pattern(names: Sequence[str]) -> re.Pattern[str]:
    """Hosts that match: `name` at any port, `name:8443` at that one, `*.example.com` any name below, `*` all. Raises
    InvalidRequest."""
    return _any_of([_host_regex(name.strip().lower()) for name in names])


def origin_pattern(setting: str, origins: Sequence[str]) -> re.Pattern[str]:
    """Origins that match: `https://name` at its usual port, `https://name:8443` at that one, `https://name:*` at any,
    `https://*.example.com` any name below; `name` over http and https; `*` all. Raises InvalidRequest."""
    return _any_of([_origin_regex(setting, origin.strip().lower().rstrip("/")) for origin in origins])


def _any_of(regexes: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(regexes) or r"(?!)")


def _host_regex(name: str) -> str:
    read = _HOST.fullmatch(name)
    if read is None:
        raise InvalidRequest(
            "allowed_hosts: must be names such as memory.example.com or *.example.com, with or without a port",
            param="allowed_hosts",
        )
    return _name_regex(read[1]) + (_ANY_PORT if read[2] in (None, "*") else f":{read[2]}")


def _origin_regex(setting: str, origin: str) -> str:
    read = _ORIGIN.fullmatch(origin)
    if read is None:
        raise InvalidRequest(
            f"{setting}: must be origins such as https://app.example.com or https://*.example.com, without a path",
            param=setting,
        )
    if origin == "*":
        return ".+"
    scheme = re.escape(read[1]) if read[1] else "https?"
    port = "" if read[3] is None else _ANY_PORT if read[3] == "*" else f":{read[3]}"
    return f"{scheme}://{_name_regex(read[2])}{port}"


def _name_regex(name: str) -> str:
    if name == "*":
        return r"(?:[^/:]+|\[[^/]+\])"
    if name.startswith("*."):
        return rf"[a-z0-9_.-]+{re.escape(name[1:])}"
    return re.escape(name)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
