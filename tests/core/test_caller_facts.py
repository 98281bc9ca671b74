"""Facts that the caller read from the text itself: no model is asked to read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from core.core import Core
from core.engine import NoEngine
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from tests.conftest import Tables
from tests.facts import ask, tell, tell_facts, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


def fact(source: str, relation: str, target: str, **more: object) -> dict[str, Any]:
    return {"source": source, "relation": relation, "target": target} | more


@requirement("models.knowledge", "models.registered", "embed.one-request", "remember.extract-fields")
async def test_given_facts_replace_the_reading_and_carry_the_caller(
    core: Core, model: ScriptedModel, embedder: HashEmbedder, tables: Tables
) -> None:
    told = await tell(
        core,
        "Bo has owned a blue kiln since 2019.",
        entities=[{"name": "Bo", "type": "Person"}, {"name": "Kiln", "description": "a blue one"}],
        edges=[fact("bo", "Owns", "kiln", valid_at="2019", description="Bo owns a blue kiln.")],
        reference_time="2026-01-01T00:00:00Z",
    )
    assert model.prompts == []
    assert embedder.batches == [["Bo (person)", "Kiln (other): a blue one", "Bo owns a blue kiln."]]
    assert [(e.name, e.type) for e in told.entities] == [("Bo", "person"), ("Kiln", "other")]
    (owns,) = told.edges
    assert (owns.source, owns.relation, owns.target) == ("Bo", "owns", "Kiln")
    assert owns.valid_at == datetime(2019, 1, 1, tzinfo=UTC)
    for table in ("gb_entities", "gb_edges"):
        assert {row["model_id"] for row in tables.rows(f"SELECT model_id FROM {table}")} == {"caller"}
    assert {row["name"] for row in tables.rows("SELECT name FROM gb_models")} == {"caller", "hash-1"}
    assert tables.rows("SELECT stage FROM gb_remember_run_stages") == [{"stage": "store"}]
    await tell_facts(core, fact("Bo", "owns", "Kiln"))
    assert model.prompts == []
    assert tables.count("gb_edges") == 1


@requirement("remember.model-flags-the-rest", "models.resolver-not-on-knowledge")
async def test_where_a_model_is_there_it_still_compares_given_facts(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    first = await tell_facts(plain, fact("Bo", "drives", "a van"))
    model.replies(verdicts(verdict(contradicts=[first.edges[0].id])))
    second = await tell_facts(plain, fact("Bo", "drives", "a truck"))
    assert second.invalidated_edges == [first.edges[0].id]
    assert [p.schema_name for p in model.prompts] == ["resolve_edges"]
    assert {row["model_id"] for row in tables.rows("SELECT model_id FROM gb_edges")} == {"caller"}


@requirement("embed.counts-omitted", "embed.optional")
async def test_without_any_provider_single_valued_relations_close_by_rule(plain: Core, tables: Tables) -> None:
    """C022: lives_in and its like hold once at a time; knows, owns, speaks and likes never close."""
    core = replace(plain, engine=NoEngine())
    once = ("lives_in", "works_at", "married_to", "reports_to", "has_email")
    many = ("knows", "owns", "speaks", "likes", "mentions", "visited")
    old = await tell_facts(core, *(fact("Ana", r, "One", valid_at="2020") for r in (*once, *many)))
    assert "embedded_edges" not in old.body()
    ids = {e.relation: e.id for e in old.edges}
    new = await tell_facts(core, *(fact("ana", r, "Two", valid_at="2024") for r in (*once, *many)))
    assert new.invalidated_edges == [ids[r] for r in once]
    other = await tell_facts(core, *(fact("Ben", r, "Three", valid_at="2025") for r in (*once, *many)))
    assert other.invalidated_edges == []
    again = await tell_facts(core, *(fact("Ana", r, "TWO", valid_at="2024") for r in (*once, *many)))
    assert [e.id for e in again.edges] == [e.id for e in new.edges]
    at = {
        day: {
            e.target
            for e in (await ask(core, "Ana lives_in", answer=False, as_of=day)).evidence.edges
            if e.relation == "lives_in" and e.source == "Ana"
        }
        for day in ("2021-01-01", "2025-01-01")
    }
    assert at == {"2021-01-01": {"One"}, "2025-01-01": {"Two"}}
    assert tables.count("gb_inferences") == 0


@requirement("temporal.event-time")
async def test_the_past_can_be_told_after_the_present(plain: Core) -> None:
    core = replace(plain, engine=NoEngine())
    for city, since in (("Paris", "2020"), ("Berlin", "2024"), ("Rome", "2022")):
        await tell_facts(core, fact("Alice", "lives_in", city, valid_at=since))
    lived = {
        year: [e.target for e in (await ask(core, "Alice", answer=False, as_of=f"{year}-06-01")).evidence.edges]
        for year in (2019, 2021, 2023, 2025)
    }
    assert lived == {2019: [], 2021: ["Paris"], 2023: ["Rome"], 2025: ["Berlin"]}


async def test_what_does_not_fit_is_left_out_and_said(plain: Core, model: ScriptedModel) -> None:
    told = await tell(
        plain,
        "Told.",
        entities=[{"name": " "}, {"name": "Bo"}],
        edges=[
            fact("Bo", "owns", ""),
            fact("Bo", "", "kiln"),
            fact("Bo", "owns", "loom", valid_at="long ago"),
            fact("Bo", "owned", "van", valid_at="2024", invalid_at="2023"),
        ],
    )
    assert [e.target for e in told.edges] == ["loom", "van"]
    assert told.warnings == [
        "left out an entity without a name",
        "left out an edge without a source, a target or a relation (2 times)",
        "left out a date that can't be read",
        "dropped the end of an edge that lay before its start",
    ]
    nothing = await tell(plain, "Nothing in it.", entities=[], edges=[])
    assert (nothing.entities, nothing.edges, nothing.warnings) == ([], [], None)
    assert model.prompts == []
