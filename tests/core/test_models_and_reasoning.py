"""Which model each stage runs on, at which level it thinks, and whose knowledge it becomes."""

from __future__ import annotations

import json

import pytest

from core.core import Core
from core.inferences import Choice, Inference, Usage
from core.ports import Completion
from gligabao_mcp.providers.scripted import ScriptedModel
from tests.conftest import Tables
from tests.facts import edge, graph, tell, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


def lives_in(city: str, valid_at: str) -> dict[str, object]:
    return graph("Alice:person", edges=[edge("Alice", "lives_in", city, valid_at=valid_at)])


def names(tables: Tables, table: str, column: str) -> set[str]:
    return {row[column] for row in tables.rows(f"SELECT {column} FROM {table}")}


@requirement(
    "models.extract-graph",
    "models.resolve-edges",
    "models.default",
    "models.per-request",
    "models.unused-stage-ignored",
    "models.knowledge",
    "models.registered",
    "models.resolver-not-on-knowledge",
    "models.merged-keeps-its-own",
)
async def test_each_stage_runs_on_the_model_named_for_it(plain: Core, model: ScriptedModel, tables: Tables) -> None:
    unused = {"web_search": "m-web", "summarize_chunk": "m-sum", "resolve_edges": "m-resolve"}
    model.replies(lives_in("Paris", "2024"))
    first = await tell(plain, models={"extract_graph": "m-read"} | unused)
    assert model.choices == [Choice("m-read")]
    assert names(tables, "gb_models", "name") == {"m-read"}

    model.replies(lives_in("Berlin", "2026"), verdicts(verdict(contradicts=[first.edges[0].id])))
    second = await tell(plain, models={"resolve_edges": "m-resolve", "extract_graph": ""})
    assert model.choices[1:] == [Choice(""), Choice("m-resolve")]
    assert second.invalidated_edges == [first.edges[0].id]
    assert names(tables, "gb_models", "name") == {"m-read", "m-resolve", "scripted-1"}
    by_city = "SELECT t.name, e.model_id FROM gb_edges e JOIN gb_entities t ON t.id = e.target_id"
    assert {row["name"]: row["model_id"] for row in tables.rows(by_city)} == {"Paris": "m-read", "Berlin": "scripted-1"}

    # A repeat and a known entity keep theirs; what is new has the model that read it.
    model.replies(lives_in("Berlin", "2026"))
    await tell(plain, models={"extract_graph": "m-late"})
    model.replies(graph("Alice:person:a cook", "Rome:city"))
    await tell(plain, models={"extract_graph": "m-late"})
    assert {row["name"]: row["model_id"] for row in tables.rows(by_city)} == {"Paris": "m-read", "Berlin": "scripted-1"}
    of_entity = {row["name"]: row["model_id"] for row in tables.rows("SELECT name, model_id FROM gb_entities")}
    assert of_entity == {"Alice": "m-read", "Paris": "m-read", "Berlin": "scripted-1", "Rome": "m-late"}
    assert model.choices[3:] == [Choice("m-late"), Choice("m-late")]

    model.replies(lives_in("Berlin", "2026"))
    await tell(plain)
    assert model.choices[-1] == Choice()


@requirement("models.knowledge", "models.registered", "inferences.recorded")
async def test_the_model_of_knowledge_is_the_one_that_the_api_reports(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    usage = Usage(input=1000, output=200, cached=400, cache_write=100, thinking=50)
    snapshot = "claude-haiku-5-5-20261001"
    call = Inference("anthropic", snapshot, "claude-haiku-5-5", usage, "low", 1234, "end_turn", "req_1")
    model.replies(Completion(json.dumps(lives_in("Paris", "2024")), call))
    told = await tell(plain, session_id="s1", models={"extract_graph": "claude-haiku-5-5"})
    assert names(tables, "gb_entities", "model_id") == names(tables, "gb_edges", "model_id") == {snapshot}
    assert tables.rows("SELECT name, provider FROM gb_models") == [{"name": snapshot, "provider": "anthropic"}]
    (row,) = tables.rows("SELECT * FROM gb_inferences")
    assert row | {"created_at": None, "prompt_hash": None, "cost_usd": None, "id": None} == {
        "id": None,
        "created_at": None,
        "user_id": "u1",
        "dataset": "main",
        "session_id": "s1",
        "run_id": told.remember_run_id,
        "type": "remember",
        "stage": "extract_graph",
        "provider": "anthropic",
        "model": snapshot,
        "requested_model": "claude-haiku-5-5",
        "reasoning": "low",
        "input_tokens": 1000,
        "cached_input_tokens": 400,
        "cache_write_tokens": 100,
        "output_tokens": 200,
        "thinking_tokens": 50,
        "cost_usd": None,
        "latency_ms": 1234,
        "stop_reason": "end_turn",
        "request_id": "req_1",
        "prompt_hash": None,
        "error": None,
    }
    assert row["cost_usd"] == pytest.approx((500 * 0.10 + 200 * 0.50 + 400 * 0.01 + 100 * 0.125) / 1e6)
    assert len(row["prompt_hash"]) == 12


@requirement("reasoning.default-none", "reasoning.per-stage", "reasoning.recorded", "reasoning.levels")
async def test_each_stage_thinks_at_the_level_asked_for(plain: Core, model: ScriptedModel, tables: Tables) -> None:
    model.replies(lives_in("Paris", "2024"))
    await tell(plain, reasoning={"resolve_edges": "high", "summarize_chunk": "low"})
    model.replies(lives_in("Berlin", "2026"), verdicts(verdict()))
    await tell(plain, reasoning={"extract_graph": "Medium", "resolve_edges": "HIGH"})
    model.replies(lives_in("Rome", "2027"), verdicts(verdict()))
    await tell(plain)
    asked = [("none", 1), ("medium", 2), ("high", 2), ("none", 3), ("none", 3)]
    assert [choice.reasoning for choice in model.choices] == [level for level, _ in asked]
    rows = tables.rows("SELECT reasoning, run_id FROM gb_inferences ORDER BY id")
    assert [(row["reasoning"], row["run_id"]) for row in rows] == asked
