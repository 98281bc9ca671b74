"""Which questions are taken: of a graph that is there, while a model is there and the day has questions left."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC

from core.ask.deadline import Deadline
from core.ask.request import AskRequest
from core.core import Core
from core.errors import InvalidRequest, ModelUnavailable, QuestionLimit
from core.graph import Dataset
from core.graphs.graph_of import graph_of
from core.talk import ToolCallingModel

NO_MODEL = (
    "no model that can call tools is configured. Ways out: set ANTHROPIC_API_KEY; or use an OpenAI-compatible server "
    "with --llm openai --llm-base-url http://localhost:11434/v1 --llm-model NAME; the embedded engine (llm = local) "
    "answers query, not ask. Without a model, sparql-text, names, describe and compare work for an agent of your own"
)


@dataclass(frozen=True, slots=True)
class Admitted:
    """A question that was let in and counted: its dataset, and its time, which has begun."""

    dataset: Dataset
    deadline: Deadline


async def admitted(core: Core, request: AskRequest) -> Admitted:
    """Lets a question in. Raises UnknownDataset, InvalidRequest for a commit that is not there, ModelUnavailable and
    QuestionLimit, in this order: what can't be answered is not counted."""
    deadline = Deadline(core.monotonic)
    dataset = await graph_of(core, request)
    if (request.as_of_commit_seq or 0) > dataset.head_seq:
        raise InvalidRequest(f"as_of_commit_seq: the newest commit is {dataset.head_seq}", param="as_of_commit_seq")
    if request.mode == "answer":
        asker_of(core)
    most = core.config.ask_questions_per_day
    today = core.clock().astimezone(UTC).date()
    if not await core.questions.count(today, most):
        raise QuestionLimit(
            f"the {most} questions of this UTC day are asked (setting ask_questions_per_day); ask again tomorrow"
        )
    return Admitted(dataset, deadline)


def asker_of(core: Core) -> ToolCallingModel:
    """The model that answers questions; raises ModelUnavailable, with the ways out, where there is none."""
    if core.asker is None:
        raise ModelUnavailable(NO_MODEL)
    return core.asker
