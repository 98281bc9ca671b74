"""retrieval hybrid: facts that are near in meaning join the ones that touch a seed."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from core.config import Config
from core.core import Core
from core.engine import NoEngine
from core.errors import ModelFailed
from core.inferences import Inference
from core.query.retrieve import match_for
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core
from tests.conftest import Opener, Tables
from tests.facts import answer, ask, edge, tell_facts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

QUESTION = "Does Alice drink green tea every morning?"
TEA = edge("Bo", "likes", "Sencha", description="Bo drinks green tea every morning.")
KEYWORD = ["Acme"]
HYBRID = ["Acme", "Sencha"]


async def tell_about_tea(core: Core, *more: dict[str, object], **whose: Any) -> None:
    await tell_facts(core, edge("Alice", "works_at", "Acme", description="Alice works at Acme."), TEA, *more, **whose)


async def targets(core: Core, retrieval: str | None = "hybrid", **more: Any) -> list[str]:
    found = await ask(core, QUESTION, answer=False, retrieval=retrieval, **more)
    ends = {i for e in found.evidence.edges for i in (e.source_id, e.target_id)}
    assert ends <= {e.id for e in found.evidence.entities}
    return [e.target for e in found.evidence.edges]


@requirement("query.keyword-retrieval", "query.one-hop-only", "query.edge-text-not-searched")
async def test_a_fact_that_no_seed_touches_joins_by_its_meaning(
    core: Core, model: ScriptedModel, embedder: HashEmbedder, tables: Tables
) -> None:
    await tell_about_tea(core)
    before = embedder.calls
    for keyword in (None, "keyword", ""):
        assert await targets(core, keyword) == KEYWORD
    assert embedder.calls == before
    assert await targets(core) == HYBRID
    assert embedder.batches[before:] == [[QUESTION]]
    model.replies(answer("Bo does.", edges=[2]))
    response = await ask(core, QUESTION, retrieval="hybrid", session_id="s")
    assert [e.target for e in response.evidence.edges] == ["Sencha"]
    # The seeds and their facts come first, as without vectors.
    lines = model.prompts[-1].user.split("\n")[1:7]
    assert [line.split("]")[0] for line in lines] == [
        "[entity 1",
        "[entity 2",
        "[entity 3",
        "[entity 4",
        "[edge 1",
        "[edge 2",
    ]
    rows = tables.rows("SELECT type, stage, session_id, run_id FROM gb_inferences ORDER BY id")[-2:]
    assert rows == [
        {"type": "embedding", "stage": "search_similar", "session_id": "s", "run_id": None},
        {"type": "query", "stage": "query", "session_id": "s", "run_id": None},
    ]


async def test_at_most_thirty_facts_join_and_the_seeds_keep_theirs(core: Core) -> None:
    near = [edge(f"P{i}", "likes", f"T{i}", description=f"P{i} drinks green tea every morning.") for i in range(40)]
    far = [edge(f"Q{i}", "owns", f"C{i}", description="A car of another colour altogether.") for i in range(40)]
    own = [edge("Alice", "has_seen", f"City {i}", description="Another city far away.") for i in range(20)]
    await tell_facts(core, *far, *near, *own)
    keyword = await targets(core, "keyword")
    hybrid = await targets(core)
    assert hybrid[: len(keyword)] == keyword
    joined = hybrid[len(keyword) :]
    assert len(joined) == 30
    assert {target[0] for target in joined} == {"T"}


async def test_without_vectors_words_alone_decide(
    core: Core, embedder: HashEmbedder, tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    await tell_about_tea(core)
    calls = tables.count("gb_inferences")
    embedder.fails(ModelFailed("no vectors today", inferences=[Inference("scripted", "hash-1", "hash-1", error="no")]))
    assert await targets(core) == KEYWORD
    assert "keyword alone: no vectors today" in caplog.text
    assert tables.count("gb_inferences") == calls + 1
    assert await targets(core) == HYBRID


async def test_a_broken_index_leaves_the_words(core: Core, config: Config, caplog: pytest.LogCaptureFixture) -> None:
    await tell_about_tea(core)
    assert await targets(core) == HYBRID
    assert config.home is not None
    shutil.rmtree(config.home / "vectors")
    assert await targets(core) == KEYWORD
    assert "keyword alone" in caplog.text


async def test_no_embedder_no_vectors(config: Config, model: ScriptedModel, opened: Opener) -> None:
    async with opened() as core:
        await tell_about_tea(core)
    other = HashEmbedder(model="hash-2", dim=16)
    async with open_core(config, Providers(NoEngine(), other)) as core:
        # The vectors of the dataset are of another model: they are not compared with this one's.
        assert await targets(core) == KEYWORD
        assert other.calls == 0
    async with open_core(config, Providers(NoEngine())) as core:
        assert await targets(core) == KEYWORD


@requirement("query.own-dataset-only")
async def test_vectors_of_others_are_never_searched(core: Core) -> None:
    await tell_about_tea(core, user_id="u2")
    await tell_about_tea(core, dataset="work")
    await tell_facts(core, edge("Alice", "works_at", "Acme", description="Alice works at Acme."))
    assert await targets(core) == KEYWORD
    assert await targets(core, user_id="u2") == HYBRID
    assert await targets(core, dataset="work") == HYBRID
    # An index that named the rows of others would not help: they are not this dataset's.
    dataset = await core.graph.dataset("u1", "main")
    assert dataset is not None
    mine = await core.graph.facts(dataset, range(1, 6), match_for(QUESTION, None, None))
    assert [(e.id, e.target) for e in mine.edges] == [(5, "Acme")]


@requirement("temporal.event-time")
async def test_the_reading_time_holds_for_what_is_found_by_meaning(core: Core) -> None:
    past = [
        edge(f"P{i}", "liked", f"Old {i}", description=f"P{i} drinks green tea every morning.", invalid_at="2021")
        | {"valid_at": "2020"}
        for i in range(40)
    ]
    await tell_about_tea(core, *past, reference_time="2025-01-01T00:00:00Z")
    # Forty nearer facts of the past do not take the places of those that are true at that time.
    assert await targets(core, as_of="2025-06-01") == HYBRID
    assert set(await targets(core, as_of="2020-06")) <= {f"Old {i}" for i in range(40)}
    assert len(await targets(core, as_of="2020-06")) == 30
    assert await targets(core, known_at="2020-01-01") == []


async def test_a_memory_without_entities_is_not_searched_by_meaning(core: Core, embedder: HashEmbedder) -> None:
    await tell_facts(core)
    assert await targets(core) == []
    assert embedder.calls == 0
