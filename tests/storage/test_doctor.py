"""The doctor: what is broken or left over is counted, mended on request, and mended once."""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from core.config import Config
from core.core import Core
from core.doctor import Report
from core.engine import NoEngine
from core.forget.forget import ForgetRequest, forget
from gligabao_mcp.cli import cli
from gligabao_mcp.providers.scripted import HashEmbedder
from gligabao_mcp.wiring import Providers, open_core, open_upkeep
from storage.owner import this_process
from storage.upkeep import Upkeep
from storage.vectors import Place, VectorRow
from tests.conftest import Tables
from tests.facts import ask, edge, tell_facts

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def memory(config: Config, embedder: HashEmbedder | None = None) -> AsyncGenerator[Core]:
    async with open_core(config, Providers(NoEngine(), embedder)) as core:
        yield core


@asynccontextmanager
async def upkeep(config: Config, embedder: HashEmbedder | None = None) -> AsyncGenerator[Upkeep]:
    async with open_upkeep(config, Providers(NoEngine(), embedder)) as kept:
        yield kept


async def fill(config: Config, embedder: HashEmbedder | None) -> None:
    async with memory(config, embedder) as core:
        await tell_facts(core, edge("Ann", "lives_in", "Ulm"), text="Ann lives in Ulm.", session_id="s1")
        await tell_facts(core, edge("Ben", "knows", "Ann"), text="Ben knows Ann.")


def kinds(report: Report) -> dict[str, int]:
    return {finding.kind: finding.count for finding in report.findings}


def change(tables: Tables, *statements: str) -> None:
    """What no program of ours does, on a connection that lets it."""
    with tables.engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


async def test_a_memory_that_was_only_used_is_healthy(config: Config) -> None:
    await fill(config, HashEmbedder())
    async with upkeep(config, HashEmbedder()) as kept:
        report = await kept.doctor.examine()
        assert report.healthy and report.body()["healthy"] is True
        assert report.counts == {
            "datasets": 1,
            "artifacts": 2,
            "entities": 3,
            "facts": 2,
            "triples": 0,
            "commits": 2,
            "vectors_waiting": 0,
        }


async def test_vectors_that_are_missing_or_left_over_are_counted_and_mended(config: Config) -> None:
    """C061: orphans both ways."""
    embedder = HashEmbedder()
    await fill(config, embedder)
    async with upkeep(config, embedder) as kept:
        index = kept.outbox.index
        index.delete(1, "edges", [1, 2])
        index.upsert(1, "edges", [VectorRow(77, "nothing", 1, struct.pack("<64f", *[1.0] * 64))])
        index.upsert(1, "entities", [VectorRow(2, "what it said before", 1, struct.pack("<64f", *[1.0] * 64))])
        index.upsert(99, "edges", [VectorRow(1, "of a dataset that is gone", 1, struct.pack("<64f", *[1.0] * 64))])
        found = await kept.doctor.examine()
        assert kinds(found) == {"vectors_missing": 2, "vectors_orphaned": 1, "vectors_stale": 1, "unused_vectors": 1}
        assert next(f for f in found.findings if f.kind == "vectors_missing").ids == (1, 2)
        calls = embedder.calls
        mended = await kept.doctor.repair()
        assert mended.healthy
        assert mended.repaired == (
            "queued 1 vectors of entities in u1 / main",
            "queued 2 vectors of edges in u1 / main",
            "removed 1 vectors without a row of edges in u1 / main",
            "removed 1 vector tables that no dataset uses",
        )
        assert (index.ids(1, "edges"), dict(index.texts(1, "entities"))[2]) == ({1, 2}, "Ulm (other)")
        again = await kept.doctor.repair()
        assert (again.healthy, again.repaired, embedder.calls - calls) == (True, (), 1)


async def test_without_an_embedder_missing_vectors_are_queued_for_the_one_that_fits(config: Config) -> None:
    await fill(config, HashEmbedder())
    async with upkeep(config) as kept:
        kept.outbox.index.drop_table(Place(1, "edges", 0))
        report = await kept.doctor.repair()
        assert report.healthy and report.counts["vectors_waiting"] == 2
        assert (await kept.doctor.repair()).repaired == ()
    async with upkeep(config, HashEmbedder()) as kept:
        report = await kept.doctor.repair()
        assert (report.counts["vectors_waiting"], kept.outbox.index.ids(1, "edges")) == (0, {1, 2})


