"""How far a long call is, for whoever watches it: a progress bar, an MCP client."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

Watcher = Callable[[int, int], None]
"""Gets the parts that are done and how many there are."""

_WATCHER: ContextVar[Watcher | None] = ContextVar("progress", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Generator[None]:
    """Calls that begin inside the block, and the tasks that they start, tell `watcher` how far they are."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def tell_progress(done: int, of: int) -> None:
    """Tells the watcher of this call, if there is one."""
    if watcher := _WATCHER.get():
        watcher(done, of)
