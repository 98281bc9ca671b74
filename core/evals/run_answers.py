"""evals_run_answers: the operation that checks an app's own answers to the golden questions."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from core.core import Core
from core.evals.checks import Answer, checked
from core.evals.golden import MAX_GOLDENS, Golden
from core.evals.goldens import GOLDEN_ID
from core.evals.results import VerdictDetail
from core.evals.run import RunResponse
from core.evals.runs import Meeting, Run, Via
from core.evals.trace import Reply, Route, TracedEntailment
from core.evals.writable import written_graph
from core.graph import Dataset
from core.graphs.requests import GraphRead
from core.rdf.gate import MAX_QUERY
from core.requests import Offset

# All answers of a request together; what is not checked by then is skipped, and told so.
ANSWERS_SECONDS = 60.0
# Each holds the rows of two queries.
CHECKED_AT_ONCE = 2
MAX_TEXT = 8_000
_RUNNER = re.compile(r"[a-z0-9-]{1,40}")


def _named(value: str) -> str:
    if not _RUNNER.fullmatch(value):
        raise ValueError("must be 1 to 40 of the letters a to z, digits and -")
    return value


Runner = Annotated[str, AfterValidator(_named), Field(description="An app: 1 to 40 of a to z, 0 to 9 and -.")]


class RunAnswer(BaseModel):
    """An app's answer to one golden question. Without `sparql` it found that the graph can't answer it."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    golden: Annotated[str, GOLDEN_ID]
    sparql: Annotated[
        str | None, Field(max_length=MAX_QUERY, description="The query whose rows hold the answer. It is run.")
    ] = None
    entailment: Annotated[TracedEntailment | None, Field(description="Default: none.")] = None
    as_of_commit_seq: Annotated[Offset | None, Field(description="The commit it was read at. Default: the newest.")] = (
        None
    )
    route: Annotated[Route | None, Field(description="The route of the question, as mode route answered it.")] = None
    reply: Annotated[Reply | None, Field(description="The answer in words; kept with the verdict.")] = None
    error: Annotated[str | None, Field(max_length=1_000, description="Why there is no answer.")] = None
    cost_micro_usd: Annotated[
        int | None, Field(ge=0, le=10**12, description="What it cost, in millionths of a US dollar.")
    ] = None


class RunAnswersRequest(GraphRead):
    answers: Annotated[
        tuple[RunAnswer, ...], Field(max_length=MAX_GOLDENS, description="One for each golden, at most 2,000.")
    ]
    runner: Runner = "app"

    @model_validator(mode="after")
    def _answers_once(self) -> RunAnswersRequest:
        if len({answer.golden for answer in self.answers}) < len(self.answers):
            raise ValueError("answers: must hold one for each golden, not two")
        if any(answer.reply and len(answer.reply.text) > MAX_TEXT for answer in self.answers):
            raise ValueError(f"answers: reply.text must have at most {MAX_TEXT:,} characters")
        return self


async def run_answers(core: Core, request: RunAnswersRequest) -> RunResponse:
    """Check your own agent's answers to the golden questions, as ask's are checked. The results are a series of their
    own, by `runner`.

    Each query is run: it must be of the golden's type, hold the same rows at the same commit, and have the rows that
    people judged.
    """
    dataset = await written_graph(core, request)
    run = await Run.begun(core, dataset, runner=request.runner)
    questions = {golden.id: golden for golden in run.suite.goldens if golden.surface == "ask"}
    for answer in request.answers:
        if answer.golden not in questions:
            run.skip(answer.golden, "app", "there is no golden question of that id")
    meetings: list[tuple[str, Via, Meeting]] = [
        (answer.golden, "app", partial(_met, core, dataset, questions[answer.golden], answer))
        for answer in request.answers
        if answer.golden in questions
    ]
    await run.meet(meetings, ANSWERS_SECONDS, CHECKED_AT_ONCE)
    return RunResponse(results=await run.ended())


async def _met(core: Core, dataset: Dataset, golden: Golden, given: RunAnswer) -> VerdictDetail:
    answer = Answer(
        "app",
        sparql=given.sparql,
        entailment=given.entailment or "none",
        at_seq=given.as_of_commit_seq,
        route=given.route,
        reply=given.reply,
        error=given.error,
        cost_micro_usd=given.cost_micro_usd,
    )
    return await checked(core, dataset, golden, answer)
