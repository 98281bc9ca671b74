"""Export and import over HTTP and on the command line."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result
from starlette.types import Message

from core.config import Config
from core.export.formats import FORMATS
from gligabao_mcp.cli import cli
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.http import create_app
from gligabao_mcp.openapi import document
from storage.database import Database
from tests.doors.conftest import http_client

EDGES = [{"source": "Alice", "target": "Berlin", "relation": "lives in", "valid_at": "2025-01-31"}]
TOLD = {"user_id": "u1", "text": "Alice lives in Berlin.", "edges": EDGES}
ASKED = {"user_id": "u1"}

pytestmark = pytest.mark.anyio


async def tell(rest: httpx2.AsyncClient, **more: Any) -> None:
    assert (await rest.post("/v1/gb/remember", json=TOLD | more)).status_code == 200


@pytest.mark.parametrize("format", FORMATS)
async def test_every_format_is_a_download_of_its_media_type(rest: httpx2.AsyncClient, format: str) -> None:
    await tell(rest, dataset="Zoës Notizen")
    asked = ASKED | {"dataset": "Zoës Notizen", "format": format}
    got = await rest.get("/v1/gb/export", params=asked)
    assert got.status_code == 200 and "content-length" not in got.headers
    assert got.headers["content-type"] == next(f.media_type for name, f in FORMATS.items() if name == format)
    shown = got.headers["content-disposition"]
    assert shown.startswith('attachment; filename="Zo_s Notizen') and "filename*=UTF-8''Zo%C3%ABs%20Notizen" in shown
    kinds = document()["paths"]["/v1/gb/export"]["get"]["responses"]["200"]["content"]
    assert got.headers["content-type"] in kinds


@pytest.mark.parametrize(
    ("asked", "status", "wrong"),
    [
        ({}, 400, "user_id: is required"),
        (ASKED | {"format": "xml"}, 400, "format: must be one of"),
        (ASKED | {"include": "text,vectors"}, 400, "include"),
        (ASKED | {"base_iri": "nothing"}, 400, "base_iri: must be an absolute IRI"),
        (ASKED | {"what": "else"}, 400, "unknown field what"),
        (ASKED | {"dataset": "other"}, 404, "dataset: not found; the datasets of this user are main"),
        ({"user_id": "u2"}, 404, "dataset: not found; this user has none yet"),
    ],
)
async def test_what_cannot_be_exported_is_said_before_anything_is_sent(
    rest: httpx2.AsyncClient, asked: dict[str, str], status: int, wrong: str
) -> None:
    await tell(rest)
    refused = await rest.get("/v1/gb/export", params=asked)
    assert refused.status_code == status and wrong in refused.json()["error"]


async def test_an_export_is_imported_over_http(rest: httpx2.AsyncClient) -> None:
    await tell(rest)
    first = (await rest.get("/v1/gb/export", params=ASKED | {"format": "jsonl", "include": "text"})).content

    async def in_pieces() -> AsyncGenerator[bytes]:
        for start in range(0, len(first), 100):
            yield first[start : start + 100]

    taken = await rest.post("/v1/gb/import", params=ASKED | {"dataset": "two"}, content=in_pieces())
    assert taken.json() == {
        "dataset": "two",
        "added": {"artifacts": 1, "entities": 2, "edges": 1},
        "merged": {},
        "pending_vectors": 3,
    }
    assert (await rest.get("/v1/gb/export", params=ASKED | {"dataset": "two"})).status_code == 200


async def test_a_broken_document_is_400_and_stores_nothing(rest: httpx2.AsyncClient) -> None:
    await tell(rest)
    first = (await rest.get("/v1/gb/export", params=ASKED)).content
    refused = await rest.post("/v1/gb/import", params=ASKED | {"dataset": "two"}, content=first[:-30])
    assert refused.status_code == 400 and refused.json()["error"].startswith("line ")
    assert (await rest.get("/v1/gb/export", params=ASKED | {"dataset": "two"})).status_code == 404


async def test_a_document_over_the_limit_is_413(handle: CoreHandle, settings: Config) -> None:
    limited = settings.model_copy(update={"max_import_bytes": 100})
    async with http_client(handle, limited) as rest:
        refused = await rest.post("/v1/gb/import", params=ASKED, content=b" " * 101)
        assert refused.status_code == 413 and "100 bytes" in refused.json()["error"]


async def call(handle: CoreHandle, settings: Config, sent: list[Message], *, until: int) -> None:
    """One export, by a client that goes away once it has received `until` messages."""
    app = create_app(handle, settings)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if len(sent) >= until:
            raise OSError("gone")
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "path": "/v1/gb/export",
        "raw_path": b"/v1/gb/export",
        "root_path": "",
        "scheme": "http",
        "query_string": b"user_id=u1",
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 7878),
    }
    await app(scope, receive, send)


@pytest.fixture
def snapshots(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The connections that exports were given."""
    given: list[Any] = []
    open_snapshot = Database.open_snapshot

    def watched(database: Database) -> Any:
        given.append(open_snapshot(database))
        return given[-1]

    monkeypatch.setattr(Database, "open_snapshot", watched)
    return given


