"""Events for another program, sent as JSON while nobody waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from importlib import import_module
from typing import TYPE_CHECKING

from core.events import Event

if TYPE_CHECKING:
    from httpx2 import AsyncClient

log = logging.getLogger(__name__)

TIMEOUT = 5.0
WAITING = 1000
"""How many events may wait for a slow receiver; the oldest are dropped then."""


class Webhook:
    """A core.events.Sink that posts each event to a URL, one after the other, each once. A failure is logged, without
    the URL, which may hold a key."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._waiting: deque[Event] = deque(maxlen=WAITING)
        self._sending: asyncio.Task[None] | None = None
        self._client: AsyncClient | None = None

    def take(self, event: Event) -> None:
        self._waiting.append(event)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all())

    async def aclose(self) -> None:
        """Sends what waits, for at most as long as one event may take, and closes the connections."""
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=TIMEOUT)
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    async def _send_all(self) -> None:
        while self._waiting:
            await self._send(self._waiting.popleft())

    async def _send(self, event: Event) -> None:
        await asyncio.to_thread(import_module, "httpx2")  # takes a while, the first time
        from httpx2 import AsyncClient, HTTPError, InvalidURL

        if self._client is None:
            self._client = AsyncClient(timeout=TIMEOUT)
        try:
            response = await self._client.post(self._url, json=event.body())
            response.raise_for_status()
        except (HTTPError, InvalidURL) as failure:
            log.warning("an event could not be sent to event_webhook_url: %s", type(failure).__name__)
