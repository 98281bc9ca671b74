"""The prompted engine over a scripted model, and the engine that is none."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from core.engine import NOT_CONFIGURED, NoEngine, PromptedEngine
from core.errors import ModelFailed, ModelOverloaded, NotConfigured
from core.graph import Edge, StatedEdge, Verdict
from core.inferences import Choice, Inference, Usage
from core.ports import Answer, Completion, Engine
from core.prompts import extract_graph, query
from core.query.subgraph import Subgraph
from gligabao_mcp.providers.scripted import ScriptedModel, ScriptedReply
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 29, 18, tzinfo=UTC)
CHOICE = Choice()
ALICE = {
    "entities": [{"name": "Alice", "type": "Person", "description": "engineer"}],
    "edges": [{"source": "Alice", "target": "Acme", "relation": "Works at", "description": "", "valid_at": None}],
}
GIBBERISH = "I could not do that, sorry."
PAID = Inference("scripted", "m-2026", "m", Usage(input=900, output=4096), stop_reason="max_tokens")
CUT = Completion('{"entities": [{"name": "x"}, {"name": "x"}, {"name": "x"', PAID, "truncated")
REFUSED = Completion("I can't help with that.", replace(PAID, stop_reason="refusal"), "refused", "bio")


def engine(*replies: ScriptedReply) -> tuple[PromptedEngine, ScriptedModel]:
    model = ScriptedModel(*replies)
    return PromptedEngine(model), model


def stated(source: str, relation: str, target: str) -> StatedEdge:
    return StatedEdge(source, target, relation, "", NOW)


def stored(id_: int, source: str, relation: str, target: str) -> Edge:
    return Edge(id_, 1, 2, source, target, relation, "", None, None, NOW, None, NOW, None)


async def failed_extract(*replies: ScriptedReply) -> tuple[ModelFailed, ScriptedModel]:
    prompted, model = engine(*replies)
    with pytest.raises(ModelFailed) as failed:
        await prompted.extract("Ivo visited Rome.", NOW, CHOICE)
    return failed.value, model


# Reading


@requirement("remember.extract-one-call", "remember.extract-fields", "models.knowledge", "remember.valid-at-default")
async def test_a_text_is_read_with_one_call_under_the_name_of_the_model_that_answered() -> None:
    prompted, model = engine(ALICE)
    reply = await prompted.extract("Alice works at Acme.", NOW, Choice("m-1", "low"))
    assert [(e.name, e.type, e.description) for e in reply.value.entities] == [("Alice", "person", "engineer")]
    (edge,) = reply.value.edges
    assert (edge.source, edge.relation, edge.target) == ("Alice", "works_at", "Acme")
    assert (edge.valid_at, edge.valid_at_source) == (NOW, "reference")
    assert reply.value.model_id == "m-1"
    assert model.choices == [Choice("m-1", "low")]
    assert len(reply.inferences) == 1


async def test_relative_words_have_the_offset_that_was_given() -> None:
    prompted, model = engine({"entities": [], "edges": []})
    await prompted.extract("Yesterday.", NOW.astimezone(timezone(timedelta(hours=5, minutes=30))), CHOICE)
    assert "<reference_time>2026-11-29T23:30:00+05:30</reference_time>" in model.prompts[0].user


async def test_the_inference_says_which_wording_it_ran_with() -> None:
    prompted, _ = engine(ALICE)
    (inference,) = (await prompted.extract("Alice.", NOW, CHOICE)).inferences
    assert hashlib.sha256(extract_graph.SYSTEM.encode()).hexdigest().startswith(inference.prompt_hash)
    assert len(inference.prompt_hash) == 12


async def test_what_does_not_fit_is_left_out_and_said() -> None:
    prompted, _ = engine({"entities": ["Ivo", None], "edges": []})
    reply = await prompted.extract("Ivo.", NOW, CHOICE)
    assert [entity.name for entity in reply.value.entities] == ["Ivo"]
    assert reply.notes == ("left out 1 item of the model's answer that did not fit",)


async def test_a_text_that_states_nothing_is_no_failure() -> None:
    prompted, _ = engine({"entities": [], "edges": []})
    reply = await prompted.extract("Hm.", NOW, CHOICE)
    assert (reply.value.entities, reply.value.edges, reply.notes) == ((), (), ())


# Comparing


@requirement("remember.model-flags-the-rest")
async def test_facts_are_compared_by_number_and_id() -> None:
    prompted, model = engine({"results": [{"new": 0, "duplicate_of": None, "contradicts": [12, 99]}]})
    new = [stated("Alice", "lives_in", "Berlin"), stated("Alice", "knows", "Bo")]
    reply = await prompted.resolve(new, [stored(12, "Alice", "lives_in", "Paris")], CHOICE)
    assert reply.value == [Verdict(contradicts=(12,)), Verdict()]
    assert reply.notes == ("left out 1 item of the model's answer that did not fit",)
    assert "[n1] Alice --knows--> Bo [valid_at=2026-11-29T18:00:00Z]" in model.prompts[0].user
    assert "[12] Alice --lives_in--> Paris [valid_at=2026-11-29T18:00:00Z]" in model.prompts[0].user


async def test_an_odd_verdict_closes_nothing() -> None:
    prompted, _ = engine({"oops": True}, {"oops": True})
    with pytest.raises(ModelFailed, match="could not be parsed"):
        await prompted.resolve([stated("A", "b", "C")], [stored(1, "A", "b", "D")], CHOICE)


# Answering


@requirement("query.answers-with-evidence", "query.prompt-json-only")
async def test_a_question_is_answered_with_the_ids_it_rests_on() -> None:
    prompted, model = engine({"answer": "Alice works at Acme.", "entities": [1], "edges": ["1", 9999]})
    subgraph = Subgraph(edges=(stored(1, "Alice", "works_at", "Acme"),))
    reply = await prompted.answer("Where does Alice work?", subgraph, NOW, CHOICE)
    # Ids that were not shown are for the caller to drop: it knows what it sent.
    assert reply.value == Answer("Alice works at Acme.", (1,), (1, 9999))
    assert model.prompts[0].system == query.SYSTEM


# Answers of no use


@requirement("query.model-output-unusable")
@pytest.mark.parametrize(
    ("useless", "words"),
    [
        (GIBBERISH, "the model's answer could not be parsed"),
        ("", "the model's answer was empty"),
        ("  \n", "the model's answer was empty"),
        ('{"memories": [{"fact": "Ivo visited Rome"}]}', "the model's answer could not be parsed"),
        (CUT, "the model's answer was truncated"),
    ],
)
async def test_an_answer_of_no_use_is_asked_for_once_more_and_paid_twice(useless: ScriptedReply, words: str) -> None:
    failed, model = await failed_extract(useless, useless)
    assert failed.message == words
    assert failed.code == "model_failed"
    assert len(model.prompts) == 2
    assert [inference.error for inference in failed.inferences] == [words, words]
    assert all(inference.usage.output and inference.prompt_hash for inference in failed.inferences)


async def test_the_second_try_may_succeed_and_both_are_recorded() -> None:
    prompted, model = engine(CUT, ALICE)
    reply = await prompted.extract("Alice works at Acme.", NOW, CHOICE)
    assert reply.value.model_id == "scripted-1"
    assert [inference.error for inference in reply.inferences] == ["the model's answer was truncated", ""]
    first, second = model.prompts
    assert second.system == first.system
    assert second.max_tokens == first.max_tokens
    assert second.user.startswith(first.user)
    assert second.user.endswith("(The model's answer was truncated. Return only the JSON object.)")


async def test_a_refusal_is_not_asked_again_and_never_an_empty_graph() -> None:
    failed, model = await failed_extract(REFUSED)
    assert failed.message == "the model refused to answer (bio)"
    assert len(model.prompts) == 1
    assert failed.inferences[0].usage.output == 4096


async def test_the_models_words_are_not_in_the_message() -> None:
    failed, _ = await failed_extract(GIBBERISH, GIBBERISH)
    assert "sorry" not in failed.message


@requirement("query.model-call-fails", "remember.model-failure")
async def test_a_failing_provider_is_passed_on_with_what_was_spent_before() -> None:
    lost = Inference("scripted", "m", "m", error="the API is overloaded")
    failed, model = await failed_extract(GIBBERISH, ModelOverloaded("the API is overloaded", inferences=[lost]))
    assert isinstance(failed, ModelOverloaded)
    assert failed.message == "the API is overloaded"
    assert [inference.error for inference in failed.inferences] == [
        "the model's answer could not be parsed",
        "the API is overloaded",
    ]
    assert all(inference.prompt_hash for inference in failed.inferences)
    assert len(model.prompts) == 2


async def test_an_overloaded_provider_is_not_tried_again_here() -> None:
    failed, model = await failed_extract(ModelOverloaded("busy"))
    assert failed.message == "busy"
    assert len(model.prompts) == 1


# No engine


@requirement("overview.starts-without-a-key", "query.model-not-configured")
async def test_without_a_model_every_way_out_is_named() -> None:
    none: Engine = NoEngine()
    nothing: Sequence[StatedEdge] = []
    with pytest.raises(NotConfigured) as extract:
        await none.extract("Alice.", NOW, CHOICE)
    with pytest.raises(NotConfigured):
        await none.resolve(nothing, [], CHOICE)
    with pytest.raises(NotConfigured):
        await none.answer("Who?", Subgraph(), NOW, CHOICE)
    ways = (
        "ANTHROPIC_API_KEY",
        "--llm openai",
        "--llm-base-url",
        "--llm local",
        "[local]",
        "entities",
        "answer: false",
    )
    assert extract.value.message == NOT_CONFIGURED
    assert [way for way in ways if way not in NOT_CONFIGURED] == []
