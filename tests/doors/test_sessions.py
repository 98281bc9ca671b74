"""Which conversation a call belongs to, as real clients of both eras see it over real pipes and ports."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from core.browse.artifacts import ArtifactRequest, artifact
from core.config import Config
from gligabao_mcp.wiring import open_core
from tests.handshake import content_of, shake_hands
from tests.processes import launch, served

pytestmark = pytest.mark.anyio

Era = Literal["legacy", "auto"]
Transport = Literal["stdio", "http"]

EDGE = {"source": "Alice", "target": "Paris", "relation": "lives in"}
TOLD: dict[str, Any] = {"text": "Alice lives in Paris.", "edges": [EDGE]}
ASKED: dict[str, Any] = {"query": "Where does Alice live?", "answer": False}
CODEX = types.Implementation(name="codex-mcp-client", version="1")
OTHER = types.Implementation(name="some-editor", version="1")


@dataclass(frozen=True)
class Place:
    """Clients of one era, over one transport, on one memory. `url`: the server they share over HTTP; over stdio each
    starts its own."""

    home: Path
    era: Era
    url: str | None = None

    @asynccontextmanager
    async def client(
        self,
        environment: Mapping[str, str] = {},
        *,
        headers: Mapping[str, str] = {},
        info: types.Implementation | None = None,
    ) -> AsyncGenerator[Client]:
        """A connection: over HTTP with these headers, over stdio with this environment."""
        async with AsyncExitStack() as stack:
            if self.url is None:
                server = launch(self.home, **environment)
            else:
                http = await stack.enter_async_context(httpx2.AsyncClient(headers=dict(headers), timeout=30))
                server = streamable_http_client(f"{self.url}/v1/gb/mcp", http_client=http)
            yield await stack.enter_async_context(Client(server, mode=self.era, client_info=info))


@contextmanager
def place(home: Path, transport: Transport, era: Era, environment: Mapping[str, str]) -> Generator[Place]:
    if transport == "stdio":
        yield Place(home, era)
    else:
        with served(home, **environment) as (url, _):
            yield Place(home, era, url)


@pytest.fixture(params=["legacy", "auto"])
def era(request: pytest.FixtureRequest) -> Era:
    return request.param


@pytest.fixture(params=["stdio", "http"])
def transport(request: pytest.FixtureRequest) -> Transport:
    return request.param


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One memory for all tests that need no settings of their own: starts are what costs time."""
    return tmp_path_factory.mktemp("memory")


@pytest.fixture(scope="module")
def url(home: Path) -> Generator[str]:
    with served(home) as (url, _):
        yield url


@pytest.fixture
def here(request: pytest.FixtureRequest, home: Path, transport: Transport, era: Era) -> Place:
    return Place(home, era, request.getfixturevalue("url") if transport == "http" else None)


async def session(client: Client, meta: Mapping[str, Any] | None = None, **arguments: Any) -> tuple[str, str]:
    """The session that a text is stored under, and where it was read."""
    return _session(await client.call_tool("remember", {**TOLD, **arguments}, meta=_meta(meta)))


async def asked_in(client: Client, meta: Mapping[str, Any] | None = None, **arguments: Any) -> tuple[str, str]:
    return _session(await client.call_tool("query", {**ASKED, **arguments}, meta=_meta(meta)))


def _meta(meta: Mapping[str, Any] | None) -> Any:
    return dict(meta) if meta else None


def _session(result: types.CallToolResult) -> tuple[str, str]:
    assert not result.is_error, result.content
    body = result.structured_content
    return body.get("session_id", ""), body["session_source"]


async def error(client: Client, **arguments: Any) -> str:
    result = await client.call_tool("query", {**ASKED, **arguments})
    assert result.is_error
    return result.structured_content["error"]


async def test_what_names_a_conversation_when_nobody_does(here: Place, transport: Transport, era: Era) -> None:
    """The table of signals: stable within a conversation, different between two where a signal differs."""
    async with here.client() as client:
        first = [await session(client), await session(client), await asked_in(client)]
    async with here.client() as client:
        second = [await session(client), await session(client), await asked_in(client)]
    sources = {("stdio", "legacy"): "process", ("stdio", "auto"): "process", ("http", "legacy"): "connection"}
    if source := sources.get((transport, era)):
        prefix = {"process": "stdio:", "connection": "mcp:"}[source]
        assert {said for _, said in first + second} == {source}
        assert all(name.startswith(prefix) for name, _ in first + second)
        assert (len(set(first)), len(set(second)), len({*first, *second})) == (1, 1, 2)
        return
    assert [said for _, said in first + second] == ["minted", "minted", "none"] * 2, "nothing tells them apart"
    minted = [name for name, said in first + second if said == "minted"]
    assert len(set(minted)) == 4
    assert all(name.startswith("gbs_") for name in minted)
    async with here.client() as client:
        sent_on = [await session(client, session_id=minted[0]), await asked_in(client, session_id=minted[0])]
    assert sent_on == [(minted[0], "argument")] * 2


