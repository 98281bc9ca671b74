"""The kind of a question: as its caller fixed it, else as a quick model picks it, else by a rule."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from core.answers import read_json
from core.ask.calls import Calls
from core.ask.ports import Picked, Router
from core.ask.request import AskRequest
from core.core import Core
from core.errors import DailyLimit, ModelFailed
from core.evals.trace import Route, RouteKind
from core.inferences import Choice, prompt_hash
from core.ports import LanguageModel, Reply
from core.prompts.route import KINDS, route_prompt

# Advisory, so it gets little time and no second try.
ROUTE_SECONDS = 5.0

# What a question says of its kind, the surest first. English words: other languages are looked up.
_WORDS: tuple[tuple[RouteKind, re.Pattern[str]], ...] = (
    ("history", re.compile(r"\b(chang|since|used to|previously|formerly|history|as of|back then|at the time)", re.I)),
    (
        "aggregate",
        re.compile(r"\b(how (many|much|often)|count|number of|total|sum|average|most|least|top|each|per)\b", re.I),
    ),
    (
        "schema",
        re.compile(r"\b(class(es)?|propert(y|ies)|schema|ontology|data model|kinds? of (data|records?))\b", re.I),
    ),
    ("search", re.compile(r"\b(about|similar|related to|like|concerning|deals? with)\b", re.I)),
)
_BY_RULE = 0.5


async def route_of(core: Core, request: AskRequest, description: str, calls: Calls) -> Route:
    """The kind of the question. A model that does not answer in time, or costs more than may be spent, is gone without.
    It sees the question, the context and the description of the graph, and nothing else."""
    if request.route is not None:
        return Route(kind=request.route, confidence=1.0, by="caller")
    picked = await _picked(core.router, request, description, calls) if core.router else None
    return picked or rule(request.question)


def rule(question: str) -> Route:
    """The kind by words of the question, where no model is there to tell."""
    for kind, words in _WORDS:
        if words.search(question):
            return Route(kind=kind, confidence=_BY_RULE, by="router")
    return Route(kind="lookup", confidence=_BY_RULE, by="router")


class ModelRouter:
    """A router that is one small call of a language model. `name` empty: the one that it is anyway."""

    def __init__(self, model: LanguageModel, name: str = "") -> None:
        self.model = name or model.model
        self._model = model

    async def pick_route(self, question: str, context: str, description: str) -> Reply[Picked]:
        """The kind, as the model says it with a probability for each."""
        prompt = route_prompt(question, context, description)
        completion = await self._model.complete(prompt, Choice(self.model))
        picked = read_route(completion.text) if completion.stop == "finished" else None
        unusable = "" if picked else "the model's answer names no kind"
        inference = replace(completion.inference, prompt_hash=prompt_hash(prompt.system), error=unusable)
        if picked is None:
            raise ModelFailed(unusable, inferences=[inference])
        return Reply(picked, (inference,))


async def _picked(router: Router, request: AskRequest, description: str, calls: Calls) -> Route | None:
    began = calls.deadline.now()
    try:
        async with asyncio.timeout(calls.deadline.share(ROUTE_SECONDS)):
            reply = await router.pick_route(request.question, request.context, description)
    except ModelFailed as failure:
        await calls.record("router", failure.inferences, None)
        return None
    except TimeoutError:
        await calls.record("router", [calls.late(router.model, began)], None)
        return None
    except DailyLimit:
        return None
    picked = reply.value
    await calls.record("router", reply.inferences, picked.kind)
    likely = dict(picked.probabilities) or None
    return Route(kind=picked.kind, confidence=picked.confidence, by="router", probabilities=likely)


def read_route(text: str) -> Picked | None:
    """The kind in a model's answer, its probabilities brought to a sum of 1; None where it names no kind."""
    return read_json(text, _stated)


def _stated(value: object) -> Picked | None:
    stated = _object(value)
    kind = stated.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        return None
    chosen = cast("RouteKind", kind)
    likely = _probabilities(_object(stated.get("probabilities")))
    return Picked(chosen, likely.get(chosen, _BY_RULE), likely)


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _probabilities(given: Mapping[str, object]) -> dict[RouteKind, float]:
    stated: dict[RouteKind, float] = {}
    for kind in KINDS:
        value = given.get(kind)
        if isinstance(value, int | float) and 0 <= value <= 1:
            stated[kind] = float(value)
    total = sum(stated.values())
    return {kind: round(value / total, 4) for kind, value in stated.items()} if total else {}
