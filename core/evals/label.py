"""evals_label: the operation, thumbs up or down on an answer or on rows of it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from core.core import Core
from core.errors import InvalidRequest
from core.evals.golden import Golden, golden_id_of
from core.evals.labeling import MAX_NOTE, ItemLabel, answer_labeled, found_wrong, rows_labeled
from core.evals.ports import Labeled
from core.evals.reading import read_golden
from core.evals.trace import EvalItem, EvalLabel, EvalTrace, LabelSource, RouteKind
from core.evals.traces import TRACE_ID, no_trace
from core.graph import Dataset
from core.graphs.graph_of import graph_of
from core.graphs.requests import GraphRequest
from core.rdf.gate import MAX_QUERY
from core.requests import Label, Response

MAX_ITEMS = 100


class LabelRequest(GraphRequest):
    trace: Annotated[str, TRACE_ID]
    valid: Annotated[bool | None, Field(description="true: right. false: wrong. Of the row in item, else of all.")] = (
        None
    )
    item: Annotated[str | None, Field(max_length=64, description="The row that is meant.")] = None
    items: Annotated[
        tuple[ItemLabel, ...] | None, Field(max_length=MAX_ITEMS, description="Several rows: id, valid and note.")
    ] = None
    sparql: Annotated[
        str | None,
        Field(max_length=MAX_QUERY, description="With valid false: the right query of the question. It is run once."),
    ] = None
    route: Annotated[RouteKind | None, Field(description="The kind that the question should be taken for.")] = None
    note: Annotated[str | None, Field(max_length=MAX_NOTE, description="At most 1,000 characters.")] = None
    by: Annotated[Label, Field(description="Who says so.")] = None
    source: Annotated[LabelSource, Field(description="explicit, implicit or judge.")] = "explicit"

    @model_validator(mode="after")
    def _says_one_thing(self) -> LabelRequest:
        if self.items is not None and (self.item is not None or self.valid is not None):
            raise ValueError("items: can't be given with item or valid")
        if self.items is None and self.valid is None:
            raise ValueError("valid: is required, or items")
        if self.items is not None and not self.items:
            raise ValueError("items: must hold at least one")
        of_rows = self.items is not None or self.item is not None
        if self.sparql is not None and (of_rows or self.valid):
            raise ValueError("sparql: can only be given with valid false, for the whole answer")
        if self.route is not None and (of_rows or (not self.valid and self.sparql is None)):
            raise ValueError("route: can only be given with valid true, or with sparql, for the whole answer")
        return self


class LabelResponse(Response):
    """The trace with its labels, and the golden that they made or changed."""

    trace: EvalTrace
    golden: Golden | None = None
    labeled: Annotated[int | None, Field(description="How many rows were labelled.")] = None


async def label(core: Core, request: LabelRequest) -> LabelResponse:
    """Say whether an answer, or a row of it, was right; what is right becomes a golden that later answers are checked
    against.

    `valid: true` alone makes the trace's query the golden query of its question; with `valid: false` that is the one in
    `sparql`; `valid: false` alone marks the answer wrong. Labels of rows judge these rows.
    """
    dataset = await graph_of(core, request)
    trace = await core.evals.trace(dataset, request.trace)
    if trace is None:
        raise no_trace("trace")
    rows = _rows(request, trace)
    said = EvalLabel(
        valid=bool(request.valid), ts=core.clock(), source=request.source, by=request.by, note=request.note
    )
    right = await _right_query(core, dataset, request, trace)

    def change(trace: EvalTrace, golden: Golden | None) -> Labeled:
        if rows:
            return rows_labeled(trace, golden, rows, said, dataset.head_seq)
        if right is None:
            return found_wrong(trace, golden, said)
        return answer_labeled(trace, golden, right, request.route, said, dataset.head_seq)

    changed, golden = await core.evals.label(dataset, request.trace, golden_id_of(trace), change)
    return LabelResponse(trace=changed, golden=golden, labeled=len(rows) or None)


def _rows(request: LabelRequest, trace: EvalTrace) -> list[tuple[EvalItem, ItemLabel]]:
    """The rows that are labelled; none where the whole answer to a question is. Of a query each row is."""
    there = {item.id: item for item in trace.results.items}
    if request.items is not None:
        given = list(request.items)
    elif request.item is not None:
        given = [ItemLabel(id=request.item, valid=bool(request.valid), note=request.note)]
    else:
        of_query = there if trace.surface == "sparql" else {}
        given = [ItemLabel(id=id_, valid=bool(request.valid), note=request.note) for id_ in of_query]
    if any(label.id not in there for label in given):
        param = "item" if request.items is None else "items"
        raise InvalidRequest(f"{param}: the trace shows no such row", param=param)
    if not given and trace.surface == "sparql":
        raise InvalidRequest("valid: the trace has no rows to label", param="valid")
    return [(there[label.id], label) for label in given]


async def _right_query(core: Core, dataset: Dataset, request: LabelRequest, trace: EvalTrace) -> str | None:
    """The right query of the question: the one that was sent, which is run once, or that of the right answer; empty for
    a question that the graph can't answer."""
    if request.sparql is not None:
        if trace.surface == "sparql":
            raise InvalidRequest("sparql: can only be given for the trace of a question", param="sparql")
        return (await read_golden(core, dataset, request.sparql, trace.entailment))[0]
    if not request.valid:
        return None
    route = request.route or (trace.route.kind if trace.route else None)
    if not trace.sparql and route != "unanswerable":
        raise InvalidRequest(
            "valid: the answer has no query; send valid false with sparql, or route unanswerable", param="valid"
        )
    return trace.sparql
