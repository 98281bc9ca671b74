"""Embeddings under upkeep: reindex, doctor, backup, forgetting and purging meet their entries and vectors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.config import Config
from core.core import Core
from core.embeddings.declare import DeclareEmbeddingRequest, declare_embedding
from core.embeddings.keep import Keeper
from core.embeddings.ports import Embedding
from core.engine import NoEngine
from core.graph import Dataset
from gligabao_mcp.providers.scripted import HashEmbedder
from gligabao_mcp.wiring import Providers, open_core, open_upkeep, restore_backup
from storage.upkeep import Upkeep
from storage.vectors import Place
from tests.conftest import Tables
from tests.facts import edge, tell_facts
from tests.forgetting import forget_it, purge_it

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def memory(config: Config, embedder: HashEmbedder | None = None) -> AsyncGenerator[Core]:
    async with open_core(config, Providers(NoEngine(), embedder or HashEmbedder())) as core:
        yield core


@asynccontextmanager
async def upkeep(config: Config, embedder: HashEmbedder | None = None) -> AsyncGenerator[Upkeep]:
    async with open_upkeep(config, Providers(NoEngine(), embedder or HashEmbedder())) as kept:
        yield kept


async def of(core: Core) -> tuple[Dataset, Embedding]:
    dataset = await core.graph.dataset("u1", "main")
    assert dataset is not None
    (embedding,) = await core.embeddings.all(dataset)
    return dataset, embedding


async def followed(core: Core, entries: int) -> Embedding:
    """Waits until the entries are those of the newest commit."""
    dataset, embedding = await of(core)
    for _ in range(400):
        if (embedding.seq, embedding.entries) == (dataset.head_seq, entries):
            return embedding
        await asyncio.sleep(0.05)
        dataset, embedding = await of(core)
    raise AssertionError(f"{embedding.entries} entries up to commit {embedding.seq} of {dataset.head_seq}")


async def nearest(core: Core, text: str) -> list[str]:
    assert core.embedder is not None
    (vector,) = (await core.embedder.embed([text])).vectors
    _, embedding = await of(core)
    return [near.iri.rpartition("/")[2] for near in await core.embeddings.nearest(embedding, vector, 9)]


async def filled(core: Core) -> Embedding:
    """Three records with an embedding."""
    await tell_facts(core, edge("Ann", "lives_in", "Ulm"), text="Ann lives in Ulm.")
    await tell_facts(core, edge("Secretariat", "lives_in", "Ulm"), text="Secretariat lives in Ulm.")
    request = {"user_id": "u1", "class": "other", "name": "told", "from": ["label"]}
    await declare_embedding(core, DeclareEmbeddingRequest.model_validate(request))
    return await followed(core, 3)


def silent(_dataset: Dataset, _done: int) -> None:
    """Nobody watches."""


async def test_a_memory_with_an_embedding_is_healthy_and_stays_so_after_reindex(config: Config) -> None:
    async with memory(config) as core:
        before = await filled(core)
    async with upkeep(config) as kept:
        assert (await kept.doctor.examine()).healthy
        await kept.reindex("u1", ["main"], silent)
        assert (await kept.doctor.examine()).healthy
    async with memory(config) as core:
        assert (await of(core))[1] == before, "the same model: nothing to embed again"
        assert (await nearest(core, "label: Ann"))[0] == "1"


async def test_reindex_with_another_model_begins_the_embedding_anew(config: Config) -> None:
    async with memory(config) as core:
        await filled(core)
    small = HashEmbedder(dim=16, model="small")
    async with memory(config, small) as core:
        await tell_facts(core, edge("Zoe", "lives_in", "Ulm"))
        core.keeper.wake()
        await asyncio.sleep(0.2)
        assert (await of(core))[1].entries == 3, "another model embeds nothing into it"
    async with upkeep(config, small) as kept:
        await kept.reindex("u1", ["main"], silent)
        assert not [place for place in kept.outbox.index.places() if place.index_name == "embedding-1-1"]
    async with memory(config, small) as core:
        after = await followed(core, 4)
        assert (after.version, after.model, after.dim) == (2, "small", 16)
        assert (await nearest(core, "label: Zoe"))[0] == "4"
    async with upkeep(config, small) as kept:
        assert (await kept.doctor.examine()).healthy


async def test_the_doctor_finds_what_is_missing_and_left_over_and_it_is_embedded_again(
    config: Config, tables: Tables
) -> None:
    async with memory(config) as core:
        await filled(core)
    async with upkeep(config) as kept:
        index = kept.outbox.index
        index.delete(1, "embedding-1-1", [1, 2])
        with tables.engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM gb_embedding_entries WHERE id = 3")
        report = await kept.doctor.examine()
        assert {one.kind: one.count for one in report.findings} == {"records_missing": 2, "records_orphaned": 1}
        assert (await kept.doctor.repair()).healthy
        index.drop_table(Place(1, "embedding-1-1", 0))
    async with memory(config) as core:
        await followed(core, 3)
        assert len(await nearest(core, "label: Ann")) == 3


async def test_after_a_restore_the_records_are_embedded_again(tmp_path: Path) -> None:
    here, there, target = Config(home=tmp_path / "here"), Config(home=tmp_path / "there"), tmp_path / "memory.backup"
    async with memory(here) as core:
        await filled(core)
    async with upkeep(here) as kept:
        manifest = await kept.back_up(target)
    assert not [name for name in manifest.vectors if "embedding" in name]
    for config, force in ((there, False), (here, True)):
        await restore_backup(config, target, force=force)
        async with memory(config) as core:
            assert (await followed(core, 3)).version == 2
            assert (await nearest(core, "label: Ann"))[0] == "1"
        async with upkeep(config) as kept:
            assert (await kept.doctor.repair()).healthy


@pytest.mark.parametrize("keeps_up", [True, False])
async def test_what_is_purged_is_in_no_file_of_the_index(
    config: Config, tmp_path: Path, keeps_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with memory(config) as core:
        await filled(core)
        assert in_files(tmp_path, b"label: Secretariat")
    if not keeps_up:

        async def never(*_: object) -> None: ...

        monkeypatch.setattr(Keeper, "keep_up", never)
    async with memory(config) as core:
        gone = await forget_it(core, "entity", 3)
        if keeps_up:
            await followed(core, 2)
        await purge_it(core, gone)
        assert "3" not in await nearest(core, "label: Secretariat")
    assert not in_files(tmp_path, b"label: Secretariat")


def in_files(folder: Path, told: bytes) -> list[Path]:
    return [file for file in folder.rglob("*.lance") if file.is_file() and told in file.read_bytes()]


async def test_a_dataset_that_goes_takes_its_embeddings_with_it(config: Config, tables: Tables, tmp_path: Path) -> None:
    async with memory(config) as core:
        await filled(core)
        gone = await forget_it(core, "dataset", confirm="main")
        assert not await core.embeddings.behind()
        await purge_it(core, gone)
    assert (tables.count("gb_embeddings"), tables.count("gb_embedding_entries")) == (0, 0)
    assert not in_files(tmp_path, b"label: Ann")
