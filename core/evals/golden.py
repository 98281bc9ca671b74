"""Golden: a question, or a query, whose right answer is known; answers are checked against it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from core.evals.trace import (
    AskInputs,
    EvalLabel,
    EvalTrace,
    LabelSource,
    QueryType,
    RouteKind,
    Surface,
    TracedEntailment,
)
from core.requests import Response
from core.wire import Time

# Goldens of one dataset: as many as a run of an app's answers takes.
MAX_GOLDENS = 2_000
# The newest traces that a golden names.
TRACES_NAMED = 20


class Judgment(Response):
    """What is known of one row: `relevant` ones have to come back, the others must not."""

    relevant: bool
    label: str
    source: LabelSource
    ts: Time
    by: str | None = None
    iri: str | None = None


class Golden(Response):
    """The right query of a question (surface ask), or a query with rows that were judged (surface sparql)."""

    id: str
    request: str | None = None
    sparql: Annotated[str, Field(description="Empty where no query answers the question.")]
    entailment: TracedEntailment
    surface: Surface
    query_type: QueryType
    route: Annotated[RouteKind | None, Field(description="The kind of the question.")] = None
    ask: AskInputs | None = None
    origin: Literal["trace", "manual"]
    judgments: dict[str, Judgment] = Field(default_factory=dict)
    answer: EvalLabel | None = None
    label_source: LabelSource | None = None
    trace_ids: tuple[str, ...] = ()
    frozen_at_seq: Annotated[int, Field(description="The commit at which it was made or accepted last.")]
    created_at: Time
    accepted_at: Time | None = None
    accepted_by: str | None = None
    v: int = 2


class GoldenSuite(Response):
    """The goldens of a dataset, in the order in which they were made. Each change of them adds 1 to the version."""

    goldens: list[Golden]
    version: int
    v: int = 1


def golden_id_of(trace: EvalTrace) -> str:
    """The id of the golden that a trace's labels belong to: a question keeps its own, whatever its right query is."""
    if trace.surface == "sparql":
        return query_golden_id(trace.request, trace.sparql, trace.entailment)
    anchors = sorted(trace.ask.anchor or ()) if trace.ask else []
    return _digest("ask", " ".join(trace.request.split()), *anchors)


def query_golden_id(request: str | None, sparql: str, entailment: TracedEntailment) -> str:
    """The id of a query's golden."""
    return _digest("sparql", request or "", sparql.strip(), entailment)


def with_trace(trace_ids: Sequence[str], trace_id: str) -> tuple[str, ...]:
    """The newest traces that a golden names, with one more."""
    return (*(i for i in trace_ids if i != trace_id), trace_id)[-TRACES_NAMED:]


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
