"""Turns: one remember of a dataset at a time in this process, in order of arrival."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Turns:
    """A queue for each dataset. Other datasets go on beside; queries never wait. Between processes the store step
    checks (core.errors.Stale)."""

    def __init__(self) -> None:
        self._queues: dict[tuple[str, str], tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def turn(self, user_id: str, dataset: str) -> AsyncGenerator[None]:
        key = (user_id, dataset)
        lock, waiting = self._queues.get(key, (asyncio.Lock(), 0))
        self._queues[key] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._queues[key]
            if waiting == 1:
                del self._queues[key]
            else:
                self._queues[key] = (lock, waiting - 1)
