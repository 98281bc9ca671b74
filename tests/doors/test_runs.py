"""Runs of remember behind every door: kept calls, their state, and clients that go."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx2
import pytest
from click.testing import CliRunner

from core.remember.stages import STAGES
from gligabao_mcp.cli import cli
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.operations import REMEMBER, parse
from tests.processes import served
from tests.requirements import requirement
from tests.wire import Said, Wire, chat, openai_error

pytestmark = pytest.mark.anyio

FACT = {"source": "Alice", "target": "Acme", "relation": "works_at"}
TOLD: dict[str, Any] = {"user_id": "u1", "text": "Alice works at Acme.", "edges": [FACT]}
READ = json.dumps({"entities": [], "edges": [FACT | {"description": "", "valid_at": None, "invalid_at": None}]})
RUNS = "/v1/gb/remember-runs"


@requirement("manager.one-at-a-time")
async def test_a_call_that_does_not_wait_is_accepted_and_can_be_followed(rest: httpx2.AsyncClient) -> None:
    """C082"""
    kept = await rest.post("/v1/gb/remember", json={**TOLD, "wait": False})
    assert (kept.status_code, kept.json()) == (202, {"remember_run_id": 1, "state": "queued"})
    run = await state_of(rest, 1, "succeeded")
    assert run["response"]["edges"][0]["relation"] == "works_at"
    assert run["artifact_id"] == run["response"]["artifact_id"] == 1
    waited = await rest.post("/v1/gb/remember", json=TOLD)
    assert waited.status_code == 200 and "state" not in waited.json()


async def test_a_key_over_rest_is_answered_the_same_or_refused(rest: httpx2.AsyncClient) -> None:
    first, again = [await rest.post("/v1/gb/remember", json={**TOLD, "idempotency_key": "k"}) for _ in range(2)]
    assert first.json() == again.json()
    other = await rest.post("/v1/gb/remember", json={**TOLD, "text": "Other.", "idempotency_key": "k"})
    assert (other.status_code, other.json()["param"]) == (409, "idempotency_key")
    assert other.json()["error"].startswith("idempotency_key: ")


@requirement("runlog.stages", "runlog.stage-fields", "runlog.unused-stage", "runlog.failed-stage", "runlog.read")
async def test_a_run_is_read_by_id_with_its_stages_in_order(rest: httpx2.AsyncClient, wire: Wire) -> None:
    wire.says(chat(READ), openai_error(400, "no such thing"))
    await rest.post("/v1/gb/remember", json={"user_id": "u1", "text": "Alice works at Acme.", "session_id": "s1"})
    failed = await rest.post("/v1/gb/remember", json={"user_id": "u1", "text": "Nothing."})
    first, second = [(await rest.get(f"{RUNS}/{i}", params={"user_id": "u1"})).json() for i in (1, 2)]
    for run in (first, second):
        assert list(run["stages"]) == [stage.name for stage in STAGES]
        assert list(run["stages"])[:3] == ["classify_complexity", "extract_image", "chunk_text"]
    read = first["stages"]["extract_graph"]
    assert read.keys() == {"status", "started_at", "finished_at", "duration_ms", "inference_ids"}
    assert (read["status"], read["inference_ids"], read["duration_ms"] >= 0) == ("succeeded", [1], True)
    assert first["stages"]["chunk_text"] == {"status": "not_started", "inference_ids": []}
    assert (first["state"], first["dataset"], first["session_id"], first["kind"]) == (
        "succeeded",
        "main",
        "s1",
        "text",
    )
    assert "Alice" not in json.dumps(first["parameters"]) and first["parameters"]["text_bytes"] == 20
    assert (failed.status_code, second["state"], second["error"]) == (502, "failed", failed.json()["error"])
    assert second["stages"]["extract_graph"]["error"] == failed.json()["error"]
    assert second["stages"]["store"]["status"] == "not_started"


@requirement("runlog.read")
async def test_runs_are_listed_by_user_dataset_and_status(rest: httpx2.AsyncClient) -> None:
    for more in ({}, {"dataset": "other"}, {"user_id": "u2"}, {}):
        await rest.post("/v1/gb/remember", json={**TOLD, **more})
    await rest.post("/v1/gb/remember", json={"user_id": "u1", "text": "Not scripted."})

    async def listed(**asked: Any) -> list[int]:
        body = (await rest.get(RUNS, params={"user_id": "u1", **asked})).json()
        assert body["total"] >= len(body["runs"])
        return [run["remember_run_id"] for run in body["runs"]]

    assert await listed() == [5, 4, 2, 1]
    assert await listed(dataset="other") == [2]
    assert await listed(status="failed") == [5]
    assert await listed(status="queued") == await listed(status="running") == await listed(status="started") == []
    assert await listed(limit=2, offset=1) == [4, 2]
    assert await listed(user_id="u2") == [3]
    body = (await rest.get(RUNS, params={"user_id": "u1", "limit": 1})).json()
    assert body["total"] == 4 and not {"stages", "response"} & body["runs"][0].keys()
    for wrong, field in ({"limit": 0}, "limit"), ({"limit": 501}, "limit"), ({"status": "done"}, "status"):
        refused = await rest.get(RUNS, params={"user_id": "u1", **wrong})
        assert (refused.status_code, refused.json()["param"]) == (400, field)
    foreign = [await rest.get(f"{RUNS}/{i}", params={"user_id": "u1"}) for i in (3, 99)]
    assert [r.status_code for r in foreign] == [404, 404] and foreign[0].json() == foreign[1].json()
    for run_id in ("0", "x", str(2**63)):
        assert (await rest.get(f"{RUNS}/{run_id}", params={"user_id": "u1"})).status_code == 400


@requirement("runlog.read")
async def test_a_kept_call_on_the_command_line_is_done_when_the_command_ends(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(cli, [*arguments, "--home", str(tmp_path), "--llm", "none"])
        assert result.exit_code == 0, result.output
        return result.stdout

    def commands() -> None:
        kept = run("remember", "--no-wait", "--edges", json.dumps([FACT]), "Alice works at Acme.")
        assert kept.startswith("Kept as run 1, which goes on by itself")
        shown = json.loads(run("run", "1", "--json"))
        assert (shown["state"], shown["response"]["edges"][0]["relation"]) == ("succeeded", "works_at")
        assert "succeeded, artifact 1" in run("run", "1") and "store" in run("run", "1")
        assert run("runs").startswith("[1] ")
        assert run("runs", "--status", "failed").strip() == "No call of remember fits."

    await anyio.to_thread.run_sync(commands)


async def test_a_client_that_leaves_before_its_turn_has_its_text_dropped(tmp_path: Path, wire: Wire) -> None:
    """Over a real connection: the framework itself tells nobody."""
    asked, let = threading.Event(), threading.Event()

    def reply(_body: dict[str, Any]) -> Said:
        asked.set()
        let.wait(30)
        return chat(READ)

    wire.always(reply)
    flags = ("--llm", "openai", "--llm-base-url", f"{wire.url}/v1", "--llm-model", "m")
    with served(tmp_path, *flags) as (url, _):
        async with httpx2.AsyncClient(base_url=url, timeout=60) as staying:
            first = asyncio.create_task(staying.post("/v1/gb/remember", json={"user_id": "u1", "text": "First."}))
            await anyio.to_thread.run_sync(asked.wait)
            async with httpx2.AsyncClient(base_url=url, timeout=60) as leaving:
                second = asyncio.create_task(leaving.post("/v1/gb/remember", json={"user_id": "u1", "text": "Second."}))
                await state_of(staying, 2, "queued")
                second.cancel()
                await asyncio.wait([second])
            gone = await state_of(staying, 2, "failed")
            let.set()
            assert (await first).status_code == 200
    assert gone["error"] == "canceled"


async def state_of(rest: httpx2.AsyncClient, run_id: int, state: str) -> dict[str, Any]:
    """The run, once it stands so."""
    async with asyncio.timeout(30):
        while True:
            run = (await rest.get(f"{RUNS}/{run_id}", params={"user_id": "u1"})).json()
            if run.get("state") == state:
                return run
            await asyncio.sleep(0.02)


async def test_a_call_repeated_after_hanging_up_joins_the_running_one(handle: CoreHandle) -> None:
    """C092: one artifact, and the second call returns it."""
    parsed = parse(REMEMBER, TOLD)
    await handle.core()
    call = asyncio.create_task(handle.run(REMEMBER, parsed))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.wait([call])
    assert (await handle.run(REMEMBER, parsed))["artifact_id"] == 1
