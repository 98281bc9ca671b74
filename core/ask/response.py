"""AskResponse: the answer, what it rests on, and how it was come by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from core.evals.trace import Reply, Route, TracedEntailment
from core.names.names import Candidate
from core.requests import Response
from core.sparql.response import SparqlResponse

ToolName = Literal["sparql", "find_entities", "describe", "commit_for_date", "compare"]
ResolvedBy = Literal["commit_time", "timeline", "request"]
Role = Literal["router", "rewriter"]

Binding = dict[str, dict[str, str]]


class AnswerQuery(Response):
    """The query whose rows hold the answer; of a comparison, at its later point."""

    sparql: Annotated[str, Field(description="With its PREFIX lines.")]
    entailment: TracedEntailment
    as_of_commit_seq: int | None = None


class StepShown(Response):
    """What the model did in one step. `rows`: how many rows its query has, or how many entries differ."""

    n: int
    tool: ToolName
    input: dict[str, Any]
    ok: bool
    rows: int | None = None
    error: str | None = None
    ms: int


class ModelCallShown(Response):
    """One call of a model. `ok`: it answered in a usable form."""

    role: Role
    provider: str
    model: str
    ok: bool
    ms: int
    tokens: int
    cost_micro_usd: Annotated[int, Field(description="In millionths of a US dollar.")]


class GroundingShown(Response):
    """The description of the graph that the models read, in counts."""

    commit_seq: int
    classes: int
    properties: int
    embeddings: int
    age_ms: int
    focus_classes: int | None = None
    focus_properties: int | None = None
    names: int | None = None
    profile_version: int | None = None
    text: str | None = None


class Totals(Response):
    """How many entries each list of a comparison has in all."""

    added: int
    removed: int
    changed: int
    unchanged: int


class ChangeShown(Response):
    """A record whose rows differ between two points."""

    key: Binding
    before: list[Binding]
    after: list[Binding]


class HistoryShown(Response):
    """The commit that a question about the past was answered from; of a comparison the earlier point, and what differs.
    Each list has at most 500 entries."""

    compare: bool
    as_of_date: str | None = None
    as_of_commit_seq: int | None = None
    resolved_by: ResolvedBy | None = None
    label: str | None = None
    key: list[str] | None = None
    added: list[Binding] | None = None
    removed: list[Binding] | None = None
    changed: list[ChangeShown] | None = None
    totals: Totals | None = None
    truncated: Annotated[bool | None, Field(description="There is more, or a point was not read whole.")] = None


class Timings(Response):
    """Milliseconds. link_ms and anchor_ms pass while route_ms does."""

    ground_ms: int = 0
    route_ms: int = 0
    rewrite_ms: int = 0
    run_ms: int = 0
    total_ms: int = 0
    link_ms: int | None = None
    anchor_ms: int | None = None


class AnchorShown(Response):
    """What was read of a record that the user picked."""

    iri: str
    found: bool
    label: str | None = None
    types: list[str] | None = None
    note: str | None = None


class AskResponse(Response):
    """The answer with the query whose rows hold it. `error` says why there is none; `result` then holds the best rows
    that were read."""

    answer: Reply | None = None
    route: Route
    query: AnswerQuery | None = None
    result: SparqlResponse | None = None
    history: HistoryShown | None = None
    rationale: str
    attempts: Annotated[int, Field(description="Queries and comparisons that were run.")]
    steps: list[StepShown] | None = None
    error: str | None = None
    grounding: GroundingShown
    models: list[ModelCallShown]
    timings: Timings
    linked: Sequence[Candidate] | None = None
    anchors: list[AnchorShown] | None = None
