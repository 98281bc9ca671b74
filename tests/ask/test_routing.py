"""Who picks the kind of a question, and what it is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.ask.ports import Picked
from core.ask.routing import ModelRouter, read_route, rule
from core.errors import ModelFailed, ModelOverloaded
from core.inferences import Inference, Usage
from core.ports import Reply
from core.prompts.route import KINDS
from gligabao_mcp.providers.scripted import ScriptedModel
from tests.ask.asking import Asker, answer, opened, sparql
from tests.ask.services import COUNT, TOTAL, records
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

JEV = Inference("typesafe", "jev-1.13.0", "jev-latest", Usage(input=757, output=9), latency_ms=300)


class Router:
    """A router that says what it is told to."""

    model = "jev-latest"

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.asked: list[tuple[str, str, str]] = []

    async def pick_route(self, question: str, context: str, description: str) -> Reply[Picked]:
        self.asked.append((question, context, description))
        if self.failure:
            raise self.failure
        return Reply(Picked("aggregate", 0.99, {"aggregate": 0.99, "unanswerable": 0.01}), (JEV,))


def said(kind: str, **probabilities: float) -> dict[str, object]:
    return {"kind": kind, "probabilities": probabilities or {kind: 1}}


@requirement("ask.routes", "ask.router", "ask.route-fields", "ask.models-field")
async def test_jev_picks_the_route_where_it_is_there(tmp_path: Path, model: ScriptedModel) -> None:
    router = Router()
    async with opened(tmp_path, model, router=router) as asked:
        model.turns(sparql(TOTAL), answer("Four."))
        body = await asked.ask("How many services are there?", route=None)
    probabilities = {"aggregate": 0.99, "unanswerable": 0.01}
    assert body["route"] == {"kind": "aggregate", "confidence": 0.99, "by": "router", "probabilities": probabilities}
    assert [(call["role"], call["provider"]) for call in body["models"]] == [
        ("router", "typesafe"),
        ("rewriter", "scripted"),
        ("rewriter", "scripted"),
    ]
    assert {**body["models"][0]} == {
        "role": "router",
        "provider": "typesafe",
        "model": "jev-1.13.0",
        "ok": True,
        "ms": 300,
        "tokens": 766,
        "cost_micro_usd": 32,
    }
    assert not model.prompts


@requirement("ask.router", "ask.route-fields")
async def test_without_jev_a_model_picks_it_in_one_small_call(asked: Asker) -> None:
    asked.model.replies(said("history", history=0.6, lookup=0.2))
    asked.model.turns(sparql(TOTAL), answer("Four."))
    body = await asked.ask(route=None)
    assert body["route"] == {
        "kind": "history",
        "confidence": 0.75,
        "by": "router",
        "probabilities": {"history": 0.75, "lookup": 0.25},
    }
    (prompt,) = asked.model.prompts
    assert prompt.schema["properties"]["kind"]["enum"] == list(KINDS)
    assert (prompt.schema_name, prompt.max_tokens) == ("route", 512)


async def test_the_model_that_routes_may_be_another(tmp_path: Path, model: ScriptedModel) -> None:
    async with opened(tmp_path, model, router=ModelRouter(model, "small-1")) as asked:
        model.replies(said("lookup"))
        model.turns(answer("Four."))
        await asked.ask(route=None)
    assert [choice.model for choice in model.choices] == ["small-1", ""]


@requirement("ask.router")
@pytest.mark.parametrize("failure", [ModelOverloaded("busy", inferences=[JEV]), ModelFailed("no")])
async def test_a_router_that_fails_is_gone_without(tmp_path: Path, model: ScriptedModel, failure: Exception) -> None:
    async with opened(tmp_path, model, router=Router(failure)) as asked:
        model.turns(sparql(TOTAL), answer("Four."))
        body = await asked.ask("How many services are there?", route=None)
    assert (body["route"]["kind"], body["route"]["by"]) == ("aggregate", "router")
    assert body["answer"]["text"] == "Four."


@requirement("ask.router", "ask.models-field")
async def test_a_router_that_hangs_is_not_waited_for(
    tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.ask.routing.ROUTE_SECONDS", 0.05)

    class Hanging(Router):
        async def pick_route(self, question: str, context: str, description: str) -> Reply[Picked]:
            await asyncio.sleep(60)
            raise AssertionError

    async with opened(tmp_path, model, router=Hanging()) as asked:
        model.turns(answer("Four."))
        body = await asked.ask("How many services are there?", route=None)
    assert (body["route"]["kind"], body["answer"]["text"]) == ("aggregate", "Four.")
    assert [(call["role"], call["model"], call["ok"]) for call in body["models"]] == [
        ("router", "jev-latest", False),
        ("rewriter", "scripted-1", True),
    ]


async def test_a_reply_that_names_no_kind_is_told_as_a_failed_call(asked: Asker) -> None:
    asked.model.replies("I think it is a lookup.")
    asked.model.turns(answer("Four."))
    body = await asked.ask(route=None)
    assert [call["ok"] for call in body["models"]] == [False, True]
    assert body["route"] == {"kind": "aggregate", "confidence": 0.5, "by": "router"}


@requirement("ask.route-fields")
async def test_the_model_that_answers_may_choose_another_route(asked: Asker) -> None:
    asked.model.replies(said("lookup"))
    asked.model.turns(sparql(COUNT), answer("Two each.", *records("payments", "identity"), route="aggregate"))
    body = await asked.ask(route=None)
    assert (body["route"]["kind"], body["route"]["by"]) == ("aggregate", "rewriter")


@requirement("ask.fixed-route")
async def test_a_fixed_route_calls_no_router_and_stays(tmp_path: Path, model: ScriptedModel) -> None:
    router = Router()
    async with opened(tmp_path, model, router=router) as asked:
        model.turns(answer("Four.", route="lookup"))
        body = await asked.ask(route="aggregate")
    assert body["route"] == {"kind": "aggregate", "confidence": 1.0, "by": "caller"}
    assert not router.asked
    assert not model.prompts
    assert {call["role"] for call in body["models"]} == {"rewriter"}


@requirement("ask.route-only")
async def test_the_route_alone_asks_the_router_and_nobody_else(tmp_path: Path, model: ScriptedModel) -> None:
    router = Router()
    async with opened(tmp_path, model, router=router) as asked:
        body = await asked.ask("How many?", route=None, mode="route", anchor=["https://x.test/e/risk"])
    assert (body["route"]["kind"], body["attempts"]) == ("aggregate", 0)
    assert not {"answer", "query", "result", "steps", "anchors", "linked", "error"} & body.keys()
    assert len(router.asked) == 1
    assert not model.talks


@requirement("ask.route-only", "ask.router")
async def test_the_route_alone_needs_no_model(asked: Asker) -> None:
    body = await asked.changed(asker=None, router=None).ask("What changed since June?", route=None, mode="route")
    assert (body["route"]["kind"], body["models"]) == ("history", [])


@requirement("ask.router")
@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many people joined last year, by team?", "aggregate"),
        ("What changed since 1 June?", "history"),
        ("Which classes are there?", "schema"),
        ("Find notes about card payments", "search"),
        ("Who runs the mail service?", "lookup"),
        ("Wer leitet das Team?", "lookup"),
    ],
)
def test_the_rule_goes_by_the_words(question: str, kind: str) -> None:
    assert rule(question).kind == kind


@pytest.mark.parametrize(
    "text", ["", "{}", '{"kind": "guess"}', '{"kind": ["lookup"]}', "[1]", '{"probabilities": {"lookup": 1}}']
)
def test_a_route_that_is_none_is_none(text: str) -> None:
    assert read_route(text) is None


def test_a_route_without_probabilities_is_half_sure() -> None:
    route = read_route('Here: {"kind": "lookup", "probabilities": {"lookup": "x", "search": 7}}')
    assert route
    assert route == Picked("lookup", 0.5, {})
