"""Who uses the memory in a soak: says new things, asks about them, is impatient, and says again what got no answer."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO

from benchmarks.soak_clients import Caller, Failed, Gone, HttpCaller, StdioCaller
from benchmarks.soak_ledger import Told
from benchmarks.soak_server import Server

HTTP_CLIENTS, STDIO_CLIENTS, USERS = 8, 2, 4
# What the documents say of these: nothing was stored, send the same again.
SEND_AGAIN = {"storage_busy", "queue_full", "shutting_down", "conflict"}
REST_SECONDS = 120.0


@dataclass(slots=True)
class Seen:
    """What happened, by kind and number, and what should not have."""

    counts: Counter[str] = field(default_factory=Counter[str])
    faults: list[str] = field(default_factory=list[str])
    told: list[Told] = field(default_factory=list[Told])


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
        await asyncio.wait_for(self._all.wait(), REST_SECONDS)

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
    """Somebody at a client."""

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
