"""EvalTrace: an answered question as it is kept and shown, with what people said of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.requests import Response
from core.wire import Time

RouteKind = Literal["lookup", "aggregate", "search", "history", "schema", "unanswerable"]
ChartKind = Literal["bar", "line", "scatter", "table"]
Surface = Literal["sparql", "ask"]
LabelSource = Literal["explicit", "implicit", "judge"]
QueryType = Literal["sparql", "hybrid", "search"]
TracedEntailment = Literal["none", "subclass", "rdfs", "owl"]


class Route(Response):
    """The kind of a question, who chose it, and how sure that choice is."""

    kind: RouteKind
    confidence: Annotated[float, Field(ge=0, le=1)]
    by: Literal["caller", "router", "rewriter"]
    probabilities: dict[RouteKind, float] | None = None


class Chart(Response):
    """How the rows are drawn: the columns by their names."""

    kind: ChartKind
    x: str | None = None
    y: str | None = None
    series: str | None = None


class Reply(Response):
    """The answer in plain words, with the records that it names."""

    text: str
    citations: tuple[str, ...] | None = None
    chart: Chart | None = None


class TimelinePoint(Response):
    """A date, and the commit that stands for it."""

    date: date
    as_of_commit_seq: int
    label: str | None = None


class AskInputs(BaseModel):
    """What else a question was asked with, so that a run asks it the same way."""

    model_config = ConfigDict(frozen=True)

    anchor: tuple[str, ...] | None = None
    context: str | None = None
    route: RouteKind | None = None
    timeline: tuple[TimelinePoint, ...] | None = None
    today: date | None = None


class EvalItem(Response):
    """One row of an answer. `id` stands for what the row says, whatever its place."""

    id: str
    rank: int
    label: str
    value: Mapping[str, Any] | bool
    iri: str | None = None


class EvalItems(Response):
    """The rows of an answer: how many, the first of them, and a digest of the ids of all."""

    item_count: int
    items_blake3: Annotated[str, Field(description="A digest of the ids as a set.")]
    items: tuple[EvalItem, ...] = ()


class EvalLabel(Response):
    """What somebody said of a row, or of an answer."""

    valid: bool
    ts: Time
    source: LabelSource = "explicit"
    by: str | None = None
    note: str | None = None


class EvalTrace(Response):
    """A question, the query that answers it, its rows, and the labels."""

    trace_id: str
    ts: Time
    request: str
    surface: Surface
    sparql: Annotated[str, Field(description="Empty where no query answers the question.")]
    entailment: TracedEntailment
    query_type: QueryType
    served_at_seq: int
    results: EvalItems
    route: Route | None = None
    reply: Reply | None = None
    ask: AskInputs | None = None
    labels: dict[str, EvalLabel] = Field(default_factory=dict)
    answer: Annotated[EvalLabel | None, Field(description="The label of the whole answer.")] = None
    golden_id: str | None = None
    v: int = 2

    @property
    def labeled(self) -> bool:
        """Whether anybody said anything of it."""
        return bool(self.labels) or self.answer is not None
