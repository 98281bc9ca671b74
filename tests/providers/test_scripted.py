"""The doubles that other tests stand on."""

from __future__ import annotations

import math
import struct

import pytest

from core.errors import ModelFailed
from core.inferences import Choice
from core.ports import Embedder, LanguageModel, Prompt
from core.talk import Talk, Told, ToolCallingModel
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel

pytestmark = pytest.mark.anyio

PROMPT = Prompt("Fixed.", "Varies.", {}, "query", 100)


async def similarity(one: str, other: str) -> float:
    embedder = HashEmbedder()
    first, second = (await embedder.embed([one, other])).vectors
    form = f"<{embedder.dim}f"
    return sum(a * b for a, b in zip(struct.unpack(form, first), struct.unpack(form, second), strict=True))


async def test_replies_come_in_order_and_requests_are_kept() -> None:
    model = ScriptedModel("one", {"answer": "two"})
    kept: LanguageModel = model
    texts = [(await kept.complete(PROMPT, Choice(reasoning="low"))).text for _ in range(2)]
    assert texts == ["one", '{"answer": "two"}']
    assert (model.prompts, model.choices) == ([PROMPT, PROMPT], [Choice(reasoning="low")] * 2)


async def test_an_exception_is_raised_and_an_empty_script_is_a_mistake_of_the_test() -> None:
    model = ScriptedModel(ModelFailed("no"))
    with pytest.raises(ModelFailed, match="no"):
        await model.complete(PROMPT, Choice())
    with pytest.raises(AssertionError, match="no reply is scripted for this query prompt"):
        await model.complete(PROMPT, Choice())


async def test_turns_come_in_order_and_talks_are_kept() -> None:
    model = ScriptedModel()
    model.turns("Looking.", [("sparql", {"query": "ASK {}"})], ModelFailed("no"))
    kept: ToolCallingModel = model
    talk = Talk((), [Told("Why?")], (), 100)
    said, called = [await kept.turn(talk, Choice()) for _ in range(2)]
    assert (said.text, said.calls) == ("Looking.", [])
    assert [(call.name, call.arguments) for call in called.calls] == [("sparql", {"query": "ASK {}"})]
    with pytest.raises(ModelFailed, match="no"):
        await kept.turn(talk, Choice())
    assert model.talks == [talk] * 3
    with pytest.raises(AssertionError, match="no turn is scripted"):
        await kept.turn(talk, Choice())


async def test_always_answers_what_is_left() -> None:
    model = ScriptedModel("one", always="more")
    assert [(await model.complete(PROMPT, Choice())).text for _ in range(3)] == ["one", "more", "more"]


async def test_texts_that_share_words_are_near_and_the_same_text_is_the_same() -> None:
    assert await similarity("Alice Smith (person)", "alice smith, person") == pytest.approx(1.0)
    assert await similarity("Alice works at Acme", "Alice left Acme") > 0.5
    assert abs(await similarity("Alice works at Acme", "rain in Bergen")) < 0.3
    assert await similarity("", "...") == pytest.approx(1.0)


async def test_the_embedder_counts_fails_and_keeps_unit_length() -> None:
    embedder = HashEmbedder(dim=8)
    as_port: Embedder = embedder
    embedder.fails()
    with pytest.raises(ModelFailed):
        await as_port.embed(["one"])
    (vector,) = (await as_port.embed(["one two three"])).vectors
    assert math.hypot(*struct.unpack("<8f", vector)) == pytest.approx(1.0)
    assert (embedder.calls, embedder.batches) == (2, [["one"], ["one two three"]])
