"""Forget, undo, purge, merge and correct through the doors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from gligabao_mcp.cli import cli
from gligabao_mcp.mcp_door.tools import tools

pytestmark = pytest.mark.anyio

EDGES = [{"source": "Ann", "relation": "knows", "target": f"friend {i}"} for i in range(12)]


async def send(rest: httpx2.AsyncClient, route: str, **payload: Any) -> tuple[int, dict[str, Any]]:
    response = await rest.post(f"/v1/gb/{route}", content=json.dumps({"user_id": "u1", **payload}))
    return response.status_code, response.json()


async def test_a_text_is_forgotten_brought_back_and_purged_over_http(rest: httpx2.AsyncClient) -> None:
    _, told = await send(rest, "remember", text="Ann knows many.", edges=EDGES)
    status, refused = await send(rest, "forget", scope="artifact", id=told["artifact_id"])
    assert (status, refused["code"]) == (409, "confirmation_required")
    assert refused["counts"] == {"artifacts": 1, "entities": 13, "edges": 12}
    again = {"scope": "artifact", "id": told["artifact_id"], "confirm": refused["confirm"]}
    status, gone = await send(rest, "forget", **again)
    assert (status, gone["scope"], gone["id"], gone["purged"]) == (200, "artifact", told["artifact_id"], False)
    listed = (await rest.get("/v1/gb/tombstones", params={"user_id": "u1"})).json()
    assert [one["tombstone_id"] for one in listed["tombstones"]] == [gone["tombstone_id"]]
    status, back = await send(rest, "undo", tombstone_id=gone["tombstone_id"])
    assert (status, back["counts"]["edges"]) == (200, 12)
    _, dry = await send(rest, "forget", scope="dataset", dry_run=True)
    _, whole = await send(rest, "forget", scope="dataset", confirm=dry["confirm"])
    status, purged = await send(rest, "purge", tombstone_id=whole["tombstone_id"])
    assert status == 200 and "purged_at" in purged["tombstone"]
    assert (await send(rest, "undo", tombstone_id=whole["tombstone_id"]))[0] == 409
    assert (await send(rest, "forget", scope="artifact", id=1, all=True))[0] == 400
    assert (await send(rest, "forget", scope="dataset"))[0] == 404


async def test_two_entities_are_merged_and_a_fact_is_corrected_over_http(rest: httpx2.AsyncClient) -> None:
    _, told = await send(rest, "remember", text="Bob and Rob.", edges=[EDGES[0], {**EDGES[1], "source": "Anna"}])
    ann, anna = (edge["source_id"] for edge in told["edges"])
    status, merged = await send(rest, "merge", into=ann, other=anna)
    assert (status, merged["counts"]["moved"]) == (200, 1)
    status, done = await send(rest, "correct", edge_id=told["edges"][0]["id"], restate={"target": "Cem"})
    assert (status, done["edge"]["target"]) == (200, "Cem")


@pytest.mark.parametrize(
    ("route", "payload", "field", "what"),
    [
        ("forget", {"scope": "edge", "id": 99}, "id", "edge in the dataset"),
        ("undo", {"tombstone_id": 99}, "tombstone_id", "tombstone"),
        ("purge", {"tombstone_id": 99}, "tombstone_id", "tombstone"),
        ("merge", {"into": 99, "other": 1}, "into", "entity in the dataset"),
        ("merge", {"into": 1, "other": 99}, "other", "entity in the dataset"),
        ("correct", {"edge_id": 99, "invalid_at": "2023"}, "edge_id", "edge in the dataset"),
    ],
)
async def test_a_row_that_is_not_there_is_named_by_its_field(
    rest: httpx2.AsyncClient, route: str, payload: dict[str, Any], field: str, what: str
) -> None:
    await send(rest, "remember", text="Ann knows a friend.", edges=EDGES[:1])
    status, body = await send(rest, route, **payload)
    assert (status, body["code"], body["param"]) == (404, "not_found", field)
    assert body["error"] == f"{field}: there is no such {what}"


async def test_a_person_forgets_on_the_command_line(tmp_path: Path) -> None:
    def run(*arguments: str) -> dict[str, Any]:
        command = [*arguments, "--json", "--home", str(tmp_path), "--llm", "none"]
        return json.loads(CliRunner().invoke(cli, command).stdout)

    import anyio.to_thread

    async def call(*arguments: str) -> dict[str, Any]:
        return await anyio.to_thread.run_sync(lambda: run(*arguments))

    told = await call("remember", "--edges", json.dumps(EDGES[:1]), "Ann knows one.")
    dry = await call("forget", "artifact", "--id", str(told["artifact_id"]), "--dry-run")
    assert dry["counts"]["edges"] == 1 and dry["dry_run"]
    gone = await call("forget", "artifact", "--id", str(told["artifact_id"]))
    assert len((await call("tombstones"))["tombstones"]) == 1
    assert (await call("undo", str(gone["tombstone_id"])))["counts"]["edges"] == 1
    ended = await call("correct", str(told["edges"][0]["id"]), "--invalid-at", "2090")
    assert ended["edge"]["invalid_at"].startswith("2090-12-31")


def test_the_tool_that_deletes_says_so_and_is_offered_only_on_request() -> None:
    assert "forget" not in {tool.name for tool in tools()}
    (tool,) = (tool for tool in tools("full") if tool.name == "forget")
    assert tool.annotations is not None and tool.annotations.destructive_hint
    assert "dry_run first" in (tool.description or "") and "undone" in (tool.description or "")
