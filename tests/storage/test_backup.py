"""Backup of a live memory, and restore: whole, or nothing changed."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
import zipfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from core.config import Config
from core.core import Core
from core.doctor import BackupManifest
from core.engine import NoEngine
from core.errors import InvalidRequest, NewerDatabase
from gligabao_mcp.cli import cli
from gligabao_mcp.providers.scripted import HashEmbedder
from gligabao_mcp.wiring import Providers, open_core, open_upkeep, restore_backup
from storage.migrations import VERSION
from tests.conftest import new_database
from tests.facts import ask, edge, tell_facts

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def memory(config: Config) -> AsyncGenerator[Core]:
    async with open_core(config, Providers(NoEngine(), HashEmbedder())) as core:
        yield core


@pytest.fixture
def here(tmp_path: Path) -> Config:
    return Config(home=tmp_path / "here")


@pytest.fixture
def there(tmp_path: Path) -> Config:
    return Config(home=tmp_path / "there")


async def back_up(config: Config, target: Path) -> BackupManifest:
    async with open_upkeep(config, Providers(NoEngine(), HashEmbedder())) as kept:
        return await kept.back_up(target)


async def known(core: Core) -> list[tuple[str, str, str]]:
    return [(e.source, e.relation, e.target) for e in (await ask(core, "Ann", answer=False)).evidence.edges]


async def found_by_meaning(core: Core, text: str) -> list[int]:
    assert core.embedder is not None and core.vectors is not None
    dataset = await core.graph.dataset("u1", "main")
    assert dataset is not None
    asked = await core.embedder.embed([text])
    return [hit.ref_id for hit in (await core.vectors.search(dataset, "edges", asked.vectors, 9))[0]]


async def test_a_memory_in_use_is_backed_up_and_restored_elsewhere(here: Config, there: Config, tmp_path: Path) -> None:
    target = tmp_path / "memory.backup"
    async with memory(here) as core:
        await tell_facts(core, edge("Ann", "lives_in", "Ulm"), edge("Ann", "knows", "Ben"))
        manifest = await back_up(here, target)
        await tell_facts(core, edge("Ann", "likes", "tea"))
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert manifest.vectors == {"dataset-1-edges": 2, "dataset-1-entities": 3}
    assert (manifest.counts["gb_edges"], manifest.schema_version) == (2, VERSION)
    restored, kept = await restore_backup(there, target, force=False)
    assert (restored, kept) == (manifest, None)
    async with memory(there) as core:
        assert sorted(await known(core)) == [("Ann", "knows", "Ben"), ("Ann", "lives_in", "Ulm")]
        assert (await found_by_meaning(core, "Ann lives in Ulm"))[0] == 1
        told = await tell_facts(core, edge("Ann", "owns", "a boat"))
        assert (told.edges[0].id, told.vectors_pending) == (3, None)
    async with open_upkeep(there, Providers(NoEngine(), HashEmbedder())) as upkeep:
        assert (await upkeep.doctor.examine()).healthy


async def test_a_backup_takes_the_place_of_a_memory_only_by_force_and_the_old_one_is_kept(
    here: Config, tmp_path: Path
) -> None:
    target = tmp_path / "memory.backup"
    async with memory(here) as core:
        await tell_facts(core, edge("Ann", "lives_in", "Ulm"))
    await back_up(here, target)
    async with memory(here) as core:
        await tell_facts(core, edge("Ann", "likes", "tea"), edge("Ann", "likes", "rain"))
    with pytest.raises(InvalidRequest, match=r"^force: .* is not empty"):
        await restore_backup(here, target, force=False)
    _, kept = await restore_backup(here, target, force=True)
    async with memory(here) as core:
        assert await known(core) == [("Ann", "lives_in", "Ulm")]
        assert await found_by_meaning(core, "Ann likes tea") == [1], "vectors of the replaced memory are not searched"
        told = await tell_facts(core, edge("Ann", "likes", "snow"))
        assert told.edges[0].id == 2
        assert (await found_by_meaning(core, "Ann likes snow"))[0] == 2
    assert kept is not None
    with sqlite3.connect(kept) as connection:
        assert connection.execute("SELECT count(*) FROM gb_edges").fetchall() == [(3,)]
    connection.close()
    async with open_upkeep(here, Providers(NoEngine(), HashEmbedder())) as upkeep:
        assert [f.kind for f in (await upkeep.doctor.examine()).findings] == ["unused_vectors"]
        assert (await upkeep.doctor.repair()).healthy


async def test_a_memory_that_a_process_has_open_is_never_replaced(here: Config, tmp_path: Path) -> None:
    target = tmp_path / "memory.backup"
    async with memory(here) as core:
        await tell_facts(core, edge("Ann", "lives_in", "Ulm"))
        await back_up(here, target)
        with pytest.raises(InvalidRequest, match=r"^db: .* is in use"):
            await restore_backup(here, target, force=True)
        assert await known(core) == [("Ann", "lives_in", "Ulm")]
    await restore_backup(here, target, force=True)


async def test_a_damaged_database_is_what_restore_is_for(here: Config, tmp_path: Path) -> None:
    target = tmp_path / "memory.backup"
    async with memory(here) as core:
        await tell_facts(core, edge("Ann", "lives_in", "Ulm"))
    await back_up(here, target)
    assert here.home is not None
    (here.home / "gligabao.db").write_bytes(b"not a database any more" * 1000)
    await restore_backup(here, target, force=True)
    async with memory(here) as core:
        assert await known(core) == [("Ann", "lives_in", "Ulm")]


async def test_vectors_that_the_backup_lacks_are_queued(here: Config, there: Config, tmp_path: Path) -> None:
    target, smaller = tmp_path / "memory.backup", tmp_path / "smaller.backup"
    async with memory(here) as core:
        await tell_facts(core, edge("Ann", "lives_in", "Ulm"))
    await back_up(here, target)

    def without_vectors(manifest: dict[str, Any]) -> None:
        manifest["vectors"] = {}

    rewritten(target, smaller, without_vectors)
    await restore_backup(there, smaller, force=False)
    async with open_upkeep(there, Providers(NoEngine(), HashEmbedder())) as upkeep:
        report = await upkeep.doctor.examine()
        assert report.healthy and report.counts["vectors_waiting"] == 3
        assert (await upkeep.doctor.repair()).counts["vectors_waiting"] == 0
        assert upkeep.outbox.index.ids(1, "edges") == {1}


def rewritten(
    source: Path, target: Path, change: Callable[[dict[str, Any]], object], database: bytes | None = None
) -> None:
    """The backup with another manifest or database."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "manifest.json":
                manifest = json.loads(content)
                change(manifest)
                content = json.dumps(manifest).encode()
            new.writestr(name, database if database and name == "gligabao.db" else content)


