"""Request bodies, before anybody parses them: within their limit, and without what no JSON reader agrees on."""

from __future__ import annotations

import hashlib
import tempfile

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.errors import TooLarge
from core.requests import MIB
from core.uploads import Upload
from gligabao_mcp.errors import failure
from gligabao_mcp.surrogates import without_lone_surrogates

# A body over its limit is read on for a while and thrown away: a client that still sends would lose the answer.
MAX_DISCARDED = 32 * MIB
# Of a document that comes as a body: what is larger is kept in a file meanwhile.
_IN_MEMORY = MIB


async def read_body(request: Request, limit: int) -> bytes:
    """The body, kept no further than its limit, whatever Content-Length says; raises TooLarge."""
    body = bytearray()
    received = 0
    async for chunk in request.stream():
        received += len(chunk)
        if received > MAX_DISCARDED:
            break
        if received <= limit:
            body += chunk
    if received > limit:
        raise TooLarge(f"the request body is over the limit of {limit} bytes")
    return bytes(body)


async def receive_upload(request: Request, limit: int) -> Upload:
    """The body as a document; whoever gets it closes its file. Raises TooLarge."""
    file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - whoever reads it closes it
    digest, received = hashlib.sha256(), 0
    try:
        async for chunk in request.stream():
            received += len(chunk)
            if received > limit + MAX_DISCARDED:
                break
            if received <= limit:
                file.write(chunk)
                digest.update(chunk)
        if received > limit:
            raise TooLarge(f"the document is over the limit of {limit} bytes (setting max_import_bytes)")
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return Upload(file, digest.hexdigest())


class CleanBody:
    """An ASGI application whose POST bodies hold no lone surrogate: the SDK would refuse the whole message."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            body = without_lone_surrogates(await read_body(Request(scope, receive), self._limit))
        except TooLarge as error:
            shown = failure(error)
            await JSONResponse(shown.body(), shown.numbers.status)(scope, receive, send)
            return
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        await self._app(scope, replay, send)