async def test_what_was_forgotten_leaves_no_vector_behind(config: Config) -> None:
    """C061: what was forgotten has no vector, the doctor finds no orphan. C062: a reindex does not bring it back."""
    await fill(config, HashEmbedder())
    async with memory(config, HashEmbedder()) as core:
        await forget(core, ForgetRequest.model_validate({"user_id": "u1", "scope": "artifact", "id": 1}))
    async with upkeep(config, HashEmbedder()) as kept:
        report = await kept.doctor.repair()
        assert report.healthy and report.counts["vectors_waiting"] == 0
        assert kept.outbox.index.ids(1, "edges") == {2}
        await kept.reindex("u1", ["main"], lambda _dataset, _done: None)
        assert (await kept.doctor.examine()).healthy
        assert kept.outbox.index.ids(1, "edges", 1) == {2}


async def test_an_embedder_of_another_size_is_an_embedding_mismatch_and_breaks_nothing(config: Config) -> None:
    """C079: remember keeps the fact, its vectors wait, words find it, and the doctor says what is wrong."""
    await fill(config, HashEmbedder(dim=64))
    small = HashEmbedder(dim=8)
    async with memory(config, small) as core:
        told = await tell_facts(core, edge("Dia", "lives_in", "Bonn"), text="Dia lives in Bonn.")
        assert told.vectors_pending == 3
        found = await ask(core, "Dia", answer=False)
        assert [fact.target for fact in found.evidence.edges] == ["Bonn"]
    async with upkeep(config, small) as kept:
        (finding,) = (await kept.doctor.repair()).findings
        assert (finding.kind, finding.dataset, finding.remedy) == (
            "embedding_mismatch",
            "u1 / main",
            "gligabao reindex",
        )
        assert "hash-1, 64 dimensions" in finding.text
    async with upkeep(config, HashEmbedder(dim=64)) as kept:
        report = await kept.doctor.repair()
        assert report.healthy and report.counts["vectors_waiting"] == 0


async def test_lost_links_are_put_back_and_what_nobody_told_is_left_to_the_reader(
    config: Config, tables: Tables
) -> None:
    await fill(config, None)
    change(
        tables,
        "DELETE FROM gb_edge_artifacts",
        "UPDATE gb_edges SET artifact_id = NULL WHERE id = 2",
        "UPDATE gb_edges SET closed_by = 4711 WHERE id = 1",
        "INSERT INTO gb_entities (dataset_id, name, name_key, type, description, desc_key, created_at, updated_at,"
        " created_seq, text_seq) SELECT dataset_id, 'Eva', 'eva', type, '', '', created_at, updated_at, 1, 1"
        " FROM gb_entities WHERE id = 1",
    )
    async with upkeep(config) as kept:
        assert kinds(await kept.doctor.examine()) == {
            "unlinked_facts": 1,
            "facts_without_source": 1,
            "entities_without_source": 1,
            "closed_by_nothing": 1,
        }
        report = await kept.doctor.repair()
        assert kinds(report) == {"facts_without_source": 1, "entities_without_source": 1}
        assert len(report.repaired) == 2
        assert (await kept.doctor.repair()).repaired == ()
    assert tables.rows("SELECT edge_id, artifact_id FROM gb_edge_artifacts") == [{"edge_id": 1, "artifact_id": 1}]
    commits = tables.rows("SELECT seq, kind, touched FROM gb_commits ORDER BY seq")
    assert commits[2:] == [{"seq": 3, "kind": "repair", "touched": None}]
    assert tables.count("gb_edges") == 2


