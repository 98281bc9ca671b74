"""checked: one answer against its golden."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.core import Core
from core.errors import InvalidRequest, NoEmbedding, QueryTimeout, QueryTooLarge
from core.evals.golden import Golden
from core.evals.items import ids_of
from core.evals.query_type import query_type_of
from core.evals.reading import QUERY_SECONDS, names_of, rows_of
from core.evals.results import QueryCheck, RouteCheck, VerdictDetail
from core.evals.same_rows import records_of, same_rows
from core.evals.trace import Reply, Route, RouteKind, TracedEntailment
from core.graph import Dataset
from core.rdf.terms import Solutions

# What says that a query can't be run. Everything else is a failure of ours, and no verdict on an answer.
BROKEN = (InvalidRequest, NoEmbedding, QueryTimeout, QueryTooLarge)


@dataclass(frozen=True, slots=True)
class Answer:
    """Somebody's answer to a golden's question. Without `sparql` it says that the graph can't answer it; `error` tells
    why there is no answer at all."""

    via: Literal["ask", "query", "app"]
    sparql: str | None = None
    entailment: TracedEntailment = "none"
    at_seq: int | None = None
    route: Route | None = None
    reply: Reply | None = None
    error: str | None = None
    cost_micro_usd: int | None = None


async def checked(
    core: Core, dataset: Dataset, golden: Golden, answer: Answer, seconds: float = QUERY_SECONDS
) -> VerdictDetail:
    """The verdict: whether the query is of the golden's type, whether both queries hold the same rows at the same
    commit, and whether the rows that people judged came back."""
    base = VerdictDetail(
        verdict="error",
        via=answer.via,
        message=answer.error,
        sparql=answer.sparql if answer.via != "query" else None,
        route=answer.route.kind if answer.route else None,
        reply=answer.reply,
        route_check=_route_check(golden.route, answer.route),
        cost_micro_usd=answer.cost_micro_usd,
    )
    if answer.error is not None:
        return base
    if not answer.sparql:
        return await _unanswered(core, dataset, golden, base)
    try:
        theirs = await rows_of(core, dataset, answer.sparql, answer.entailment, answer.at_seq, seconds)
    except BROKEN as failure:
        return _told(base, "error", failure.message)
    if answer.via == "query":
        return _judged(golden, theirs, None, base)
    try:
        ours = await _golden_rows(core, dataset, golden, answer.at_seq, seconds)
        if ours.seq != theirs.seq:  # somebody wrote meanwhile: both at the later commit
            theirs = await rows_of(core, dataset, answer.sparql, answer.entailment, ours.seq, seconds)
            ours = await _golden_rows(core, dataset, golden, ours.seq, seconds)
    except BROKEN as failure:
        return _told(base, "error", f"the golden's own query: {failure.message}")
    check = await _compared(core, dataset, ours, theirs, answer.at_seq)
    types = {"expected_type": golden.query_type, "query_type": query_type_of(answer.sparql)}
    return _judged(golden, theirs, ours, base.model_copy(update={"query_check": check, **types}))


async def _golden_rows(core: Core, dataset: Dataset, golden: Golden, at_seq: int | None, seconds: float) -> Solutions:
    if not golden.sparql:
        return Solutions((), (), 0, dataset.head_seq if at_seq is None else at_seq, 0.0)
    return await rows_of(core, dataset, golden.sparql, golden.entailment, at_seq, seconds)


async def _compared(core: Core, dataset: Dataset, ours: Solutions, theirs: Solutions, at_seq: int | None) -> QueryCheck:
    """By what the rows say; where that differs, a record and its name are the same thing."""
    # In a thread: ten thousand rows take a second, and others are waiting.
    check = await asyncio.to_thread(same_rows, ours, theirs)
    records = records_of(ours) | records_of(theirs)
    if check.passed or not records:
        return check
    return await asyncio.to_thread(same_rows, ours, theirs, await names_of(core, dataset, records, at_seq))


async def _unanswered(core: Core, dataset: Dataset, golden: Golden, base: VerdictDetail) -> VerdictDetail:
    """An answer that the graph can't say is right where the golden's route says so; where it has no route, where its
    query finds nothing."""
    if golden.route is not None or not golden.sparql:
        right = golden.route in ("unanswerable", None)
    else:
        try:
            right = not (await rows_of(core, dataset, golden.sparql, golden.entailment)).rows
        except BROKEN as failure:
            return _told(base, "error", f"the golden's own query: {failure.message}")
    return _told(base, "pass", None) if right else _told(base, "fail", "the question has an answer")


def _judged(golden: Golden, theirs: Solutions, ours: Solutions | None, detail: VerdictDetail) -> VerdictDetail:
    """With what came back of the judged rows. Of a question, a right row counts while the golden's query has it: the
    graph has moved on since it was judged."""
    returned = set(ids_of(theirs, golden.surface))
    relevant = {id_ for id_, judgment in golden.judgments.items() if judgment.relevant}
    if ours is not None:
        relevant &= set(ids_of(ours, golden.surface))
    wrong = {id_ for id_, judgment in golden.judgments.items() if not judgment.relevant} & returned
    back = relevant & returned
    counted = detail.model_copy(
        update={
            "item_count": len(returned),
            "relevant_returned": len(back),
            "relevant_missing": len(relevant - back),
            "wrong_returned": len(wrong),
            "unknown_returned": len(returned - golden.judgments.keys()),
            "precision": len(back) / len(back | wrong) if back or wrong else None,
            "recall": len(back) / len(relevant) if relevant else None,
        }
    )
    faults = _faults(counted)
    return _told(counted, "fail" if faults else "pass", "; ".join(faults) or None)


def _faults(detail: VerdictDetail) -> Sequence[str]:
    """Why an answer fails, in words."""
    check = detail.query_check
    counts = {
        "missing rows": check.missing if check else 0,
        "extra rows": check.extra if check else 0,
        "missing rows that were judged right": detail.relevant_missing or 0,
        "returned rows that were judged wrong": detail.wrong_returned or 0,
    }
    faults = [f"{what}: {count}" for what, count in counts.items() if count]
    if detail.query_type != detail.expected_type:
        faults.insert(0, f"the query is {detail.query_type}, not {detail.expected_type}")
    return faults


def _told(detail: VerdictDetail, verdict: Literal["pass", "fail", "error"], message: str | None) -> VerdictDetail:
    return detail.model_copy(update={"verdict": verdict, "message": message})


def _route_check(expected: RouteKind | None, route: Route | None) -> RouteCheck | None:
    """The router's pick: the likeliest kind where its probabilities are told, else the route that it chose. None where
    it did not choose."""
    if expected is None or route is None or route.by == "caller":
        return None
    if route.probabilities:
        pick, probability = max(route.probabilities.items(), key=lambda one: one[1])
    elif route.by == "router":
        pick, probability = route.kind, route.confidence
    else:
        return None
    return RouteCheck(expected=expected, router=pick, probability=probability, right=pick == expected)
