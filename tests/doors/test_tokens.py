"""Bearer tokens: who is asked for one, what one opens, and that the user comes from it, over REST and MCP alike."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from click.testing import CliRunner, Result
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from core.access import ACCESS_SCOPES, Token
from core.config import Config
from core.errors import InvalidRequest, StorageBusy
from gligabao_mcp.bearer import check_exposure
from gligabao_mcp.callers import scope_of
from gligabao_mcp.cli import cli
from gligabao_mcp.errors import TABLE
from gligabao_mcp.every_operation import EVERY
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.http import create_app
from gligabao_mcp.openapi import document
from gligabao_mcp.operation import Operation
from gligabao_mcp.serve import who_may_call
from gligabao_mcp.settings import flag
from gligabao_mcp.wiring import open_core
from tests.bearer import made, revoked
from tests.doors.conftest import failure_of, http_client
from tests.processes import served
from tests.requirements import requirement

EDGE = {"source": "Alice", "target": "Paris", "relation": "lives in"}
TOLD: dict[str, Any] = {"text": "Alice lives in Paris.", "edges": [EDGE]}
ASKED: dict[str, Any] = {"query": "Where does Alice live?", "answer": False}
METADATA = "/.well-known/oauth-protected-resource/v1/gb/mcp"
OPEN = ("/healthz", "/readyz", "/openapi.json", METADATA)
MCP_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.fixture
def guarded(settings: Config) -> Config:
    """Settings that ask for tokens, with every tool and everything for the admin."""
    return settings.model_copy(update={"tokens": "on", "tools": "full"})


@pytest.fixture
async def rest(guarded: Config) -> AsyncGenerator[httpx2.AsyncClient]:
    async with http_client(CoreHandle(lambda: open_core(guarded)), guarded) as client:
        yield client


# Who is asked ---------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@requirement("overview.no-authentication")
async def test_on_this_machine_no_request_needs_credentials(handle: CoreHandle, settings: Config) -> None:
    async with http_client(handle, settings) as client:
        assert (await client.post("/v1/gb/remember", json={"user_id": "u1", **TOLD})).status_code == 200
        found = await client.post(
            "/v1/gb/query", json={"user_id": "u1", **ASKED}, headers={"authorization": "Bearer x"}
        )
        assert found.json()["evidence"]["edges"], "and one that is shown all the same is nobody's business"
        assert (await client.get("/metrics")).status_code == 200
        assert (await client.get(METADATA)).status_code == 404


@pytest.mark.anyio
@requirement("overview.no-authentication")
@pytest.mark.parametrize(
    ("reached", "asked"),
    [
        ({}, False),
        ({"host": "localhost"}, False),
        ({"host": "::1"}, False),
        ({"tokens": "on"}, True),
        ({"host": "0.0.0.0"}, True),
        ({"host": "192.168.1.5"}, True),
        ({"host": "0.0.0.0", "insecure": True}, False),
        ({"host": "0.0.0.0", "insecure": True, "tokens": "on"}, True),
    ],
)
async def test_tokens_are_asked_for_beyond_this_machine_or_where_they_are_switched_on(
    handle: CoreHandle, settings: Config, reached: dict[str, Any], asked: bool
) -> None:
    settings = settings.model_copy(update=reached)
    check_exposure(settings)
    async with http_client(handle, settings) as client:
        response = await client.get("/v1/gb/datasets", params={"user_id": "u1"})
    assert response.status_code == (401 if asked else 200)


def test_a_server_that_would_let_strangers_in_does_not_start(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "memory.example.com"):
        with pytest.raises(InvalidRequest, match=r"^host: .* open to other machines, and tokens are off") as refusal:
            check_exposure(Config(host=host, tokens="off"))
        assert all(way in refusal.value.message for way in ("gligabao token create", "127.0.0.1", "--insecure"))
        check_exposure(Config(host=host, tokens="off", insecure=True))
    started = CliRunner().invoke(cli, ["serve", "--home", str(tmp_path), "--host", "0.0.0.0", "--tokens", "off"])
    assert (started.exit_code, started.stderr.startswith("gligabao: host: 0.0.0.0 is open")) == (2, True)


LATER = datetime(2099, 1, 1, tzinfo=UTC)
HOLDS = Token(1, "", "u1", frozenset({"read"}), None, LATER)
REVOKED, EXPIRED = replace(HOLDS, revoked_at=LATER), replace(HOLDS, expires_at=datetime(2020, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("reached", "tokens", "said"),
    [
        ({}, [], "no request needs a token: this machine alone is served"),
        ({"allowed_hosts": ("m.example.com",)}, [HOLDS], "warning: no request needs a token, and allowed_hosts"),
        ({"host": "::", "insecure": True}, [HOLDS], "warning: no request needs a token, and this address is open"),
        (
            {"host": "::"},
            [REVOKED, EXPIRED],
            "every request needs a token, and there is none yet: gligabao token create",
        ),
        ({"tokens": "on"}, [HOLDS, REVOKED], "every request needs a token; 1 of them holds "),
        ({"tokens": "on"}, [HOLDS, HOLDS], "every request needs a token; 2 of them hold "),
    ],
)
def test_a_server_says_whom_it_answers(reached: dict[str, Any], tokens: Sequence[Token], said: str) -> None:
    assert who_may_call(Config(**reached), tokens).startswith(said)


ROUTES = [
    *((operation.method, operation.path.replace("{", "").replace("}", "")) for operation in EVERY),
    *(("GET", "/v1/gb/export"), ("POST", "/v1/gb/import"), ("GET", "/metrics")),
    *((method, f"/v1/gb/mcp{slash}") for method in ("GET", "POST", "DELETE") for slash in ("", "/")),
    *(("GET", "/v1/gb/nothing"), ("GET", "/"), ("OPTIONS", "/v1/gb/query"), ("GET", "/healthz/"), ("GET", "//healthz")),
]


@pytest.mark.anyio
async def test_every_route_asks_in_the_same_words(rest: httpx2.AsyncClient, guarded: Config) -> None:
    await made(guarded)
    wrong = ("", "Bearer", "Bearer ", "Bearer gbt_wrong", "Bearer sk-1", "Basic dTE6cA==", "gbt_wrong", "Bearer gbt_é")
    for method, path in ROUTES:
        refused = await rest.request(method, path)
        assert (refused.status_code, failure_of(refused)[0]) == (401, "unauthorized"), path
        told = refused.headers["www-authenticate"]
        assert told == f'Bearer scope="read write", resource_metadata="http://127.0.0.1:7878{METADATA}"'
        for value in wrong:
            refused = await rest.request(method, path, headers=[(b"authorization", value.encode())])
            assert (refused.status_code, "wrong" in refused.text) == (401, False)
            assert refused.headers["www-authenticate"] == told.replace("Bearer ", 'Bearer error="invalid_token", ')
    for path in OPEN:
        assert (await rest.get(path)).status_code == 200


@pytest.mark.anyio
async def test_the_metadata_names_the_resource_as_it_was_called(rest: httpx2.AsyncClient, guarded: Config) -> None:
    found = (await rest.get(METADATA)).json()
    assert found["resource"] == "http://127.0.0.1:7878/v1/gb/mcp"
    assert (found["scopes_supported"], found["bearer_methods_supported"]) == (list(ACCESS_SCOPES), ["header"])
    assert (await rest.get(METADATA, headers={"host": "localhost"})).json()["resource"] == "http://localhost/v1/gb/mcp"
    public = guarded.model_copy(update={"public_url": "https://memory.example.com/"})
    async with http_client(CoreHandle(lambda: open_core(public)), public) as client:
        assert (await client.get(METADATA)).json()["resource"] == "https://memory.example.com/v1/gb/mcp"
        told = (await client.get("/v1/gb/datasets")).headers["www-authenticate"]
    assert f'resource_metadata="https://memory.example.com{METADATA}"' in told


@pytest.mark.anyio
@pytest.mark.parametrize(
    "address",
    [
        *("memory.example.com", "https://memory.example.com/path", "ftp://x", "https://"),
        *(
            "https://me:password@memory.example.com",
            'https://memory.example.com"',
            "https://memory.example.com?x",
            "https://記憶.example",
        ),
    ],
)
async def test_an_address_that_is_none_is_named(handle: CoreHandle, guarded: Config, address: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^public_url: must be an address"):
        create_app(handle, guarded.model_copy(update={"public_url": address}))


@pytest.mark.anyio
async def test_a_database_that_cannot_be_asked_is_no_wrong_token(
    rest: httpx2.AsyncClient, guarded: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await made(guarded)

    async def busy(*_: object) -> None:
        raise StorageBusy("the database is held by another process")

    monkeypatch.setattr("storage.tokens.SqlTokens.find", busy)
    refused = await rest.get("/v1/gb/datasets", headers=token)
    assert (refused.status_code, refused.json()["code"]) == (503, "storage_busy")
    assert "www-authenticate" not in refused.headers


# What a token opens ---------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_the_user_comes_from_the_token(rest: httpx2.AsyncClient, guarded: Config) -> None:
    one, two = await made(guarded), await made(guarded, "u2")
    assert (await rest.post("/v1/gb/remember", json=TOLD, headers=one)).status_code == 200
    for more in ({}, {"user_id": "u1"}, {"user_id": None}, {"user_id": ""}):
        found = await rest.post("/v1/gb/query", json={**ASKED, **more}, headers=one)
        assert len(found.json()["evidence"]["edges"]) == 1
    wrongs: list[Any] = [0, False, [], {}]
    for wrong in wrongs:
        refused = await rest.post("/v1/gb/query", json={**ASKED, "user_id": wrong}, headers=one)
        assert (refused.status_code, refused.json()["param"]) == (400, "user_id")
    assert (await rest.get("/v1/gb/artifacts", headers=one)).json()["total"] == 1
    assert b"Alice" in (await rest.get("/v1/gb/export", params={"dataset": "main"}, headers=one)).content
    assert (await rest.get("/v1/gb/artifacts", headers=two)).json()["total"] == 0
    assert (await rest.get("/v1/gb/export", params={"dataset": "main"}, headers=two)).status_code == 404


@pytest.mark.anyio
async def test_a_user_may_have_any_name_and_say_it_in_a_header(rest: httpx2.AsyncClient, guarded: Config) -> None:
    token = await made(guarded, "Đặng %_ 😀")
    header = [(b"gligabao-user-id", "Đặng %_ 😀".encode()), (b"authorization", token["authorization"].encode())]
    assert (await rest.post("/v1/gb/remember", json=TOLD, headers=header)).status_code == 200
    listed = await rest.get("/v1/gb/artifacts", params={"user_id": "Đặng %_ 😀"}, headers=token)
    assert listed.json()["total"] == 1


@pytest.mark.anyio
@pytest.mark.parametrize("named", ["u1", "nobody", "u2 ", "U2", "u2\u200b", "%"])
async def test_another_user_is_refused_and_not_repeated(rest: httpx2.AsyncClient, guarded: Config, named: str) -> None:
    one, two = await made(guarded), await made(guarded, "u2")
    assert (await rest.post("/v1/gb/remember", json=TOLD, headers=one)).status_code == 200
    raw = [(name.encode(), value.encode()) for name, value in two.items()]
    tried = [
        await rest.post("/v1/gb/query", json={"user_id": named, **ASKED}, headers=two),
        await rest.post("/v1/gb/query", json={**ASKED, "user_id\x00": named}, headers=two),
        await rest.post("/v1/gb/query", json={"user_id": "u2", **ASKED, "user_id\x00": named}, headers=two),
        await rest.post("/v1/gb/remember", json={"user_id": named, **TOLD}, headers=two),
        await rest.get("/v1/gb/artifacts", params={"user_id": named}, headers=two),
        await rest.get("/v1/gb/artifacts/1", params={"user_id": named}, headers=two),
        await rest.get("/v1/gb/export", params={"user_id": named, "dataset": "main"}, headers=two),
        await rest.post("/v1/gb/import", params={"user_id": named, "dataset": "main"}, headers=two),
        await rest.get("/v1/gb/datasets", headers=[*raw, (b"gligabao-user-id", named.encode())]),
    ]
    refusal = {"error": "user_id: is not the user of the token", "code": "forbidden", "param": "user_id"}
    # A header ends where its white space begins.
    expected = 8 if named == "u2 " else 9
    assert [(one.status_code, one.json()) for one in tried[:expected]] == [(403, refusal)] * expected


@pytest.mark.anyio
@pytest.mark.parametrize("operation", EVERY, ids=lambda operation: operation.name)
async def test_each_operation_needs_its_scope_alone(
    rest: httpx2.AsyncClient, guarded: Config, operation: Operation[Any, Any]
) -> None:
    path = operation.path.replace("{", "").replace("}", "")
    for scope in ACCESS_SCOPES:
        token = await made(guarded, scope=scope)
        content = b"{}" if operation.method in ("POST", "PUT") else None
        answer = await rest.request(operation.method, path, headers=token, content=content)
        if scope == scope_of(operation):
            assert answer.status_code not in (401, 403)
        else:
            needed = scope_of(operation)
            assert answer.status_code == 403
            assert failure_of(answer) == ("forbidden", f"the token has no scope {needed}")
            assert answer.headers["www-authenticate"] == f'Bearer error="insufficient_scope", scope="{needed}"'
    security = document()["paths"][operation.path][operation.method.lower()]["security"]
    assert security == [{}, {"token": [scope_of(operation)]}]


@pytest.mark.anyio
async def test_what_tells_of_all_users_needs_an_admin_who_reads_nobodys_memory(
    rest: httpx2.AsyncClient, guarded: Config
) -> None:
    user, admin = await made(guarded), await made(guarded, "root", "admin")
    await rest.post("/v1/gb/remember", json=TOLD, headers=user)
    runs = "/v1/gb/admin/api/remember-runs?db=gligabao&user_id=u1"
    for path in (runs, "/metrics"):
        assert (await rest.get(path, headers=user)).status_code == 403
        assert (await rest.get(path, headers=admin)).status_code == 200
    assert (await rest.get(runs, headers=admin)).json()["total"] == 1
    assert (await rest.get("/v1/gb/artifacts", headers=admin)).status_code == 403
    for method, path in (("GET", "/v1/gb/export"), ("POST", "/v1/gb/import")):
        assert (await rest.request(method, path, params={"dataset": "main"}, headers=admin)).status_code == 403


@pytest.mark.anyio
async def test_a_token_that_is_revoked_or_expired_opens_nothing_from_then_on(
    rest: httpx2.AsyncClient, guarded: Config
) -> None:
    token = await made(guarded, expires="2099-01-01")
    assert (await rest.get("/v1/gb/datasets", headers=token)).status_code == 200
    await revoked(guarded, 1)
    refused = await rest.get("/v1/gb/datasets", headers=token)
    assert (refused.status_code, refused.json()["error"]) == (401, "the token is unknown, revoked or expired")


# MCP ------------------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def mcp_client(
    url: str, headers: dict[str, str], mode: Literal["legacy", "auto"] = "auto"
) -> AsyncGenerator[Client]:
    """An MCP client that sends these headers."""
    async with AsyncExitStack() as open_until:
        http = await open_until.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=30))
        target = streamable_http_client(f"{url}/v1/gb/mcp", http_client=http)
        yield await open_until.enter_async_context(Client(target, mode=mode))


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_an_mcp_client_shows_its_token_in_a_header(tmp_path: Path, mode: Literal["legacy", "auto"]) -> None:
    config = Config(home=tmp_path)
    one, two, reader = await made(config), await made(config, "u2"), await made(config, scope="read")
    with served(tmp_path, "--tokens", "on", "--tools", "full") as (url, _):
        async with mcp_client(url, one, mode) as client:
            told = await client.call_tool("remember", TOLD)
            assert told.structured_content["artifact_id"] == 1
            other = await client.call_tool("query", {**ASKED, "user_id": "u2"})
            assert (other.is_error, other.structured_content["code"]) == (True, "forbidden")
            assert "u2" not in json.dumps(other.structured_content)
        async with mcp_client(url, reader, mode) as client:
            found = await client.call_tool("query", ASKED)
            assert len(found.structured_content["evidence"]["edges"]) == 1
            refused = await client.call_tool("remember", TOLD)
            assert refused.structured_content == {"error": "the token has no scope write", "code": "forbidden"}
        async with mcp_client(url, two, mode) as client:
            assert not (await client.call_tool("query", ASKED)).structured_content["evidence"]["edges"]
            with pytest.raises(MCPError):
                await client.read_resource("gligabao://main/artifacts/1")
        async with mcp_client(url, one, mode) as client:
            assert (await client.read_resource("gligabao://main/artifacts/1")).contents
        for headers in ({}, {"authorization": "Bearer gbt_wrong"}, {**two, "gligabao-user-id": "u1"}):
            with pytest.raises((MCPError, ExceptionGroup, httpx2.HTTPError)):
                async with mcp_client(url, headers, mode) as client:
                    await client.list_tools()


@pytest.mark.anyio
async def test_a_writers_token_reads_no_resource_and_completes_nothing(tmp_path: Path) -> None:
    writer = await made(Config(home=tmp_path), scope="write")
    with served(tmp_path, "--tokens", "on") as (url, _):
        async with mcp_client(url, writer) as client:
            assert not (await client.call_tool("remember", TOLD)).is_error
            for uri in ("gligabao://main/artifacts/1", "gligabao://datasets"):
                with pytest.raises(MCPError, match="scope read"):
                    await client.read_resource(uri)


def initialize(rest: httpx2.Client, token: dict[str, str]) -> str:
    """The transport session of a client of the handshake era."""
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    opened = rest.post("/v1/gb/mcp", json=body, headers={**MCP_HEADERS, **token})
    assert opened.status_code == 200, opened.text
    return opened.headers["mcp-session-id"]


def test_a_transport_session_belongs_to_the_token_that_opened_it(tmp_path: Path) -> None:
    import asyncio

    config = Config(home=tmp_path)
    one, two = asyncio.run(made(config)), asyncio.run(made(config, "u2"))
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with served(tmp_path, "--tokens", "on") as (url, _), httpx2.Client(base_url=url) as rest:
        session = {"mcp-session-id": initialize(rest, one)}
        theirs = rest.post("/v1/gb/mcp", json=listing, headers={**MCP_HEADERS, **session, **two})
        unknown = rest.post("/v1/gb/mcp", json=listing, headers={**MCP_HEADERS, "mcp-session-id": "f" * 32, **two})
        assert (theirs.status_code, theirs.content) == (404, unknown.content)
        assert rest.delete("/v1/gb/mcp", headers={**MCP_HEADERS, **session, **two}).status_code == 404
        assert rest.post("/v1/gb/mcp", json=listing, headers={**MCP_HEADERS, **session, **one}).status_code == 200
        asyncio.run(revoked(config, 1))
        assert rest.post("/v1/gb/mcp", json=listing, headers={**MCP_HEADERS, **session, **one}).status_code == 401


# The command line -----------------------------------------------------------------------------------------------------


def run(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["token", *arguments, "--home", str(home)])


def test_a_token_is_printed_once_listed_without_itself_and_revoked(tmp_path: Path) -> None:
    created = run(tmp_path, "create", "--user", "u1", "--name", "laptop", "--expires", "2099-01-01")
    (secret,) = created.stdout.splitlines()
    assert secret.startswith("gbt_"), "nothing else is on stdout, so that a script can take it"
    assert "not shown again" in created.stderr
    run(tmp_path, "create", "--user", "u2", "--scope", "read")
    listed = run(tmp_path, "list").stdout
    first, second = listed.splitlines()[1:]
    assert first.startswith("  Token 1 of u1 (read, write), laptop, made ")
    assert first.endswith("expires 2099-01-01 00:00 UTC")
    assert second.startswith("  Token 2 of u2 (read), made ")
    assert "revoked 20" in run(tmp_path, "revoke", "1").stdout
    body = json.loads(run(tmp_path, "list", "--json").stdout)
    assert [one.get("revoked_at") is None for one in body["tokens"]] == [False, True]
    assert all(secret[4:] not in text for text in (listed, json.dumps(body)))
    assert json.loads(run(tmp_path, "create", "--user", "u3", "--json").stdout)["token"].startswith("gbt_")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("create", "--user", ""), "user_id: must be 1 to 128 bytes"),
        (("create", "--user", "u1", "--scope", "root"), "scope: must be some of read, write, admin"),
        (("create", "--user", "caf\udce9"), "user_id: must be UTF-8"),
        (("create", "--user", "u1", "--scope", ""), "scope: must be some of read, write, admin"),
        (("create", "--user", "u1", "--expires", "soon"), "expires: must be a span such as 90d"),
        (("create", "--user", "u1", "--expires", ""), "expires: must be a span such as 90d"),
        (("create", "--user", "u1", "--expires", "0d"), "expires: must lie in the future"),
        (("revoke", "7"), "id: no token has this id"),
    ],
)
def test_what_can_not_be_done_is_a_sentence(tmp_path: Path, arguments: Sequence[str], error: str) -> None:
    done = run(tmp_path, *arguments)
    assert done.exit_code in (1, 2)
    assert done.stderr.startswith(f"gligabao: {error}")


# The document ---------------------------------------------------------------------------------------------------------

DOCUMENT = (Path(__file__).parents[2] / "docs" / "users.md").read_text("utf-8")


def test_the_commands_of_the_document_run(tmp_path: Path) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", DOCUMENT, re.DOTALL)
    lines = [shlex.split(line) for block in blocks for line in block.splitlines() if line.startswith("gligabao ")]
    home = {"GLIGABAO_HOME": str(tmp_path)}
    assert len(lines) == 5
    for _, command, *arguments in lines:
        done = CliRunner().invoke(cli, [command, *(("--help",) if command == "serve" else ()), *arguments], env=home)
        assert done.exit_code == 0, done.output


def test_the_document_tells_every_setting_scope_and_refusal() -> None:
    settings = {"host", "insecure", "tokens", "allowed_hosts", "allowed_origins", "cors_origins", "public_url"}
    for name in settings | {"rate_limit_per_minute", "max_import_bytes", "admin", "metrics"}:
        assert name in Config.model_fields and (f"`{name}`" in DOCUMENT or flag(name) in DOCUMENT)
    assert tuple(re.findall(r"^\| `(\w+)` \|", DOCUMENT, re.MULTILINE)) == ACCESS_SCOPES
    for status, code in re.findall(r"(\d{3}) `(\w+)`", DOCUMENT):
        assert TABLE[code].status == int(status)
    assert all(path in DOCUMENT for path in OPEN)
