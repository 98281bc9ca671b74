"""What a question of the answer loop makes of names, anchors and the description of the graph."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from core.ask.profile import Profile
from gligabao_mcp.providers.scripted import ScriptedModel
from tests.ask.asking import Asker, answer, opened, sparql
from tests.ask.services import CLASS, GRAPH, TOTAL, USER, record
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


@pytest.fixture
async def asker(tmp_path: Path, model: ScriptedModel) -> AsyncGenerator[Asker]:
    async with opened(tmp_path, model) as asker:
        yield asker


@requirement("names.no-model", "names.linked")
async def test_the_names_of_a_question_reach_the_model_as_records(asker: Asker) -> None:
    asker.model.turns(answer("It is."))
    body = await asker.ask("Is the Risk Service run by the paymets team?")
    assert [(one["text"], one["iri"], one["by"]) for one in body["linked"]] == [
        ("Risk Service", record("risk"), "exact"),
        ("paymets team", record("payments"), "fuzzy"),
    ]
    assert body["linked"][0]["class"] == f"{CLASS}service"
    assert len(asker.model.talks) == 1
    assert f"<{record('payments')}>" in asker.said()
    assert body["grounding"]["names"] == 6


@requirement("anchors.read", "anchors.reported", "anchors.unknown")
async def test_anchors_are_told_to_the_model_and_reported(asker: Asker) -> None:
    asker.model.turns(sparql(TOTAL), answer("Two."))
    body = await asker.ask("What does it run?", anchor=[record("payments"), record("nowhere")])
    assert body["anchors"] == [
        {"iri": record("payments"), "found": True, "label": "payments team", "types": [f"{CLASS}team"]},
        {"iri": record("nowhere"), "found": False, "note": "The graph has no statements about this IRI."},
    ]
    assert body["answer"]["text"] == "Two."
    assert f'<{record("payments")}> a class:team "payments team"' in asker.said()
    assert f'<{record("ledger")}> "ledger-service"' in asker.said()


@requirement("grounding.profile", "privacy.router-sees-less")
async def test_the_profile_is_told_to_the_model_that_answers_alone(asker: Asker) -> None:
    dataset = await asker.core.graph.dataset(USER, GRAPH)
    assert dataset is not None
    await asker.core.profiles.write(dataset, Profile("Tier 1 is critical."), None, asker.core.clock)
    asker.model.replies({"kind": "lookup", "probabilities": {"lookup": 1}})
    asker.model.turns(answer("One."))
    body = await asker.ask("Which services are critical?", route=None)
    assert body["grounding"]["profile_version"] == 1
    assert "Tier 1 is critical." in asker.said()
    assert [prompt for prompt in asker.model.prompts if "Tier 1" in f"{prompt.system}{prompt.user}"] == []
    assert len(asker.model.prompts) == 1
