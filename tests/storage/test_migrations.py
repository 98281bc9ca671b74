"""A database of an earlier release, brought to this one's schema with everything in it."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import stat
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from core.config import Config
from core.engine import NoEngine
from core.errors import InvalidRequest, NewerDatabase
from core.text import fold
from gligabao_mcp.wiring import Providers, database_url, open_core
from storage import migrations
from storage.database import Database
from storage.migrations import VERSION, migrate
from storage.rdf.rows import changes_since, rows_back_at, whole_at
from storage.tables import metadata, schema
from tests.conftest import Tables, new_database
from tests.facts import ask, edge, tell_facts
from tests.requirements import requirement

FILES = Path(__file__).parent / "files"


@pytest.fixture
def old(config: Config) -> Config:
    """Settings of a memory that release 0.1 wrote."""
    if config.db:
        engine = sa.create_engine(config.db)
        with engine.begin() as connection:
            dump = (FILES / "v1.postgresql.sql").read_text(encoding="utf-8")
            cursor: Any = connection.connection.cursor()
            cursor.execute(dump)
        engine.dispose()
    else:
        assert config.home is not None
        shutil.copy(FILES / "v1.db", config.home / "gligabao.db")
    return config


def migrated(config: Config) -> None:
    database = Database(database_url(config))
    try:
        migrate(database)
    finally:
        database.close()


def test_a_migrated_database_has_the_schema_of_a_fresh_one(
    old: Config, tables: Tables, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    migrated(old)
    fresh = f"sqlite:///{tmp_path / 'fresh.db'}"
    if old.db:
        fresh = new_database(request.getfixturevalue("postgres_server"))
    engine = sa.create_engine(fresh)
    metadata.create_all(engine)
    assert shape(tables.engine) == shape(engine)
    engine.dispose()


def shape(engine: sa.Engine) -> dict[str, dict[str, Any]]:
    """Every table, whatever the order and the names in which its parts were made."""
    inspector = sa.inspect(engine)
    return {
        name: table_shape(inspector, name) | {"counts on": counts_on(engine, name)}
        for name in inspector.get_table_names()
    }


def table_shape(inspector: sa.Inspector, name: str) -> dict[str, Any]:
    def columns(of: Mapping[str, Any], key: str = "column_names") -> tuple[str, ...]:
        return tuple(of[key])

    return {
        "columns": {
            c["name"]: (str(c["type"]), c["nullable"], str(c["default"]).partition("(")[0])
            for c in inspector.get_columns(name)
        },
        "primary key": columns(inspector.get_pk_constraint(name), "constrained_columns"),
        "unique": sorted(columns(u) for u in inspector.get_unique_constraints(name)),
        "indexes": {
            (i["name"], columns(i), i["unique"], condition(i.get("dialect_options", {})))
            for i in inspector.get_indexes(name)
            if not i.get("duplicates_constraint")
        },
        "foreign keys": sorted(
            (
                columns(f, "constrained_columns"),
                f["referred_table"],
                columns(f, "referred_columns"),
                f.get("options", {}).get("ondelete"),
            )
            for f in inspector.get_foreign_keys(name)
        ),
    }


def condition(options: Mapping[str, Any]) -> str:
    """Which rows a partial index holds."""
    return str(options.get("sqlite_where", options.get("postgresql_where", "")))


def counts_on(engine: sa.Engine, name: str) -> bool:
    """Whether the id of a row that went is never used again."""
    if engine.dialect.name == "postgresql":
        return True
    with engine.connect() as connection:
        made = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).scalar_one()
    return "AUTOINCREMENT" in made


def test_every_row_is_still_there_with_what_it_said(old: Config, tables: Tables) -> None:
    listed = [name for name in sa.inspect(tables.engine).get_table_names() if name != "gb_schema"]
    before = {name: rows_of(tables, name) for name in listed}
    assert all(before.values())
    migrated(old)
    for name, rows in before.items():
        kept = set(rows[0])
        assert [{c: row[c] for c in kept} for row in rows_of(tables, name)] == rows
    for row in tables.rows("SELECT text, text_key FROM gb_artifacts"):
        assert row["text_key"] == fold(row["text"])
    ends = tables.rows("SELECT edge_id, states_end FROM gb_edge_artifacts ORDER BY edge_id")
    stated = tables.rows("SELECT id FROM gb_edges WHERE invalid_at_source = 'stated'")
    assert {row["edge_id"] for row in ends if row["states_end"]} == {row["id"] for row in stated} != set()


def rows_of(tables: Tables, name: str) -> list[dict[str, Any]]:
    return sorted(tables.rows(f"SELECT * FROM {name}"), key=str)


@requirement("store.schema-changes")
@pytest.mark.anyio
async def test_the_memory_goes_on_where_the_older_release_left_it(old: Config, tables: Tables) -> None:
    at_work = "2026-11-02T09:03:00Z"
    async with open_core(old, Providers(NoEngine())) as core:
        told = await tell_facts(
            core, edge("Alice", "lives_in", "Oslo", valid_at="2026-03-01"), text="Alice lives in Oslo."
        )
        assert [(fact.id, fact.target) for fact in told.edges] == [(3, "Oslo")], "a fact that was known is not doubled"
        new = await tell_facts(core, edge("Alice", "likes", "Skiing"), text="Alice likes skiing.")
        assert (new.artifact_id, new.edges[0].id) == (10, 8)
        found = (await ask(core, "Where does Alice live?", answer=False)).evidence.edges
        assert {(e.target, e.expired_at is None) for e in found if e.relation == "lives_in"} == {
            ("Oslo", True),
            ("Zürich", False),
        }
        then = (await ask(core, "Where does Alice live?", answer=False, known_at=at_work)).evidence.edges
        assert {(e.target, e.expired_at) for e in then if e.relation == "lives_in"} <= {("Zürich", None)}
        other = await ask(core, "Straße 7", user_id="u2", dataset="haus", answer=False)
        assert [e.target for e in other.evidence.edges] == ["Łódź"]


def test_ids_of_rows_that_went_are_not_used_again(old: Config, tables: Tables) -> None:
    migrated(old)
    with tables.engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA foreign_keys = ON")
        connection.exec_driver_sql("DELETE FROM gb_artifacts WHERE id = 8")
        connection.exec_driver_sql(
            "INSERT INTO gb_artifacts (dataset_id, kind, text, valid_at, created_at, seq)"
            " SELECT dataset_id, kind, text, valid_at, created_at, seq FROM gb_artifacts WHERE id = 1"
        )
    assert tables.rows("SELECT max(id) AS last FROM gb_artifacts") == [{"last": 9}]


def test_a_file_is_copied_before_its_schema_changes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = Config(home=tmp_path)
    kept = tmp_path / "gligabao.db.bak-v1"
    kept.write_text("an earlier copy", encoding="utf-8")
    shutil.copy(FILES / "v1.db", tmp_path / "gligabao.db")
    with caplog.at_level(logging.WARNING):
        migrated(config)
    assert kept.read_text(encoding="utf-8") == "an earlier copy"
    copy = tmp_path / "gligabao.db.bak-v1.1"
    assert str(copy) in caplog.text
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with sqlite3.connect(copy) as connection:
        assert connection.execute("SELECT version FROM gb_schema").fetchall() == [(1,)]
        assert connection.execute("SELECT count(*) FROM gb_edges").fetchall() == [(7,)]
    connection.close()
    migrated(config)
    assert len(list(tmp_path.glob("gligabao.db.bak-*"))) == 2


def test_a_server_database_is_migrated_with_a_word_about_its_backup(
    postgres_server: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = Config(home=tmp_path, db=new_database(postgres_server))
    assert config.db
    engine = sa.create_engine(config.db)
    with engine.begin() as connection:
        cursor: Any = connection.connection.cursor()
        cursor.execute((FILES / "v1.postgresql.sql").read_text(encoding="utf-8"))
    engine.dispose()
    with caplog.at_level(logging.WARNING):
        migrated(config)
    assert "pg_dump" in caplog.text


def test_a_file_that_can_not_be_copied_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(FILES / "v1.db", tmp_path / "gligabao.db")

    def full(_source: Path, target: Path) -> None:
        target.touch()
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(migrations, "copy_file", full)
    with pytest.raises(InvalidRequest, match=r"^db: the copy .* \(database or disk is full\); nothing was changed"):
        migrated(Config(home=tmp_path))
    assert list(tmp_path.glob("*.bak*")) == []
    with sqlite3.connect(tmp_path / "gligabao.db") as connection:
        assert connection.execute("SELECT version FROM gb_schema").fetchall() == [(1,)]
    connection.close()


def test_a_step_that_fails_changes_nothing(old: Config, tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """C071: half a migration would be a database that no release can read."""
    before = shape(tables.engine)

    def half_way(connection: sa.Connection) -> None:
        migrations.to_version_2(connection)
        raise RuntimeError("the power went")

    monkeypatch.setattr(migrations, "MIGRATIONS", [(2, half_way)])
    with pytest.raises(RuntimeError, match="the power went"):
        migrated(old)
    assert shape(tables.engine) == before
    monkeypatch.undo()
    migrated(old)
    assert tables.rows("SELECT version FROM gb_schema") == [{"version": VERSION}]


def test_processes_that_start_at_once_migrate_once(old: Config, tables: Tables) -> None:
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(migrated, old) for _ in range(4)]:
            done.result()
    assert tables.rows("SELECT version FROM gb_schema") == [{"version": VERSION}]
    assert tables.count("gb_edges") == 7
    if not old.db:
        assert old.home is not None
        assert len(list(old.home.glob("gligabao.db.bak-*"))) == 1


def test_references_hold_after_the_migration_and_are_kept_from_then_on(tmp_path: Path) -> None:
    shutil.copy(FILES / "v1.db", tmp_path / "gligabao.db")
    database = Database(database_url(Config(home=tmp_path)))
    migrate(database)
    assert database.read_now(lambda c: c.exec_driver_sql("PRAGMA foreign_key_check").all()) == []
    assert database.read_now(lambda c: c.exec_driver_sql("PRAGMA foreign_keys").scalar()) == 1
    database.write_now(lambda c: c.exec_driver_sql("DELETE FROM gb_datasets WHERE id = 1"))
    left = database.read_now(lambda c: c.exec_driver_sql("SELECT count(*) FROM gb_edges").scalar())
    assert left == 1, "what belongs to the dataset went with it"
    database.close()


def test_a_database_of_a_later_release_is_refused(config: Config, tables: Tables) -> None:
    migrated(config)
    with tables.engine.begin() as connection:
        connection.execute(sa.update(schema).values(version=99, min_reader_version=99))
    with pytest.raises(
        NewerDatabase, match=f"schema version 99, this release reads up to {VERSION}: update gligabao-mcp"
    ):
        migrated(config)


def test_files_of_later_schemas_become_what_one_of_schema_1_becomes(tmp_path: Path) -> None:
    shapes: list[dict[str, dict[str, Any]]] = []
    for version in (1, 2, 3):
        config = Config(home=tmp_path / str(version))
        (tmp_path / str(version)).mkdir()
        shutil.copy(FILES / f"v{version}.db", tmp_path / str(version) / "gligabao.db")
        migrated(config)
        engine = sa.create_engine(database_url(config))
        shapes.append(shape(engine))
        engine.dispose()
    assert shapes[0] == shapes[1] == shapes[2]


@pytest.mark.anyio
async def test_commits_of_a_release_that_kept_no_journal_can_be_read(tmp_path: Path) -> None:
    """Nobody wrote down which rows they touched: who follows them reads all rows once, and from then on changes."""
    shutil.copy(FILES / "v3.db", tmp_path / "gligabao.db")
    config = Config(home=tmp_path)
    async with open_core(config, Providers(NoEngine())) as core:
        told = await tell_facts(core, edge("Alice", "likes", "Go"), text="Alice likes go.")
        dataset = await core.graph.dataset("u1", "main")
        assert dataset is not None
        dataset_id, head = dataset.id, dataset.head_seq
        database = Database(database_url(config))
        at = database.read_now
        assert at(lambda c: changes_since(c, dataset_id, head - 2)) is None
        assert at(lambda c: rows_back_at(c, dataset_id, head - 2)) is None
        now, before = (at(lambda c, seq=seq: whole_at(c, dataset_id, seq, facts=True)) for seq in (None, head - 1))
        assert now.facts.keys() - before.facts.keys() == {told.edges[0].id}
        changes = at(lambda c: changes_since(c, dataset_id, head - 1))
        assert changes is not None and changes.facts == {told.edges[0].id: now.facts[told.edges[0].id]}
        assert at(lambda c: whole_at(c, dataset_id, 1, facts=True)).facts
        database.close()
        old = await core.commits.commit(dataset, 1)
        assert old is not None and old.kind == "write"
