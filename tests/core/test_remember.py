"""remember: what is read, compared and stored."""

from __future__ import annotations

import pytest

from core.core import Core
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from tests.conftest import Tables
from tests.facts import ALICE_WORKS_AT_ACME, ask, answer, edge, graph, tell, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


async def test_the_same_text_twice_adds_no_second_fact(core: Core, model: ScriptedModel, tables: Tables) -> None:
    model.replies(ALICE_WORKS_AT_ACME, ALICE_WORKS_AT_ACME)
    first = await tell(core)
    again = await tell(core)
    assert again.edges == first.edges
    assert again.entities == first.entities
    assert again.artifact_id != first.artifact_id
    assert (tables.count("gb_entities"), tables.count("gb_edges"), tables.count("gb_artifacts")) == (2, 1, 2)


async def test_a_contradicted_fact_is_closed(core: Core, model: ScriptedModel, embedder: HashEmbedder) -> None:
    model.replies(
        graph("Alice:person", "Paris:city", edges=[edge("Alice", "lives_in", "Paris", valid_at="2025-01-10")])
    )
    first = await tell(core, "Alice lives in Paris.")
    model.replies(
        graph("Alice:person", "Berlin:city", edges=[edge("Alice", "lives_in", "Berlin", valid_at="2026-03")]),
        verdicts(verdict(contradicts=[first.edges[0].id])),
        answer("Berlin", edges=[2]),
    )
    second = await tell(core, "Alice moved to Berlin in March 2026.")
    assert second.invalidated_edges == [first.edges[0].id]
    assert (second.embedded_entities, second.embedded_edges) == (2, 1)
    asked = await ask(core, "Where does Alice live?")
    assert [e.target for e in asked.evidence.edges] == ["Berlin"]
    assert embedder.calls == 3
