"""What an administrator reads over HTTP and on the command line: the runs of all users, and what they cost."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from core.config import Config
from core.core import Core
from core.errors import ModelFailed, UnknownDatabase
from core.prices import Price
from core.remember.admin_runs import AdminRunsRequest, admin_remember_runs
from core.remember.stages import STAGES
from gligabao_mcp.cli import cli
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.providers.scripted import ScriptedModel
from gligabao_mcp.wiring import open_core
from tests.conftest import Tables
from tests.doors.conftest import http_client
from tests.facts import ALICE_WORKS_AT_ACME, edge, graph, tell
from tests.requirements import requirement
from tests.wire import Wire, chat

pytestmark = pytest.mark.anyio

RUNS, COSTS = "/v1/gb/admin/api/remember-runs", "/v1/gb/admin/api/costs"
TOLD = {"text": "Ivo visited Rome.", "edges": [{"source": "Ivo", "target": "Rome", "relation": "visited"}]}


async def told(rest: httpx2.AsyncClient, **more: Any) -> dict[str, Any]:
    response = await rest.post("/v1/gb/remember", json={"user_id": "u1", **TOLD, **more})
    assert response.status_code == 200
    return response.json()


async def read(rest: httpx2.AsyncClient, path: str, **query: Any) -> dict[str, Any]:
    response = await rest.get(path, params={"db": "gligabao", **query})
    assert response.status_code == 200, response.text
    return response.json()


async def listed(core: Core, **filters: Any) -> dict[str, Any]:
    return (await admin_remember_runs(core, AdminRunsRequest(db=core.database, **filters))).body()


@requirement("admin.runs-route", "admin.runs-fields", "runlog.stage-fields", "runlog.unused-stage")
async def test_runs_come_newest_first_with_every_stage_by_its_name(
    core: Core, model: ScriptedModel, tables: Tables
) -> None:
    model.replies(ALICE_WORKS_AT_ACME, graph(edges=[edge("Alice", "likes", "tea")]), ModelFailed("no answer"))
    first = await tell(core, session_id="s1")
    with pytest.raises(ModelFailed):
        await tell(core, user_id="u1", text="Alice likes tea.")
    page = await listed(core)
    assert page["stages"] == [stage.name for stage in STAGES]
    assert (page["total"], page["limit"], page["offset"]) == (2, 100, 0)
    failed, succeeded = page["runs"]
    assert [list(run["stages"]) for run in page["runs"]] == [page["stages"]] * 2
    assert (failed["status"], failed["error"]) == ("failed", "no answer")
    assert succeeded == {
        "id": first.remember_run_id,
        "user_id": "u1",
        "dataset": "main",
        "session_id": "s1",
        "kind": "text",
        "status": "succeeded",
        "parameters": succeeded["parameters"],
        "artifact_id": first.artifact_id,
        "created_at": succeeded["created_at"],
        "finished_at": succeeded["finished_at"],
        "stages": succeeded["stages"],
    }
    assert "Alice" not in json.dumps(page)
    calls = {row["stage"]: row["id"] for row in tables.rows("SELECT id, stage FROM gb_inferences WHERE run_id = 1")}
    extracted, chunked = succeeded["stages"]["extract_graph"], succeeded["stages"]["chunk_text"]
    assert (extracted["status"], extracted["inference_ids"]) == ("succeeded", [calls["extract_graph"]])
    assert extracted["started_at"] <= extracted["finished_at"] <= succeeded["finished_at"]
    assert extracted["duration_ms"] >= 0
    assert chunked == {"status": "not_started", "inference_ids": []}
    assert failed["stages"]["resolve_edges"]["error"] == "no answer"
    assert failed["stages"]["store"]["status"] == "not_started"


@requirement("admin.runs-counts", "admin.runs-limits")
async def test_filters_and_pages_change_the_list_and_never_the_counts(core: Core, model: ScriptedModel) -> None:
    model.replies(graph(), graph(), graph(), ModelFailed("no"))
    ids = [
        (await tell(core, user_id=user, dataset=name)).remember_run_id
        for user, name in (("a", "x"), ("b", "x"), ("b", "y"))
    ]
    with pytest.raises(ModelFailed):
        await tell(core, user_id="a", dataset="x")
    pages = {
        "status": await listed(core, status="failed"),
        "user": await listed(core, user_id="b"),
        "both": await listed(core, user_id="b", dataset="x"),
        "paged": await listed(core, limit=2, offset=1),
        "beyond": await listed(core, offset=9),
        "started": await listed(core, status="started"),
    }
    assert all(page["counts"] == {"total": 4, "started": 0, "succeeded": 3, "failed": 1} for page in pages.values())
    assert {name: page["total"] for name, page in pages.items()} == {
        "status": 1,
        "user": 2,
        "both": 1,
        "paged": 4,
        "beyond": 4,
        "started": 0,
    }
    assert [run["id"] for run in pages["paged"]["runs"]] == [ids[2], ids[1]]
    assert (pages["paged"]["limit"], pages["paged"]["offset"]) == (2, 1)
    assert pages["beyond"]["runs"] == []
    with pytest.raises(UnknownDatabase):
        await admin_remember_runs(core, AdminRunsRequest(db="another"))


@requirement("admin.runs-route", "admin.runs-limits")
async def test_the_route_takes_the_documented_parameters(rest: httpx2.AsyncClient) -> None:
    run = await told(rest, dataset="main")
    page = await read(rest, RUNS, status="succeeded", dataset="main", user_id="u1", limit="500", offset="0")
    assert [found["id"] for found in page["runs"]] == [run["remember_run_id"]]
    assert (page["limit"], page["total"]) == (500, 1)


@requirement("admin.runs-limits")
@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("status", "queued", "must be one of 'started', 'succeeded' or 'failed'"),
        ("limit", "0", "must be at least 1"),
        ("limit", "501", "must be at most 500"),
        ("limit", "many", "must be a whole number"),
        ("limit", "1.5", "must be a whole number"),
        ("offset", "-1", "must be at least 0"),
        ("offset", "9" * 30, "must be"),
        ("page", "2", "unknown field page"),
    ],
)
async def test_a_bad_parameter_is_400_and_named(rest: httpx2.AsyncClient, name: str, value: str, wrong: str) -> None:
    response = await rest.get(RUNS, params={"db": "gligabao", name: value})
    assert (response.status_code, response.json()["param"]) == (400, name)
    assert wrong in response.json()["error"]


@pytest.mark.parametrize("path", [RUNS, COSTS])
async def test_the_database_must_be_named_and_be_the_open_one(rest: httpx2.AsyncClient, path: str) -> None:
    missing, wrong = await rest.get(path), await rest.get(path, params={"db": "other"})
    assert (missing.status_code, missing.json()["error"]) == (400, "db: is required")
    assert (wrong.status_code, wrong.json()["code"]) == (404, "not_found")


async def test_costs_are_summed_over_http(settings: Config, wire: Wire) -> None:
    settings = settings.model_copy(update={"prices": {"qwen3": Price(input=100, output=1000)}})
    handle = CoreHandle(lambda: open_core(settings))
    wire.says(chat('{"entities": [], "edges": []}', usage={"prompt_tokens": 1000, "completion_tokens": 50}))
    async with http_client(handle, settings) as rest:
        await rest.post("/v1/gb/remember", json={"user_id": "u1", "text": "Nothing much."})
        day = (await read(rest, RUNS))["runs"][0]["created_at"][:10]
        found = await read(rest, COSTS, by="day,stage", **{"from": "2026-01-01"})
        nothing = await read(rest, COSTS, to="2026-01-01")
        bad = await rest.get(COSTS, params={"db": "gligabao", "by": "mood"})
    sums = {"calls": 1, "input_tokens": 1000, "output_tokens": 50, "cost_usd": pytest.approx(0.15)}
    sums |= {"cached_input_tokens": 0, "cache_write_tokens": 0, "thinking_tokens": 0}
    assert found["rows"] == [{"day": day, "stage": "extract_graph", **sums}]
    assert (found["total"], found["db"]) == (sums, "gligabao")
    assert (nothing["rows"], nothing["total"]["calls"]) == ([], 0)
    assert bad.json()["error"] == "by: must name some of day, stage, model, user, type, separated by commas"


async def test_a_spent_day_is_429_with_the_time_to_come_back(settings: Config, wire: Wire) -> None:
    settings = settings.model_copy(update={"prices": {"qwen3": Price(input=1)}, "daily_spend_limit_usd": 0.0})
    handle = CoreHandle(lambda: open_core(settings))
    async with http_client(handle, settings) as rest:
        refused = await rest.post("/v1/gb/remember", json={"user_id": "u1", "text": "Alice works at Acme."})
    assert (refused.status_code, refused.json()["code"]) == (429, "daily_limit")
    assert 0 < int(refused.headers["retry-after"]) <= 24 * 3600
    assert "daily_spend_limit_usd" in refused.json()["error"]
    assert wire.asked == []


@pytest.mark.parametrize(
    ("admin", "reached", "open"),
    [
        ("loopback", {"host": "127.0.0.1"}, True),
        ("loopback", {"host": "::1"}, True),
        ("loopback", {"host": "0.0.0.0", "insecure": True}, False),
        ("loopback", {"allowed_hosts": ("memory.example.com",)}, False),
        ("on", {"host": "0.0.0.0", "insecure": True}, True),
        ("on", {"allowed_hosts": ("memory.example.com",)}, True),
        ("off", {"host": "127.0.0.1"}, False),
    ],
)
async def test_who_is_let_in_is_a_setting(
    handle: CoreHandle, settings: Config, admin: str, reached: dict[str, Any], open: bool
) -> None:
    settings = settings.model_copy(update={"admin": admin, "metrics": admin, **reached})
    async with http_client(handle, settings) as rest:
        statuses = {(await rest.get(path, params={"db": "gligabao"})).status_code for path in (RUNS, COSTS, "/metrics")}
        document = (await rest.get("/openapi.json")).json()
    assert statuses == {200 if open else 404}
    assert {RUNS, COSTS, "/metrics"} <= document["paths"].keys()
    names = [parameter["name"] for parameter in document["paths"][COSTS]["get"]["parameters"]]
    assert names == ["db", "by", "from", "to", "user_id", "dataset"]


async def test_costs_and_events_on_the_command_line(
    rest: httpx2.AsyncClient, handle: CoreHandle, settings: Config
) -> None:
    await told(rest)
    await handle.close()
    home = ["--home", str(settings.home)]

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(cli, [*arguments, *home])
        assert result.exit_code == 0, result.output
        return result.stdout

    import anyio.to_thread

    as_json = json.loads(await anyio.to_thread.run_sync(lambda: run("costs", "--json", "--by", "stage,user")))
    assert (as_json["by"], as_json["rows"], as_json["total"]["calls"]) == (["stage", "user"], [], 0)
    table = await anyio.to_thread.run_sync(lambda: run("costs"))
    assert "total" in table
    assert "USD" in table
    lines = (await anyio.to_thread.run_sync(lambda: run("events", "--limit", "5"))).splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["remember"]
