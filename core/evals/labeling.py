"""What a label makes of a trace and of the golden of its question or query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from core.evals.golden import Golden, Judgment, golden_id_of, with_trace
from core.evals.ports import Labeled
from core.evals.query_type import query_type_of
from core.evals.trace import EvalItem, EvalLabel, EvalTrace, RouteKind

MAX_NOTE = 1_000


class ItemLabel(BaseModel):
    """What somebody says of one row."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    id: Annotated[str, Field(min_length=1, max_length=64, description="The id of the row in the trace.")]
    valid: Annotated[bool, Field(description="true: the row answers the question.")]
    note: Annotated[str | None, Field(max_length=MAX_NOTE, description="At most 1,000 characters.")] = None


def rows_labeled(
    trace: EvalTrace, golden: Golden | None, rows: Sequence[tuple[EvalItem, ItemLabel]], said: EvalLabel, seq: int
) -> Labeled:
    """Rows of a query make its golden; rows of an answer are judged for that of its question, once it is there."""
    labels = {item.id: said.model_copy(update={"valid": one.valid, "note": one.note}) for item, one in rows}
    changed = trace.model_copy(update={"labels": {**trace.labels, **labels}})
    if golden is None:
        if trace.surface == "ask":
            return changed, None
        golden = _new_golden(trace, trace.sparql, said, seq)
    judged = golden.model_copy(
        update={
            "judgments": {**golden.judgments, **_judgments(changed)},
            "label_source": said.source,
            "trace_ids": with_trace(golden.trace_ids, trace.trace_id),
            "frozen_at_seq": seq,
        }
    )
    return changed.model_copy(update={"golden_id": golden.id}), judged


def answer_labeled(
    trace: EvalTrace, golden: Golden | None, right: str, route: RouteKind | None, said: EvalLabel, seq: int
) -> Labeled:
    """The right query becomes the golden one; its route is the one that was named, else that of the right answer."""
    changed = trace.model_copy(update={"answer": said, "golden_id": golden_id_of(trace)})
    before = golden or _new_golden(trace, right, said, seq)
    taken = trace.route.kind if said.valid and trace.route else before.route
    return changed, before.model_copy(
        update={
            "sparql": right,
            "entailment": trace.entailment,
            "query_type": query_type_of(right),
            "route": route or taken,
            "judgments": {**before.judgments, **_judgments(trace)},
            "answer": said,
            "label_source": said.source,
            "trace_ids": with_trace(before.trace_ids, trace.trace_id),
            "frozen_at_seq": seq,
        }
    )


def found_wrong(trace: EvalTrace, golden: Golden | None, said: EvalLabel) -> Labeled:
    """A golden that was made of this very answer goes."""
    stays = golden if golden is not None and golden.sparql != trace.sparql else None
    return trace.model_copy(update={"answer": said, "golden_id": stays.id if stays else None}), stays


def _new_golden(trace: EvalTrace, sparql: str, said: EvalLabel, seq: int) -> Golden:
    return Golden(
        id=golden_id_of(trace),
        request=trace.request,
        sparql=sparql,
        entailment=trace.entailment,
        surface=trace.surface,
        query_type=query_type_of(sparql),
        ask=trace.ask,
        origin="trace",
        frozen_at_seq=seq,
        created_at=said.ts,
    )


def _judgments(trace: EvalTrace) -> dict[str, Judgment]:
    items = {item.id: item for item in trace.results.items}
    return {id_: _judgment(items[id_], label) for id_, label in trace.labels.items() if id_ in items}


def _judgment(item: EvalItem, label: EvalLabel) -> Judgment:
    return Judgment(relevant=label.valid, label=item.label, source=label.source, ts=label.ts, by=label.by, iri=item.iri)
