"""Which calls are one: a client that repeats a call, because it gave up or was told to, joins the run that it began."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from core.progress import Progress, Watcher
from core.requests import Request

logger = logging.getLogger(__name__)

# A client that was cut off repeats its call within minutes, or never.
KEPT_SECONDS = 600.0
KEPT = 100


@dataclass(frozen=True, slots=True)
class Call:
    """What tells whether two calls are the same. `named`: its caller said which session it belongs to."""

    said: str
    session_id: str | None
    named: bool

    def repeats(self, other: Call, *, waited_for: bool) -> bool:
        """Whether it is an earlier call again. In a session that its caller names it is, even while somebody waits for
        that one's answer; else two callers may well say the same, and only what nobody waits for is joined."""
        if self.said != other.said:
            return False
        return self.session_id == other.session_id if self.named else not (other.named or waited_for)


def call_of(request: Request, *, minted_session: bool) -> Call:
    """The call of this request; a session that was minted for it is nothing that its caller said."""
    said = request.model_dump_json(exclude={"session_id", "session_source"}, exclude_defaults=True)
    digest = hashlib.sha256(f"{type(request).__name__}\n{said}".encode()).hexdigest()
    session_id: str | None = getattr(request, "session_id", None)
    return Call(digest, session_id, named=session_id is not None and not minted_session)


@dataclass(slots=True, eq=False)
class SharedRun:
    """A run, and those who wait for it. `told`: one of them got its answer."""

    call: Call
    task: asyncio.Task[dict[str, Any]] = field(init=False)
    callers: int = 0
    told: bool = False
    _watchers: list[Watcher] = field(default_factory=list[Watcher])
    _progress: Progress | None = None

    def advance(self, progress: Progress) -> None:
        """Tells all who watch how far it is."""
        self._progress = progress
        for watcher in self._watchers:
            watcher(progress)

    def watched_by(self, watcher: Watcher) -> None:
        """Tells this one, too, now and from now on."""
        self._watchers.append(watcher)
        if self._progress is not None:
            watcher(self._progress)

    def left_by(self, watcher: Watcher) -> None:
        """Tells this one no more."""
        self._watchers.remove(watcher)

    @property
    def run_id(self) -> int | None:
        """Which run of remember it was, once it has ended and its text is stored; None for all else."""
        if self.task.cancelled():
            return None
        failure = self.task.exception()
        body = self.task.result() if failure is None else getattr(failure, "saved", {})
        return body.get("remember_run_id")


class SharedRuns:
    """The runs that a call may join: those that go, and for a while those whose answer nobody got."""

    def __init__(self) -> None:
        self._going: list[SharedRun] = []
        self._ended = deque[tuple[float, Call, int]](maxlen=KEPT)

    def going(self, call: Call) -> SharedRun | None:
        """The run that this call repeats, while it goes."""
        return next((run for run in self._going if call.repeats(run.call, waited_for=run.callers > 0)), None)

    def ended(self, call: Call) -> int | None:
        """The id of the run of remember that this call repeats, whose answer nobody got: now somebody does."""
        now = time.monotonic()
        for entry in self._ended:
            until, other, run_id = entry
            if now < until and call.repeats(other, waited_for=False):
                self._ended.remove(entry)
                return run_id
        return None

    def forget_ended(self) -> None:
        """What ended may not be what is stored any more."""
        self._ended.clear()

    def add(self, run: SharedRun) -> None:
        """A run that has just begun."""
        self._going.append(run)
        run.task.add_done_callback(lambda _: self._settle(run))

    @contextmanager
    def waiting(self, run: SharedRun, watcher: Watcher | None) -> Generator[None]:
        """Inside the block somebody waits for the run, and watches it."""
        run.callers += 1
        if watcher is not None:
            run.watched_by(watcher)
        try:
            yield
        finally:
            run.callers -= 1
            if watcher is not None:
                run.left_by(watcher)
            self._settle(run)

    def tasks(self) -> list[asyncio.Task[dict[str, Any]]]:
        """What goes."""
        return [run.task for run in self._going]

    def _settle(self, run: SharedRun) -> None:
        """Lets go of a run that has ended, once nobody waits for it any more."""
        if run.callers or not run.task.done() or run not in self._going:
            return
        self._going.remove(run)
        if run.told:
            return
        if not run.task.cancelled() and (failure := run.task.exception()):
            logger.warning("a run that nobody waited for any more failed: %s", type(failure).__name__)
        if run_id := run.run_id:
            self._ended.append((time.monotonic() + KEPT_SECONDS, run.call, run_id))
