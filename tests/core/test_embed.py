"""Vectors: what is embedded, in which requests, and what happens when one part of it fails."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import lancedb  # pyright: ignore[reportMissingTypeStubs]
import pytest

from core.config import Config
from core.core import Core
from core.engine import PromptedEngine
from core.errors import ModelFailed, ModelOverloaded, VectorsPending
from core.inferences import Inference
from gligabao_mcp.errors import failure
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core, vectors_uri
from storage.outbox import VectorOutbox
from storage.vectors import table_name
from tests.conftest import Opener, Tables
from tests.facts import ALICE_WORKS_AT_ACME, ask, edge, graph, tell, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


def index(config: Config, name: str, dataset_id: int = 1) -> dict[str, dict[str, Any]]:
    """The rows of an index by their ids."""
    table: Any = lancedb.connect(vectors_uri(config)).open_table(table_name(dataset_id, name))
    rows: list[dict[str, Any]] = table.search().limit(None).to_list()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row for row in rows}


def versions(config: Config, name: str) -> int:
    return len(lancedb.connect(vectors_uri(config)).open_table(table_name(1, name)).list_versions())


@requirement(
    "embed.texts",
    "embed.one-request",
    "embed.matched-by-position",
    "embed.one-inference",
    "embed.index-names",
    "embed.written-after-commit",
    "embed.overwrites",
    "embed.counts",
    "remember.embedding-request-count",
    "remember.same-text-twice",
)
async def test_one_request_embeds_the_entities_then_the_facts(
    core: Core, config: Config, model: ScriptedModel, embedder: HashEmbedder, tables: Tables
) -> None:
    """C043: a fact without a description is embedded as its three parts in words."""
    works = edge("Alice", "works_at", "Acme", description="Alice works at Acme.")
    model.replies(graph("Alice:person:an engineer", "Acme:", edges=[works, edge("Alice", "visited", "Rome")]))
    told = await tell(core)
    texts = [
        "Alice (person): an engineer",
        "Acme (other)",
        "Rome (other)",
        "Alice works at Acme.",
        "Alice visited Rome",
    ]
    assert embedder.batches == [texts]
    assert (told.embedded_entities, told.embedded_edges) == (3, 2)
    assert told.vectors_pending is None
    assert tables.count("gb_vector_outbox") == 0
    rows = index(config, "entities") | index(config, "edges")
    ids = {e.source: e.source_id for e in told.edges} | {e.target: e.target_id for e in told.edges}
    named = [f"entity-{ids[name]}" for name in ("Alice", "Acme", "Rome")] + [f"edge-{e.id}" for e in told.edges]
    assert {i: row["text"] for i, row in rows.items()} == dict(zip(named, texts, strict=True))
    vectors = (await HashEmbedder().embed(texts)).vectors
    for row_id, vector in zip(named, vectors, strict=True):
        assert rows[row_id]["vector"] == pytest.approx(struct.unpack(f"<{embedder.dim}f", vector))
    (call,) = tables.rows("SELECT id, type, input_tokens FROM gb_inferences WHERE stage = 'embed'")
    assert (call["type"], call["input_tokens"]) == ("embedding", sum(len(text.split()) for text in texts))
    (stage,) = tables.rows("SELECT inference_ids FROM gb_remember_run_stages WHERE stage = 'store'")
    assert str(stage["inference_ids"]).strip("[]") == str(call["id"])

    # Told again, with a new description: two requests, the same vectors' rows, one write per index.
    before = versions(config, "entities"), versions(config, "edges")
    model.replies(graph("ALICE:person:a manager", edges=[edge("alice", "works_at", "ACME", description="She does.")]))
    again = await tell(core)
    assert (again.embedded_entities, again.embedded_edges) == (2, 1)
    assert embedder.batches[1:] == [
        ["ALICE (person): a manager", "ACME (other)"],
        ["Alice (person): a manager", "Acme (other)", "Alice works at Acme."],
    ]
    assert (versions(config, "entities"), versions(config, "edges")) == (before[0] + 1, before[1] + 1)
    assert len(index(config, "entities")) == 3
    assert index(config, "entities")[named[0]]["text"] == "Alice (person): a manager"
    assert len(index(config, "edges")) == 2


@requirement("embed.texts", "embed.matched-by-position", "embed.counts")
async def test_a_fact_is_embedded_as_its_row_says_it(
    core: Core, config: Config, model: ScriptedModel, tables: Tables
) -> None:
    """However its text spells the names, and whatever became of what the comparison said."""
    model.replies(graph("Ivo:person", edges=[edge("IVO", "visited", "Rome"), edge("ivo", "likes", "ROME")]))
    first = await tell(core, "Ivo visited Rome and likes it.")
    model.replies(
        graph(edges=[edge("IVO", "knows", "ANA"), edge("ana", "lives_in", "rome", valid_at="2019", invalid_at="2020")]),
        # Neither a repeat of what it contradicts, nor one of what was true at another time.
        verdicts(
            verdict(0, duplicate_of=first.edges[0].id, contradicts=[first.edges[0].id]),
            verdict(1, duplicate_of=first.edges[1].id),
        ),
    )
    second = await tell(core, "Ivo knows Ana, who lived in Rome.")
    assert (second.embedded_entities, second.embedded_edges) == (3, 2)
    assert tables.rows("SELECT text, tries FROM gb_vector_outbox") == []
    facts = {e.id: f"{e.source} {e.relation.replace('_', ' ')} {e.target}" for e in (*first.edges, *second.edges)}
    assert {row["ref_id"]: row["text"] for row in index(config, "edges").values()} == facts
    assert set(facts.values()) == {"Ivo visited Rome", "Ivo likes Rome", "Ivo knows ANA", "ANA lives in Rome"}


@requirement("embed.before-commit", "remember.failure-stores-nothing", "embed.one-inference")
async def test_an_embedding_failure_stores_nothing_and_harms_no_later_call(
    core: Core, model: ScriptedModel, embedder: HashEmbedder, tables: Tables
) -> None:
    """C073."""
    failed = Inference("scripted", "hash-1", "hash-1", error="no such model")
    embedder.fails_always(ModelFailed("no such model", inferences=[failed]))
    for _ in range(5):
        model.replies(ALICE_WORKS_AT_ACME)
        with pytest.raises(ModelFailed, match="no such model"):
            await tell(core)
    embedder.fails_always(None)
    embedder.fails(ModelOverloaded("overloaded"))
    model.replies(ALICE_WORKS_AT_ACME)
    with pytest.raises(ModelOverloaded):
        await tell(core)
    for table in ("gb_datasets", "gb_artifacts", "gb_entities", "gb_edges", "gb_vector_outbox"):
        assert tables.count(table) == 0
    assert len(tables.rows("SELECT id FROM gb_inferences WHERE stage = 'embed' AND error = 'no such model'")) == 5
    stages = tables.rows("SELECT error FROM gb_remember_run_stages WHERE stage = 'store' AND status = 'failed'")
    assert [row["error"] for row in stages] == ["no such model"] * 5 + ["overloaded"]
    model.replies(ALICE_WORKS_AT_ACME)
    assert (await tell(core)).embedded_edges == 1


@requirement("embed.write-failure", "embed.repair", "store.vectors-apart", "candidates.similarity-may-fail")
async def test_facts_are_saved_when_their_vectors_cannot_be_written_and_those_follow(
    opened: Opener, config: Config, model: ScriptedModel, tables: Tables, tmp_path: Path
) -> None:
    in_the_way = tmp_path / "a file"
    in_the_way.write_text("no folder")
    async with opened(vectors=str(in_the_way)) as core:
        model.replies(ALICE_WORKS_AT_ACME, ALICE_WORKS_AT_ACME)
        for run in (1, 2):  # the second one also finds no index to search
            with pytest.raises(VectorsPending) as pending:
                await tell(core)
            assert pending.value.message == (
                "the facts are stored, but the vector index could not be written (FileExistsError); "
                "they are written again by themselves"
            )
            shown = failure(pending.value)
            assert (shown.numbers.status, shown.numbers.mcp_success) == (502, True)
            body = shown.body()
            assert body["error"] == pending.value.message
            assert body["edges"][0]["relation"] == "works_at"
            assert body["vectors_pending"] == 3
            assert "embedded_edges" not in body
            (row,) = tables.rows("SELECT status, artifact_id FROM gb_remember_runs WHERE id = :run", run=run)
            assert row == {"status": "succeeded", "artifact_id": body["artifact_id"]}
        assert tables.count("gb_edges") == 1
        assert (await ask(core, "Alice", answer=False)).evidence.edges
    assert tables.count("gb_vector_outbox") == 6
    async with opened() as core:
        assert isinstance(core.vectors, VectorOutbox)
        await core.vectors.repair()
        assert await core.vectors.pending() == 0
    assert set(index(config, "entities")) == {"entity-1", "entity-2"}
    assert set(index(config, "edges")) == {"edge-1"}


@requirement("embed.index-names", "embed.counts-omitted")
async def test_another_embedder_never_writes_into_the_index(
    opened: Opener, config: Config, model: ScriptedModel, embedder: HashEmbedder, tables: Tables
) -> None:
    """C079: the facts are stored and found by name, their vectors wait for the embedder that fits."""
    async with opened() as core:
        model.replies(ALICE_WORKS_AT_ACME)
        first = await tell(core)
    (dataset,) = tables.rows("SELECT embedding_model, embedding_dim FROM gb_datasets")
    assert dataset == {"embedding_model": "hash-1", "embedding_dim": embedder.dim}
    for other in (HashEmbedder(dim=8), HashEmbedder(model="hash-2")):
        async with open_core(config, Providers(PromptedEngine(model), other)) as core:
            model.replies(
                graph("Alice:person", edges=[edge("Alice", "knows", f"{other.model} {other.dim}")]), verdicts(verdict())
            )
            told = await tell(core)
            assert told.vectors_pending == 3
            assert "embedded_edges" not in told.body()
            assert told.edges[0].source_id == first.edges[0].source_id
            assert len((await ask(core, "Alice", answer=False)).evidence.edges) >= 2
            assert isinstance(core.vectors, VectorOutbox)
            await core.vectors.repair()
            assert other.batches == []
        assert len(index(config, "edges")) == 1
    assert tables.rows("SELECT embedding_model, embedding_dim FROM gb_datasets") == [dataset]
    async with opened() as core:
        assert isinstance(core.vectors, VectorOutbox)
        await core.vectors.repair()
        assert await core.vectors.pending() == 0
    assert embedder.calls > 1
    assert len(index(config, "edges")) == 3
    assert {len(row["vector"]) for row in index(config, "edges").values()} == {embedder.dim}


@requirement("embed.optional", "embed.counts-omitted")
async def test_without_an_embedder_the_graph_is_stored_and_vectors_begin_with_one(
    plain: Core, opened: Opener, config: Config, model: ScriptedModel, embedder: HashEmbedder, tables: Tables
) -> None:
    model.replies(ALICE_WORKS_AT_ACME)
    body = (await tell(plain)).body()
    assert not {"embedded_entities", "embedded_edges", "vectors_pending"} & body.keys()
    assert tables.count("gb_edges") == 1
    assert tables.count("gb_vector_outbox") == 0
    async with opened() as core:
        model.replies(graph(), ALICE_WORKS_AT_ACME)
        nothing = await tell(core, "Hm.")
        assert not {"embedded_entities", "embedded_edges", "vectors_pending"} & nothing.body().keys()
        assert embedder.calls == 0
        told = await tell(core)
        assert (told.embedded_entities, told.embedded_edges) == (2, 1)
    assert len(index(config, "edges")) == 1


@requirement("embed.dimensions", "embed.model", "embed.vector-store")
def test_the_promised_embedder_and_its_size_are_the_defaults() -> None:
    assert (Config().embedding_model, Config().embedding_dimensions) == ("text-embedding-3-small", 1536)
    assert "vector_store" not in Config.model_fields
