"""What all routes of a graph have in common: the envelope of their failures, and the headers of their answers."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gligabao_mcp.errors import Failure

WIRE_VERSION = "2026-10-21"
"""The date of the contract that these routes keep, as its clients send it."""
MOVED: Mapping[str, str] = {"/v1/query/rewrite": "/v1/query/ask"}
"""Routes that are gone, and what is called in their place."""

_OF_GRAPH = re.compile(r"/(v1/(query|graphs?|evals|embeddings|search)(/.*)?|update|version)")
_TYPES = {
    400: "invalid_request_error",
    401: "auth_error",
    403: "auth_error",
    404: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
}


def is_of_graph(path: str) -> bool:
    """Whether a path, known or not, is one of a graph."""
    return _OF_GRAPH.fullmatch(path) is not None


def enveloped(shown: Failure, scope: Scope, status: int) -> dict[str, Any]:
    """The JSON object of a failure. `retryable` is told where a client may think of sending the same again."""
    moved = {"did_you_mean": MOVED[scope["path"]]} if status == 404 and scope["path"] in MOVED else {}
    told: dict[str, Any] = {
        "type": _TYPES.get(status, "api_error"),
        "code": shown.code,
        "message": shown.message,
        "param": shown.param,
        "request_id": request_id_of(scope),
        "retryable": shown.numbers.heals if status >= 500 or status == 429 else None,
        "retry_after_seconds": shown.retry_after,
        "details": dict(shown.saved) or None,
    }
    error = {name: value for name, value in told.items() if value is not None}
    return {"error": {**error, "doc_url": None, **moved}, **moved}


def request_id_of(scope: Scope) -> str:
    """What the answer to this request is called, the same each time it is asked."""
    state: dict[str, Any] = scope.setdefault("state", {})
    return state.setdefault("request_id", f"req_{secrets.token_hex(12)}")


class GraphHeaders:
    """An ASGI application whose answers on routes of a graph say which request they belong to, and which contract they
    keep."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_of_graph(scope["path"]):
            await self._app(scope, receive, send)
            return

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id_of(scope)
                headers["lbb-version"] = WIRE_VERSION
            await send(message)

        await self._app(scope, receive, named)
