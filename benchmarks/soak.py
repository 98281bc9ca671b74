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
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from benchmarks.pipes import environment
from benchmarks.scripted_api import scripted_api
from benchmarks.soak_ledger import Memory
from benchmarks.soak_people import Person, Rest, Seen, people
from benchmarks.soak_server import DATABASE, Server

MOST_MEMORY = 1.1
JUDGED_FROM_SECONDS = 300
# At which shares of the time: the server that is measured has to live from the first rest to the last one.
RESTARTS, RESTARTS_OF_A_SHORT_RUN = (0.08, 0.16, 0.24), (0.1,)
FIRST_REST = 0.3
SETTLE_SECONDS = 60.0
MIB = 1024 * 1024


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
