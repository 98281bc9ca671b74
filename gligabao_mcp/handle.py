"""The core as a door holds it: opened at its first use, closed at the end, and kept open for work that was accepted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from core.core import Core
from core.requests import Request, Response
from gligabao_mcp.errors import log_unforeseen
from gligabao_mcp.operations import Operation, Parsed, execute

logger = logging.getLogger(__name__)

Req = TypeVar("Req", bound=Request)
Res = TypeVar("Res", bound=Response)


class CoreHandle:
    """One core for all doors of a process.

    An operation that writes runs in a task of its own: a caller that hangs up never stops what has begun. Only a text
    whose turn has not come goes with it (core.manager).
    """

    def __init__(self, open_core: Callable[[], AbstractAsyncContextManager[Core]]) -> None:
        self._open_core = open_core
        self._opened: asyncio.Future[Core] | None = None
        self._owner: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._running: set[asyncio.Task[dict[str, Any]]] = set()
        self._abandoned: dict[asyncio.Task[dict[str, Any]], Request] = {}

    async def core(self) -> Core:
        """The core, opened once. A failure to open is raised, and the next call tries again."""
        opened = self._opened
        if opened is None or (opened.done() and opened.exception()):
            opened = self._opened = asyncio.get_running_loop().create_future()
            # One task enters and leaves the context: cancel scopes inside it demand that.
            self._owner = asyncio.create_task(self._own(opened))
        return await asyncio.shield(opened)

    async def _own(self, opened: asyncio.Future[Core]) -> None:
        try:
            async with self._open_core() as core:
                opened.set_result(core)
                await self._ended.wait()
        except Exception as error:
            if opened.done():
                log_unforeseen(error)  # closing failed: nobody waits for the answer any more
            else:
                opened.set_exception(error)

    async def run(
        self, operation: Operation[Req, Res], parsed: Parsed[Req], *, minted_session: bool = False
    ) -> dict[str, Any]:
        """The response body of the operation. A session that was minted for this call alone says nothing of whether
        another call is the same."""
        core = await self.core()
        if operation.reads_only:
            return await execute(operation, core, parsed)
        told = (
            parsed.request.model_copy(update={"session_id": None, "session_source": None})
            if minted_session
            else parsed.request
        )
        task = self._joined(told) or self._started(operation, core, parsed)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if core.manager.in_queue(task):
                task.cancel()
            elif not task.done():
                self._abandoned[task] = told
            raise

    def _started(self, operation: Operation[Req, Res], core: Core, parsed: Parsed[Req]) -> asyncio.Task[dict[str, Any]]:
        task = asyncio.create_task(execute(operation, core, parsed), name=operation.name)
        self._running.add(task)
        task.add_done_callback(self._finished)
        return task

    def _joined(self, request: Request) -> asyncio.Task[dict[str, Any]] | None:
        """The run of an equal request whose caller gave up waiting: a client that repeats it gets that one's answer."""
        for task, abandoned in self._abandoned.items():
            if abandoned == request:
                del self._abandoned[task]
                return task
        return None

    def _finished(self, task: asyncio.Task[dict[str, Any]]) -> None:
        self._running.discard(task)
        if self._abandoned.pop(task, None) is not None and not task.cancelled() and (error := task.exception()):
            logger.warning("a run that nobody waited for any more failed: %s", type(error).__name__)

    @property
    def opened(self) -> Core | None:
        """The core, where it is open."""
        opened = self._opened
        return opened.result() if opened is not None and opened.done() and not opened.exception() else None

    async def stop(self) -> None:
        """Takes no more texts, and answers those that wait for their turn, while others still get their answer."""
        if core := self.opened:
            core.manager.stop()

    async def close(self) -> None:
        """Closes the core, which waits a little for what it accepted, and then whoever waited for more."""
        self._ended.set()
        if self._owner is not None:
            await asyncio.wait([self._owner])
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=1)
