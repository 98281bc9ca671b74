"""Processes that are really killed: a call that was kept is done exactly once, by whoever comes next."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

import pytest
import sqlalchemy as sa

from core.config import Config
from core.core import Core
from core.engine import NoEngine
from core.remember.runs import RunRequest, RunResponse, remember_status
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core
from tests.conftest import Opener, Tables
from tests.facts import ALICE_WORKS_AT_ACME, ask, tell_facts
from tests.processes import environment
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

TEXT = "Alice works at Acme."
ASKED = {"user_id": "u1", "text": TEXT, "idempotency_key": "k1"}

# Kills itself at one place of the way: in the queue, while the text is read, or once it is stored.
DOOMED = """
import asyncio, json, os, signal, sys
from pathlib import Path

from core.config import Config
from core.engine import PromptedEngine
from core.remember.remember import remember
from core.remember.request import RememberRequest
from core.remember.run import Run
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core

home, db, where, request, reply = sys.argv[1:]
answered = asyncio.Event()


class Model(ScriptedModel):
    async def complete(self, prompt, choice):
        await answered.wait()
        if where == "read":
            die()
        if where == "queue":
            await asyncio.Event().wait()
        return await super().complete(prompt, choice)


async def finish(self, *given, **more):
    die()


def die():
    os.kill(os.getpid(), signal.SIGKILL)


async def main():
    config = Config(home=Path(home), db=db or None)
    async with open_core(config, Providers(PromptedEngine(Model(json.loads(reply))), HashEmbedder())) as core:
        if where == "queue":
            first = asyncio.create_task(remember(core, RememberRequest(user_id="u1", text="Never read.")))
            await asyncio.sleep(0)
        if where == "stored":
            Run.finish = finish
        print(json.dumps((await remember(core, RememberRequest(**json.loads(request), wait=False))).body()), flush=True)
        answered.set()
        if where == "queue":
            die()
        await asyncio.Event().wait()


asyncio.run(main())
"""


async def killed(config: Config, where: str, request: dict[str, Any], reply: dict[str, Any]) -> None:
    """A process that keeps the call, answers, and is killed there."""
    arguments = [str(config.home), config.db or "", where, json.dumps(request), json.dumps(reply)]
    assert config.home is not None
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        DOOMED,
        *arguments,
        env=environment(config.home),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, errors = await process.communicate()
    assert process.returncode == -signal.SIGKILL, errors.decode()
    assert json.loads(said)["state"] == "queued"


async def ended(core: Core, run_id: int) -> RunResponse:
    async with asyncio.timeout(30):
        while True:
            run = await remember_status(core, RunRequest(user_id="u1", remember_run_id=run_id))
            if run.state in ("succeeded", "failed"):
                return run
            await asyncio.sleep(0.02)


@requirement("runlog.dead-process")
@pytest.mark.parametrize("where", ["queue", "read", "stored"])
async def test_a_call_that_was_kept_is_stored_exactly_once_by_the_next_start(
    config: Config, opened: Opener, model: ScriptedModel, tables: Tables, where: str
) -> None:
    """C082: the text was on disk before the reply, and is not lost."""
    await killed(config, where, ASKED, ALICE_WORKS_AT_ACME)
    run_id = tables.rows("SELECT max(id) AS id FROM gb_remember_runs")[0]["id"]
    if where != "stored":
        model.replies(ALICE_WORKS_AT_ACME)
    async with opened() as core:
        run = await ended(core, run_id)
        assert run.state == "succeeded" and run.response is not None
        again = await ask(core, "Alice", answer=False)
    assert len(model.prompts) == (0 if where == "stored" else 1), "what was stored is not read again"
    assert [(row["text"], row["run_id"]) for row in tables.rows("SELECT text, run_id FROM gb_artifacts")] == [
        (TEXT, run_id)
    ]
    assert [fact.relation for fact in again.evidence.edges] == ["works_at"]
    assert tables.count("gb_vector_outbox") == tables.count("gb_jobs") == 0
    assert tables.rows("SELECT DISTINCT status, error FROM gb_remember_runs WHERE id <> :id", id=run_id) == (
        [{"status": "failed", "error": "interrupted"}] if where == "queue" else []
    )
    filed = tables.rows("SELECT count(*) AS n FROM gb_inferences WHERE type = 'remember' AND run_id = :id", id=run_id)
    assert filed[0]["n"] <= 1


async def test_two_starts_at_once_go_on_with_a_kept_call_only_once(config: Config, tables: Tables) -> None:
    facts = {"edges": [{"source": "Alice", "target": "Acme", "relation": "works_at"}]}
    await killed(config, "stored", ASKED | facts, {})
    with tables.engine.begin() as connection:  # as if nothing had been stored yet
        connection.execute(sa.text("UPDATE gb_commits SET run_id = NULL"))

    async def start() -> None:
        async with open_core(config, Providers(NoEngine(), HashEmbedder())) as core:
            await ended(core, 1)

    await asyncio.gather(start(), start())
    assert tables.count("gb_artifacts") == 2
    assert tables.rows("SELECT status FROM gb_remember_runs") == [{"status": "succeeded"}]


async def test_a_living_process_keeps_its_runs(core: Core, config: Config, tables: Tables) -> None:
    """Another start takes nothing from a process that lives."""
    await tell_facts(core, {"source": "Ann", "target": "Ben", "relation": "knows"})
    with tables.engine.begin() as connection:
        for table, columns in (
            ("gb_remember_runs", "status, kind, parameters, owner, created_at"),
            ("gb_jobs", "run_id, running, request, owner, lease_until, created_at"),
        ):
            values = {
                "gb_remember_runs": "'started', 'text', '{}', :me, :now",
                "gb_jobs": '2, :yes, \'{"user_id": "u1", "text": "A.", "edges": []}\', :me, :later, :now',
            }[table]
            connection.execute(
                sa.text(f"INSERT INTO {table} (user_id, dataset, {columns}) VALUES ('u1', 'main', {values})"),
                {
                    "me": f"elsewhere|{os.getpid()}|1",
                    "yes": True,
                    "now": "2026-11-30T00:00:00.000000Z",
                    "later": "9999-01-01T00:00:00.000000Z",
                },
            )
    async with open_core(config, Providers(core.engine, HashEmbedder())):
        pass
    assert tables.rows("SELECT status FROM gb_remember_runs WHERE id = 2") == [{"status": "started"}]
    assert tables.rows("SELECT owner FROM gb_jobs") == [{"owner": f"elsewhere|{os.getpid()}|1"}]
