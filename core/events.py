"""What happens in a process, for those who watch it: each model call with its cost, each stage, and one event for each
operation. No texts."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from core.graph import Stored
from core.inferences import Inference
from core.ports import ModelCall
from core.prices import PriceTable
from core.times import rfc3339

log = logging.getLogger("gligabao.events")


@dataclass(slots=True)
class Tally:
    """The model calls of one operation, summed, and the run it was."""

    run_id: int | None = None
    models: set[str] = field(default_factory=set[str])
    tokens: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("input", "cached_input", "cache_write", "output", "thinking"), 0)
    )
    cost_usd: float = 0.0

    def add(self, inference: Inference, cost: float) -> None:
        """One more call."""
        usage = inference.usage
        counts = (usage.input, usage.cached, usage.cache_write, usage.output, usage.thinking)
        for name, count in zip(self.tokens, counts, strict=True):
            self.tokens[name] += count
        self.models.add(inference.model)
        self.cost_usd += cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One operation, as it ended. `error` is the code of its failure, never a text; `tool` is there where it was called
    over MCP."""

    time: datetime
    type: str
    tool: str | None = None
    run_id: int | None
    user_id: str
    dataset: str | None
    session_id: str | None
    status: Literal["ok", "error"]
    http_status: int
    latency_ms: int
    models: tuple[str, ...]
    tokens: Mapping[str, int]
    cost_usd: float
    counts: Mapping[str, int]
    error: str | None

    def body(self) -> dict[str, Any]:
        """The JSON object of the event; every field is there, but `tool` only for a call of a tool."""
        tool = {} if self.tool is None else {"tool": self.tool}
        return {
            "time": rfc3339(self.time),
            "type": self.type,
            **tool,
            "run_id": self.run_id,
            "user_id": self.user_id,
            "dataset": self.dataset,
            "session_id": self.session_id,
            "status": self.status,
            "http_status": self.http_status,
            "latency_ms": self.latency_ms,
            "models": list(self.models),
            "tokens": dict(self.tokens),
            "cost_usd": round(self.cost_usd, 9),
            "counts": dict(self.counts),
            "error": self.error,
        }


class Sink(Protocol):
    """Takes events. It neither waits nor raises: who called the operation waits for it."""

    def take(self, event: Event) -> None: ...


class Meter(Protocol):
    """Counts what happens inside operations. It neither waits nor raises."""

    def called(self, call: ModelCall, cost: float) -> None:
        """A model call was made."""
        ...

    def staged(self, stage: str, seconds: float) -> None:
        """A stage of remember ended, well or not."""
        ...

    def ran(self, status: str) -> None:
        """A run of remember ended: succeeded or failed."""
        ...

    def waited(self, seconds: float) -> None:
        """A run of remember got its turn."""
        ...

    def stored(self, stored: Stored) -> None:
        """One part of what was told is stored."""
        ...

    def written(self, index: str, vectors: int) -> None:
        """Vectors were written to an index."""
        ...

    def tool_called(self, tool: str, error: str | None) -> None:
        """A call of an MCP tool was answered; `error` is the code of its failure."""
        ...


class Watcher(Sink, Meter, Protocol):
    """Takes events and counts what happens inside of them."""


class EventLog:
    """Writes each event as a line of JSON to the logger `gligabao.events`, level info."""

    def take(self, event: Event) -> None:
        if log.isEnabledFor(logging.INFO):
            log.info("%s", json.dumps(event.body(), ensure_ascii=False))


_TALLY: ContextVar[Tally | None] = ContextVar("tally", default=None)
_TOOL: ContextVar[str | None] = ContextVar("tool", default=None)


@contextmanager
def called_as_tool(name: str) -> Generator[None]:
    """What is done inside the block, and in the tasks that it starts, is a call of an MCP tool."""
    token = _TOOL.set(name)
    try:
        yield
    finally:
        _TOOL.reset(token)


def tool_called() -> str | None:
    """The MCP tool that is being called, if it is one."""
    return _TOOL.get()


@contextmanager
def tallied() -> Generator[Tally]:
    """Counts the model calls that are made inside the block, and in the tasks that it starts."""
    tally = Tally()
    token = _TALLY.set(tally)
    try:
        yield tally
    finally:
        _TALLY.reset(token)


@dataclass(slots=True)
class Monitor:
    """Hands on what happens to everybody who watches."""

    prices: PriceTable = field(default_factory=PriceTable)
    sinks: list[Sink] = field(default_factory=lambda: [EventLog()])
    meters: list[Meter] = field(default_factory=list[Meter])
    status_of: Callable[[str | None], int] = lambda error: 500 if error else 200
    """The HTTP status of a failure's code, None is none. Who builds the process brings the table."""

    def watched_by(self, watcher: Watcher) -> None:
        """From now on this one is told of everything."""
        self.sinks.append(watcher)
        self.meters.append(watcher)

    def called(self, call: ModelCall) -> None:
        """A model call was made, whether its answer was of use or not."""
        cost = self.prices.cost(call.inference.model, call.inference.usage)
        if tally := _TALLY.get():
            tally.add(call.inference, cost)
        for meter in self.meters:
            meter.called(call, cost)

    def staged(self, stage: str, seconds: float) -> None:
        """A stage of remember ended."""
        for meter in self.meters:
            meter.staged(stage, seconds)

    def ran(self, run_id: int | None, status: str) -> None:
        """A run of remember ended."""
        if tally := _TALLY.get():
            tally.run_id = run_id
        for meter in self.meters:
            meter.ran(status)

    def waited(self, seconds: float) -> None:
        """A run of remember got its turn after so long."""
        for meter in self.meters:
            meter.waited(seconds)

    def stored(self, stored: Stored) -> None:
        """One part of what was told is stored."""
        for meter in self.meters:
            meter.stored(stored)

    def written(self, index: str, vectors: int) -> None:
        """Vectors were written to an index; told from any thread."""
        for meter in self.meters:
            meter.written(index, vectors)

    def tool_called(self, tool: str, error: str | None) -> None:
        """A call of an MCP tool was answered."""
        for meter in self.meters:
            meter.tool_called(tool, error)

    def tell(self, event: Event) -> None:
        """An operation ended."""
        for sink in self.sinks:
            sink.take(event)