async def test_rows_that_refer_to_what_is_gone_are_removed(tmp_path: Path) -> None:
    """Another program deleted rows from the file and kept none of its rules."""
    config = Config(home=tmp_path)
    await fill(config, None)
    with sqlite3.connect(tmp_path / "gligabao.db") as connection:
        connection.execute("DELETE FROM gb_artifacts WHERE id = 1")
        connection.execute("DELETE FROM gb_entities WHERE name = 'Ben'")
    connection.close()
    async with upkeep(config) as kept:
        assert kinds(await kept.doctor.examine())["dangling_references"]
        report = await kept.doctor.repair()
        assert "dangling_references" not in kinds(report)
        assert kinds(report) == {"facts_without_source": 1}
        assert (await kept.doctor.repair()).repaired == ()


async def test_work_of_dead_processes_is_freed(config: Config, tables: Tables) -> None:
    await fill(config, HashEmbedder())
    host = this_process().partition("|")[0]
    gone = f"{host}|999999999|0"
    change(
        tables,
        "INSERT INTO gb_vector_outbox (dataset_id, index_name, ref_id, text, seq, tries, owner, lease_until,"
        f" created_at) SELECT id, 'edges', 1, 't', 1, 9, '{gone}', created_at, created_at FROM gb_datasets",
        "INSERT INTO gb_vector_outbox (dataset_id, index_name, ref_id, text, seq, tries, created_at)"
        " SELECT id, 'edges', 4711, 't', 1, 0, created_at FROM gb_datasets",
        f"UPDATE gb_remember_runs SET status = 'started', finished_at = NULL, owner = '{gone}' WHERE id = 1",
    )
    async with upkeep(config, HashEmbedder()) as kept:
        assert kinds(await kept.doctor.examine()) == {
            "failing_vectors": 1,
            "vectors_of_nothing": 1,
            "dead_leases": 1,
            "interrupted_runs": 1,
        }
        report = await kept.doctor.repair()
        assert report.healthy and len(report.repaired) == 3
        assert (await kept.doctor.repair()).repaired == ()
    assert tables.rows("SELECT status, error FROM gb_remember_runs WHERE id = 1") == [
        {"status": "failed", "error": "interrupted"}
    ]


async def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    config = Config(home=tmp_path)
    await fill(config, None)
    path = tmp_path / "gligabao.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'CREATE INDEX', 'CREATE UNIQUE INDEX')"
            " WHERE name = 'gb_commits_run'"
        )
        connection.execute(
            "INSERT INTO gb_commits (dataset_id, seq, run_id, counts, created_at)"
            " SELECT dataset_id, 99, run_id, counts, created_at FROM gb_commits WHERE seq = 1"
        )
    connection.close()
    async with upkeep(config) as kept:
        report = await kept.doctor.repair()
        assert kinds(report) == {"integrity": 1}
        assert "restore" in report.findings[0].remedy


async def test_a_database_of_the_first_release_gets_its_vectors_back(tmp_path: Path) -> None:
    """Its file came without the folder of the index."""
    shutil.copy(Path(__file__).parent / "files" / "v1.db", tmp_path / "gligabao.db")
    config = Config(home=tmp_path)
    async with upkeep(config, HashEmbedder(dim=8)) as kept:
        assert set(kinds(await kept.doctor.examine())) == {"vectors_missing"}
        report = await kept.doctor.repair()
        assert report.healthy and report.counts["vectors_waiting"] == 0
        assert kept.outbox.index.ids(1, "edges") == {1, 2, 3, 4, 6, 7}


def test_the_exit_code_tells_whether_something_was_found(tmp_path: Path) -> None:
    def run(*flags: str) -> tuple[int, str]:
        result = CliRunner().invoke(cli, ["doctor", *flags, "--home", str(tmp_path), "--embedder", "none"])
        return result.exit_code, result.stdout

    code, said = run()
    assert (code, said.splitlines()[0]) == (0, "Healthy.")
    shutil.copy(Path(__file__).parent / "files" / "v1.db", tmp_path / "gligabao.db")
    code, said = run("--json")
    body = json.loads(said)
    assert (code, body["healthy"]) == (1, False)
    assert {"kind", "text", "count", "dataset", "ids", "remedy"} == set(body["findings"][0])
    code, said = run("--repair")
    assert code == 0 and "Repaired: queued" in said and "Healthy." in said
    assert run()[0] == 0
