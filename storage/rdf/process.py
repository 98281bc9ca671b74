"""The worker as the server sees it: started by the first question, anew when it died, ended with the memory."""

from __future__ import annotations

import asyncio
import itertools
import json
import marshal
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, cast

from core.errors import QueriesUnavailable, QueryTimeout
from storage.rdf import messages as m
from storage.rdf.frames import HEAD

# Beyond the deadline of a query: what its end may take until the server hears of it.
GRACE = 0.3
# How long a worker that was told to end may take.
END_SECONDS = 2.0
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from storage.rdf.serving import main; main(forks={})"

Reply = tuple[Any, ...]
"""What the worker answers: one of the kinds of messages.py, and what follows it."""


class Gone(Exception):
    """The worker ended before it answered."""


class WorkerProcess:
    """One process at a time, for the event loop that asks it first. `forks`: whether it stops a query without ending
    itself; Windows can't."""

    def __init__(self, *, forks: bool = hasattr(os, "fork")) -> None:
        self._forks = forks
        self._numbers = itertools.count(1)
        self._running: _Running | None = None
        self._is_closed = False

    async def ask(self, message: m.Message, seconds: float) -> Reply:
        """The answer. Raises QueryTimeout where none comes in time, Gone where the worker ended, and QueriesUnavailable
        where it can't be started."""
        running = self._started()
        number = next(self._numbers)
        answer = running.expect(number)
        try:
            async with asyncio.timeout(seconds + GRACE):
                await asyncio.to_thread(running.send, number, message)
                return await answer
        except TimeoutError:
            if not self._forks:
                running.kill()
            raise QueryTimeout("the query ran to its deadline and was stopped") from None
        finally:
            if running.forget(number):
                asyncio.get_running_loop().run_in_executor(None, running.send, number, m.Cancel(number))

    @property
    def pid(self) -> int | None:
        """The id of the process; None where there is none."""
        return self._running.process.pid if self._running and not self._running.is_gone else None

    def close(self) -> None:
        """Ends the process, and waits for its end."""
        self._is_closed = True
        if self._running is not None:
            self._running.close()

    def _started(self) -> _Running:
        if self._is_closed:
            raise QueriesUnavailable("the memory is being closed")
        if self._running is None or self._running.is_gone:
            if self._running is not None:
                self._running.close()
            self._running = _Running(self._forks)
        return self._running


class _Running:
    """A process that runs, and the thread that hears it."""

    def __init__(self, forks: bool) -> None:
        command = [sys.executable, "-c", _START.format(forks), json.dumps(sys.path)]
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as failure:
            raise QueriesUnavailable("the process that answers queries could not be started") from failure
        self.is_gone = False
        self._inward, self._outward = cast("IO[bytes]", self.process.stdin), cast("IO[bytes]", self.process.stdout)
        self._loop = asyncio.get_running_loop()
        self._expected: dict[int, asyncio.Future[Reply]] = {}
        self._writing = threading.Lock()
        self._hearing = threading.Thread(target=self._hear, name="gligabao-rdf", daemon=True)
        self._hearing.start()

    def expect(self, number: int) -> asyncio.Future[Reply]:
        """Where the answer to a call will be."""
        self._expected[number] = answer = self._loop.create_future()
        return answer

    def forget(self, number: int) -> bool:
        """Expects no answer any more; whether one was still to come."""
        answer = self._expected.pop(number)
        return answer.cancelled() or not answer.done()

    def send(self, number: int, message: m.Message) -> None:
        """Writes a call, whole. Whoever waits for its answer learns of a process that is gone."""
        body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        with self._writing, suppress(OSError, ValueError):
            self._inward.write(HEAD.pack(number, len(body)) + body)
            self._inward.flush()

    def kill(self) -> None:
        """Ends it at once."""
        self.is_gone = True
        self.process.kill()

    def close(self) -> None:
        """Lets it end its children and itself; kills it where it does not."""
        self.process.terminate()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self.process.wait()
        self._hearing.join()
        for pipe in (self._inward, self._outward):
            with suppress(OSError):
                pipe.close()

    def _hear(self) -> None:
        while len(head := self._outward.read(HEAD.size)) == HEAD.size:
            number, size = HEAD.unpack(head)
            if len(body := self._outward.read(size)) < size:
                break
            self._on_loop(self._tell, number, marshal.loads(body))
        self.is_gone = True
        self._on_loop(self._lose_all)

    def _tell(self, number: int, reply: Reply) -> None:
        answer = self._expected.get(number)
        if answer is not None and not answer.done():
            answer.set_result(reply)

    def _lose_all(self) -> None:
        for answer in self._expected.values():
            if not answer.done():
                answer.set_exception(Gone())

    def _on_loop(self, work: Callable[..., None], *values: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            self._loop.call_soon_threadsafe(work, *values)
