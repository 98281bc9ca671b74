"""What one remember leaves in the tables, and what goes with a row that is deleted."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from core.core import Core
from gligabao_mcp.providers.scripted import ScriptedModel
from storage.database import Database
from storage.graph import SqlGraph
from storage.tables import metadata
from tests.conftest import Tables
from tests.facts import ask, edge, graph, tell, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


def database(core: Core) -> Database:
    assert isinstance(core.graph, SqlGraph)
    return core.graph.database


def execute(core: Core, sql: str) -> None:
    """One statement, on a connection of the memory itself."""
    database(core).write_now(lambda connection: connection.execute(sa.text(sql)))


def pairs(tables: Tables, table: str, *columns: str) -> set[tuple[object, ...]]:
    rows = tables.rows(f"SELECT {', '.join(columns)} FROM {table}")
    return {tuple(row[column] for column in columns) for row in rows}


@requirement(
    "store.artifact-row",
    "store.edge-artifact",
    "store.edge-links",
    "store.entity-links",
    "store.contradiction-not-linked",
    "sessions.on-the-artifact",
    "sessions.entity-links",
    "sessions.edge-links",
    "remember.same-text-twice",
)
async def test_provenance_and_sessions_of_told_repeated_and_contradicted_facts(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    paris = edge("Alice", "lives_in", "Paris", valid_at="2024")
    acme = edge("Alice", "works_at", "Acme", valid_at="2024")
    model.replies(graph("Alice:person", edges=[paris, acme]))
    text = "Alice lives in Paris and works at Acme. 👋\n "
    told = await tell(plain, text, session_id="s1", kind="episode", reference_time="2024-05-01T00:00:00+02:00")
    alice, in_paris, at_acme = told.edges[0].source_id, told.edges[0], told.edges[1]
    (row,) = tables.rows("SELECT text, kind, session_id FROM gb_artifacts")
    assert row == {"text": text, "kind": "episode", "session_id": "s1"}
    assert (
        str(tables.rows("SELECT valid_at FROM gb_artifacts")[0]["valid_at"])[:13].replace("T", " ") == "2024-04-30 22"
    )

    # An exact repeat, one in other words, and a contradiction, in a second session.
    said = edge("Alice", "has_job_at", "Acme", description="Alice has a job at Acme.")
    berlin = edge("Alice", "lives_in", "Berlin", valid_at="2026")
    model.replies(
        graph(edges=[acme, said, berlin]),
        verdicts(verdict(0, duplicate_of=at_acme.id), verdict(1, contradicts=[in_paris.id])),
    )
    again = await tell(plain, "Still at Acme, now in Berlin.", session_id="s2")
    assert [e.id for e in again.edges] == [at_acme.id, again.edges[1].id]
    in_berlin = again.edges[1]
    assert pairs(tables, "gb_edges", "id", "artifact_id") == {
        (in_paris.id, told.artifact_id),
        (at_acme.id, told.artifact_id),
        (in_berlin.id, again.artifact_id),
    }
    assert pairs(tables, "gb_edge_artifacts", "edge_id", "artifact_id") == {
        (in_paris.id, told.artifact_id),
        (at_acme.id, told.artifact_id),
        (at_acme.id, again.artifact_id),
        (in_berlin.id, again.artifact_id),
    }
    assert pairs(tables, "gb_edge_sessions", "edge_id", "session_id") == {
        (in_paris.id, "s1"),
        (at_acme.id, "s1"),
        (at_acme.id, "s2"),
        (in_berlin.id, "s2"),
    }
    names = {row["id"]: row["name"] for row in tables.rows("SELECT id, name FROM gb_entities")}
    linked = {(names[i], a) for i, a in pairs(tables, "gb_entity_artifacts", "entity_id", "artifact_id")}
    assert linked == {(n, told.artifact_id) for n in ("Alice", "Paris", "Acme")} | {
        (n, again.artifact_id) for n in ("Alice", "Acme", "Berlin")
    }
    seen = {(names[i], s) for i, s in pairs(tables, "gb_entity_sessions", "entity_id", "session_id")}
    assert seen == {(n, "s1") for n in ("Alice", "Paris", "Acme")} | {(n, "s2") for n in ("Alice", "Acme", "Berlin")}

    # Told without a session, or in the same one again: no new link to a session, none lost.
    before = pairs(tables, "gb_edge_sessions", "edge_id", "session_id", "first_seen_at")
    model.replies(graph(edges=[acme]), graph(edges=[acme]))
    await tell(plain, "Acme.")
    await tell(plain, "Acme.", session_id="s2")
    assert pairs(tables, "gb_edge_sessions", "edge_id", "session_id", "first_seen_at") == before
    assert alice in names


@requirement("store.delete-entity", "store.delete-edge", "store.delete-artifact", "store.foreign-keys-on")
async def test_what_goes_with_a_deleted_row_and_what_stays(plain: Core, model: ScriptedModel, tables: Tables) -> None:
    facts = [edge("Alice", "knows", "Bo"), edge("Alice", "knows", "Cy"), edge("Di", "knows", "Cy")]
    model.replies(graph(edges=facts), graph(edges=facts))
    told = await tell(plain, "Who knows whom.", session_id="s1")
    await tell(plain, "Who knows whom, again.", session_id="s2")
    alice_bo, alice_cy, di_cy = told.edges
    execute(plain, f"DELETE FROM gb_artifacts WHERE id = {told.artifact_id}")
    assert pairs(tables, "gb_edges", "id", "artifact_id") == {(e.id, None) for e in told.edges}
    for table in ("gb_edge_artifacts", "gb_entity_artifacts"):
        assert pairs(tables, table, "artifact_id") == {(told.artifact_id + 1,)}
    for table in ("gb_edge_sessions", "gb_entity_sessions"):
        assert pairs(tables, table, "session_id") == {("s1",), ("s2",)}

    execute(plain, f"DELETE FROM gb_edges WHERE id = {alice_bo.id}")
    for table in ("gb_edge_artifacts", "gb_edge_sessions"):
        assert pairs(tables, table, "edge_id") == {(alice_cy.id,), (di_cy.id,)}
    assert tables.count("gb_entities") == 4

    execute(plain, f"DELETE FROM gb_entities WHERE id = {alice_bo.source_id}")
    assert pairs(tables, "gb_edges", "id") == {(di_cy.id,)}
    left = {(alice_bo.target_id,), (di_cy.source_id,), (di_cy.target_id,)}
    for table in ("gb_entity_artifacts", "gb_entity_sessions"):
        assert pairs(tables, table, "entity_id") == left
    asked = await ask(plain, "Who knows Cy?", answer=False)
    assert [(e.source, e.artifact_id) for e in asked.evidence.edges] == [("Di", None)]
    with pytest.raises(IntegrityError):
        execute(plain, "INSERT INTO gb_entity_sessions VALUES (99999, 's1', 1, '2026-01-01T00:00:00.000000Z')")


@requirement("store.foreign-keys-on", "store.gb-prefix")
async def test_every_table_has_our_prefix_and_every_connection_enforces_keys(plain: Core, tables: Tables) -> None:
    there = sa.inspect(tables.engine).get_table_names()
    assert set(metadata.tables) == set(there)
    assert all(name.startswith("gb_") for name in there)
    if database(plain).sqlite:
        with database(plain).engine.connect() as one, database(plain).engine.connect() as other:
            for connection in (one, other):
                assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


@requirement("remember.one-transaction", "remember.failure-stores-nothing")
async def test_a_write_that_fails_at_its_very_end_leaves_nothing(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    model.replies(graph("Bo:person:a potter"))
    await tell(plain, "Bo is a potter.")
    everything = [
        t for t in metadata.tables if t not in ("gb_remember_runs", "gb_remember_run_stages", "gb_inferences")
    ]
    execute(
        plain,
        "INSERT INTO gb_commits (dataset_id, seq, counts, created_at) "
        "SELECT dataset_id, 2, counts, created_at FROM gb_commits",
    )
    before = {table: tables.rows(f"SELECT * FROM {table}") for table in everything}
    model.replies(graph("Bo:person:a weaver", edges=[edge("Bo", "owns", "loom")]))
    with pytest.raises(IntegrityError):
        await tell(plain, "Bo is a weaver.", session_id="s1")
    assert {table: tables.rows(f"SELECT * FROM {table}") for table in everything} == before
    (run,) = tables.rows("SELECT status, error FROM gb_remember_runs WHERE id = 2")
    assert run == {"status": "failed", "error": "IntegrityError"}


@requirement("remember.dataset-created", "store.artifact-row")
async def test_users_and_datasets_are_told_apart_to_the_letter(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    names = ["main", "Main", "main ", "māin", "é" * 64, "名前", "'; DROP TABLE gb_edges; --", "%", "a/b"]
    for name in names:
        model.replies(graph("Bo"), graph("Bo"))
        await tell(plain, "Bo.", user_id=name, dataset=name)
        await tell(plain, "Bo.", user_id=name)
    rows = pairs(tables, "gb_datasets", "user_id", "name")
    assert rows == {(n, n) for n in names} | {(n, "main") for n in names}
    assert tables.count("gb_entities") == len(rows)
