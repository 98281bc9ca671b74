"""reextract: what a weaker engine read is replaced by what a better one reads, and nothing is lost on the way."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from click.testing import CliRunner

from core.config import Config
from core.core import Core
from core.engine import PromptedEngine
from core.errors import InvalidRequest
from core.forget.forget import ForgetRequest, forget
from core.reextract import Replaced, reextract
from core.remember.remember import remember
from core.remember.request import RememberRequest
from gligabao_mcp.cli import cli
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_rereading, open_upkeep
from storage.reread import SqlRereading
from tests.conftest import Tables
from tests.facts import ask, edge, graph, tell, tell_facts, verdict, verdicts

pytestmark = pytest.mark.anyio

WEAK, BETTER = "weak-1", "better-1"


@asynccontextmanager
async def reading(
    config: Config, model: ScriptedModel, embedder: HashEmbedder | None = None
) -> AsyncGenerator[tuple[Core, SqlRereading]]:
    async with open_rereading(config, Providers(PromptedEngine(model), embedder)) as opened:
        yield opened


async def again(core: Core, store: SqlRereading, model_id: str = WEAK, *, dry_run: bool = False) -> list[Replaced]:
    dataset = await core.graph.dataset("u1", "main")
    assert dataset is not None
    return [one async for one in reextract(core, store, dataset, model_id, dry_run=dry_run)]


async def told_by(config: Config, embedder: HashEmbedder | None, *replies: dict[str, Any], texts: list[str]) -> None:
    """Texts that the weak engine reads."""
    model = ScriptedModel(*replies, model=WEAK, always=verdicts(verdict()))
    async with reading(config, model, embedder) as (core, _):
        for text in texts:
            await tell(core, text, session_id="s1", reference_time="2026-01-05T09:00:00Z")


def facts_of(tables: Tables) -> list[tuple[Any, ...]]:
    rows = tables.rows(
        "SELECT f.id, s.name AS source, f.relation, o.name AS target, f.model_id, f.description FROM gb_edges f"
        " JOIN gb_entities s ON s.id = f.source_id JOIN gb_entities o ON o.id = f.target_id ORDER BY f.id"
    )
    return [tuple(row.values()) for row in rows]


async def test_a_better_reading_takes_the_place_of_a_weaker_one_under_the_same_artifact(
    config: Config, tables: Tables
) -> None:
    weak = graph(
        "Ann:person",
        edges=[
            edge("Ann", "works_at", "Acme", description="ann works acme", valid_at="2026"),
            edge("Ann", "likes", "Monday", valid_at="2026"),
        ],
    )
    await told_by(config, HashEmbedder(), weak, texts=["Ann works at Acme since 2026. She lives in Ulm."])
    better = graph(
        "Ann:person:engineer at Acme",
        edges=[
            edge("Ann", "works_at", "Acme", description="Ann works at Acme.", valid_at="2026"),
            edge("Ann", "lives_in", "Ulm", description="Ann lives in Ulm.", valid_at="2026"),
        ],
    )
    model = ScriptedModel(better, model=BETTER, always=verdicts(verdict(0), verdict(1)))
    async with reading(config, model, HashEmbedder()) as (core, store):
        (done,) = await again(core, store)
        assert done == Replaced((1,), added=1, removed=1, reworded=1)
        assert await again(core, store) == [], "nothing of the weaker engine is left"
        found = await ask(core, "Ann", answer=False)
        assert {(e.target, e.artifact_id) for e in found.evidence.edges} == {("Acme", 1), ("Ulm", 1)}
    assert facts_of(tables) == [
        (1, "Ann", "works_at", "Acme", BETTER, "Ann works at Acme."),
        (3, "Ann", "lives_in", "Ulm", BETTER, "Ann lives in Ulm."),
    ]
    assert tables.rows("SELECT edge_id, artifact_id FROM gb_edge_artifacts ORDER BY edge_id") == [
        {"edge_id": 1, "artifact_id": 1},
        {"edge_id": 3, "artifact_id": 1},
    ]
    assert tables.rows("SELECT DISTINCT session_id FROM gb_edge_sessions") == [{"session_id": "s1"}]
    assert "Monday" not in {row["name"] for row in tables.rows("SELECT name FROM gb_entities")}
    assert tables.count("gb_artifacts") == 1
    async with open_upkeep(config, Providers(PromptedEngine(model), HashEmbedder())) as kept:
        assert (await kept.doctor.repair()).healthy
        assert kept.outbox.index.ids(1, "edges") == {1, 3}


async def test_facts_that_others_state_stay_and_lose_only_this_word(config: Config, tables: Tables) -> None:
    weak = graph("Ann:person", edges=[edge("Ann", "knows", "Ben", valid_at="2026")])
    await told_by(config, None, weak, weak, texts=["Ann knows Ben.", "Ben, whom Ann knows, left."])
    model = ScriptedModel(graph("Ben:person"), graph(), model=BETTER)
    async with reading(config, model) as (core, store):
        (first,) = await again(core, store)
        assert first == Replaced((1,), kept=1)
    assert tables.rows("SELECT edge_id, artifact_id FROM gb_edge_artifacts") == [{"edge_id": 1, "artifact_id": 2}]


async def test_what_a_wrong_fact_had_closed_is_open_again_and_the_right_one_closes_it(
    config: Config, tables: Tables
) -> None:
    model = ScriptedModel(model=WEAK)
    async with reading(config, model) as (core, _):
        await tell_facts(core, edge("Ann", "lives_in", "Ulm", valid_at="2020"), text="Ann lives in Ulm.")
        model.replies(graph("Ann:person", edges=[edge("Ann", "lives_in", "Bern", valid_at="2026")]))
        model.replies(verdicts(verdict(contradicts=[1])))
        await tell(core, "Ann works in Bern since 2026.")
    assert tables.rows("SELECT closed_by FROM gb_edges WHERE id = 1") == [{"closed_by": 2}]
    right = graph("Ann:person", edges=[edge("Ann", "works_in", "Bern", valid_at="2026")])
    model = ScriptedModel(right, verdicts(verdict()), model=BETTER)
    async with reading(config, model) as (core, store):
        (done,) = await again(core, store)
        assert (done.added, done.removed, done.reopened) == (1, 1, 1)
        assert "lives_in--> Ulm" in model.prompts[-1].user, "compared with what is open again"
    assert tables.rows("SELECT closed_by, invalid_at, expired_at FROM gb_edges WHERE id = 1") == [
        {"closed_by": None, "invalid_at": None, "expired_at": None}
    ]


@pytest.mark.parametrize("reply", ["no JSON at all", {"oops": True}])
async def test_an_answer_that_can_not_be_used_changes_nothing(config: Config, tables: Tables, reply: Any) -> None:
    """C037: never delete before the replacement stands."""
    weak = graph("Ann:person", edges=[edge("Ann", "knows", "Ben", valid_at="2026")])
    await told_by(config, None, weak, texts=["Ann knows Ben."])
    before = facts_of(tables), tables.count("gb_commits")
    async with reading(config, ScriptedModel(model=BETTER, always=reply)) as (core, store):
        (done,) = await again(core, store)
        assert done.failed and (done.removed, done.added) == (0, 0)
    assert (facts_of(tables), tables.count("gb_commits")) == before
    errors = tables.rows("SELECT model, error FROM gb_inferences WHERE stage = 'extract_graph' ORDER BY id")
    assert errors[-1]["model"] == BETTER and errors[-1]["error"], "what it cost is on record all the same"


async def test_a_resolver_that_answers_nonsense_changes_nothing(config: Config, tables: Tables) -> None:
    """C037, with the other call."""
    weak = graph("Ann:person", edges=[edge("Ann", "knows", "Ben", valid_at="2026")])
    await told_by(config, None, weak, texts=["Ann knows Ben."])
    async with reading(config, ScriptedModel(always=verdicts(verdict()))) as (core, _):
        await tell_facts(core, edge("Ann", "likes", "tea", valid_at="2026"), text="Ann likes tea.")
    before = facts_of(tables)
    better = graph("Ann:person", edges=[edge("Ann", "knows", "Ben", valid_at="2026"), edge("Ann", "met", "Ben")])
    model = ScriptedModel(better, model=BETTER, always={"oops": True})
    async with reading(config, model) as (core, store):
        (done,) = await again(core, store)
        assert done.failed
    assert facts_of(tables) == before


async def test_a_dry_run_tells_and_changes_nothing(config: Config, tables: Tables) -> None:
    weak = graph("Ann:person", edges=[edge("Ann", "knows", "Ben", valid_at="2026")])
    await told_by(config, None, weak, texts=["Ann knows Ben."])
    before = facts_of(tables), tables.count("gb_tombstones"), tables.count("gb_commits")
    better = graph("Ann:person", edges=[edge("Ann", "likes", "Ben", valid_at="2026")])
    model = ScriptedModel(better, model=BETTER, always=verdicts(verdict()))
    async with reading(config, model) as (core, store):
        assert await again(core, store, dry_run=True) == [Replaced((1,), added=1, removed=1)]
    assert (facts_of(tables), tables.count("gb_tombstones"), tables.count("gb_commits")) == before


async def test_messages_are_read_again_with_those_that_were_told_with_them(config: Config, tables: Tables) -> None:
    stated = {"source": "Ann", "relation": "knows", "target": "Ben", "description": "", "message": 1}
    said = {"entities": [], "edges": [stated | {"valid_at": None, "invalid_at": None}]}
    model = ScriptedModel(said, model=WEAK)
    messages = [{"text": "Who is that?", "speaker": "Cem"}, {"text": "Ben, I know him.", "speaker": "Ann"}]
    async with reading(config, model) as (core, _):
        await remember(core, RememberRequest.model_validate({"user_id": "u1", "messages": messages}))
    better = {"entities": [], "edges": [stated | {"relation": "friend_of", "valid_at": None, "invalid_at": None}]}
    model = ScriptedModel(better, model=BETTER, always=verdicts(verdict()))
    async with reading(config, model) as (core, store):
        (done,) = await again(core, store)
        assert (done.artifact_ids, done.added, done.removed) == ((1, 2), 1, 1)
        assert "Who is that?" in model.prompts[0].user
    assert tables.rows("SELECT artifact_id FROM gb_edge_artifacts") == [{"artifact_id": 2}]


async def test_the_engine_that_wrote_them_does_not_read_again(config: Config) -> None:
    weak = graph("Ann:person", edges=[edge("Ann", "knows", "Ben", valid_at="2026")])
    await told_by(config, None, weak, texts=["Ann knows Ben."])
    async with reading(config, ScriptedModel(weak, model=WEAK)) as (core, store):
        with pytest.raises(InvalidRequest, match=r"^model_id: weak-1 is the engine that is configured"):
            await again(core, store)


async def test_facts_of_a_text_that_was_forgotten_are_not_read_back(config: Config, tables: Tables) -> None:
    """C062."""
    weak = graph("Tilo Brandt:person", edges=[edge("Tilo Brandt", "lives_in", "Ulm", valid_at="2026")])
    await told_by(config, HashEmbedder(), weak, texts=["Tilo Brandt lives in Ulm."])
    model = ScriptedModel(model=BETTER)
    async with reading(config, model, HashEmbedder()) as (core, store):
        request = ForgetRequest.model_validate({"user_id": "u1", "scope": "artifact", "id": 1})
        await forget(core, request)
        assert await again(core, store) == []
    assert facts_of(tables) == []


def test_the_command_says_what_it_can_not_do(tmp_path: Any) -> None:
    result = CliRunner().invoke(cli, ["reextract", "--home", str(tmp_path), "--llm", "none", "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["code"] == "not_found"
