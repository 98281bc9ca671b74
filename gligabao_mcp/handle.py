"""The core as a door holds it: opened at its first use, closed at the end, and kept open for work that was accepted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, TypeVar

from core.ask.events import Event
from core.core import Core
from core.errors import ShuttingDown
from core.progress import Watcher, watched_by
from core.remember.runs import remembered_by
from core.requests import Request, Response
from gligabao_mcp.errors import log_unforeseen
from gligabao_mcp.joining import Call, SharedRun, SharedRuns, call_of
from gligabao_mcp.operation import Operation
from gligabao_mcp.operations import Parsed, execute, execute_in_steps

Req = TypeVar("Req", bound=Request)
Res = TypeVar("Res", bound=Response)
T = TypeVar("T")

# A run that could not be kept just then: a database that was held, a call that is about to be answered.
KEEP_AGAIN_SECONDS = 1.0


class CoreHandle:
    """One core for all doors of a process.

    An operation that writes runs in a task of its own: a caller that hangs up never stops what has begun, and a text
    that goes is kept, so that the next process ends what this one can't. Only a text whose turn has not come goes with
    its caller (core.manager). A document that is loaded ends with the process: whoever sent it still has it.
    """

    def __init__(self, open_core: Callable[[], AbstractAsyncContextManager[Core]]) -> None:
        self._open_core = open_core
        self._opened: asyncio.Future[Core] | None = None
        self._owner: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._runs = SharedRuns()
        self._callers = set[asyncio.Task[Any]]()
        self._loads = set[asyncio.Task[Any]]()
        self._given_up = False

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
        self,
        operation: Operation[Req, Res],
        parsed: Parsed[Req],
        *,
        minted_session: bool = False,
        patience: float | None = None,
        watcher: Watcher | None = None,
    ) -> dict[str, Any]:
        """The response body of the operation; after `patience` seconds that its run goes on (Accepted), where it can.

        A call that repeats an earlier one joins its run (joining.py). A session that was minted for this call alone
        says nothing of whether it does. The watcher is told how far the run is.
        """
        with self._called():
            return await self._run(operation, parsed, minted_session, patience, watcher)

    async def stream(
        self, operation: Operation[Req, Res], parsed: Parsed[Req], told: Callable[[Event], None]
    ) -> dict[str, Any]:
        """The response body of an operation that answers step by step; each of its events is told. A caller that goes
        stops it."""
        with self._called():
            return await execute_in_steps(operation, await self.core(), parsed, told)

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work on a document returns. A caller that goes does not stop it, the end of the process does: then
        nothing of it is stored."""
        load = asyncio.create_task(work)
        self._loads.add(load)
        load.add_done_callback(self._loads.discard)
        with self._called():
            return await asyncio.shield(load)

    @contextmanager
    def _called(self) -> Generator[None]:
        """The time in which the caller waits for its answer. Raises ShuttingDown where it is given up."""
        caller = asyncio.current_task()
        assert caller is not None
        self._callers.add(caller)
        try:
            yield
        except asyncio.CancelledError:
            if self._given_up:
                raise ShuttingDown("server is shutting down") from None
            raise
        finally:
            self._callers.discard(caller)

    async def _run(
        self,
        operation: Operation[Req, Res],
        parsed: Parsed[Req],
        minted_session: bool,
        patience: float | None,
        watcher: Watcher | None,
    ) -> dict[str, Any]:
        core = await self.core()
        if operation.reads_only or operation.ends_with_caller:
            return await execute(operation, core, parsed)
        if operation.accepted is None:  # it may take away what ended runs stored
            self._runs.forget_ended()
        call = call_of(parsed.request, minted_session=minted_session)
        run = self._runs.going(call) or self._started(operation, core, parsed, call)
        with self._runs.waiting(run, watcher):
            return await self._answered(core, run, patience)

    async def _answered(self, core: Core, run: SharedRun, patience: float | None) -> dict[str, Any]:
        try:
            while not (await asyncio.wait([run.task], timeout=patience))[0]:
                if kept := await core.manager.keep(run.task):
                    return kept.body()
                patience = KEEP_AGAIN_SECONDS
        except asyncio.CancelledError:
            if self._given_up and patience is not None and (kept := await core.manager.keep(run.task)):
                return kept.body()
            if run.callers == 1:
                core.manager.leave(run.task)
            raise
        run.told = True
        return run.task.result()

    def _started(self, operation: Operation[Req, Res], core: Core, parsed: Parsed[Req], call: Call) -> SharedRun:
        run = SharedRun(call)
        with watched_by(run.advance):
            work = self._work(operation, core, parsed, self._runs.ended(call))
            run.task = asyncio.create_task(work, name=operation.name)
        self._runs.add(run)
        return run

    async def _work(
        self, operation: Operation[Req, Res], core: Core, parsed: Parsed[Req], ended: int | None
    ) -> dict[str, Any]:
        """The response of the run that ended, as it reads now; where there is none any more, of a new one."""
        if ended and (record := await core.runs.run(ended)) and (answer := await remembered_by(core, record)):
            return answer.body()
        return await execute(operation, core, parsed)

    @property
    def opened(self) -> Core | None:
        """The core, where it is open."""
        opened = self._opened
        return opened.result() if opened is not None and opened.done() and not opened.exception() else None

    async def stop(self) -> None:
        """Takes no more texts, and answers those that wait for their turn, while others still get their answer."""
        if core := self.opened:
            core.manager.stop()

    def give_up(self) -> None:
        """Answers whoever still waits: that its run goes on, where the caller takes that, else with ShuttingDown."""
        self._given_up = True
        for task in (*self._loads, *self._callers):
            task.cancel()

    async def close(self) -> None:
        """Closes the core, which waits a little for what it accepted, and then whoever waited for more."""
        for load in self._loads:
            load.cancel()
        self._ended.set()
        if self._owner is not None:
            await asyncio.wait([self._owner])
        if running := self._runs.tasks():
            for task in running:
                task.cancel()
            await asyncio.wait(running, timeout=1)
