"""Trajectories: the course of a call with its texts, in a format that others read. Checked with its own package."""

from __future__ import annotations

import json
import stat
from datetime import datetime
from pathlib import Path
from typing import Any

import atif
import pytest
from click.testing import CliRunner

from core.config import Config
from core.core import Core
from core.engine import PromptedEngine
from core.errors import ModelFailed
from core.inferences import Inference, Usage
from core.ports import Complexity, Reply
from core.query.query import QueryRequest, query
from core.remember.remember import remember
from core.remember.request import RememberRequest
from gligabao_mcp.cli import cli
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core
from tests.conftest import Opener
from tests.drawn import as_base64, drawn
from tests.facts import ALICE_WORKS_AT_ACME, answer, ask, edge, graph, tell, tell_facts, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

Body = dict[str, Any]


def folder(config: Config) -> Path:
    assert config.home is not None
    return config.home / "trajectories"


def written(config: Config, kind: str) -> list[Body]:
    """The trajectories of that kind, in the order of their runs, each of which holds to the format."""
    files = sorted(folder(config).glob(f"{kind}-*.json"), key=lambda file: (len(file.name), file.name))
    for file in files:
        atif.Trajectory.model_validate_json(file.read_bytes())
    return [json.loads(file.read_text("utf-8")) for file in files]


def step(trajectory: Body, name: str) -> Body:
    """The first step of that stage or tool."""
    for one in trajectory["steps"]:
        tools = [call["function_name"] for call in one.get("tool_calls", [])]
        if name in tools or (not tools and one["extra"].get("step") == name):
            return one
    raise AssertionError(f"no step {name}")


def result(one: Body) -> Any:
    (observed,) = one["observation"]["results"]
    return json.loads(observed["content"])


class Predicts:
    """Says that every text is simple."""

    model = "jev-1.13.0"

    async def classify_complexity(self, text: str) -> Reply[Complexity]:
        call = Inference("jev", self.model, self.model, Usage(310, 9), latency_ms=80)
        return Reply(Complexity("simple", 0.93, {"simple": 0.93}), (call,))


async def test_nothing_is_written_unless_it_is_set(core: Core, model: ScriptedModel, config: Config) -> None:
    model.replies(ALICE_WORKS_AT_ACME, answer("At Acme.", edges=[1]))
    await tell(core)
    await ask(core, "Where does Alice work?")
    assert not folder(config).exists()


@requirement("trajectory.models", "trajectory.embed")
async def test_a_remember_is_told_step_by_step(opened: Opener, model: ScriptedModel, config: Config) -> None:
    model.replies(ALICE_WORKS_AT_ACME)
    async with opened(trajectory=True) as core:
        told = await tell(
            core, session_id="chat-42", models={"extract_graph": "qwen3"}, reasoning={"extract_graph": "low"}
        )
    (seen,) = written(config, "remember")
    assert seen["schema_version"] == "ATIF-v1.8"
    assert (seen["trajectory_id"], seen["session_id"]) == (f"remember-{told.remember_run_id}", "chat-42")
    assert seen["agent"]["name"] == "gligabao-mcp" and seen["agent"]["model_name"] == "qwen3"
    asked = seen["steps"][0]
    assert (asked["source"], asked["message"]) == ("user", "Alice works at Acme.")
    assert asked["extra"]["input"]["models"] == {"extract_graph": "qwen3"}
    assert asked["extra"]["input"]["reasoning"] == {"extract_graph": "low"}
    assert (asked["extra"]["input"]["user_id"], asked["extra"]["input"]["session_id"]) == ("u1", "chat-42")
    assert [one["extra"]["step"] for one in seen["steps"][1:]] == ["extract_graph", "store", "store"]
    read = step(seen, "extract_graph")
    assert (read["model_name"], read["reasoning_effort"], read["llm_call_count"]) == ("qwen3", "low", 1)
    assert json.loads(read["message"])["edges"][0]["relation"] == "works_at"
    assert read["metrics"]["prompt_tokens"] == 100 and read["extra"]["inference_id"] == 1
    embedded = step(seen, "embed")
    assert embedded["tool_calls"][0]["arguments"] == {"texts": 3}
    assert embedded["observation"]["results"][0]["content"] == "3 vectors"
    assert embedded["metrics"]["prompt_tokens"] > 0 and embedded["extra"]["inference_id"] == 2
    stored = step(seen, "store")
    assert stored["tool_calls"][0]["arguments"] == {"artifact_ids": [told.artifact_id]}
    assert stored["observation"]["results"][0]["content"] == "entities 2, edges 1, invalidated 0"
    assert stored["llm_call_count"] == 0 and "metrics" not in stored
    assert seen["extra"] == {"status": "succeeded"}
    totals = seen["final_metrics"]
    assert totals["total_steps"] == 4
    assert totals["total_prompt_tokens"] == 100 + embedded["metrics"]["prompt_tokens"]


