"""Traces of answered questions: recording one, and the operations evals_traces and evals_trace."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

from core.core import Core
from core.errors import NotFound
from core.evals.items import items_of
from core.evals.query_type import query_type_of
from core.evals.trace import AskInputs, EvalTrace, Reply, Route, Surface, TracedEntailment
from core.graph import Dataset
from core.graphs.graph_of import NOTHING, graph_of
from core.graphs.requests import GraphRequest
from core.rdf.terms import Solutions
from core.requests import Limit, Response

DEFAULT_TRACES = 50
TRACE_ID = Field(min_length=1, max_length=64, description="The id of the trace.")


@dataclass(frozen=True, slots=True)
class NewTrace:
    """An answered question. `sparql` is empty, with no solutions, where no query answers it. `reply` is the answer and
    `ask` what else was asked with; objects are taken as the response and the request show them."""

    request: str
    surface: Surface
    sparql: str
    entailment: TracedEntailment
    seq: int
    solutions: Solutions | None
    route: Route | Mapping[str, Any] | None = None
    reply: Reply | Mapping[str, Any] | None = None
    ask: AskInputs | Mapping[str, Any] | None = None


_untraced: ContextVar[bool] = ContextVar("untraced", default=False)


@contextmanager
def untraced() -> Generator[None]:
    """Within it no trace is kept: of questions that are asked again to be checked."""
    before = _untraced.set(True)
    try:
        yield
    finally:
        _untraced.reset(before)


async def record_trace(core: Core, dataset: Dataset, new: NewTrace) -> str | None:
    """Keeps an answered question for labelling; the id of its trace. None where nothing is kept: of a question that is
    asked again to be checked, and with a dataset that is not there yet."""
    if dataset.id == NOTHING or _untraced.get():
        return None
    solutions = new.solutions or Solutions((), (), 0, new.seq, 0.0)
    trace = EvalTrace(
        trace_id=secrets.token_hex(12),
        ts=core.clock(),
        request=new.request,
        surface=new.surface,
        sparql=new.sparql,
        entailment=new.entailment,
        query_type=query_type_of(new.sparql),
        served_at_seq=new.seq,
        results=items_of(solutions, new.surface),
        route=None if new.route is None else Route.model_validate(new.route),
        reply=None if new.reply is None else Reply.model_validate(new.reply),
        ask=None if new.ask is None else _dated(AskInputs.model_validate(new.ask), core.clock()),
    )
    await core.evals.add_trace(dataset, trace)
    return trace.trace_id


def _dated(inputs: AskInputs, now: datetime) -> AskInputs:
    """With the day of the question, so that "last week" stays the week that was meant."""
    return inputs if inputs.today else inputs.model_copy(update={"today": now.astimezone(UTC).date()})


class TracesRequest(GraphRequest):
    limit: Limit = DEFAULT_TRACES
    unlabeled: Annotated[bool, Field(description="Only traces of which nobody said anything yet.")] = False


class TraceRequest(GraphRequest):
    id: Annotated[str, TRACE_ID]


class TracesResponse(Response):
    """Traces, newest first. `truncated`: there are more."""

    traces: list[EvalTrace]
    truncated: bool


async def traces(core: Core, request: TracesRequest) -> TracesResponse:
    """List the newest traces of answered questions, with their rows and labels."""
    dataset = await graph_of(core, request)
    found = await core.evals.traces(dataset, request.limit + 1, unlabeled=request.unlabeled)
    return TracesResponse(traces=found[: request.limit], truncated=len(found) > request.limit)


async def trace(core: Core, request: TraceRequest) -> EvalTrace:
    """Show one trace: the question, the query that answered it, its rows and their labels."""
    dataset = await graph_of(core, request)
    found = await core.evals.trace(dataset, request.id)
    if found is None:
        raise no_trace("id")
    return found


def no_trace(param: str) -> NotFound:
    """What is raised for a trace that is not there."""
    return NotFound(f"{param}: there is no such trace", param=param)
