"""Two processes on one database, and processes that are killed: nothing lost, nothing double."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from subprocess import Popen
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from mcp import Client

from core.config import Config
from gligabao_mcp.wiring import open_core
from storage.vectors import LanceIndex
from tests.conftest import Tables, new_database
from tests.facts import edge, tell_facts
from tests.processes import environment, launch, served
from tests.requirements import requirement
from tests.wire import Wire, embeddings

pytestmark = pytest.mark.anyio


def contested(index: int, who: str) -> dict[str, str]:
    """Two subjects that both writers speak of: one says Paris, the other Berlin."""
    return {"source": f"Rival {index % 2}", "relation": "lives_in", "target": "Paris" if who == "stdio" else "Berlin"}


def told(index: int, who: str) -> list[dict[str, str]]:
    """What one call tells: every second fact is the same in both writers, one in 25 is about a contested subject."""
    name = f"shared {index}" if index % 2 else f"{who} {index}"
    facts = [{"source": name, "relation": "knows", "target": f"hub {index % 7}"}]
    return [*facts, contested(index, who)] if index % 25 == 0 else facts


@pytest.mark.parametrize(("writes", "embedded"), [(300, False), (100, True)], ids=["facts alone", "facts and vectors"])
async def test_a_stdio_server_and_serve_write_one_database_at_once(tmp_path: Path, writes: int, embedded: bool) -> None:
    """C074: correctness rests on the database, not on locks of one process."""
    failures: list[str] = []
    slow: list[int] = []

    async def over_stdio(client: Client, index: int) -> None:
        arguments = {"text": f"stdio told {index}", "edges": told(index, "stdio")}
        result = await client.call_tool("remember", arguments)
        failures.extend([str(result.structured_content)] if result.is_error else [])

    async def over_rest(client: httpx2.AsyncClient, index: int) -> None:
        body = {"user_id": "local", "text": f"rest told {index}", "edges": told(index, "rest")}
        response = await client.post("/v1/gb/remember", json=body)
        failures.extend([response.text] if response.status_code != 200 else [])
        slow.extend([index] if response.json().get("vectors_pending") else [])

    async def write(over: Callable[..., Awaitable[None]], client: object) -> None:
        for index in range(writes):
            await over(client, index)

    with Wire() as wire:
        wire.always(embeddings(close_texts))
        keys = with_embedder(wire) if embedded else {}
        with served(tmp_path, **keys) as (url, _):
            async with Client(launch(tmp_path, **keys)) as client, httpx2.AsyncClient(base_url=url, timeout=60) as rest:
                await asyncio.gather(write(over_stdio, client), write(over_rest, rest))

    assert slow == [], "each brings its own vectors, however many the other one has waiting"
    assert failures == []
    tables = Tables(sa.create_engine(f"sqlite:///{tmp_path / 'gligabao.db'}"))
    assert tables.count("gb_artifacts") == 2 * writes
    people = tables.rows(
        "SELECT name FROM gb_entities WHERE name LIKE 'shared %' OR name LIKE 'stdio %' OR name LIKE 'rest %'"
    )
    assert len(people) == len({row["name"] for row in people}) == writes // 2 * 3
    assert tables.rows("SELECT count(*) AS n FROM gb_edges WHERE relation = 'knows'")[0]["n"] == writes // 2 * 3
    still_open = tables.rows(
        "SELECT s.name FROM gb_edges e JOIN gb_entities s ON s.id = e.source_id"
        " WHERE e.relation = 'lives_in' AND e.invalid_at IS NULL AND e.expired_at IS NULL"
    )
    assert sorted(row["name"] for row in still_open) == ["Rival 0", "Rival 1"]
    assert tables.rows("SELECT seq FROM gb_commits ORDER BY seq")[-1]["seq"] == 2 * writes
    tables.engine.dispose()


def with_embedder(wire: Wire) -> dict[str, str]:
    """The environment of a process whose embedder is that server."""
    return {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{wire.url}/v1", "GLIGABAO_EMBEDDING_DIMENSIONS": "8"}


def close_texts(text: str) -> list[float]:
    """A vector of eight numbers for a text, the same each time."""
    dice = random.Random(text)
    return [dice.uniform(-1, 1) for _ in range(8)]


@requirement("embed.repair")
async def test_a_killed_server_loses_no_acknowledged_memory_and_no_vector(tmp_path: Path) -> None:
    """C071: killed at any moment, the store opens and is whole."""
    acknowledged: list[str] = []
    dice = random.Random(7)
    with Wire() as wire:
        wire.always(embeddings(close_texts))
        for round_ in range(3):
            with served(tmp_path, **with_embedder(wire)) as (url, process):
                acknowledged += await _write_until_killed(url, process, round_, dice.uniform(0, 0.5))

        config = Config(home=tmp_path)
        tables = Tables(sa.create_engine(f"sqlite:///{tmp_path / 'gligabao.db'}"))
        stored = {row["text"] for row in tables.rows("SELECT text FROM gb_artifacts")}
        assert set(acknowledged) <= stored
        half = "SELECT id FROM gb_edges WHERE id NOT IN (SELECT edge_id FROM gb_edge_artifacts)"
        assert tables.rows(half) == []
        async with open_core(config) as core:
            assert core.vectors is not None
            dataset = await core.graph.dataset("u1", "main")
            assert dataset is not None
            await core.vectors.flush(dataset, dataset.head_seq)
        assert tables.count("gb_vector_outbox") == 0
        index = LanceIndex(str(tmp_path / "vectors"))
        for name, table in (("entities", "gb_entities"), ("edges", "gb_edges")):
            ids = {row["id"] for row in tables.rows(f"SELECT id FROM {table}")}
            assert index.ids(dataset.id, name) == ids
        assert tables.rows("SELECT id FROM gb_remember_runs WHERE status = 'started'") == []
        tables.engine.dispose()


async def _write_until_killed(url: str, process: Popen[bytes], round_: int, lives: float) -> list[str]:
    """The texts that were acknowledged before the server died, so many seconds after the first of them."""
    done: list[str] = []
    async with httpx2.AsyncClient(base_url=url, timeout=30) as client:
        for index in range(50):
            text = f"round {round_} fact {index}"
            edges = [{"source": f"person {index}", "relation": "likes", "target": f"thing {round_} {index}"}]
            try:
                response = await client.post("/v1/gb/remember", json={"user_id": "u1", "text": text, "edges": edges})
            except httpx2.TransportError:
                break
            assert response.status_code == 200, response.text
            done.append(text)
            if index == 0:
                asyncio.get_running_loop().call_later(lives, process.send_signal, signal.SIGKILL)
    return done


async def test_processes_that_open_a_fresh_file_at_once_all_find_it(tmp_path: Path) -> None:
    script = (
        "import asyncio\nfrom core.config import Config\nfrom gligabao_mcp.wiring import open_core\n"
        "async def main():\n    async with open_core(Config()) as core:\n        await core.graph.overview()\n"
        "asyncio.run(main())"
    )
    outcomes = await asyncio.gather(*(_python(script, tmp_path) for _ in range(4)))
    assert [code for code, _ in outcomes] == [0] * 4
    assert not any("Traceback" in said or "locked" in said for _, said in outcomes)


async def _python(script: str, home: Path) -> tuple[int | None, str]:
    code = script.replace("Config()", f"Config(home=__import__('pathlib').Path({str(home)!r}))")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, env=environment(home), stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    return process.returncode, said.decode()


async def test_two_memories_on_one_postgresql_close_each_others_facts_once(
    tmp_path: Path, postgres_server: str
) -> None:
    config = Config(home=tmp_path, db=new_database(postgres_server))
    async with open_core(config) as one, open_core(config) as two:

        async def write(core: Any, city: str) -> None:
            for index in range(20):
                await tell_facts(core, edge("Rival", "lives_in", city), edge(f"{city} {index % 5}", "is_near", "Rival"))

        await asyncio.gather(write(one, "Paris"), write(two, "Berlin"))
        engine = sa.create_engine(str(config.db))
        tables = Tables(engine)
        still_open = tables.rows(
            "SELECT id FROM gb_edges WHERE relation = 'lives_in' AND invalid_at IS NULL AND expired_at IS NULL"
        )
        assert len(still_open) == 1
        assert tables.count("gb_artifacts") == 40
        engine.dispose()
