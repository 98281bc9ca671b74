"""Vectors on their way from the transaction to the index, while several processes bring theirs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from core.config import Config
from core.core import Core
from core.engine import NoEngine
from core.errors import InvalidRequest, StorageBusy
from core.query.query import QueryRequest, query
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core
from storage.database import Database
from storage.outbox import VectorOutbox, _lease  # pyright: ignore[reportPrivateUsage]
from storage.owner import is_gone, this_process
from storage.tables import vector_outbox
from tests.conftest import Opener, Tables
from tests.facts import ALICE_WORKS_AT_ACME, edge, graph, tell, tell_facts, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def named(config: Config, owner: str) -> AsyncGenerator[Core]:
    """A memory as a process of that name opens it."""
    async with open_core(config, Providers(NoEngine(), HashEmbedder())) as core:
        ports: list[Any] = [core.vectors, core.graph, core.runs, core.manager.jobs]
        for port in ports:
            port.owner = owner
        yield core


async def test_two_processes_bring_their_vectors_without_waiting_for_each_other(config: Config, tables: Tables) -> None:
    """Neither gives up after its five seconds because the other one has something in the same outbox."""
    async with named(config, this_process()) as one, named(config, "elsewhere|1|1") as two:

        async def write(core: Core, who: str) -> list[int | None]:
            told = [await tell_facts(core, edge(f"{who} {i}", "knows", f"{who} friend")) for i in range(12)]
            return [response.vectors_pending for response in told]

        pending = await asyncio.gather(write(one, "Ann"), write(two, "Ben"))
    assert pending == [[None] * 12, [None] * 12]
    assert tables.count("gb_vector_outbox") == 0


async def test_two_processes_never_take_the_same_vectors(config: Config, tables: Tables) -> None:
    async with named(config, this_process()) as one, named(config, f"other|{os.getpid()}|1") as two:
        dataset = (await tell_facts(one, edge("Ann", "knows", "Ben")), await one.graph.dataset("u1", "main"))[1]
        assert dataset is not None
        rows = [waiting_vector(dataset.id, ref_id) for ref_id in range(1, 5)]
        assert isinstance(one.vectors, VectorOutbox) and isinstance(two.vectors, VectorOutbox)
        await one.vectors.database.write(lambda connection: connection.execute(sa.insert(vector_outbox), rows))

        async def lease(outbox: VectorOutbox) -> int:
            items = await outbox.database.write(lambda connection: _lease(connection, dataset.id, outbox.owner))
            return len(items)

        assert sorted(await asyncio.gather(lease(one.vectors), lease(two.vectors))) == [0, 4]
    assert tables.count("gb_vector_outbox") == 4


def waiting_vector(dataset_id: int, ref_id: int) -> dict[str, object]:
    """A row of the outbox that nobody is bringing."""
    return {
        "dataset_id": dataset_id,
        "index_name": "edges",
        "ref_id": ref_id,
        "text": "t",
        "vector": b"\0" * 256,
        "seq": 1,
        "tries": 0,
        "created_at": datetime.now(UTC),
    }


def test_a_process_is_alive_until_it_ends_and_others_are_left_alone() -> None:
    host, pid, start = this_process().split("|")
    assert not is_gone(this_process())
    assert is_gone(f"{host}|{pid}|{start}0"), "the pid came again"
    assert is_gone(f"{host}|999999999|{start}")
    assert not is_gone(f"elsewhere|{pid}|{start}0"), "nobody knows of processes on other hosts"


async def test_system_time_is_the_moment_of_the_write(opened: Opener, model: ScriptedModel) -> None:
    """A text that was read for a while is learned when it is stored: what was known before that stays what it was."""
    async with opened() as core:
        start = datetime(2026, 11, 29, 12, tzinfo=UTC)
        moments = iter(start + timedelta(minutes=i) for i in range(1000))
        ticking = replace(core, clock=lambda: next(moments))
        model.replies(graph("Alice:person", edges=[edge("Alice", "lives_in", "Paris", valid_at="2025")]))
        first = await tell(ticking, "Alice lives in Paris.")
        model.replies(
            graph("Alice:person", edges=[edge("Alice", "lives_in", "Oslo", valid_at="2026")]),
            verdicts({"new": 0, "duplicate_of": None, "contradicts": [first.edges[0].id]}),
        )
        second = await tell(ticking, "Alice lives in Oslo.")
        assert first.valid_at < first.created_at < second.valid_at < second.created_at
        assert first.edges[0].created_at == first.created_at
        asked = QueryRequest(user_id="u1", query="Alice?", answer=False, known_at=second.valid_at)
        before = (await query(core, asked)).evidence
        assert [(e.target, e.expired_at) for e in before.edges] == [("Paris", None)]
        after = (await query(core, asked.model_copy(update={"known_at": second.created_at}))).evidence
        assert {(e.target, e.expired_at) for e in after.edges} == {("Oslo", None), ("Paris", second.created_at)}


async def test_a_commit_is_never_earlier_than_the_one_before_it(opened: Opener) -> None:
    async with opened() as core:
        late = await tell_facts(core, edge("Ann", "knows", "Ben"))
        slow = replace(core, clock=lambda: late.created_at - timedelta(hours=1))
        assert (await tell_facts(slow, edge("Cem", "knows", "Dia"))).created_at == late.created_at


async def test_dates_at_the_ends_of_the_calendar_are_kept_in_every_time_zone(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGTZ", "Europe/Berlin")
    ends = edge("Ann", "owns", "a house", valid_at="0001-01-01T00:00:00Z", invalid_at="9999-12-31T23:59:59Z")
    async with open_core(config, Providers(NoEngine())) as core:
        told = await tell_facts(core, ends)
        again = await tell_facts(core, ends)
    assert told.body()["edges"][0]["invalid_at"] == "9999-12-31T23:59:59Z"
    assert again.body()["edges"][0]["valid_at"] == "0001-01-01T00:00:00Z"


async def test_a_caller_that_gives_up_while_the_facts_are_written_finds_them_stored(
    opened: Opener, model: ScriptedModel, tables: Tables
) -> None:
    model.replies(ALICE_WORKS_AT_ACME)
    async with opened() as core:
        waiting = asyncio.create_task(tell(core))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert tables.count("gb_artifacts") == 1
    assert tables.rows("SELECT status, artifact_id, error FROM gb_remember_runs") == [
        {"status": "succeeded", "artifact_id": 1, "error": None}
    ]


@pytest.mark.parametrize("url", ["mysql://localhost/x", "nonsense://"])
def test_a_database_that_nothing_here_can_open_is_named(url: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^db: "):
        Database(url)


def test_a_server_that_is_not_there_is_said_to_be_out_of_reach() -> None:
    database = Database("postgresql+psycopg://nobody@127.0.0.1:1/nothing")
    with pytest.raises(StorageBusy, match="out of reach") as failure:
        database.read_now(lambda connection: connection.execute(sa.text("SELECT 1")))
    assert "nobody" not in str(failure.value)
    database.close()


@requirement("store.db-flag")
async def test_a_sqlite_url_is_a_file_like_any_other(tmp_path: Any) -> None:
    async with open_core(Config(db=f"sqlite:///{tmp_path}/here.db")):
        assert (tmp_path / "here.db").exists()


async def test_two_embedders_that_meet_at_a_new_dataset_do_not_mix_their_vectors(
    config: Config, tables: Tables
) -> None:
    small = Providers(NoEngine(), HashEmbedder(dim=8, model="small"))
    async with open_core(config, Providers(NoEngine(), HashEmbedder())) as one, open_core(config, small) as two:
        told = await asyncio.gather(
            tell_facts(one, edge("Ann", "knows", "Ben")), tell_facts(two, edge("Cem", "knows", "Dia"))
        )
    (dataset,) = tables.rows("SELECT embedding_model FROM gb_datasets")
    assert dataset["embedding_model"] in ("hash-1", "small")
    assert sorted(response.vectors_pending or 0 for response in told) == [0, 3]
    late = next(response for response in told if response.vectors_pending)
    assert late.warnings and "wait for the model that does" in late.warnings[0]
