"""Many clients on one memory for a while, with every way to leave half way, and whether anything is lost or left over.

    python -m benchmarks.soak [--minutes 10 | --seconds 30] [--seed N]

Eight clients over HTTP (four in each era of the protocol) and two over stdio share one database file. They remember
(facts given, or read by a scripted model; some with an idempotency key, some with `wait` false) and query, cancel
calls, break connections, close stdin and kill -9 their process during a call, and repeat what got no answer. The server
is ended with SIGTERM and started again, under load, in the first quarter and at the end.

Exit code 1 when an acknowledged text is not there, or is there more often than it was told; when a fact is missing or
there twice; when doctor finds something; when a call fails with another error than the documented ones that say to send
it again, or with none while the server was up; and, in runs of five minutes and more, when the server's memory at the
end is over 1.1 times that at three tenths of the time, or it has more files open. Both are read while the clients rest.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import httpx2
import psutil

from benchmarks.pipes import environment
from benchmarks.scripted_api import scripted_api
from benchmarks.soak_clients import Caller, Failed, Gone, HttpCaller, StdioCaller
from benchmarks.soak_ledger import Memory, Told

HTTP_CLIENTS, STDIO_CLIENTS, USERS = 8, 2, 4
# What the documents say of these: nothing was stored, send the same again.
SEND_AGAIN = {"storage_busy", "queue_full", "shutting_down", "conflict"}
MOST_MEMORY = 1.1
JUDGED_FROM_SECONDS = 300
# At which shares of the time: the server that is measured has to live from the first rest to the last one.
RESTARTS, RESTARTS_OF_A_SHORT_RUN = (0.08, 0.16, 0.24), (0.1,)
FIRST_REST = 0.3
SETTLE_SECONDS = 60.0
DATABASE = "gligabao.db"
MIB = 1024 * 1024


@dataclass(slots=True)
class Seen:
    """What happened, by kind and number, and what should not have."""

    counts: Counter[str] = field(default_factory=Counter[str])
    faults: list[str] = field(default_factory=list[str])
    told: list[Told] = field(default_factory=list[Told])


class Server:
    """`gligabao serve`, and when it was not to be had."""

    def __init__(self, environ: Mapping[str, str], log: IO[bytes]) -> None:
        self._log = log
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._environ = dict(environ)
        self._process: asyncio.subprocess.Process | None = None
        self._up_again = 0.0
        self.down = False
        """From the moment that it is asked to leave until it answers again."""

    async def start(self) -> None:
        command = (sys.executable, "-m", "gligabao_mcp", "serve", "--port", str(self.port))
        self._process = await asyncio.create_subprocess_exec(*command, env=self._environ, stderr=self._log)
        async with httpx2.AsyncClient() as client:
            for _ in range(600):
                try:
                    if (await client.get(f"http://127.0.0.1:{self.port}/readyz")).status_code == 200:
                        return
                except httpx2.TransportError:
                    await asyncio.sleep(0.1)
        raise RuntimeError("the server did not start")

    async def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.down = True
        assert self._process
        self._process.terminate()
        return await asyncio.wait_for(self._process.wait(), SETTLE_SECONDS)

    def kill(self) -> None:
        """Ends it in any case."""
        if self._process and self._process.returncode is None:
            self._process.kill()

    async def restart(self) -> int:
        code = await self.stop()
        await self.start()
        self.down, self._up_again = False, time.monotonic()
        return code

    def was_down_since(self, moment: float) -> bool:
        """Whether a call that began then may have met a server that was going or gone."""
        return self.down or self._up_again >= moment

    def memory_and_files(self) -> tuple[int, int]:
        """Resident bytes, and open descriptors without the pooled connections to the database and to the model: a pool
        opens one more when so many are needed at once for the first time, up to its limit."""
        assert self._process
        process = psutil.Process(self._process.pid)
        pooled = sum(DATABASE in file.path for file in process.open_files())
        pooled += sum(bool(at.raddr) and at.laddr.port != self.port for at in process.net_connections("tcp"))
        return process.memory_info().rss, process.num_fds() - pooled


class Rest:
    """A time in which no client calls and none is connected."""

    def __init__(self, clients: int) -> None:
        self._clients = clients
        self._resting = 0
        self._all = asyncio.Event()
        self._go = asyncio.Event()
        self._go.set()

    async def begin(self) -> None:
        """Returns when all of them rest."""
        self._all.clear()
        self._go.clear()
        await asyncio.wait_for(self._all.wait(), 2 * SETTLE_SECONDS)

    def end(self) -> None:
        self._go.set()

    async def taken(self, caller: Caller) -> None:
        """A client rests here while it is time to."""
        if self._go.is_set():
            return
        await caller.close()
        self._resting += 1
        if self._resting == self._clients:
            self._all.set()
        await self._go.wait()
        self._resting -= 1


class Person:
    """Somebody at a client: says new things, asks about what was said, is impatient, and says again what got lost."""

    def __init__(self, caller: Caller, number: int, server: Server, seen: Seen, dice: random.Random) -> None:
        self.caller = caller
        self.user_id = f"user {number % USERS}"
        self._next = 1 + number * 100_000
        self._server = server
        self._seen = seen
        self._dice = dice
        self._again: list[Told] = []
        self._known: list[Told] = []

    async def live(self, rest: Rest, over: asyncio.Event) -> None:
        while not over.is_set():
            await rest.taken(self.caller)
            with self._noted():
                await (self._ask() if self._known and self._dice.random() < 0.45 else self._tell())
            await asyncio.sleep(self._dice.uniform(0, 1 if self._server.down else 0.2))
        with self._noted():
            await self.caller.close()

    @contextmanager
    def _noted(self) -> Generator[None]:
        """What goes wrong inside is counted, and a fault where it should not have."""
        begun = time.monotonic()
        try:
            yield
        except Failed as failure:
            code = str(failure)
            self._seen.counts[f"error {code}"] += 1
            if code not in SEND_AGAIN:
                self._seen.faults.append(f"{self.caller.name}: {code}")
        except Gone as failure:
            self._seen.counts["calls that met no server"] += 1
            if not self._server.was_down_since(begun):
                self._seen.faults.append(f"{self.caller.name}: {failure}")

    async def _ask(self) -> None:
        told = self._dice.choice(self._known[-200:])
        person, _, thing = told.facts[0]
        by_model = self._dice.random() < 0.2
        asked = {"user_id": self.user_id, "query": f"What does {person} like?", "answer": by_model}
        if self._dice.random() < 0.1:
            await self._left("query", asked)
            return
        found = await self.caller.call("query", asked)
        assert found
        self._seen.counts["queries answered"] += 1
        if not by_model and thing not in {edge["target"] for edge in found["evidence"]["edges"]}:
            self._seen.faults.append(f"{self.caller.name}: query does not find what is acknowledged: {told.text}")

    async def _tell(self) -> None:
        told = self._again.pop() if self._again else self._something_new()
        waits = self._dice.random() >= 0.15
        arguments = told.arguments | ({} if waits else {"wait": False})
        told.calls += 1
        self._again.append(told)  # until it is acknowledged
        if self._dice.random() < 0.2:
            body = await self._left("remember", arguments)
        else:
            body = await self.caller.call("remember", arguments)
        if body is None:
            if self._dice.random() < 0.3:
                self._again.remove(told)  # never told again: it may be stored, once
            return
        self._again.remove(told)
        told.answered(body)
        self._seen.counts["texts acknowledged" if told.artifact_ids else "texts accepted for later"] += 1
        if told.artifact_ids:
            self._known.append(told)

    async def _left(self, tool: str, arguments: Mapping[str, object]) -> dict[str, object] | None:
        """A call that is cancelled, or whose connection breaks, soon after it began; its answer if that was sooner."""
        after = self._dice.uniform(0, 0.3)
        if self._dice.random() < 0.4:
            self._seen.counts[await self.caller.hang_up(tool, arguments, after)] += 1
            return None
        body = await self.caller.call(tool, arguments, after)
        if body is None:
            self._seen.counts["calls cancelled"] += 1
        return body

    def _something_new(self) -> Told:
        self._next += 1
        key = f"key {self._next}" if self._dice.random() < 0.3 else None
        told = Told(self.user_id, self._next, key, read_by_model=self._dice.random() < 0.3)
        self._seen.told.append(told)
        return told


def people(server: Server, environ: Mapping[str, str], seen: Seen, seed: int, log: IO[bytes]) -> list[Person]:
    """Each with dice of its own, so that a seed gives each the same wishes."""
    found: list[Person] = []
    for number in range(HTTP_CLIENTS + STDIO_CLIENTS):
        dice = random.Random(f"{seed} {number}")
        if number < HTTP_CLIENTS:
            mode = "legacy" if number % 2 else "auto"
            caller: Caller = HttpCaller(f"HTTP {number} ({mode})", server.port, mode)
        else:
            caller = StdioCaller(f"stdio {number}", environ, dice, log)
        found.append(Person(caller, number, server, seen, dice))
    return found


async def soak(seconds: float, home: Path, keys: Mapping[str, str], seed: int, log: IO[bytes]) -> Seen:
    """The whole of it, on a fresh memory. What the processes log goes to the file."""
    environ = environment(str(home), **keys)
    seen, server, memory = Seen(), Server(environ, log), Memory(home / DATABASE)
    try:
        await server.start()
        await _lived(seconds, people(server, environ, seen, seed, log), server, seen)
        await _settled(memory, seen)
        if code := await server.stop():
            seen.faults.append(f"the server left with exit code {code}")
    finally:
        server.kill()
    seen.faults += memory.faults(seen.told)
    await _examine(environ, seen)
    return seen


async def _lived(seconds: float, clients: Sequence[Person], server: Server, seen: Seen) -> None:
    """Everybody at work for that long, with restarts and two rests to measure in."""
    rest, over = Rest(len(clients)), asyncio.Event()
    restarts = RESTARTS if seconds >= JUDGED_FROM_SECONDS else RESTARTS_OF_A_SHORT_RUN
    readings: list[tuple[int, int]] = []
    begun = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for person in clients:
            tasks.create_task(person.live(rest, over))
        for share in restarts:
            await _until(begun + share * seconds)
            await _restart(server, seen)
        for share in (FIRST_REST, 1.0):
            await _until(begun + share * seconds)
            readings.append(await _at_rest(server, rest))
        await _restart(server, seen)
        await asyncio.sleep(1)
        over.set()
    first, last = readings
    _compare(first, last, seconds, seen)


async def _until(moment: float) -> None:
    await asyncio.sleep(max(0.0, moment - time.monotonic()))


async def _restart(server: Server, seen: Seen) -> None:
    seen.counts["restarts"] += 1
    if code := await server.restart():
        seen.faults.append(f"the server left with exit code {code}")


async def _at_rest(server: Server, rest: Rest) -> tuple[int, int]:
    """Memory and files of the server, when its connections have closed."""
    await rest.begin()
    await asyncio.sleep(3)
    reading = server.memory_and_files()
    rest.end()
    return reading


def _compare(first: tuple[int, int], last: tuple[int, int], seconds: float, seen: Seen) -> None:
    ratio = last[0] / first[0]
    print(
        f"memory of the server     {first[0] / MIB:.0f} MB at {FIRST_REST * seconds:.0f} s, {last[0] / MIB:.0f} MB at "
        f"{seconds:.0f} s: {ratio:.2f} (at most {MOST_MEMORY})\n"
        f"files open               {first[1]}, then {last[1]}"
    )
    if seconds < JUDGED_FROM_SECONDS:
        return
    if ratio > MOST_MEMORY:
        seen.faults.append(f"memory grew {ratio:.2f} times")
    if last[1] > first[1]:
        seen.faults.append(f"{last[1] - first[1]} more files are open")


async def _settled(memory: Memory, seen: Seen) -> None:
    """Returns when every run has ended that was accepted for later."""
    run_ids = {run_id for told in seen.told for run_id in told.run_ids}
    until = time.monotonic() + SETTLE_SECONDS
    while left := memory.unfinished(run_ids):
        if time.monotonic() > until:
            seen.faults.append(f"{left} accepted runs have not ended {SETTLE_SECONDS:g} s later")
            return
        await asyncio.sleep(0.5)


async def _examine(environ: Mapping[str, str], seen: Seen) -> None:
    command = (sys.executable, "-m", "gligabao_mcp", "doctor")
    process = await asyncio.create_subprocess_exec(*command, env=dict(environ), stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    if process.returncode:
        seen.faults.append(f"doctor: {said.decode().strip()}")


def main() -> int:
    """Prints what happened, and each fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    how_long = parser.add_mutually_exclusive_group()
    how_long.add_argument("--minutes", type=float, default=10)
    how_long.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    seconds = options.seconds or 60 * options.minutes
    print(f"seed                     {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as home, scripted_api() as keys, tempfile.TemporaryFile() as log:
        seen = asyncio.run(soak(seconds, Path(home), keys, options.seed, log))
        log.seek(0)
        logged = log.read().decode(errors="replace").splitlines()
    print(f"texts told               {len(seen.told)}")
    for kind, number in sorted(seen.counts.items()):
        print(f"{kind:<24} {number}")
    print(f"faults                   {len(seen.faults)}")
    for fault in seen.faults[:50]:
        print(f"  {fault}")
    if seen.faults:
        print("\n".join(["the end of the processes' log:", *logged[-50:]]))
    return 1 if seen.faults else 0


if __name__ == "__main__":
    sys.exit(main())
