"""Clients over HTTP that go before they have their answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

T = TypeVar("T")


async def unless_gone(request: object, work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns. When the client of an HTTP request goes first it is cancelled: the framework would let it go
    on, and so would MCP of the handshake era, though nobody can get that answer any more. Raises ClientDisconnect
    then."""
    if not isinstance(request, Request):
        return await work
    call, gone = asyncio.create_task(work), asyncio.create_task(_disconnected(request.receive))
    try:
        await asyncio.wait((call, gone), return_when=asyncio.FIRST_COMPLETED)
        if not call.done():
            raise ClientDisconnect
        return await call
    finally:
        call.cancel()
        gone.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
