"""Work that is done once, whoever waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Underway(Generic[K, T]):
    """Tasks by key, one at a time for each. A task goes on when those who wait for it go."""

    def __init__(self) -> None:
        self._tasks: dict[K, asyncio.Task[T]] = {}

    def start(self, key: K, work: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        """The task of that key, begun now if none is under way. Await it shielded."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(work())
            task.add_done_callback(lambda done: self._ended(key, done))
        return task

    async def close(self) -> None:
        """Ends what is under way."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, key: K, task: asyncio.Task[T]) -> None:
        del self._tasks[key]
        if not task.cancelled():
            task.exception()  # perhaps nobody waits any more: who asks next begins it again, and is told


async def within(task: asyncio.Task[T], seconds: float) -> T | None:
    """What the task gives; None where it takes longer. It goes on then. Raises what it raises."""
    await asyncio.wait((task,), timeout=seconds)
    return task.result() if task.done() else None