async def test_a_file_that_is_no_whole_backup_changes_nothing(here: Config, there: Config, tmp_path: Path) -> None:
    target = tmp_path / "memory.backup"
    async with memory(here) as core:
        await tell_facts(core, edge("Ann", "lives_in", "Ulm"))
    await back_up(here, target)
    whole = target.read_bytes()
    broken = tmp_path / "broken"
    broken.write_bytes(b"hello")
    with pytest.raises(InvalidRequest, match=r"^file: .* can't be read as a backup"):
        await restore_backup(there, broken, force=False)
    broken.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidRequest, match=r"^file: "):
        await restore_backup(there, broken, force=False)
    middle = len(whole) // 4
    broken.write_bytes(whole[:middle] + bytes(b ^ 0xFF for b in whole[middle : middle + 64]) + whole[middle + 64 :])
    with pytest.raises(InvalidRequest, match=r"^file: .* damaged"):
        await restore_backup(there, broken, force=False)
    rewritten(target, broken, lambda manifest: manifest["counts"].update(gb_edges=7))
    with pytest.raises(InvalidRequest, match=r"^file: .* not the one that the manifest describes"):
        await restore_backup(there, broken, force=False)
    rewritten(target, broken, lambda manifest: manifest.update(schema_version=99))
    with pytest.raises(NewerDatabase, match="schema version 99"):
        await restore_backup(there, broken, force=False)
    rewritten(target, broken, lambda manifest: manifest.update(format="other"))
    with pytest.raises(InvalidRequest, match="not a backup that gligabao wrote"):
        await restore_backup(there, broken, force=False)
    assert there.home is not None
    assert not (there.home / "gligabao.db").exists()


async def test_a_backup_never_overwrites_a_file(here: Config, tmp_path: Path) -> None:
    async with memory(here):
        pass
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidRequest, match=r"^file: .* is there already"):
        await back_up(here, tmp_path / "mine")
    with pytest.raises(InvalidRequest, match=r"^file: .* could not be written"):
        await back_up(here, tmp_path / "no folder" / "x")
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "mine"


async def test_a_backup_of_the_first_release_is_brought_up_to_date(here: Config, there: Config, tmp_path: Path) -> None:
    """A backup may be older than the program that restores it."""
    target, old = tmp_path / "memory.backup", tmp_path / "old.backup"
    async with memory(here):
        pass
    await back_up(here, target)
    v1 = Path(__file__).parent / "files" / "v1.db"
    counts = {"gb_datasets": 2, "gb_artifacts": 8, "gb_entities": 7, "gb_edges": 7, "gb_commits": 8}
    rewritten(target, old, lambda m: m.update(schema_version=1, counts=counts), v1.read_bytes())
    await restore_backup(there, old, force=False)
    async with memory(there) as core:
        assert len((await ask(core, "Alice", answer=False)).evidence.edges) >= 4


async def test_postgresql_has_tools_of_its_own(postgres_server: str, tmp_path: Path) -> None:
    config = Config(home=tmp_path, db=new_database(postgres_server))
    with pytest.raises(InvalidRequest, match="pg_dump") as refused:
        await back_up(config, tmp_path / "x")
    assert "gligabao export" in refused.value.message
    (tmp_path / "y").touch()
    with pytest.raises(InvalidRequest, match="pg_restore"):
        await restore_backup(config, tmp_path / "y", force=True)


def test_the_commands_say_what_they_did(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(Path(__file__).parent / "files" / "v1.db", home / "gligabao.db")

    def run(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(cli, [*arguments, "--home", str(home), "--embedder", "none"])
        return result.exit_code, result.output

    file = str(tmp_path / "b.backup")
    code, said = run("backup", file)
    assert code == 0 and said.startswith(f"Wrote {file}: 8 artifacts, 7 facts, 0 vectors, of ")
    assert run("backup", file)[0] == 2
    code, said = run("restore", file)
    assert code == 2 and "--force" in said
    code, said = run("restore", file, "--force", "--json")
    body = json.loads(said)
    assert (code, body["counts"]["gb_edges"], Path(body["kept"]).exists()) == (0, 7, True)
