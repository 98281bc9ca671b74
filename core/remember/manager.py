"""RememberManager: every run of remember goes through it, one at a time for each dataset, each to its end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Generator
from contextlib import contextmanager, suppress
from contextvars import Context
from typing import Any, TypeVar

from pydantic import ValidationError

from core.core import Core
from core.errors import Conflict, GligabaoError, InvalidRequest, NotConfigured, ShuttingDown, StorageBusy
from core.observing import observed
from core.ports import Job, Jobs, NewJob, RunOf
from core.progress import Progress, tell_progress
from core.remember.going import Caller, Going
from core.remember.remember import perform
from core.remember.request import RememberRequest
from core.remember.response import Accepted, Remembering
from core.remember.run import Run, reason
from core.remember.runs import remembered_by

T = TypeVar("T")

log = logging.getLogger(__name__)

# How often a process renews its leases and looks for what others left: several times within a lease.
LOOK_SECONDS = 5.0
# How long the first in a line waits between two looks at whether another process is done: longer each time.
FIRST_WAIT, LONGEST_WAIT = 0.02, 0.25


class RememberManager:
    """The one place that decides which run goes when, and what becomes of it when its caller hangs up, the process
    ends or another one has ended. Queries never wait for it.

    A run is a task of the manager; the caller only waits. Who hangs up before its turn has its run dropped, afterwards
    it goes to its end. A durable run (`wait: false`, with an idempotency key, or kept since) is never dropped: what
    this process does not get to, or dies over, another one or the next start takes up.
    """

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self._going: set[Going] = set()
        self._afar = dict[Caller, int]()
        """Who waits for a run of another process, by its key, and for which."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._upkeep: asyncio.Task[None] | None = None
        self._closing = False

    # A call ----------------------------------------------------------------------------------------------------------

    async def remember(self, core: Core, request: RememberRequest) -> Remembering | Accepted:
        """The response to the call, when its run is done; with `wait` false, that it is kept.

        Raises what the run raises, QueueFull, ShuttingDown, and Conflict where its idempotency key is another's.
        """
        while True:
            if self._closing:
                raise _shutting_down()
            going, run_id = await asyncio.shield(self._kept(self._enter(core, request)))
            if going is None:
                with self._waiting_afar(run_id):
                    answer = await self._elsewhere(core, run_id, wait=request.wait)
            elif request.wait:
                answer = await self._waited(going)
            else:
                answer = Accepted(remember_run_id=run_id, state="queued")
            if answer is not None:
                return answer

    def in_queue(self, caller: asyncio.Task[Any]) -> bool:
        """Whether all that this task waits for is the turn of a run that goes when it goes."""
        return any(going.may_be_dropped(caller) for going in self._going)

    def leave(self, caller: asyncio.Task[Any]) -> None:
        """Nobody waits any more for what this task waits for: a run whose turn has not come is dropped, one that goes
        is made durable."""
        if self.in_queue(caller):
            caller.cancel()
        else:
            self._kept(self._keep_in_the_end(caller))

    async def _keep_in_the_end(self, caller: asyncio.Task[Any]) -> None:
        while not caller.done() and await self.keep(caller) is None:  # it may only be about to enter the queue
            await asyncio.wait([caller], timeout=LONGEST_WAIT)

    async def keep(self, caller: asyncio.Task[Any]) -> Accepted | None:
        """Makes the run that this task waits for durable, and tells how it stands: from then on nobody needs to wait.
        None where that can't be, or where it has just ended: it is to be waited for."""
        if run_id := self._afar.get(caller):
            return Accepted(remember_run_id=run_id, state="running")
        going = next((going for going in self._going if caller in going.callers), None)
        if going is None or (run_id := going.run.of.run_id) is None:
            return None
        try:
            if not going.durable:
                going.durable = await asyncio.shield(self._kept(self.jobs.keep(run_id, going.request.kept())))
        except StorageBusy as failure:
            log.warning("the queue of remember: %s", failure.message)
        if not going.durable:
            return None
        return Accepted(remember_run_id=run_id, state=going.state, session_id=going.request.session_id)

    async def _enter(self, core: Core, request: RememberRequest) -> tuple[Going | None, int]:
        """The run of the call, new or joined; None where it is not one of this process. And its id."""
        if left := next((going for going in self._going if going.is_left_of(request)), None):
            return left, left.run.of.run_id or 0
        durable = not request.wait or request.idempotency_key is not None
        of = RunOf(request.user_id, request.dataset, request.session_id)
        job = NewJob(
            of,
            kind="image" if request.image is not None else "text",
            parameters=request.parameters(),
            created_at=core.clock(),
            request=request.kept() if durable else None,
            key=request.idempotency_key,
            digest=request.digest() if request.idempotency_key else None,
        )
        run_id, turn, joined = await self.jobs.enqueue(job)
        if joined:
            return next((going for going in self._going if going.run.of.run_id == run_id), None), run_id or 0
        run = Run(core, RunOf(of.user_id, of.dataset, of.session_id, run_id), job.created_at)
        return self._started(core, Going(run, request, durable, queued=not turn)), run_id or 0

    def _started(self, core: Core, going: Going) -> Going:
        # What nobody waits for reports to nobody's progress bar.
        context = None if going.request.wait else Context()
        work = self._go(core, going) if going.request.wait else self._alone(core, going)
        self._going.add(going)
        going.task = self._kept(work, context)
        return going

    async def _waited(self, going: Going) -> Remembering:
        caller = asyncio.current_task()
        going.callers.add(caller)
        try:
            return await asyncio.shield(going.task)
        except asyncio.CancelledError:
            if going.may_be_dropped(caller):
                going.task.cancel()
            raise
        finally:
            going.callers.discard(caller)

    @contextmanager
    def _waiting_afar(self, run_id: int) -> Generator[None]:
        caller = asyncio.current_task()
        self._afar[caller] = run_id
        try:
            yield
        finally:
            del self._afar[caller]

    async def _elsewhere(self, core: Core, run_id: int, *, wait: bool) -> Remembering | Accepted | None:
        """What a run of another process, or one that is done, answered; None where it failed: its key is free then."""
        pause = FIRST_WAIT
        while (record := await core.runs.run(run_id)) and record.status == "started":
            if not wait:
                return Accepted(remember_run_id=run_id, state="queued")
            if self._closing:
                raise _shutting_down(goes_on=True)
            await self._take_over(core)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_WAIT)
        if record is None or record.status == "failed":
            return None
        if (answer := await remembered_by(core, record)) is None:
            raise Conflict("idempotency_key: what this call stored was forgotten since", param="idempotency_key")
        return answer

    # A run -----------------------------------------------------------------------------------------------------------

    async def _go(self, core: Core, going: Going) -> Remembering:
        try:
            await self._turn(core, going)
            if going.run.resumed and (record := await core.runs.run(going.run.of.run_id or 0)):
                going.run.records.update((stage.stage, stage) for stage in record.stages)
            return await perform(core, going.request, going.run)
        except (asyncio.CancelledError, ShuttingDown):
            return await self._stopped(going)
        except BaseException as failure:
            saved = failure.saved.get("artifact_id") if isinstance(failure, GligabaoError) else None
            end = self._kept(going.run.finish(saved if isinstance(saved, int) else None, reason(failure)))
            if not isinstance(failure, StorageBusy):  # its caller has waited long enough
                await asyncio.shield(end)
            raise
        finally:
            self._going.discard(going)
            for other in self._going:
                other.look.set()

    async def _alone(self, core: Core, going: Going) -> Remembering:
        """A run that nobody waits for, told as one event when it has ended, by whichever process that is."""
        with observed(core, "remember", going.request) as seen:
            response = await self._go(core, going)
            seen.body = response.body()
        return response

    async def _turn(self, core: Core, going: Going) -> None:
        """Returns when the turn of the run has come. Only the first of each line looks at the database."""
        began, pause = time.perf_counter(), FIRST_WAIT
        if going.queued:
            tell_progress(Progress(stage=going.state))
        while going.queued:
            if self._closing:
                raise _shutting_down()
            going.look.clear()
            first = not any(other.before(going) for other in self._going)
            if first:
                await self._take_over(core)
                going.queued = not await self.jobs.take(going.run.of)
            if going.queued:
                await _within(pause if first else None, going.look)
                pause = min(2 * pause, LONGEST_WAIT)
        core.monitor.waited(time.perf_counter() - began)

    async def _stopped(self, going: Going) -> Remembering:
        """A run that was cancelled: its caller hung up before its turn, or the process ends."""
        if not self._closing:
            await going.run.finish(None, "canceled")
            raise asyncio.CancelledError
        failure = _shutting_down()
        if going.durable and going.run.of.run_id is not None:
            failure.goes_on = True
            await going.run.leave()
            await self.jobs.release(going.run.of.run_id)
        else:
            await going.run.finish(None, failure.message)
        raise failure

    # What others left ------------------------------------------------------------------------------------------------

    async def start(self, core: Core) -> None:
        """Takes up what processes left that are gone, now and whenever one goes, until `finish`."""
        await self._look(core)
        self._upkeep = asyncio.create_task(self._keep_up(core))

    async def _keep_up(self, core: Core) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self._look(core)

    async def _look(self, core: Core) -> None:
        try:
            await self.jobs.renew([going.run.of.run_id for going in self._going if going.run.of.run_id])
            await self._take_over(core)
        except GligabaoError as failure:
            log.warning("the queue of remember: %s", failure.message)

    async def _take_over(self, core: Core) -> None:
        if not self._closing:  # whoever asked for it may hang up: what is ours then must be gone on with
            await asyncio.shield(self._kept(self._inherit(core)))

    async def _inherit(self, core: Core) -> None:
        ours = {going.run.of.run_id for going in self._going if going.run.of.run_id}
        for job in await self.jobs.take_over(ours, reads=_reads(core)):
            await self._resume(core, job)

    async def _resume(self, core: Core, job: Job) -> None:
        run = Run(core, job.of, job.created_at, resumed=True)
        try:
            request = RememberRequest.model_validate({**job.request, "wait": False})
        except ValidationError:  # a release with other rules wrote it
            await run.finish(None, InvalidRequest("the request can't be read by this release").message)
            return
        self._started(core, Going(run, request, durable=True, queued=True))

    # The end ---------------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Takes no more calls. Those that wait for their turn fail; durable ones are left to whoever comes next."""
        self._closing = True
        for going in self._going:
            going.look.set()

    async def finish(self, seconds: float) -> None:
        """Stops, and lets what runs end within that time. What is not done then is failed, or left if it is durable."""
        self.stop()
        if self._upkeep is not None:
            self._upkeep.cancel()
            with suppress(asyncio.CancelledError):
                await self._upkeep
        until = time.monotonic() + seconds
        while self._tasks and (left := until - time.monotonic()) > 0:
            await asyncio.wait(self._tasks, timeout=left)
        for going in self._going:
            going.task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _kept(self, work: Coroutine[Any, Any, T], context: Context | None = None) -> asyncio.Task[T]:
        """A task that nobody's hanging up stops, and that `finish` waits for."""
        task = asyncio.create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()):
            log.debug("a run ended with %s", type(failure).__name__)  # its caller, if it still waits, raises it


def _shutting_down(*, goes_on: bool = False) -> ShuttingDown:
    failure = ShuttingDown("server is shutting down")
    failure.goes_on = goes_on
    return failure


def _reads(core: Core) -> bool:
    try:
        core.engine.require()
    except NotConfigured:
        return False
    return True


async def _within(seconds: float | None, event: asyncio.Event) -> None:
    """Returns when the event is set, or the time is over."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
