"""Asks questions of a core, with a model that does what a test tells it to."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lbb import models

from core.ask.ask import AskRequest, ask, ask_events
from core.ask.ports import Router
from core.ask.routing import ModelRouter
from core.config import Config
from core.core import Core
from core.engine import PromptedEngine
from core.talk import Talk, Told
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core
from tests.ask.services import FIRST, GRAPH, SECOND, USER, load

Call = tuple[str, dict[str, Any]]


def sparql(query: str, **more: Any) -> list[Call]:
    """A round of one query."""
    return [("sparql", {"query": query, **more})]


def answer(text: str = "It is so.", *citations: str, **more: Any) -> list[Call]:
    """The turn that answers."""
    return [("answer", {"text": text, "citations": list(citations), "rationale": "The rows hold it.", **more})]


@dataclass
class Asker:
    """The core, its model, and how a question is asked of them."""

    core: Core
    model: ScriptedModel

    def request(self, question: str, **fields: Any) -> AskRequest:
        # A fixed route, unless a test asks for another: the router's call is not part of every script.
        return AskRequest.model_validate(
            {"user_id": USER, "dataset": GRAPH, "question": question, "route": "lookup", **fields}
        )

    async def ask(self, question: str = "How many?", **fields: Any) -> dict[str, Any]:
        """The response body, as the public client reads it."""
        body = (await ask(self.core, self.request(question, **fields))).body()
        models.QueryRewriteResponse.model_validate(body)
        return body

    async def events(self, question: str = "How many?", **fields: Any) -> list[tuple[str, dict[str, Any]]]:
        """The names and data of all events."""
        found: list[tuple[str, dict[str, Any]]] = []
        async for event in ask_events(self.core, self.request(question, **fields)):
            models.QueryRewriteEvent.model_validate({"event": event.name, "data": event.data})
            found.append((event.name, event.data))
        return found

    @property
    def last(self) -> Talk:
        """The talk as the model saw it last."""
        return self.model.talks[-1]

    def said(self) -> str:
        """Everything that the model was told, over all its calls."""
        parts = [part.text for talk in self.model.talks for part in talk.system]
        return "\n".join([*parts, *(told for talk in self.model.talks for told in told_in(talk))])

    def changed(self, **fields: Any) -> Asker:
        """The same with other fields of the core."""
        return replace(self, core=replace(self.core, **fields))


def told_in(talk: Talk) -> list[str]:
    """What the model is told in the messages of a talk."""
    told = [message for message in talk.messages if isinstance(message, Told)]
    return [text for one in told for text in (*(result.text for result in one.results), one.text) if text]


@asynccontextmanager
async def opened(
    home: Path, model: ScriptedModel, *, router: Router | None = None, **settings: Any
) -> AsyncGenerator[Asker]:
    """A memory with the services in two commits."""
    router = router or ModelRouter(model)
    providers = Providers(PromptedEngine(model), HashEmbedder(), asker=model, router=router)
    async with open_core(Config(home=home, **settings), providers) as core:
        for turtle in (FIRST, SECOND):
            await load(core, turtle)
        yield Asker(core, model)
