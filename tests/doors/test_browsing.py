"""Seeing what is stored over REST and on the command line."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from click.testing import CliRunner

from core.core import Core
from gligabao_mcp.cli import cli
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.openapi import document
from gligabao_mcp.operations import BROWSE

pytestmark = pytest.mark.anyio

LIVES = {"source": "Alice", "target": "Berlin", "relation": "lives_in", "valid_at": "2025-01-31"}
WORKS = {"source": "Alice", "target": "Acme", "relation": "works_at", "description": "Alice works at Acme."}


async def told(rest: httpx2.AsyncClient, text: str = "Told.", *facts: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    body = {"user_id": "u1", "text": text, "edges": list(facts or (LIVES, WORKS)), **more}
    response = await rest.post("/v1/gb/remember", json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def seen(rest: httpx2.AsyncClient, path: str, status: int = 200, user_id: str = "u1", **query: Any) -> Any:
    response = await rest.get(f"/v1/gb/{path}", params={"user_id": user_id, **query})
    assert response.status_code == status, response.text
    return response.json()


# REST -----------------------------------------------------------------------------------------------------------------


async def test_every_list_and_row_has_a_route(rest: httpx2.AsyncClient) -> None:
    text = "Alice lives in Berlin\r\n\tand works at Acme. 😀"
    body = await told(rest, text, session_id="s1")
    lives, works = body["edges"]
    (dataset,) = (await seen(rest, "datasets"))["items"]
    assert (dataset["name"], dataset["artifacts"], dataset["entities"], dataset["edges"]) == ("main", 1, 3, 2)
    (session,) = (await seen(rest, "sessions"))["items"]
    assert (session["session_id"], session["artifacts"], session["edges"]) == ("s1", 1, 2)
    assert (await seen(rest, "sessions/s1"))["artifacts"]["items"][0]["id"] == body["artifact_id"]
    (listed,) = (await seen(rest, "artifacts", words="berlin acme", kind="knowledge"))["items"]
    assert (listed["excerpt"], listed["characters"]) == (text, len(text))
    artifact = await seen(rest, f"artifacts/{body['artifact_id']}")
    assert artifact["text"] == text
    assert {edge["id"] for edge in artifact["edges"]["items"]} == {lives["id"], works["id"]}
    names = [item["name"] for item in (await seen(rest, "entities", artifact_id=body["artifact_id"]))["items"]]
    assert sorted(names) == ["Acme", "Alice", "Berlin"]
    entity = await seen(rest, f"entities/{lives['source_id']}")
    assert (entity["name"], entity["edges"]["total"], entity["sessions"]) == ("Alice", 2, {"items": ["s1"], "total": 1})
    facts = await seen(rest, "edges", entity_id=lives["target_id"], live="true", as_of="2025-06-01")
    assert facts == {"items": [lives], "total": 1}
    edge = await seen(rest, f"edges/{works['id']}")
    assert edge["artifacts"]["items"][0]["excerpt"] == text
    assert edge.items() >= works.items()


async def test_ids_of_others_are_answered_as_ids_that_never_were(rest: httpx2.AsyncClient) -> None:
    """C055: to the byte."""
    body = await told(rest, session_id="s1")
    rows = {
        "artifacts": body["artifact_id"],
        "edges": body["edges"][0]["id"],
        "entities": body["edges"][0]["source_id"],
    }
    for path, row_id in rows.items():
        for whose in ("u2", "u%", "_1"):
            theirs = await rest.get(f"/v1/gb/{path}/{row_id}", params={"user_id": whose})
            missing = await rest.get(f"/v1/gb/{path}/999999", params={"user_id": whose})
            assert (theirs.status_code, theirs.content) == (404, missing.content)
            assert theirs.json()["code"] == "not_found"
    assert await seen(rest, "sessions/s1", 404, "u2") == await seen(rest, "sessions/none", 404, "u2")
    await told(rest, user_id="u2", dataset="other")
    foreign = await seen(rest, f"artifacts/{body['artifact_id']}", 404, "u2", dataset="other")
    assert foreign["error"] == "artifact_id: not found"


async def test_an_unknown_dataset_is_404_with_the_names_there_are(rest: httpx2.AsyncClient) -> None:
    """C058."""
    await told(rest, dataset="lab")
    for path in ("sessions", "artifacts", "entities", "edges", "edges/1"):
        body = await seen(rest, path, 404, dataset="lba")
        assert body["error"] == "dataset: not found; the datasets of this user are lab"
        assert (body["code"], body["param"]) == ("not_found", "dataset")


@pytest.mark.parametrize(
    ("path", "query", "error"),
    [
        ("edges", {"limit": 501}, "limit: must be at most 500"),
        ("edges", {"limit": 0}, "limit: must be at least 1"),
        ("edges", {"limit": "many"}, "limit: must be a whole number"),
        ("artifacts", {"cursor": "nonsense"}, "cursor: "),
        ("artifacts", {"cursor": "x" * 2000}, "cursor: "),
        ("artifacts", {"kind": "poem"}, "kind: must be one of "),
        ("artifacts", {"words": "x" * 200}, "words: must be at most 128 bytes"),
        ("entities", {"since": "yesterday"}, "since: must be an RFC 3339 time or a date"),
        ("entities", {"colour": "red"}, "unknown field colour"),
        ("edges", {"live": "perhaps"}, "live: must be true or false"),
        ("edges/x", {}, "edge_id: must be a whole number"),
        ("edges/0", {}, "edge_id: must be at least 1"),
        (f"edges/{2**63}", {}, f"edge_id: must be at most {2**63 - 1}"),
        ("edges", {"artifact_id": 2**70}, "artifact_id: must be at most"),
        ("edges", {"user_id": ""}, "user_id: must be 1 to 128 bytes"),
    ],
)
async def test_a_wrong_question_names_its_field(
    rest: httpx2.AsyncClient, path: str, query: dict[str, Any], error: str
) -> None:
    await told(rest)
    response = await rest.get(f"/v1/gb/{path}", params={"user_id": "u1", **query})
    assert (response.status_code, response.json()["code"]) == (400, "invalid_request")
    assert response.json()["error"].startswith(error)


async def test_filters_that_are_empty_are_not_given(rest: httpx2.AsyncClient) -> None:
    await told(rest)
    names = (
        "dataset",
        "session_id",
        "relation",
        "entity_id",
        "artifact_id",
        "live",
        "as_of",
        "since",
        "words",
        "cursor",
    )
    assert (await seen(rest, "edges", **dict.fromkeys(names, "")))["total"] == 2


@pytest.mark.parametrize("session_id", ["a/b", "a b?c#d&e=f", "100%", "Huế 😀", "%2F"])
async def test_a_session_of_any_name_has_its_address(rest: httpx2.AsyncClient, session_id: str) -> None:
    await told(rest, session_id=session_id)
    body = await seen(rest, f"sessions/{quote(session_id, safe='')}")
    assert (body["session_id"], body["artifacts"]["total"]) == (session_id, 1)
    assert (await seen(rest, "artifacts", session_id=session_id))["total"] == 1


async def test_the_cursor_goes_through_all_of_it_once_while_more_is_told(rest: httpx2.AsyncClient) -> None:
    before = [(await told(rest, f"Text {n}.", LIVES))["artifact_id"] for n in range(5)]
    found: list[int] = []
    query: dict[str, Any] = {}
    while True:
        page = await seen(rest, "artifacts", limit=2, **query)
        found += [item["id"] for item in page["items"]]
        assert page["total"] >= 5
        if "next_cursor" not in page:
            break
        query = {"cursor": page["next_cursor"]}
        await told(rest, "More.", LIVES)
    assert found == before[::-1]


async def test_facts_learned_since_a_time(rest: httpx2.AsyncClient, handle: CoreHandle) -> None:
    """C068: in the list, and in a question."""
    await told(rest, "First.", WORKS)
    core: Core = await handle.core()
    since = core.clock().isoformat()
    await told(rest, "Second.", {"source": "Bob", "target": "Oslo", "relation": "lives_in"})
    assert [fact["relation"] for fact in (await seen(rest, "edges", since=since))["items"]] == ["lives_in"]
    asked = {"user_id": "u1", "query": "Alice? Bob?", "answer": False, "since": since}
    evidence = (await rest.post("/v1/gb/query", json=asked)).json()["evidence"]
    assert [fact["relation"] for fact in evidence["edges"]] == ["lives_in"]


def test_every_route_is_described_with_its_parameters() -> None:
    paths = document()["paths"]
    for operation in BROWSE:
        described = paths[operation.path]["get"]
        assert described["summary"].endswith(".") and described["operationId"] == operation.name
        for parameter in described["parameters"]:
            assert parameter["description"] and parameter["schema"]["type"] in ("string", "integer", "boolean")
            assert parameter["schema"].get("default", 50) is not None
    kinds = {p["name"]: p["schema"] for p in paths["/v1/gb/artifacts"]["get"]["parameters"]}["kind"]
    assert {"chunk", "image", "episode"} <= set(kinds["enum"])


# The command line -----------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory of three texts."""
    monkeypatch.setenv("GLIGABAO_HOME", str(tmp_path))
    monkeypatch.setenv("GLIGABAO_LLM", "none")
    dated = {"reference_time": "2026-03-01T10:00:00Z", "session_id": "s1"}
    say("remember", "Alice lives in Berlin.", edges=[LIVES], entities=[{"name": "Alice", "type": "person"}], **dated)
    say("remember", "Alice moved to\nParis.", edges=[{**LIVES, "target": "Paris", "valid_at": "2026-02-01"}], **dated)
    say("remember", "\x1b[31mRed", edges=[WORKS], entities=[{"name": "Alice", "type": "company"}])
    return tmp_path