@requirement("trajectory.classify-complexity")
async def test_the_predicted_complexity_has_its_time(
    config: Config, model: ScriptedModel, embedder: HashEmbedder
) -> None:
    model.replies(ALICE_WORKS_AT_ACME)
    providers = Providers(PromptedEngine(model), embedder, Predicts())
    async with open_core(config.model_copy(update={"trajectory": True}), providers) as core:
        await tell(core)
    (seen,) = written(config, "remember")
    predicted = step(seen, "classify_complexity")
    assert (predicted["message"], predicted["model_name"]) == ("simple", "jev-1.13.0")
    assert (predicted["extra"]["latency_ms"], predicted["extra"]["confidence"]) == (80, 0.93)
    assert datetime.fromisoformat(predicted["extra"]["started_at"]) < datetime.fromisoformat(predicted["timestamp"])
    assert predicted["metrics"]["cost_usd"] == pytest.approx(310 * 0.042 / 1e6)


@requirement("trajectory.load-candidates", "trajectory.search-similar-entities")
async def test_candidates_are_listed_with_how_they_were_found(
    opened: Opener, model: ScriptedModel, config: Config
) -> None:
    async with opened(trajectory=True) as core:
        await tell_facts(core, edge("Alice Smith person", "lives_in", "Paris"))
        model.replies(verdicts())
        await tell_facts(core, edge("Alice Smith", "likes", "tea"))
        model.replies(graph("Alice Smith", "Berlin", edges=[edge("Alice Smith", "lives_in", "Berlin")]), verdicts())
        await tell(core, "Alice Smith lives in Berlin.")
    seen = written(config, "remember")[-1]
    loaded = step(seen, "load_candidates")
    assert loaded["tool_calls"][0]["arguments"] == {"endpoints": ["Alice Smith", "Berlin"]}
    assert loaded["llm_call_count"] == 0
    assert [(fact["edge_id"], fact["found_by"]) for fact in result(loaded)] == [(2, "name"), (1, "similar")]
    assert json.loads(step(seen, "resolve_edges")["message"])[0]["contradicts"] == []
    searched = step(seen, "search_similar_entities")
    assert searched["tool_calls"][0]["arguments"]["top_k"] == 3
    assert searched["tool_calls"][0]["arguments"]["min_similarity"] == 0.75
    assert searched["metrics"]["prompt_tokens"] > 0 and searched["metrics"]["cost_usd"] == 0
    assert (searched["model_name"], searched["extra"]["step"]) == ("hash-1", "load_candidates")


@requirement("trajectory.search-similar-entities")
async def test_a_search_that_failed_says_why(
    opened: Opener, model: ScriptedModel, embedder: HashEmbedder, config: Config
) -> None:
    async with opened(trajectory=True) as core:
        await tell_facts(core, edge("Alice", "lives_in", "Paris"))
        spent = Inference("scripted", "hash-1", "hash-1", Usage(7), error="no vectors today")
        embedder.fails(ModelFailed("no vectors today", inferences=[spent]))
        model.replies(verdicts())
        await tell_facts(core, edge("Alice", "lives_in", "Rome"))
    searched = step(written(config, "remember")[-1], "search_similar_entities")
    assert searched["extra"]["error"] == "no vectors today"
    assert result(searched) == []
    assert searched["metrics"]["prompt_tokens"] == 7


async def test_verdicts_are_told(opened: Opener, model: ScriptedModel, config: Config) -> None:
    async with opened(trajectory=True) as core:
        await tell_facts(core, edge("Alice", "lives_in", "Paris"))
        moved = graph("Alice", "Rome", edges=[edge("Alice", "moved_to", "Rome")])
        model.replies(moved, verdicts(verdict(0, contradicts=[1])))
        await tell(core, "Alice moved to Rome.")
    seen = written(config, "remember")[-1]
    assert json.loads(step(seen, "resolve_edges")["message"])[0]["contradicts"] == [1]
    assert step(seen, "store")["observation"]["results"][0]["content"] == "entities 2, edges 1, invalidated 1"