async def test_the_most_explicit_signal_wins(here: Place, transport: Transport, era: Era) -> None:
    meta = {"vscode.conversationId": "v1", "openai/session": "o1", "claudecode/sessionId": "c1"}
    headers = {"Gligabao-Session-Id": "from-header"}
    named = {"GLIGABAO_SESSION_ID": "from-setting", "CLAUDE_CODE_SESSION_ID": "from-environment"}
    async with here.client(named, headers=headers) as client:
        assert await session(client, meta, session_id="chat-1") == ("chat-1", "argument")
        by_host = await session(client, meta)
        plain = await session(client)
    async with here.client({"CLAUDE_CODE_SESSION_ID": "c2"}) as client:
        assert await session(client, meta) == ("vscode:v1", "meta")
        for key, known in (("vscode.conversationId", "chatgpt:o1"), ("openai/session", "claude-code:c1")):
            del meta[key]
            assert await session(client, meta) == (known, "meta")
        without = await session(client)
    if transport == "http":
        assert by_host == plain == ("from-header", "header")
        assert without[1] == ("connection" if era == "legacy" else "minted"), "its environment says nothing of callers"
    else:
        assert by_host == ("vscode:v1", "meta")
        assert plain == ("from-setting", "environment")
        assert without == ("claude-code:c2", "environment")


async def test_a_word_that_anybody_may_use_is_believed_from_its_owner_alone(here: Place) -> None:
    meta = {"threadId": "t1", "sessionId": "s1", "traceparent": "00-a-b-01"}
    async with here.client(info=CODEX) as client:
        assert await session(client, meta) == ("codex:t1", "meta")
        assert await session(client, {"x-codex-turn-metadata": {"session_id": "x1"}}) == ("codex:x1", "meta")
    async with here.client(info=OTHER) as client:
        _, source = await session(client, meta)
    assert source in ("process", "connection", "minted")


@pytest.mark.parametrize("value", ["x" * 129, "chat\n1"], ids=["129 bytes", "a new line"])
async def test_a_chosen_id_that_does_not_fit_is_refused_and_an_implicit_one_hashed(here: Place, value: str) -> None:
    async with here.client() as client:
        refusal = await error(client, session_id=value)
        assert refusal.startswith("session_id: ")
        assert value not in refusal
        known = "vscode:" + hashlib.sha256(value.encode()).hexdigest()[:32]
        assert await session(client, {"vscode.conversationId": value}) == (known, "meta")
        assert await session(client, session_id="x" * 128) == ("x" * 128, "argument")


async def test_guesses_can_be_switched_off(tmp_path: Path, transport: Transport, era: Era) -> None:
    off = {"GLIGABAO_SESSION_FALLBACK": "none"}
    with place(tmp_path, transport, era, off) as here:
        async with here.client(off) as client:
            assert (await session(client))[1] == "minted"
            assert await asked_in(client) == ("", "none")
        async with here.client({**off, "CLAUDE_CODE_SESSION_ID": "c1"}) as client:
            _, source = await session(client)
            assert source == ("environment" if transport == "stdio" else "minted")


async def test_a_setting_names_further_keys(tmp_path: Path, transport: Transport, era: Era) -> None:
    keys = {"GLIGABAO_SESSION_META_KEYS": "my.chat"}
    with place(tmp_path, transport, era, keys) as here:
        async with here.client(keys) as client:
            assert await session(client, {"my.chat": "k1"}) == ("meta:k1", "meta")
            assert await session(client, {"my.chat": "k1", "openai/session": "o1"}) == ("chatgpt:o1", "meta")


async def test_two_users_of_one_session_id_see_nothing_of_each_other(here: Place) -> None:
    async with here.client() as client:
        await session(client, session_id="s", user_id="u1")
        found = await client.call_tool("query", {**ASKED, "session_id": "s", "user_id": "u2"})
        own = await client.call_tool("query", {**ASKED, "session_id": "s", "user_id": "u1"})
    assert found.is_error or found.structured_content["evidence"]["edges"] == []
    assert len(own.structured_content["evidence"]["edges"]) == 1


async def test_the_source_is_kept_with_the_artifact(here: Place) -> None:
    calls: list[tuple[dict[str, Any], Any]] = [
        ({"session_id": "chat-1"}, None),
        ({}, {"openai/session": "o1"}),
        ({}, None),
    ]
    async with here.client() as client:
        told = [
            (await client.call_tool("remember", {**TOLD, **more}, meta=meta)).structured_content for more, meta in calls
        ]
    async with open_core(Config(home=here.home, llm="none")) as core:
        for body in told:
            kept = await artifact(core, ArtifactRequest(user_id="local", artifact_id=body["artifact_id"]))
            assert (kept.session_id, kept.session_source) == (body["session_id"], body["session_source"])


async def test_a_conversation_goes_on_after_a_restart(tmp_path: Path) -> None:
    """C098: session forgotten after a restart."""
    told = {**TOLD, "session_id": "chat-1"}
    with served(tmp_path) as (url, _):
        old = await shake_hands(url)
        assert content_of(await old.call("remember", **told))["artifact_id"] == 1
    with served(tmp_path) as (url, _):
        assert (await replace(old, url=url).call("remember", **told)).status_code == 404, "the client opens a new one"
        new = await shake_hands(url)
        assert content_of(await new.call("remember", **told))["artifact_id"] == 2
        async with httpx2.AsyncClient(base_url=url) as http:
            known = (await http.get("/v1/gb/sessions/chat-1", params={"user_id": "local"})).json()
            shown = (await http.get("/v1/gb/artifacts/1", params={"user_id": "local"})).json()
    assert known["artifacts"]["total"] == 2
    assert (shown["session_id"], shown["session_source"]) == ("chat-1", "argument")
