"""Jev, against a server that speaks its API."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from core.ask.ports import Picked
from core.errors import ModelFailed
from core.inferences import Usage
from core.ports import Complexity
from core.prices import PriceTable
from core.prompts.route import KINDS
from gligabao_mcp.providers.jev import Jev, first_bytes
from tests.requirements import requirement
from tests.wire import Said, Wire, complexity

pytestmark = pytest.mark.anyio

KEY = "jev-secret-0123"


@pytest.fixture
async def jev(wire: Wire) -> AsyncIterator[Jev]:
    decide = Jev(api_key=KEY, base_url=wire.url)
    yield decide
    await decide.aclose()


@requirement("ask.router")
async def test_jev_picks_the_kind_of_a_question(wire: Wire, jev: Jev) -> None:
    said: dict[str, object] = {"type": "choice", "choice": "history", "confidence": 0.9}
    said["probabilities"] = {"history": 0.9, "lookup": 0.1, "another": 0.3}
    usage = {"input_tokens": 700, "output_tokens": 9}
    wire.says(Said({"model": "jev-1.13.0", "answers": {"route": said}, "usage": usage}))
    reply = await jev.pick_route("What changed since June?", "", "The graph has 3 classes.")
    assert reply.value == Picked("history", 0.9, {"history": 0.9, "lookup": 0.1})
    assert reply.inferences[0].usage == Usage(input=700, output=9)
    (body,) = wire.bodies
    assert body["state"] == "What changed since June?\n\nThe graph has 3 classes."
    assert list(body["questions"]["route"]["criteria"]) == list(KINDS)


async def failure(jev: Jev) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        await jev.classify_complexity("Alice works at Acme.")
    return failed.value


@requirement("remember.complexity-classes", "remember.complexity-kept")
async def test_jev_is_asked_one_choice_question(wire: Wire, jev: Jev) -> None:
    wire.says(complexity("simple", 0.93))
    reply = await jev.classify_complexity("Alice works at Acme and lives in Paris.")
    assert reply.value == Complexity("simple", 0.93, {"simple": 0.95, "medium": 0.04, "complex": 0.01})
    (body,) = wire.bodies
    assert body["state"] == "Alice works at Acme and lives in Paris."
    (question,) = body["questions"].values()
    assert question["type"] == "choice"
    assert question["criteria"] == {
        "simple": "up to 5 entities",
        "medium": "6 to 20 entities",
        "complex": "more than 20 entities",
    }
    assert wire.asked[0].headers["authorization"] == f"Bearer {KEY}"


@requirement("inferences.recorded")
async def test_its_inference_has_the_model_that_answered_and_a_price(wire: Wire, jev: Jev) -> None:
    wire.says(complexity())
    (inference,) = (await jev.classify_complexity("Alice.")).inferences
    assert (inference.model, inference.requested_model) == ("jev-1.13.0", "jev-latest")
    assert inference.usage == Usage(input=310, output=9)
    assert PriceTable().cost(inference.model, inference.usage) == pytest.approx(0.00001302)


@requirement("remember.complexity-32-kib")
async def test_jev_sees_the_first_32_kib_and_no_half_character(wire: Wire, jev: Jev) -> None:
    wire.says(complexity("complex"))
    await jev.classify_complexity("盤" * 20_000)
    state: str = wire.bodies[0]["state"]
    assert state == "盤" * 10_922
    assert len(state.encode()) <= 32 * 1024
    assert first_bytes("a" * 40_000) == "a" * 32_768


@pytest.mark.parametrize(
    "said",
    [
        Said({"error": "down"}, 500),
        Said({"detail": []}, 422),
        Said("<html>"),
        Said({}),
        complexity("enormous"),
        complexity("simple", 1.5),
        Said({"answers": {"complexity": {"choice": "simple", "confidence": None}}, "model": "jev-1", "usage": {}}),
    ],
)
async def test_whatever_is_wrong_is_one_kind_of_failure_after_one_try(wire: Wire, jev: Jev, said: Said) -> None:
    wire.always(said)
    (inference,) = (await failure(jev)).inferences
    assert inference.error
    assert len(wire.asked) == 1


async def test_a_slow_jev_is_not_waited_for(wire: Wire) -> None:
    hurried = Jev(api_key=KEY, base_url=wire.url, timeout=0.0)
    failed = await failure(hurried)
    await hurried.aclose()
    assert "did not answer within" in failed.message


async def test_a_refused_key_is_not_sent_again(wire: Wire, jev: Jev) -> None:
    wire.always(Said({"error": KEY}, 401))
    first, again = await failure(jev), await failure(jev)
    assert "JEV_API_KEY" in first.message
    assert KEY not in first.message
    assert again.message == first.message
    assert len(wire.asked) == 1