def say(*arguments: str, **flags: Any) -> str:
    given = [
        part
        for name, value in flags.items()
        for part in (f"--{name.replace('_', '-')}", value if isinstance(value, str) else json.dumps(value))
    ]
    result = CliRunner().invoke(cli, [*arguments, *given])
    assert result.exit_code == 0, result.output
    return result.output


def day_of(text: str) -> str:
    """The text with today's dates left out: what was stored when the test ran."""
    return re.sub(r"20\d\d-\d\d-\d\d(?= |$)", "TODAY", text, flags=re.MULTILINE)


def test_people_read_lists_as_tables(home: Path) -> None:
    assert day_of(say("datasets")) == (
        "Datasets (1)\n"
        "  dataset  artifacts  entities  facts  commits  created     last write  vectors by\n"
        "  main     3          5         3      3        TODAY  TODAY  -\n"
    )
    assert say("artifacts", session_id="s1") == (
        "Artifacts (2)\n"
        "  id   date        kind       session  text\n"
        "  [2]  2026-03-01  knowledge  s1       Alice moved to Paris.\n"
        "  [1]  2026-03-01  knowledge  s1       Alice lives in Berlin.\n"
    )
    assert "  [3]  " in say("artifacts") and "\x1b" not in say("artifacts"), "no text steers the terminal"
    assert day_of(say("sessions")).splitlines()[2].split() == ["s1", "2", "3", "2", "TODAY", "TODAY"]
    assert say("entities", type="person") == (
        "Entities (1)\n  id   name   type    description\n  [1]  Alice  person  -\n"
    )
    assert say("edges", as_of="2025-06-01", words="berlin") == (
        "Facts (1)\n  [1] Alice lives in Berlin (since 2025-01-31, until 2026-02-01, superseded; artifact 1)\n"
    )
    assert say("edges", words="nobody") == "Facts: none\n"


