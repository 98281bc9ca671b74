"""How far a long call is, for whoever watches it: a progress bar, an MCP client."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a call is: how many of its parts are done, of how many (0 while that is not known), and the stage that has
    begun, by its name; none between two parts."""

    done: int = 0
    of: int = 0
    stage: str = ""


Watcher = Callable[[Progress], None]
"""Is told at every step. It neither waits nor raises: the call goes on when it returns."""

_WATCHER: ContextVar[Watcher | None] = ContextVar("progress", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Generator[None]:
    """Calls that begin inside the block, and the tasks that they start, tell `watcher` how far they are."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def tell_progress(progress: Progress) -> None:
    """Tells the watcher of this call, if there is one."""
    if watcher := _WATCHER.get():
        watcher(progress)
