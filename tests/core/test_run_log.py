"""The record of what was executed: one row per run, one per stage, one per model call."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from core.core import Core
from core.engine import PromptedEngine
from core.errors import ModelFailed
from core.inferences import Choice
from core.ports import Completion, Prompt
from core.remember.run import SOON
from core.remember.stages import STAGES
from gligabao_mcp.providers.scripted import ScriptedModel
from tests.conftest import Opener, Tables
from tests.facts import ALICE_WORKS_AT_ACME, edge, graph, tell, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


class Watched:
    """A scripted model that looks at the record before it answers."""

    model = "scripted-1"

    def __init__(self, tables: Tables, *replies: dict[str, object]) -> None:
        self.tables = tables
        self.scripted = ScriptedModel(*replies)
        self.seen: list[tuple[str, dict[str, str]]] = []

    async def complete(self, prompt: Prompt, choice: Choice) -> Completion:
        await asyncio.sleep(2 * SOON)  # as long as a model thinks
        run = self.tables.rows("SELECT id, status FROM gb_remember_runs ORDER BY id DESC LIMIT 1")[0]
        self.seen.append((run["status"], statuses(self.tables, run["id"])))
        return await self.scripted.complete(prompt, choice)


def statuses(tables: Tables, run: int | None) -> dict[str, str]:
    rows = tables.rows("SELECT stage, status FROM gb_remember_run_stages WHERE run_id = :run", run=run)
    return {row["stage"]: row["status"] for row in rows}


def value(stored: Any) -> Any:
    """A JSON column, which one database gives as text and the other as a value."""
    return json.loads(stored) if isinstance(stored, str) else stored


@requirement("runlog.row-per-call", "remember.run-id", "inferences.recorded", "candidates.similarity-recorded")
@requirement("runlog.updated-at-every-step", "runlog.embeddings-filed", "runlog.one-stage-per-inference")
async def test_a_run_can_be_watched_and_each_call_belongs_to_one_stage_of_it(core: Core, tables: Tables) -> None:
    moved = graph(edges=[edge("Alice", "works_at", "Nord")])
    watched = Watched(tables, ALICE_WORKS_AT_ACME, moved, verdicts(verdict()))
    core = replace(core, engine=PromptedEngine(watched))
    await tell(core)
    told = await tell(core, session_id="s1", dataset="main")
    assert watched.seen == [
        ("started", {"extract_graph": "started"}),
        ("started", {"extract_graph": "started"}),
        ("started", {"extract_graph": "succeeded", "load_candidates": "succeeded", "resolve_edges": "started"}),
    ]
    (row,) = tables.rows("SELECT * FROM gb_remember_runs WHERE id = :id", id=told.remember_run_id)
    assert (row["user_id"], row["dataset"], row["session_id"], row["kind"]) == ("u1", "main", "s1", "text")
    assert (row["status"], row["error"], row["artifact_id"]) == ("succeeded", None, told.artifact_id)
    assert row["created_at"] <= row["finished_at"]
    stages = tables.rows("SELECT * FROM gb_remember_run_stages WHERE run_id = :id", id=told.remember_run_id)
    assert {s["stage"]: s["status"] for s in stages} == dict.fromkeys(
        ("extract_graph", "load_candidates", "resolve_edges", "store"), "succeeded"
    )
    assert all(s["started_at"] <= s["finished_at"] for s in stages)
    assert {s["stage"] for s in stages} <= {s.name for s in STAGES}
    filed = {i: s["stage"] for s in stages for i in value(s["inference_ids"])}
    calls = tables.rows("SELECT id, stage FROM gb_inferences WHERE run_id = :id ORDER BY id", id=told.remember_run_id)
    assert [(filed[c["id"]], c["stage"]) for c in calls] == [
        ("extract_graph", "extract_graph"),
        ("load_candidates", "search_similar"),
        ("resolve_edges", "resolve_edges"),
        ("store", "embed"),
    ]
    assert len(filed) == 4


async def test_the_record_keeps_what_was_asked_but_never_the_text(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    text = "Zanzibar is a s3cret naïve plan."
    model.replies(graph())
    await tell(
        plain, text, reference_time="2026-03-01T10:00:00+01:00", models={"extract_graph": "m-1"}, session_id="s1"
    )
    await tell(plain, text, edges=[{"source": "Zanzibar", "target": "plan", "relation": "is"}])
    first, second = (
        value(row["parameters"]) for row in tables.rows("SELECT parameters FROM gb_remember_runs ORDER BY id")
    )
    digest = hashlib.sha256(text.encode()).hexdigest()
    sized = {"text_bytes": len(text.encode()), "text_sha256": digest}
    assert first == sized | {
        "reference_time": "2026-03-01T10:00:00+01:00",
        "models": {"extract_graph": "m-1"},
        "session_id": "s1",
    }
    assert second == sized


@requirement("runlog.failed-stage")
async def test_a_failed_stage_fails_the_run_and_the_rest_never_starts(
    core: Core, model: ScriptedModel, tables: Tables
) -> None:
    model.replies(
        ModelFailed("no"), ALICE_WORKS_AT_ACME, graph(edges=[edge("Alice", "likes", "tea")]), ModelFailed("nope")
    )
    with pytest.raises(ModelFailed):
        await tell(core)
    await tell(core)
    with pytest.raises(ModelFailed):
        await tell(core)
    assert statuses(tables, 1) == {"extract_graph": "failed"}
    assert statuses(tables, 3) == {
        "extract_graph": "succeeded",
        "load_candidates": "succeeded",
        "resolve_edges": "failed",
    }
    runs = tables.rows("SELECT status, error, artifact_id FROM gb_remember_runs ORDER BY id")
    assert [(r["status"], r["error"]) for r in runs] == [("failed", "no"), ("succeeded", None), ("failed", "nope")]
    assert [r["artifact_id"] for r in runs] == [None, 1, None]


@requirement("runlog.write-failure")
async def test_a_record_that_cannot_be_written_costs_nobody_a_memory(
    core: Core, model: ScriptedModel, tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    with tables.engine.begin() as connection:
        for table in ("gb_jobs", "gb_remember_run_stages", "gb_remember_runs", "gb_inferences"):
            connection.execute(sa.text(f"DROP TABLE {table}"))
    model.replies(ALICE_WORKS_AT_ACME)
    told = await tell(core)
    assert "remember_run_id" not in told.body()
    assert len(told.edges) == 1
    assert "the run log could not be written: " in caplog.text
    assert "Alice" not in caplog.text


@requirement("runlog.dead-process")
async def test_runs_of_a_process_that_died_are_failed_at_the_next_start(opened: Opener, tables: Tables) -> None:
    async with opened():
        pass
    owners = {"gone": f"{socket.gethostname()}|999999999|1.00", "elsewhere": "another-host|1|1.00"}
    with tables.engine.begin() as connection:
        for user, owner in owners.items():
            connection.execute(
                sa.text(
                    "INSERT INTO gb_remember_runs (user_id, dataset, kind, status, parameters, created_at, owner) "
                    "VALUES (:user, 'main', 'text', 'started', '{}', '2026-01-01T00:00:00.000000Z', :owner)"
                ),
                {"user": user, "owner": owner},
            )
    async with opened():
        rows = tables.rows("SELECT user_id, status, error FROM gb_remember_runs ORDER BY id")
    assert rows == [
        {"user_id": "gone", "status": "failed", "error": "interrupted"},
        {"user_id": "elsewhere", "status": "started", "error": None},
    ]
