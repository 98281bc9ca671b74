"""Turns: one remember of a dataset at a time in this process, in order of arrival, each to its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)


class Turns:
    """A queue for each dataset. Other datasets go on beside; queries never wait. Between processes the store step
    checks (core.errors.Stale)."""

    def __init__(self) -> None:
        self._queues: dict[tuple[str, str], tuple[asyncio.Lock, int]] = {}
        self._running: set[asyncio.Task[Any]] = set()

    async def run(self, user_id: str, dataset: str, work: Callable[[], Awaitable[T]]) -> T:
        """What `work` returns when its turn has come. A caller that gives up waiting stops nothing: what was accepted
        goes on to its end."""
        task = asyncio.create_task(self._in_turn(user_id, dataset, work))
        self._running.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def finish(self, seconds: float) -> None:
        """Waits that long for what was accepted, then stops the rest."""
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _in_turn(self, user_id: str, dataset: str, work: Callable[[], Awaitable[T]]) -> T:
        async with self._turn(user_id, dataset):
            return await work()

    @asynccontextmanager
    async def _turn(self, user_id: str, dataset: str) -> AsyncGenerator[None]:
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

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (failure := task.exception()):
            log.debug("a run ended with %s", type(failure).__name__)  # its caller, if it still waits, raises it