async def test_a_reader_that_goes_away_gives_the_snapshot_back(
    handle: CoreHandle, settings: Config, snapshots: list[Any]
) -> None:
    async with http_client(handle, settings) as rest:
        await tell(rest)
        for until in (0, 1):
            await call(handle, settings, [], until=until)
    assert len(snapshots) == 2 and all(connection.closed for connection in snapshots)


async def test_a_failure_in_the_middle_breaks_the_connection_off(
    handle: CoreHandle, settings: Config, snapshots: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No message ends the body, so that no client takes what it got for the whole."""
    from core.export import formats

    def failing(*_: object) -> Iterator[bytes]:
        yield b'{"format":"gligabao-graph"'
        raise OSError("the disk is gone")

    monkeypatch.setattr(formats, "pieces", failing)
    sent: list[Message] = []
    async with http_client(handle, settings) as rest:
        await tell(rest)
        with pytest.raises(RuntimeError, match="broke off"):
            await call(handle, settings, sent, until=100)
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert all(message.get("more_body", True) for message in sent)
    assert all(connection.closed for connection in snapshots)


# The command line -----------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLIGABAO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GLIGABAO_LLM", "none")
    assert run("remember", "Alice lives in Berlin.", "--edges", json.dumps(EDGES)).exit_code == 0
    return tmp_path


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(cli, arguments, input=stdin)


def test_a_document_goes_to_stdout_or_to_a_file(home: Path) -> None:
    shown = run("export", "--include", "text")
    assert json.loads(shown.stdout)["artifacts"][0]["text"] == "Alice lives in Berlin."
    assert run("export", "--include", "text", "--output", str(home / "graph.json")).exit_code == 0
    assert (home / "graph.json").read_bytes() == shown.stdout_bytes
    assert (
        b"<https://example.org/entity/1>"
        in run("export", "--format", "turtle", "--base-iri", "https://example.org/").stdout_bytes
    )


def test_notes_and_tables_go_into_a_folder_or_an_archive(home: Path) -> None:
    assert run("export", "--format", "markdown", "--output", str(home / "notes")).exit_code == 0
    assert sorted(path.name for path in (home / "notes").iterdir()) == ["Alice.md", "Berlin.md"]
    again = run("export", "--format", "markdown", "--output", str(home / "notes"))
    assert again.exit_code == 2 and "name a new or an empty folder" in again.output
    assert run("export", "--format", "csv", "--output", str(home / "tables.zip")).exit_code == 0
    archive = zipfile.ZipFile(io.BytesIO((home / "tables.zip").read_bytes()))
    assert archive.namelist() == ["nodes.csv", "facts.csv"]
    assert run("export", "--format", "csv").exit_code == 2


def test_an_export_that_fails_leaves_no_file(home: Path) -> None:
    assert run("export", "--dataset", "other", "--output", str(home / "graph.json")).exit_code == 1
    assert [path.name for path in home.iterdir()] == ["home"]


def test_a_file_or_stdin_is_imported(home: Path) -> None:
    body = run("export").stdout_bytes
    (home / "graph.json").write_bytes(body)
    shown = run("import", str(home / "graph.json"), "--dataset", "two")
    assert shown.output == "Imported into two: 1 artifact, 2 entities, 1 fact.\n"
    assert "There already: 1 artifact, 2 entities, 1 fact." in run("import", "-", stdin=body).output
    assert json.loads(run("import", "-", "--json", "--dataset", "three", stdin=body).output)["added"]["edges"] == 1
    wrong = run("import", "-", stdin=body[:-40])
    assert wrong.exit_code == 2 and "line " in wrong.output
    assert run("import", str(home / "nothing.json")).exit_code == 2
