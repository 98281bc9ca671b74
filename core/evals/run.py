"""evals_run: the operation that meets every golden again, questions through ask and queries by themselves."""

from __future__ import annotations

from functools import partial

from pydantic import ValidationError

from core.ask.ask import AskRequest, AskResponse, ask
from core.core import Core
from core.errors import DailyLimit, ModelUnavailable, NotConfigured, QueryTimeout, QueryTooLarge, QuestionLimit
from core.evals.checks import Answer, checked
from core.evals.golden import Golden
from core.evals.results import EvalResults, VerdictDetail
from core.evals.runs import Meeting, NoMore, Run, Via, via_of
from core.evals.traces import untraced
from core.evals.writable import written_graph
from core.graph import Dataset
from core.graphs.requests import GraphRead
from core.requests import Response

# A run may ask hundreds of questions of seconds each; what it does not come to is skipped, and told so.
RUN_SECONDS = 600.0
ASKED_AT_ONCE = 3
# After one of these the next question would end the same way.
_ALL_ALIKE = (QuestionLimit, DailyLimit, NotConfigured)


class RunRequest(GraphRead):
    """Whose goldens."""


class RunResponse(Response):
    """What the run found."""

    results: EvalResults


async def run_goldens(core: Core, request: RunRequest) -> RunResponse:
    """Ask every golden question again, and run every golden query: does each still have the right rows?

    Questions cost model calls, as when they are asked. At most `max_goldens` of the settings are met, for ten minutes.
    """
    dataset = await written_graph(core, request)
    run = await Run.begun(core, dataset, runner=None)
    chosen = run.suite.goldens[: run.settings.max_goldens]
    for golden in run.suite.goldens[len(chosen) :]:
        run.skip(golden.id, via_of(golden), "over max_goldens of the settings")
    meetings: list[tuple[str, Via, Meeting]] = [
        (golden.id, via_of(golden), partial(_met, core, dataset, golden)) for golden in chosen
    ]
    with untraced():
        await run.meet(meetings, RUN_SECONDS, ASKED_AT_ONCE)
    return RunResponse(results=await run.ended())


async def _met(core: Core, dataset: Dataset, golden: Golden) -> VerdictDetail:
    if golden.surface == "sparql":
        query = Answer("query", golden.sparql, golden.entailment)
        return await checked(core, dataset, golden, query)
    try:
        response = await ask(core, _asked_again(dataset, golden))
    except ValidationError:  # words that an app sent with its own query may be no question
        return VerdictDetail(verdict="error", via="ask", message="the question is outside the limits of ask")
    except _ALL_ALIKE as failure:
        raise NoMore(failure) from None
    except (ModelUnavailable, QueryTimeout, QueryTooLarge) as failure:
        return VerdictDetail(verdict="error", via="ask", message=failure.message)
    return await checked(core, dataset, golden, _answer_of(response))


def _asked_again(dataset: Dataset, golden: Golden) -> AskRequest:
    """The question as it was asked."""
    inputs = golden.ask.model_dump(mode="json", exclude_none=True) if golden.ask else {}
    asked = {"user_id": dataset.user_id, "dataset": dataset.name, "question": golden.request, **inputs}
    return AskRequest.model_validate(asked)


def _answer_of(response: AskResponse) -> Answer:
    query = response.query
    return Answer(
        "ask",
        sparql=query.sparql if query else None,
        entailment=query.entailment if query else "none",
        at_seq=query.as_of_commit_seq if query else None,
        route=response.route,
        reply=response.answer,
        error=response.error,
        cost_micro_usd=sum(call.cost_micro_usd for call in response.models),
    )
