"""reindex: the vectors of another model, built beside the old ones, and switched to when they are whole."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from core.config import Config
from core.core import Core
from core.engine import NoEngine, PromptedEngine
from core.errors import Conflict, ModelFailed, NotConfigured, UnknownDataset, VectorsPending
from core.graph import Dataset
from core.ports import Embedded
from core.remember.remember import remember
from core.remember.request import RememberRequest
from gligabao_mcp.cli import cli
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core, open_upkeep
from storage.outbox import VectorOutbox
from storage.reindex import Reindex
from storage.upkeep import Upkeep
from storage.vectors import Place
from tests.conftest import Tables
from tests.facts import ask, edge, graph, tell_facts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def memory(config: Config, embedder: HashEmbedder | None = None) -> AsyncGenerator[Core]:
    async with open_core(config, Providers(NoEngine(), embedder)) as core:
        yield core


@asynccontextmanager
async def upkeep(config: Config, embedder: HashEmbedder | None = None) -> AsyncGenerator[Upkeep]:
    async with open_upkeep(config, Providers(NoEngine(), embedder)) as kept:
        yield kept


async def fill(config: Config, embedder: HashEmbedder | None, facts: int = 3) -> None:
    async with memory(config, embedder) as core:
        await tell_facts(core, *[edge(f"Person {i}", "lives_in", f"Town {i}") for i in range(facts)])


async def dataset_of(kept: Upkeep) -> Dataset:
    (dataset,) = await kept.datasets()
    return dataset


def silent(_dataset: Dataset, _done: int) -> None:
    """Nobody watches."""


async def nearest(core: Core, text: str, index: Any = "edges") -> list[int]:
    """The ids that a search by meaning finds first."""
    assert core.embedder is not None and core.vectors is not None
    dataset = await core.graph.dataset("u1", "main")
    assert dataset is not None
    asked = await core.embedder.embed([text])
    return [hit.ref_id for hit in (await core.vectors.search(dataset, index, asked.vectors, 1))[0]]


@requirement("embed.no-re-embedding")
async def test_what_was_stored_without_an_embedder_gets_its_vectors(config: Config) -> None:
    await fill(config, None)
    async with upkeep(config, HashEmbedder()) as kept:
        assert await dataset_of(kept) == Dataset(1, "u1", "main", 1)
        (done,) = await kept.reindex("u1", ["main"], silent)
        assert (done.embedded, done.kept, done.waiting, done.generation) == (9, 0, 0, 1)
        assert await dataset_of(kept) == Dataset(1, "u1", "main", 1, "hash-1", 64, 1)
    async with memory(config, HashEmbedder()) as core:
        assert await nearest(core, "Person 1 lives in Town 1") == [2]
        told = await tell_facts(core, edge("Person 9", "lives_in", "Town 9"))
        assert (told.vectors_pending, told.embedded_edges) == (None, 1)
        assert await nearest(core, "Person 9 lives in Town 9") == [4]


async def test_another_model_takes_over_and_the_old_vectors_go(config: Config, tables: Tables) -> None:
    """C079, C080: from 64 dimensions to 16; nothing that is running breaks."""
    await fill(config, HashEmbedder(dim=64))
    small = HashEmbedder(dim=16, model="small")
    async with memory(config, HashEmbedder(dim=64)) as before, upkeep(config, small) as kept:
        assert await nearest(before, "Person 2 lives in Town 2") == [3]
        (done,) = await kept.reindex("u1", [], silent)
        assert (done.model, done.dimensions, done.embedded) == ("small", 16, 9)
        assert kept.outbox.index.places() == [Place(1, "edges", 1), Place(1, "entities", 1)]
        assert (await kept.doctor.examine()).healthy
        late = await tell_facts(before, edge("Late", "lives_in", "Town 0"))
        assert late.vectors_pending == 3, "a server with the former model goes on, and its vectors wait"
        assert (await ask(before, "Late", answer=False)).evidence.edges
    async with memory(config, small) as core:
        assert isinstance(core.vectors, VectorOutbox)
        await core.vectors.repair()
        assert await nearest(core, "Late lives in Town 0") == [4]
    assert tables.rows("SELECT embedding_model, embedding_dim, vector_generation FROM gb_datasets") == [
        {"embedding_model": "small", "embedding_dim": 16, "vector_generation": 1}
    ]


class Interrupted(HashEmbedder):
    """Gives up after some texts."""

    left = 100

    async def embed(self, texts: Sequence[str]) -> Embedded:
        if self.left <= 0:
            raise ModelFailed("the connection broke")
        self.left -= len(texts)
        return await super().embed(texts)


async def test_an_interrupted_reindex_goes_on_where_it_was_and_the_old_index_is_served_until_then(
    config: Config,
) -> None:
    """C080: 300 rows, interrupted at 100."""
    await fill(config, HashEmbedder(dim=512), facts=100)
    model = Interrupted(dim=500, model="new")
    async with upkeep(config, model) as kept:
        work = Reindex(kept.database, kept.outbox, model, silent, batch=20)
        with pytest.raises(ModelFailed, match="the connection broke"):
            await work.run(await dataset_of(kept))
        assert (await dataset_of(kept)).generation == 0
        assert [f.kind for f in (await kept.doctor.examine()).findings] == ["embedding_mismatch"]
    async with memory(config, HashEmbedder(dim=512)) as core:
        assert await nearest(core, "Person 99 lives in Town 99") == [100]
    model.left = 10_000
    calls = model.calls
    async with upkeep(config, model) as kept:
        (done,) = await kept.reindex("u1", ["main"], silent)
        assert (done.kept, done.embedded) == (100, 200)
        assert sum(map(len, model.batches[calls:])) == 200
        assert (await kept.doctor.examine()).healthy
    async with memory(config, model) as core:
        assert await nearest(core, "Person 99 lives in Town 99") == [100]


async def test_what_an_interrupted_try_with_another_model_built_is_not_used(config: Config) -> None:
    await fill(config, None)
    broken = Interrupted(dim=24, model="first choice")
    broken.left = 4
    async with upkeep(config, broken) as kept:
        with pytest.raises(ModelFailed):
            await Reindex(kept.database, kept.outbox, broken, silent, batch=2).run(await dataset_of(kept))
    for chosen in (HashEmbedder(dim=24, model="second choice"), HashEmbedder(dim=8, model="third choice")):
        async with upkeep(config, chosen) as kept:
            (done,) = await kept.reindex("u1", [], silent)
            assert (done.embedded, done.kept) == (9, 0)
            assert (await kept.doctor.examine()).healthy


class Meanwhile(HashEmbedder):
    """Does something else while the first texts are on their way."""

    def __init__(self, core: Core, **more: Any) -> None:
        super().__init__(**more)
        self.core = core

    async def embed(self, texts: Sequence[str]) -> Embedded:
        if not self.calls:
            self.batches.append([])
            await tell_facts(
                self.core, edge("Person 0", "works_at", "Acme"), entities=[described("Person 0", "a baker")]
            )
        return await super().embed(texts)


def described(name: str, description: str) -> dict[str, object]:
    return {"name": name, "type": "other", "description": description}


async def test_nothing_that_is_written_while_it_runs_is_missing_after_the_switch(config: Config) -> None:
    await fill(config, HashEmbedder())
    async with memory(config, HashEmbedder()) as core:
        model = Meanwhile(core, dim=16, model="new")
        async with upkeep(config, model) as kept:
            (done,) = await kept.reindex("u1", [], silent)
            assert done.waiting == 0
            assert (await kept.doctor.examine()).healthy
            texts = dict(kept.outbox.index.texts(1, "entities", 1))
            assert texts[1] == "Person 0 (other): a baker"
    async with memory(config, HashEmbedder(dim=16, model="new")) as core:
        assert await nearest(core, "Person 0 works at Acme") == [4]


async def test_vectors_that_waited_for_the_old_model_are_made_by_the_new_one(config: Config, tables: Tables) -> None:
    blocked = (config.home or Path()) / "blocked"
    blocked.write_text("a file where a folder should be", encoding="utf-8")
    async with open_core(
        config.model_copy(update={"vectors": str(blocked)}), Providers(NoEngine(), HashEmbedder())
    ) as core:
        with pytest.raises(VectorsPending):
            await tell_facts(core, edge("Ann", "lives_in", "Ulm"))
    assert tables.count("gb_vector_outbox") == 3
    async with upkeep(config, HashEmbedder(dim=16, model="new")) as kept:
        (done,) = await kept.reindex("u1", [], silent)
        assert done.waiting == 0
        assert (await kept.doctor.examine()).healthy
        assert kept.outbox.index.begun_with(1, "edges", 1) == ("new", 16)
    assert tables.count("gb_vector_outbox") == 0


async def test_of_two_that_reindex_at_once_one_switches_and_the_other_says_so(config: Config) -> None:
    await fill(config, None)
    async with upkeep(config, HashEmbedder()) as one, upkeep(config, HashEmbedder()) as two:
        dataset = await dataset_of(one)
        works = [Reindex(kept.database, kept.outbox, HashEmbedder(), silent) for kept in (one, two)]
        ends = await asyncio.gather(*(work.run(dataset) for work in works), return_exceptions=True)
        assert sorted(type(end).__name__ for end in ends) == ["Conflict", "Reindexed"]
        assert any(isinstance(end, Conflict) and "nothing was switched" in end.message for end in ends)
        assert (await one.doctor.examine()).healthy


async def test_chunks_messages_and_summaries_are_embedded_again_and_whole_texts_are_not(config: Config) -> None:
    model = ScriptedModel(always=graph())
    async with open_core(config, Providers(PromptedEngine(model), HashEmbedder())) as core:
        messages = [{"text": "The harbour was quiet.", "speaker": "Ann"}, {"text": "Yes.", "speaker": "Ben"}]
        await remember(core, RememberRequest.model_validate({"user_id": "u1", "messages": messages}))
        await tell_facts(core, edge("Ann", "likes", "tea"), text="Ann likes tea.", kind="episode")
    async with upkeep(config, HashEmbedder(dim=16, model="new")) as kept:
        (done,) = await kept.reindex("u1", [], silent)
        texts = dict(kept.outbox.index.texts(1, "chunks", 1))
        assert texts == {1: "Ann: The harbour was quiet.", 2: "Ben: Yes."}
        assert done.embedded == 2 + 2 + 1
        assert (await kept.doctor.examine()).healthy
    async with open_core(config, Providers(PromptedEngine(model), HashEmbedder(dim=16, model="new"))) as core:
        assert await nearest(core, "quiet harbour", "chunks") == [1]


async def test_what_can_not_be_done_is_said(config: Config) -> None:
    await fill(config, None)
    async with upkeep(config) as kept:
        with pytest.raises(NotConfigured, match="no embedder"):
            await kept.reindex("u1", [], silent)
    async with upkeep(config, HashEmbedder()) as kept:
        with pytest.raises(UnknownDataset):
            await kept.reindex("u2", ["main"], silent)


def test_the_command_names_what_it_reindexes(tmp_path: Path) -> None:
    def run(*flags: str) -> tuple[int, str]:
        result = CliRunner().invoke(cli, ["reindex", *flags, "--home", str(tmp_path), "--embedder", "none"])
        return result.exit_code, result.output

    assert run()[0] == 2 and "--all" in run()[1]
    code, said = run("--all", "--json")
    assert code == 1 and json.loads(said)["code"] == "not_configured"
