"""The vector index: written through the outbox, found by similarity, tidy after idle."""

from __future__ import annotations

import asyncio
import struct
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from core.core import Core
from core.errors import VectorsPending
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from storage.outbox import VectorOutbox
from storage.vectors import OPTIMIZE_EVERY, LanceIndex, VectorRow
from tests.conftest import Opener, Tables
from tests.facts import ALICE_WORKS_AT_ACME, tell
from tests.requirements import requirement


def row(ref_id: int, *numbers: float, text: str = "t") -> VectorRow:
    return VectorRow(ref_id, text, 1, struct.pack(f"<{len(numbers)}f", *numbers))


@requirement("embed.index-names", "embed.overwrites")
def test_a_vector_is_found_by_its_direction_and_replaced_when_written_again(tmp_path: Path) -> None:
    index = LanceIndex(str(tmp_path))
    assert index.search(7, "entities", [row(0, 1, 0).vector], 3) == [[]]
    index.upsert(7, "entities", [row(1, 1, 0), row(2, 0, 1), row(2, 0.6, 0.8)])
    (near, other) = index.search(7, "entities", [row(0, 1, 0).vector, row(0, 0, 1).vector], 3)
    assert [hit.ref_id for hit in near] == [1, 2]
    assert [hit.ref_id for hit in other] == [2, 1]
    assert near[0].similarity == pytest.approx(1.0, abs=1e-5)
    assert near[1].similarity == pytest.approx(0.6, abs=1e-5)
    index.upsert(7, "entities", [row(1, 0, 1)])
    assert [hit.ref_id for hit in index.search(7, "entities", [row(0, 0, 1).vector], 1)[0]] == [1]
    assert index.ids(7, "entities") == {1, 2}
    assert sorted(folder.name for folder in tmp_path.iterdir()) == ["dataset-7-entities.lance"]


def test_two_handles_on_one_folder_see_each_other_and_never_double_a_row(tmp_path: Path) -> None:
    """C077: many writers of one table, none of them fails."""
    handles = [LanceIndex(str(tmp_path)) for _ in range(2)]
    handles[0].upsert(
        1, "edges", [row(0, 1, 0)]
    )  # one makes the table: the outbox of a dataset has one drain at a time
    with ThreadPoolExecutor(2) as pool:
        for ref_id in range(20):
            rows = [row(ref_id, 1, 0), row(1000 + ref_id, 0, 1)]
            for done in [pool.submit(handle.upsert, 1, "edges", rows) for handle in handles]:
                done.result()
    for handle in handles:
        assert handle.ids(1, "edges") == {*range(20), *range(1000, 1020)}
        assert len(handle.search(1, "edges", [row(0, 1, 0).vector], 100)[0]) == 40


def test_a_thousand_small_writes_leave_few_versions_and_little_on_disk(tmp_path: Path) -> None:
    """C076: a file and a version for each write would grow without end."""
    index = LanceIndex(str(tmp_path))
    for ref_id in range(1000):
        index.upsert(1, "edges", [row(ref_id, *[float(ref_id % 7)] * 7, 1.0)])
    index.tidy(older_than=timedelta(milliseconds=1))
    assert index.versions(1, "edges") < 50
    assert len(index.ids(1, "edges")) == 1000
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < 4_000_000


@pytest.mark.anyio
@requirement("embed.write-failure", "embed.repair")
async def test_a_failing_index_keeps_the_facts_and_the_next_start_writes_the_vectors(
    opened: Opener, model: ScriptedModel, tables: Tables, tmp_path: Path
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be", encoding="utf-8")
    model.replies(ALICE_WORKS_AT_ACME)
    async with opened(vectors=str(blocked)) as core:
        with pytest.raises(VectorsPending) as failure:
            await tell(core)
    saved = failure.value.saved
    assert saved["artifact_id"] == 1 and saved["edges"] and "embedded_edges" not in saved
    assert tables.count("gb_vector_outbox") == 3
    async with opened() as core:
        await settled(core)
        dataset = await core.graph.dataset("u1", "main")
        assert dataset is not None and core.vectors is not None and core.embedder is not None
        asked = await core.embedder.embed(["Alice works at Acme."])
        (found,) = await core.vectors.search(dataset, "edges", asked.vectors, 1)
        assert [hit.ref_id for hit in found] == [1]
    assert tables.count("gb_vector_outbox") == 0


async def settled(core: Core) -> None:
    """Waits until no vector waits."""
    assert core.vectors is not None
    for _ in range(200):
        if not await core.vectors.pending():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("vectors still wait")


@pytest.mark.anyio
async def test_another_embedding_model_never_writes_into_an_index(
    opened: Opener, model: ScriptedModel, embedder: HashEmbedder, tables: Tables
) -> None:
    """C079: a fact told with an embedder of another size is kept, and waits for the one that fits."""
    model.replies(ALICE_WORKS_AT_ACME, ALICE_WORKS_AT_ACME)
    async with opened() as core:
        assert (await tell(core)).embedded_edges == 1
        usual, embedder.dim = embedder.dim, 8
        again = await tell(core)
        assert (again.vectors_pending, again.embedded_edges) == (3, None)
        embedder.dim = usual
        assert isinstance(core.vectors, VectorOutbox)
        await core.vectors.repair()
        await settled(core)
    assert tables.rows("SELECT embedding_model, embedding_dim FROM gb_datasets") == [
        {"embedding_model": "hash-1", "embedding_dim": usual}
    ]


def test_a_compaction_that_fails_takes_no_write_with_it(tmp_path: Path) -> None:
    """C076: two processes may compact at once, and one of them loses; its rows are there all the same."""
    index = LanceIndex(str(tmp_path))
    index.upsert(1, "edges", [row(1, 1, 0)])

    class Losing:
        """The table, in the moment in which another process was quicker."""

        def __init__(self, table: Any) -> None:
            self._table = table

        def __getattr__(self, name: str) -> Any:
            return getattr(self._table, name)

        def optimize(self, **_: Any) -> None:
            raise RuntimeError("commit conflict")

    tables: dict[str, Any] = index._tables  # pyright: ignore[reportPrivateUsage]
    tables["dataset-1-edges"] = Losing(tables["dataset-1-edges"])
    for ref_id in range(2, OPTIMIZE_EVERY + 2):
        index.upsert(1, "edges", [row(ref_id, 0, 1)])
    index.tidy()
    assert index.ids(1, "edges") == set(range(1, OPTIMIZE_EVERY + 2))
