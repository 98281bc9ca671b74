"""Children: processes forked from the worker, each with the views as they were then, that run one query at a time.

A child that answered is kept for the next query and brought up with the views: reading a view writes into its memory,
and a fresh child would have to copy what it reads (measured at 100,000 facts: 10 to 80 ms a query).
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from storage.rdf import messages as m
from storage.rdf.child import LAST, live, told_by_end
from storage.rdf.frames import first_in, write
from storage.rdf.shelf import Shelf

# How many wait for a query, and for how long.
KEPT = 2
KEPT_SECONDS = 60.0
_PIPE_BYTES = 1 << 20


@dataclass(slots=True, eq=False)
class _Child:
    pid: int
    inward: int
    outward: int
    number: int | None = None
    """Of the query that it runs."""
    dataset_id: int | None = None
    """What that reads."""
    deadline: float = 0.0
    since: float = 0.0
    """When it had its last query."""
    is_current: bool = True
    """Whether it has the views as the worker has them."""
    heard: bytearray = field(default_factory=bytearray)


class Children:
    """The processes that run queries on the views of a shelf. `selector` is told of their pipes."""

    def __init__(self, shelf: Shelf, selector: selectors.BaseSelector) -> None:
        self._shelf = shelf
        self._selector = selector
        self._by_pipe: dict[int, _Child] = {}

    @property
    def busy(self) -> int:
        """How many run a query."""
        return sum(child.number is not None for child in self._by_pipe.values())

    def busy_with(self, dataset_id: int) -> int:
        """How many run a query on that dataset."""
        return sum(c.number is not None and c.dataset_id == dataset_id for c in self._by_pipe.values())

    def start(self, number: int, query: m.Run | m.Parse, deadline: float) -> None:
        """Runs a query in a child."""
        child = self._idle() or self._fork()
        child.number, child.deadline, child.since = number, deadline, time.monotonic()
        child.dataset_id = query.key.dataset_id if isinstance(query, m.Run) else None
        self._tell(child, m.Timed(query, deadline))

    def hear(self, pipe: int) -> tuple[int, bytes] | None:
        """Takes in what a child wrote; the number and the answer of a query that is done."""
        child = self._by_pipe.get(pipe)
        if child is None:
            return None
        part = os.read(pipe, _PIPE_BYTES)
        child.heard += part
        if not part:
            number, status = child.number, self._bury(child)
            return None if number is None else (number, told_by_end(status))
        if (answer := first_in(child.heard)) is None:
            return None
        number, child.number = child.number, None
        assert number is not None
        self._keep(child, is_last=answer[0] == LAST)
        return number, answer[1]

    def bring(self, bring: m.Bring) -> None:
        """Tells the children what came into the views. Those that can't learn it run no other query."""
        for child in list(self._by_pipe.values()):
            if bring.changes.whole or child.number is not None:
                self._let_go(child)
            else:
                self._tell(child, bring)

    def stop(self, number: int) -> None:
        """Ends the query of that number, where it runs."""
        for child in [child for child in self._by_pipe.values() if child.number == number]:
            self._kill(child)

    def stop_late_ones(self) -> Iterator[int]:
        """Ends the queries whose deadline is over; their numbers. Children that nobody needed for long end too."""
        now = time.monotonic()
        for child in list(self._by_pipe.values()):
            if child.number is None and child.since + KEPT_SECONDS <= now:
                self._kill(child)
            elif child.number is not None and child.deadline <= now:
                self._kill(child)
                yield child.number

    def stop_all(self) -> None:
        """Ends all of them."""
        for child in list(self._by_pipe.values()):
            self._kill(child)

    def seconds_left(self) -> float:
        """How long until one has to be ended, at most so many seconds."""
        ends = [c.since + KEPT_SECONDS if c.number is None else c.deadline for c in self._by_pipe.values()]
        return max(0.0, min(ends, default=time.monotonic() + KEPT_SECONDS) - time.monotonic())

    def _idle(self) -> _Child | None:
        return next((child for child in self._by_pipe.values() if child.number is None), None)

    def _fork(self) -> _Child:
        inward, theirs = os.pipe()
        their_inward, outward = os.pipe()
        worker, pid = os.getpid(), os.fork()
        if pid == 0:
            live(self._shelf, their_inward, theirs, worker)
        os.close(theirs)
        os.close(their_inward)
        child = self._by_pipe[inward] = _Child(pid, inward, outward)
        self._selector.register(inward, selectors.EVENT_READ)
        return child

    def _tell(self, child: _Child, message: m.Timed | m.Bring) -> None:
        """Writes to a child. That one which ended meanwhile is seen at its other pipe."""
        body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        with suppress(BrokenPipeError):
            write(child.outward, 0, body)

    def _keep(self, child: _Child, *, is_last: bool) -> None:
        idle = sum(child.number is None for child in self._by_pipe.values())
        if is_last or not child.is_current or idle > KEPT:
            self._kill(child)

    def _let_go(self, child: _Child) -> None:
        child.is_current = False
        if child.number is None:
            self._kill(child)

    def _kill(self, child: _Child) -> None:
        os.kill(child.pid, signal.SIGKILL)
        self._bury(child)

    def _bury(self, child: _Child) -> int:
        self._selector.unregister(child.inward)
        os.close(child.inward)
        os.close(child.outward)
        del self._by_pipe[child.inward]
        return os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
