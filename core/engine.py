"""PromptedEngine: reads, compares and answers with a language model. NoEngine: says how to get one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, NoReturn, TypeVar

from core.answers import Usable, read_answer, read_graph, read_image_reading, read_summary, read_verdicts
from core.errors import ModelFailed, NotConfigured
from core.extraction import read_extraction, read_messages
from core.graph import Edge, Extraction, Message, StatedEdge, Verdict
from core.images import Image, ImageReading
from core.inferences import Choice, Inference, prompt_hash
from core.ports import Answer, Completion, LanguageModel, Prompt, Reply
from core.prompts.extract_graph import extract_graph_prompt
from core.prompts.extract_image import extract_image_prompt
from core.prompts.extract_messages import extract_messages_prompt
from core.prompts.query import query_prompt
from core.prompts.resolve_edges import resolve_edges_prompt
from core.prompts.summarize_chunk import summarize_chunk_prompt
from core.query.subgraph import Subgraph

T = TypeVar("T")

ATTEMPTS = 2


class PromptedEngine:
    """An engine over a language model. An answer of no use is asked for once more, a refusal is not."""

    answer_mode: Literal["model", "extractive"] = "model"

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def asking(self, wrapped: Callable[[LanguageModel], LanguageModel]) -> PromptedEngine:
        """The same engine, with something between it and its model."""
        return PromptedEngine(wrapped(self._model))

    def require(self) -> None:
        """A language model is there."""

    async def extract(self, text: str, reference_time: datetime, choice: Choice) -> Reply[Extraction]:
        """The entities and facts that the text states, under the name of the model that read it."""
        reply = await self._ask(extract_graph_prompt(text, reference_time), choice, read_graph)
        entities, edges = reply.value
        model = reply.inferences[-1].model
        extraction = read_extraction(entities, edges, reference_time=reference_time, model_id=model)
        return Reply(extraction, reply.inferences, reply.notes)

    async def extract_messages(self, messages: Sequence[Message], choice: Choice) -> Reply[Extraction]:
        """What the messages state, each fact with the ones that say it."""
        reply = await self._ask(extract_messages_prompt(messages), choice, read_graph)
        entities, edges = reply.value
        extraction = read_messages(entities, edges, messages, reply.inferences[-1].model)
        return Reply(extraction, reply.inferences, reply.notes)

    async def summarize(self, text: str, choice: Choice) -> Reply[str]:
        """Two to four sentences."""
        return await self._ask(summarize_chunk_prompt(text), choice, read_summary)

    async def read_image(self, image: Image, choice: Choice) -> Reply[ImageReading]:
        """What the model sees; a model that can't see answers with a failure of its own."""
        return await self._ask(extract_image_prompt(image), choice, read_image_reading)

    async def resolve(
        self, new: Sequence[StatedEdge], candidates: Sequence[Edge], choice: Choice
    ) -> Reply[list[Verdict]]:
        """One verdict for each new fact, in order, by the ids of the candidates."""
        ids = frozenset(edge.id for edge in candidates)
        prompt = resolve_edges_prompt(new, candidates)
        return await self._ask(prompt, choice, lambda text: read_verdicts(text, len(new), ids))

    async def answer(self, question: str, subgraph: Subgraph, now: datetime, choice: Choice) -> Reply[Answer]:
        """An answer from the subgraph alone."""
        return await self._ask(query_prompt(question, subgraph, now), choice, read_answer)

    async def _ask(self, prompt: Prompt, choice: Choice, read: Callable[[str], Usable[T] | None]) -> Reply[T]:
        spent: list[Inference] = []
        problem = ""
        for _ in range(ATTEMPTS):
            completion = await self._complete(_again(prompt, problem), choice, spent)
            usable = read(completion.text) if completion.stop == "finished" else None
            problem = "" if usable else _problem(completion)
            spent.append(_recorded(completion.inference, prompt, problem))
            if usable:
                return Reply(usable.value, tuple(spent), _notes(usable.left_out))
            if completion.stop == "refused":
                break
        raise ModelFailed(problem, inferences=spent)

    async def _complete(self, prompt: Prompt, choice: Choice, spent: Sequence[Inference]) -> Completion:
        try:
            return await self._model.complete(prompt, choice)
        except ModelFailed as failure:
            failed = (_recorded(inference, prompt, inference.error) for inference in failure.inferences)
            failure.inferences = (*spent, *failed)
            raise


def _again(prompt: Prompt, problem: str) -> Prompt:
    """The prompt, after an answer of no use with a word about what was wrong: a server that always picks the likeliest
    token would only repeat itself. The fixed text stays as it is, so a cached prefix still counts."""
    if not problem:
        return prompt
    return replace(prompt, user=f"{prompt.user}\n\n({problem[0].upper()}{problem[1:]}. Return only the JSON object.)")


def _problem(completion: Completion) -> str:
    """Why an answer is of no use, written for the user; never with the answer in it."""
    if completion.stop == "refused":
        return (
            f"the model refused to answer ({completion.detail})" if completion.detail else "the model refused to answer"
        )
    if completion.stop == "truncated":
        return "the model's answer was truncated"
    return "the model's answer could not be parsed" if completion.text.strip() else "the model's answer was empty"


def _recorded(inference: Inference, prompt: Prompt, error: str) -> Inference:
    return replace(inference, prompt_hash=prompt_hash(prompt.system), error=error)


def _notes(left_out: int) -> tuple[str, ...]:
    if not left_out:
        return ()
    return (f"left out {left_out} item{'' if left_out == 1 else 's'} of the model's answer that did not fit",)


NOT_CONFIGURED = (
    "no language model is configured. Ways out: set ANTHROPIC_API_KEY; or use an OpenAI-compatible server with "
    "--llm openai --llm-base-url http://localhost:11434/v1 --llm-model NAME; or use the embedded engine with "
    "--llm local (install gligabao-mcp[local]); or pass entities and edges yourself to remember, and answer: false to "
    "query for the evidence alone."
)


class NoEngine:
    """The engine of a process without a language model: every call says how to get one."""

    answer_mode: Literal["model", "extractive"] = "model"

    def require(self) -> None:
        _refuse()

    async def extract(self, text: str, reference_time: datetime, choice: Choice) -> Reply[Extraction]:
        _refuse()

    async def extract_messages(self, messages: Sequence[Message], choice: Choice) -> Reply[Extraction]:
        _refuse()

    async def summarize(self, text: str, choice: Choice) -> Reply[str]:
        _refuse()

    async def read_image(self, image: Image, choice: Choice) -> Reply[ImageReading]:
        _refuse()

    async def resolve(
        self, new: Sequence[StatedEdge], candidates: Sequence[Edge], choice: Choice
    ) -> Reply[list[Verdict]]:
        _refuse()

    async def answer(self, question: str, subgraph: Subgraph, now: datetime, choice: Choice) -> Reply[Answer]:
        _refuse()


def _refuse() -> NoReturn:
    raise NotConfigured(NOT_CONFIGURED)