def test_people_go_on_to_the_next_page(home: Path) -> None:
    first = say("artifacts", limit="2")
    assert first.startswith("Artifacts (2 of 3)\n")
    cursor = first.split("--cursor ")[1].strip()
    assert [line.split()[0] for line in say("artifacts", limit="2", cursor=cursor).splitlines()[2:]] == ["[1]"]


def test_people_read_all_of_a_row(home: Path) -> None:
    artifact = say("artifact", "2")
    assert artifact.startswith("Artifact 2, knowledge\n") and "\n\nAlice moved to\nParis.\n\n" in artifact
    assert "[2] Alice lives in Paris (since 2026-02-01; artifact 2)" in artifact
    assert "\x1b" not in say("artifact", "3")
    entity = say("entity", "1")
    assert entity.startswith("[1] Alice (person)\n")
    assert "Of the same name: [4] Alice (company)" in entity and "gligabao merge --into 1 --other 4" in entity
    assert "Named in (2)" in entity and "Sessions (1)\n  s1\n" in entity
    edge = say("edge", "1")
    assert edge.startswith(
        "[1] Alice lives in Berlin (since 2025-01-31, until 2026-02-01, superseded; artifact 1)\n"
        "Its times: start stated, end reconciled.\n"
        "Closed by fact 2.\n"
    )
    assert "Stated in (1)" in edge and "What was known of it before\n  until 20" in edge
    assert say("session", "s1").startswith("Session s1, ")


def test_programs_read_the_response_of_rest(home: Path) -> None:
    body = json.loads(say("edges", "--json", "--live"))
    assert [fact["id"] for fact in body["items"]] == [3, 2]
    assert [fact["id"] for fact in json.loads(say("edges", "--json", "--no-live"))["items"]] == [1]
    assert json.loads(say("artifact", "3", "--json"))["text"] == "\x1b[31mRed"


def test_a_row_that_is_not_there_is_a_sentence(home: Path) -> None:
    missing = CliRunner().invoke(cli, ["entity", "99"])
    assert (missing.exit_code, missing.stderr) == (1, "gligabao: entity_id: not found\n")
    wrong = CliRunner().invoke(cli, ["entity", "Alice"])
    assert (wrong.exit_code, wrong.stderr) == (2, "gligabao: entity_id: must be a whole number\n")
    assert CliRunner().invoke(cli, ["entity"]).exit_code == 2


DOCUMENT = (Path(__file__).parents[2] / "docs" / "seeing.md").read_text("utf-8")


def test_the_examples_of_the_document_run(home: Path) -> None:
    say("remember", "The boats in the harbour.", edges=[LIVES], session_id="chat-1")
    (block,) = re.findall(r"```sh\n(.*?)```", DOCUMENT, re.DOTALL)
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert {line[1] for line in lines} == {operation.name for operation in BROWSE}
    for program, *arguments in lines:
        assert program == "gligabao" and "none" not in say(*arguments)


def test_the_document_tells_every_route_and_filter() -> None:
    rows = dict(re.findall(r"^\| `GET (\S+)` \| (.*)\|$", DOCUMENT, re.MULTILINE))
    assert rows.keys() == {operation.path for operation in BROWSE}
    for operation in BROWSE:
        common = {"user_id", "dataset", "limit", "cursor", *operation.path_fields}
        assert set(re.findall(r"`(\w+)`", rows[operation.path])) == operation.request.model_fields.keys() - common