async def test_a_long_text_names_the_chunk_of_each_step(opened: Opener, model: ScriptedModel, config: Config) -> None:
    text = "\n\n".join(f"Sentence number {n} says that Alice met Bob in the year {1900 + n}." for n in range(12))
    summary = {"summary": "Alice met Bob."}
    model.replies(*[reply for _ in range(12) for reply in (graph("Alice", "Bob"), summary)])
    async with opened(trajectory=True, chunk_size=64) as core:
        told = await tell(core, text)
    (seen,) = written(config, "remember")
    count = len(told.chunks or ())
    assert count > 1
    assert {one["extra"].get("chunk_index") for one in seen["steps"][1:]} == set(range(count))
    assert step(seen, "summarize_chunk")["message"] == "Alice met Bob."


async def test_an_image_is_told_without_itself(opened: Opener, model: ScriptedModel, config: Config) -> None:
    model.replies({"theme": "plot", "title": "Revenue", "blocks": [], "language": "en"})
    async with opened(trajectory=True) as core:
        await remember(core, RememberRequest(user_id="u1", image=as_base64(drawn())))
    (seen,) = written(config, "remember")
    assert seen["steps"][0]["message"] == "" and "image_sha256" in seen["steps"][0]["extra"]["input"]
    assert json.loads(step(seen, "extract_image")["message"])["title"] == "Revenue"
    assert as_base64(drawn())[:60] not in json.dumps(seen)


async def test_a_failed_run_writes_its_file_too(opened: Opener, model: ScriptedModel, config: Config) -> None:
    model.replies("no json", "still none")
    async with opened(trajectory=True) as core:
        with pytest.raises(ModelFailed):
            await tell(core)
    (seen,) = written(config, "remember")
    assert seen["extra"] == {"status": "failed", "error": "the model's answer could not be parsed"}
    assert [one["extra"]["error"] for one in seen["steps"][1:]] == ["the model's answer could not be parsed"] * 2
    assert seen["final_metrics"]["total_prompt_tokens"] == 200


async def test_masked_secrets_stay_masked(opened: Opener, model: ScriptedModel, config: Config) -> None:
    model.replies(graph())
    async with opened(trajectory=True, mask_secrets=True) as core:
        await tell(core, "The API key is sk-0123456789abcdef0123.")
    assert "0123456789" not in json.dumps(written(config, "remember"))


@requirement("query.session-id-recorded")
async def test_a_query_is_told_with_its_session(opened: Opener, model: ScriptedModel, config: Config) -> None:
    model.replies(answer("In Paris.", edges=[1]))
    async with opened(trajectory=True) as core:
        await tell_facts(core, edge("Alice", "lives_in", "Paris"))
        asked = QueryRequest(user_id="u1", query="Where does Alice live?", session_id="chat-42", retrieval="hybrid")
        await query(core, asked)
    (seen,) = written(config, "query")
    assert seen["session_id"] == seen["steps"][0]["extra"]["input"]["session_id"] == "chat-42"
    assert seen["steps"][0]["message"] == "Where does Alice live?"
    assert result(step(seen, "retrieve")) == {"entities": [1, 2], "edges": [1]}
    assert result(step(seen, "search_similar_facts"))[0]["edge_id"] == 1
    answered = step(seen, "query")
    assert (answered["message"], answered["model_name"]) == ("In Paris.", "scripted-1")
    assert answered["extra"]["inference_id"] > 0


async def test_only_the_owner_reads_them_and_the_folder_can_be_set(
    opened: Opener, model: ScriptedModel, tmp_path: Path
) -> None:
    place = tmp_path / "elsewhere" / "seen"
    async with opened(trajectory=True, trajectory_dir=place) as core:
        await tell_facts(core, edge("Alice", "lives_in", "Paris"))
    (file,) = place.iterdir()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_folder_that_can_not_be_written_fails_no_call(
    opened: Opener, model: ScriptedModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "taken").write_text("a file")
    async with opened(trajectory=True, trajectory_dir=tmp_path / "taken") as core:
        assert (await tell_facts(core, edge("Alice", "lives_in", "Paris"))).edges
    assert "could not be written" in caplog.text


async def test_the_command_checks_a_file(opened: Opener, config: Config, tmp_path: Path) -> None:
    async with opened(trajectory=True) as core:
        await tell_facts(core, edge("Alice", "lives_in", "Paris"))
    (file,) = folder(config).iterdir()
    checked = CliRunner().invoke(cli, ["trajectory", "check", str(file)])
    assert checked.output == f"{file.name} is a trajectory of 3 steps (ATIF-v1.8).\n"
    other = tmp_path / "other.json"
    other.write_text('{"schema_version": "ATIF-v1.8"}')
    wrong = CliRunner().invoke(cli, ["trajectory", "check", str(other)])
    assert wrong.exit_code == 1
    assert "other.json is no trajectory: agent: Field required" in wrong.output
