"""How the work on a question ended: with an answer, or with the best rows and why there is none."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from core.ask.checks import Answer
from core.ask.history import history_of, query_of
from core.ask.request import AskRequest
from core.ask.response import AnswerQuery, HistoryShown
from core.ask.steps import CompareFound, Found, QueryFound, Step
from core.core import Core
from core.errors import GligabaoError
from core.evals.trace import Reply, Route
from core.evals.traces import NewTrace, record_trace
from core.graph import Dataset
from core.sparql.response import SparqlResponse

log = logging.getLogger(__name__)

# What of the request is kept with a trace, so that the question can be asked the same way again.
_INPUTS = {"anchor", "context", "route", "timeline", "today"}


@dataclass(frozen=True, slots=True)
class Ending:
    """What the response says besides how it was come by."""

    rationale: str
    reply: Reply | None = None
    query: AnswerQuery | None = None
    result: SparqlResponse | None = None
    history: HistoryShown | None = None
    error: str | None = None


def stopped(why: str, taken: Sequence[Step]) -> Ending:
    """No answer: the best rows, and why."""
    ran = [step.found for step in taken if step.found]
    best = next((found for found in reversed(ran) if tells(found)), ran[-1] if ran else None)
    if best is None:
        return Ending(why, error=why)
    result = best.ran.response if isinstance(best, QueryFound) else None
    return Ending(why, None, query_of(best), result, history_of(best), why)


def tells(found: Found) -> bool:
    """Whether it says something about the question: rows, a yes or no, or what a comparison found."""
    if isinstance(found, CompareFound):
        return True
    return bool(found.ran.solutions.rows) or found.ran.solutions.boolean is not None


async def answered(core: Core, dataset: Dataset, request: AskRequest, route: Route, answer: Answer, seq: int) -> Ending:
    """The answer with its rows. It leaves a trace; one about what changed between two points has no rows to label."""
    found = answer.step.found if answer.step else None
    reply = Reply(text=answer.text, citations=answer.citations, chart=answer.chart)
    query, history = (query_of(found), history_of(found)) if found else (None, None)
    rationale = answer.rationale or "No query holds the answer."
    if isinstance(found, CompareFound):
        return Ending(rationale, reply, query, None, history)
    trace = NewTrace(
        request=request.question,
        surface="ask",
        sparql=query.sparql if query else "",
        entailment=query.entailment if query else "none",
        seq=found.ran.solutions.seq if found else seq,
        solutions=found.ran.solutions if found else None,
        route=route.body(),
        reply=reply.body(),
        ask=request.model_dump(mode="json", include=_INPUTS, exclude_defaults=True),
    )
    trace_id = await _kept(core, dataset, trace)
    result = found.ran.response.model_copy(update={"trace_id": trace_id}) if found else None
    return Ending(rationale, reply, query, result, history)


async def _kept(core: Core, dataset: Dataset, trace: NewTrace) -> str | None:
    """The id of the trace; None where it could not be kept, which is no reason to lose an answer."""
    try:
        return await record_trace(core, dataset, trace)
    except GligabaoError as failure:
        log.warning("the trace of a question could not be kept: %s", failure.code)
        return None
