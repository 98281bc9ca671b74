"""The ends of HTTP responses: what clients do, and the end of the server, are no errors of ours."""

from __future__ import annotations

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class QuietEnd:
    """An ASGI application that ends as the web server expects it, which logs an error of everything else: with nothing
    where the client is gone, and with the end of each event stream that was left open."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        open_stream = False

        async def watched(message: Message) -> None:
            nonlocal open_stream
            if message["type"] == "http.response.start":
                open_stream = _is_event_stream(message)
            elif not message.get("more_body", False):
                open_stream = False
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            return
        if open_stream:  # of any other response the rest is missing then: it must not look whole
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _is_event_stream(start: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(b"text/event-stream") for name, value in start["headers"]
    )
