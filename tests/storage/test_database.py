"""The database: its rules, its versions, and what a second writer meets."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa

from core.config import Config
from core.errors import InvalidRequest, NewerDatabase, StorageBusy, StorageGone
from gligabao_mcp.wiring import open_core
from storage import database as rules
from storage.database import Database
from storage.migrations import VERSION, migrate
from storage.tables import metadata, schema
from tests.requirements import requirement


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database = Database(f"sqlite:///{tmp_path / 'memory.db'}")
    migrate(database)
    return database


@requirement("store.gb-prefix", "store.foreign-keys-on")
def test_every_connection_keeps_the_rules(database: Database, tmp_path: Path) -> None:
    def pragma(name: str) -> object:
        return database.read_now(lambda connection: connection.exec_driver_sql(f"PRAGMA {name}").scalar())

    assert pragma("foreign_keys") == 1
    assert pragma("journal_mode") == "wal"
    assert pragma("synchronous") == 2  # FULL: a memory survives a power cut
    assert pragma("busy_timeout") == rules.BUSY_MS
    assert all(name.startswith("gb_") for name in metadata.tables)
    assert stat.S_IMODE((tmp_path / "memory.db").stat().st_mode) == 0o600
    database.close()


def test_a_write_that_finds_the_file_held_says_so_and_stores_nothing(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "BUSY_MS", 10)
    other = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    hurried = Database(str(database.url))
    with pytest.raises(StorageBusy, match="send the same call again"):
        hurried.write_now(lambda connection: connection.execute(sa.delete(schema)))
    other.execute("ROLLBACK")
    other.close()
    hurried.write_now(lambda connection: connection.execute(sa.select(schema)).all())
    hurried.close()
    database.close()


@pytest.mark.anyio
async def test_writes_that_stand_in_line_for_a_file_that_is_held_wait_together(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "BUSY_MS", 200)
    with closing(sqlite3.connect(tmp_path / "memory.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with anyio.fail_after(15):  # one after the other they would wait for a minute
            writes = (database.write(lambda connection: connection.execute(sa.delete(schema))) for _ in range(60))
            answers = await asyncio.gather(*writes, return_exceptions=True)
        assert {type(answer) for answer in answers} == {StorageBusy}
        other.execute("ROLLBACK")
    await database.write(lambda connection: connection.execute(sa.select(schema)).one())
    database.close()


@pytest.mark.skipif(sys.platform == "win32", reason="a file that is open can't be taken away there")
def test_a_file_that_was_taken_away_is_neither_read_nor_written_until_it_is_back(
    database: Database, tmp_path: Path
) -> None:
    """What is written into a file without a name is lost when it is closed."""
    file, elsewhere = tmp_path / "memory.db", tmp_path / "elsewhere.db"

    def assert_gone() -> None:
        with pytest.raises(StorageGone, match=r"nothing was stored\. Put it back"):
            database.write_now(lambda connection: connection.execute(sa.delete(schema)))
        with pytest.raises(StorageGone, match="nothing was read"):
            database.read_now(version)
        with pytest.raises(StorageGone):
            database.open_snapshot()

    assert database.read_now(version)
    file.rename(elsewhere)
    assert_gone()
    assert not file.exists(), "no empty one took its place"
    file.touch()
    assert_gone()
    elsewhere.replace(file)
    assert database.read_now(version)
    database.close()


def version(connection: sa.Connection) -> int:
    return int(connection.execute(sa.select(schema.c.version)).scalar_one())


def test_a_write_waits_for_another_one_and_reads_what_it_wrote(database: Database) -> None:
    """A transaction that reads before it writes begins where the other one ended."""
    started, go_on = threading.Event(), threading.Event()

    def first(connection: sa.Connection) -> None:
        started.set()
        go_on.wait(5)
        connection.execute(sa.update(schema).values(version=schema.c.version + 1))

    def second(connection: sa.Connection) -> int:
        connection.execute(sa.update(schema).values(version=schema.c.version + 1))
        return int(connection.execute(sa.select(schema.c.version)).scalar_one())

    thread = threading.Thread(target=database.write_now, args=(first,))
    thread.start()
    started.wait(5)
    go_on.set()
    assert database.write_now(second) == VERSION + 2
    thread.join()
    database.close()


def test_migrating_again_changes_nothing(database: Database) -> None:
    migrate(database)
    assert database.read_now(lambda c: c.execute(sa.select(schema.c.version)).scalars().all()) == [VERSION]
    database.close()


@requirement("store.schema-changes")
@pytest.mark.anyio
async def test_a_database_of_a_later_release_is_refused_in_plain_words(tmp_path: Path) -> None:
    async with open_core(Config(home=tmp_path)):
        pass
    with sqlite3.connect(tmp_path / "gligabao.db") as connection:
        connection.execute("UPDATE gb_schema SET version = 99, min_reader_version = 99")
    connection.close()
    with pytest.raises(NewerDatabase, match="schema version 99"):
        async with open_core(Config(home=tmp_path)):
            pass


@pytest.mark.anyio
async def test_a_later_schema_that_says_it_is_readable_is_read(tmp_path: Path) -> None:
    async with open_core(Config(home=tmp_path)):
        pass
    with sqlite3.connect(tmp_path / "gligabao.db") as connection:
        connection.execute("UPDATE gb_schema SET version = 99")
    connection.close()
    async with open_core(Config(home=tmp_path)) as core:
        assert await core.graph.overview() == []


def test_times_keep_their_order_and_their_microseconds(database: Database) -> None:
    early, late = datetime(1, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC)
    for moment in (early, late):
        database.write_now(lambda connection, m=moment: connection.execute(sa.update(schema).values(created_at=m)))
        assert database.read_now(lambda c: c.execute(sa.select(schema.c.created_at)).scalar_one()) == moment
    database.close()


@requirement("store.db-flag")
@pytest.mark.anyio
async def test_the_data_folder_is_closed_to_others_and_db_names_another_file(tmp_path: Path) -> None:
    async with open_core(Config(home=tmp_path / "data")):
        assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    async with open_core(Config(db=str(tmp_path / "elsewhere" / "my memory.db"))):
        assert (tmp_path / "elsewhere" / "my memory.db").exists()


@pytest.mark.anyio
async def test_a_folder_that_others_use_stays_open_to_them(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    (shared / "notes.txt").write_text("ours", encoding="utf-8")
    async with open_core(Config(home=shared)):
        assert stat.S_IMODE(shared.stat().st_mode) == 0o755
        assert stat.S_IMODE((shared / "gligabao.db").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "url",
    [
        *("sqlite://", "sqlite:///", "sqlite://host/x.db", "sqlite+aiosqlite:///x.db", "mysql://u:secret@h/x"),
        *("postgresql+asyncpg://u:secret@h/x", "postgresql+psycopg://u:secret@h:port/x", "postgres://u:secret@h/x"),
        *("nothing", "://"),
    ],
)
def test_what_is_no_database_of_ours_is_a_sentence_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidRequest, match=r"^db: (must be a SQLite file|can't be read as a file) or") as refusal:
        Database(url)
    assert (refusal.value.param, "secret" in refusal.value.message) == ("db", False)
    assert list(tmp_path.iterdir()) == []
