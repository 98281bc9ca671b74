"""Trajectories: the course of one call with its texts, step by step, in the Agent Trajectory Interchange Format 1.8.

Off by default. A stage reports to the trajectory of its call, where there is one: `if seen := recording(): …`.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from core.errors import GligabaoError
from core.inferences import Inference
from core.ports import StageRecord
from core.prices import PriceTable
from core.times import rfc3339

if TYPE_CHECKING:
    from core.core import Core

SCHEMA_VERSION = "ATIF-v1.8"

Body = dict[str, Any]


class TrajectorySink(Protocol):
    """Keeps trajectories. It never raises: a call must not fail for its record."""

    def keep(self, trajectory: Trajectory) -> None:
        """Blocks until it is kept."""
        ...


@dataclass(frozen=True, slots=True)
class Of:
    """Which call it is: remember or query, and the id of its run, if it has one."""

    operation: str
    session_id: str | None
    run_id: int | None = None

    def name(self) -> str:
        """What its file is called, one of its own for each call."""
        unique = self.run_id or f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"
        return f"{self.operation}-{unique}"


@dataclass(frozen=True, slots=True)
class Tool:
    """What a step did besides asking a model: its name, what it was given, and what came of it."""

    name: str
    arguments: Mapping[str, object]
    result: object


@dataclass(frozen=True, slots=True)
class Step:
    """One step as a stage reported it; `at` is when it had ended."""

    stage: str
    at: datetime
    message: str = ""
    inference: Inference | None = None
    tool: Tool | None = None
    extra: Mapping[str, object] = field(default_factory=dict[str, object])
    inference_id: Callable[[], int | None] = lambda: None
    """Asked at the end: the log of a run is written a little later than its steps happen."""


@dataclass(slots=True)
class Trajectory:
    """The course of one call so far. `given` is what was asked besides the message."""

    name: str
    """What its file is called."""
    session_id: str | None
    message: str
    given: Mapping[str, object]
    prices: PriceTable
    clock: Callable[[], datetime]
    began: datetime = field(init=False)
    steps: list[Step] = field(default_factory=list[Step])
    chunk_index: int | None = None
    """Of the chunk that is read now, in a text that has some."""
    error: str = ""

    def __post_init__(self) -> None:
        self.began = self.clock()

    def asked(
        self,
        stage: str,
        inferences: Sequence[Inference],
        said: object,
        ids: Sequence[Callable[[], int | None]],
        **extra: object,
    ) -> None:
        """Calls of a language model in one stage. What it said is the message of the last one; those before it were of
        no use."""
        for number, (inference, inference_id) in enumerate(zip(inferences, ids, strict=True), 1):
            answered = number == len(inferences) and not inference.error
            message = (said if isinstance(said, str) else as_json(said)) if answered and said is not None else ""
            more = extra if answered else {}
            self._add(Step(stage, self.clock(), message, inference, None, more, inference_id))

    def used(
        self,
        stage: str,
        tool: Tool,
        inference: Inference | None = None,
        inference_id: Callable[[], int | None] = lambda: None,
        **extra: object,
    ) -> None:
        """Something done by us, `inference` being the embeddings that it took."""
        self._add(Step(stage, self.clock(), "", inference, tool, extra, inference_id))

    def _add(self, step: Step) -> None:
        chunk: Mapping[str, object] = {} if self.chunk_index is None else {"chunk_index": self.chunk_index}
        self.steps.append(replace(step, extra={**step.extra, **chunk}))

    def body(self, version: str) -> Body:
        """The JSON object of the trajectory; `version` is the release that wrote it."""
        shown = [self._user(), *(self._step(number, step) for number, step in enumerate(self.steps, 2))]
        agent: Body = {"name": "gligabao-mcp", "version": version}
        asked = (step.inference.model for step in self.steps if step.inference and step.tool is None)
        if model := next(asked, ""):
            agent["model_name"] = model
        body: Body = {"schema_version": SCHEMA_VERSION, "trajectory_id": self.name, "agent": agent, "steps": shown}
        if self.session_id is not None:
            body["session_id"] = self.session_id
        body["final_metrics"] = _totals(shown)
        outcome = {"status": "failed", "error": self.error} if self.error else {"status": "succeeded"}
        return body | {"extra": outcome}

    def _user(self) -> Body:
        return {
            "step_id": 1,
            "source": "user",
            "timestamp": rfc3339(self.began),
            "message": self.message,
            "extra": {"input": dict(self.given)},
        }

    def _step(self, number: int, step: Step) -> Body:
        body: Body = {"step_id": number, "source": "agent", "timestamp": rfc3339(step.at), "message": step.message}
        extra: Body = {"step": step.stage, **step.extra}
        if step.tool is not None:
            body |= _tool_call(f"t{number}", step.tool)
        if step.inference is None:
            body["llm_call_count"] = 0
        else:
            body |= self._call(step.inference, embedding=step.tool is not None)
            extra |= _timed(step, step.inference)
        if (inference_id := step.inference_id()) is not None:
            extra["inference_id"] = inference_id
        return body | {"extra": extra}

    def _call(self, inference: Inference, *, embedding: bool) -> Body:
        usage = inference.usage
        metrics: Body = {"prompt_tokens": usage.input, "cost_usd": self.prices.cost(inference.model, usage)}
        if embedding:  # no count of calls: the format takes 0 for a step that spent nothing, 1 for a language model
            return {"model_name": inference.model, "metrics": metrics}
        metrics |= {"completion_tokens": usage.output, "cached_tokens": usage.cached}
        metrics["extra"] = {"reasoning_tokens": usage.thinking, "cache_write_tokens": usage.cache_write}
        named: Body = {"model_name": inference.model, "reasoning_effort": inference.reasoning}
        return named | {"llm_call_count": 1, "metrics": metrics}


def _tool_call(call_id: str, tool: Tool) -> Body:
    call = {"tool_call_id": call_id, "function_name": tool.name, "arguments": json.loads(as_json(tool.arguments))}
    content = tool.result if isinstance(tool.result, str) else as_json(tool.result)
    return {"tool_calls": [call], "observation": {"results": [{"source_call_id": call_id, "content": content}]}}


def _timed(step: Step, inference: Inference) -> Body:
    began = step.at - timedelta(milliseconds=inference.latency_ms)
    timed: Body = {"latency_ms": inference.latency_ms, "started_at": rfc3339(began)}
    return timed | ({"error": inference.error} if inference.error else {})


def _totals(steps: Sequence[Body]) -> Body:
    metrics = [step["metrics"] for step in steps if "metrics" in step]
    return {
        "total_prompt_tokens": sum(one["prompt_tokens"] for one in metrics),
        "total_completion_tokens": sum(one.get("completion_tokens", 0) for one in metrics),
        "total_cost_usd": sum(one["cost_usd"] for one in metrics),
        "total_steps": len(steps),
    }


def as_json(value: object) -> str:
    """A value of ours as JSON, its times in RFC 3339."""
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return rfc3339(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


# The trajectory of the call that is going on --------------------------------------------------------------------------

_CURRENT: ContextVar[Trajectory | None] = ContextVar("trajectory", default=None)


def recording() -> Trajectory | None:
    """The trajectory of this call; None where none is kept, which is the default."""
    return _CURRENT.get()


@asynccontextmanager
async def recorded(core: Core, of: Of, message: str, given: Callable[[], Mapping[str, object]]) -> AsyncGenerator[None]:
    """Keeps the trajectory of what happens inside the block, also when it fails. Costs nothing where that is off."""
    if core.trajectories is None:
        yield
        return
    trajectory = Trajectory(of.name(), of.session_id, message, given(), core.monitor.prices, core.clock)
    token = _CURRENT.set(trajectory)
    try:
        yield
    except BaseException as failure:
        ours = isinstance(failure, GligabaoError)
        trajectory.error = failure.message if ours else type(failure).__name__
        raise
    finally:
        _CURRENT.reset(token)
        await asyncio.to_thread(core.trajectories.keep, trajectory)


def known(inference_id: int | None) -> Callable[[], int | None]:
    """An id that is there already."""
    return lambda: inference_id


def id_in(record: StageRecord, position: int) -> Callable[[], int | None]:
    """The id of the call at that place among those of a stage, once it is written."""
    return lambda: record.inference_ids[position] if position < len(record.inference_ids) else None
