"""What is stored as resources of MCP: listed, read by their URIs, and linked from facts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import AnyUrl

from core.config import Config
from core.errors import InvalidRequest
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.mcp_door.contents import SESSION_CHARACTERS, SESSION_TEXTS
from gligabao_mcp.mcp_door.links import MOST_LINKS
from gligabao_mcp.mcp_door.resources import DATASETS_LISTED, SESSIONS_LISTED
from gligabao_mcp.mcp_door.server import create_mcp_server
from gligabao_mcp.mcp_door.uris import DATASETS, Address, Kind, read_uri, uri_of
from gligabao_mcp.wiring import open_core
from tests.drawn import as_base64, drawn
from tests.processes import launch, served
from tests.wire import Wire, chat

pytestmark = pytest.mark.anyio

LIVES = {"source": "Alice", "target": "Paris", "relation": "lives_in", "valid_at": "2020-05-01T00:00:00Z"}
WORKS = {"source": "Alice", "target": "Acme", "relation": "works_at", "description": "Alice works at Acme."}


@pytest.fixture
def settings(tmp_path: Path) -> Config:
    """Settings of a memory of its own, without a model: what is told comes with its facts."""
    return Config(home=tmp_path, llm="none")


async def told(client: Client, text: str = "Alice lives in Paris.", *facts: Any, **more: Any) -> dict[str, Any]:
    result = await client.call_tool("remember", {"text": text, "edges": list(facts or (LIVES,)), **more})
    assert not result.is_error, result.content
    return result.structured_content


async def page(client: Client, uri: str) -> str:
    """The one text of a resource."""
    [content] = (await client.read_resource(uri)).contents
    assert isinstance(content, types.TextResourceContents)
    assert (content.uri, content.mime_type) == (uri, "text/markdown")
    return content.text


async def refused(client: Client, uri: str) -> types.ErrorData:
    with pytest.raises(MCPError) as error:
        await client.read_resource(uri)
    return error.value.error


# Lists ----------------------------------------------------------------------------------------------------------------


async def test_a_list_opens_no_database(client: Client, handle: CoreHandle) -> None:
    listed = await client.list_resources()
    assert ([resource.uri for resource in listed.resources], listed.next_cursor) == ([DATASETS], None)
    templates = (await client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == [
        "gligabao://{dataset}/artifacts/{id}",
        "gligabao://{dataset}/entities/{id}",
        "gligabao://{dataset}/sessions/{id}",
    ]
    assert handle.opened is None


async def test_a_memory_in_use_lists_the_newest_sessions_of_each_dataset_and_no_more(client: Client) -> None:
    for number in range(SESSIONS_LISTED + 1):
        await told(client, session_id=f"chat/{number}", dataset="büro 1")
    for number in range(DATASETS_LISTED):
        await told(client, session_id="s", dataset=f"d{number}")
    assert [session.uri for session in await sessions(client)] == [
        f"gligabao://d{number}/sessions/s" for number in reversed(range(DATASETS_LISTED))
    ]
    await told(client, session_id="chat/0", dataset="büro 1")
    listed = await sessions(client)
    [first, *rest] = listed[:SESSIONS_LISTED]
    assert first.uri == f"gligabao://b%C3%BCro%201/sessions/chat%2F{SESSIONS_LISTED}"
    assert first.name == f"chat/{SESSIONS_LISTED}"
    assert first.title and re.fullmatch(r"Session of \d{4}-\d\d-\d\d: 1 text", first.title)
    assert len(rest) == SESSIONS_LISTED - 1
    assert all([await page(client, session.uri) for session in listed])


async def sessions(client: Client) -> list[types.Resource]:
    """What is listed behind the datasets."""
    [datasets, *listed] = (await client.list_resources()).resources
    assert datasets.uri == DATASETS
    return listed


async def test_a_cursor_is_refused_where_there_is_one_page(client: Client) -> None:
    lists = (client.list_resources, client.list_resource_templates, client.list_prompts, client.list_tools)
    for listed in lists:
        with pytest.raises(MCPError) as error:
            await listed(cursor="eyJ4")
        shown = error.value.error
        assert (shown.code, shown.message) == (types.INVALID_PARAMS, "cursor: this list has one page")
        await listed(cursor="")


async def test_datasets_are_a_page(client: Client) -> None:
    assert "Nothing is stored yet." in await page(client, DATASETS)
    await told(client)
    assert "- main (texts: 1, entities: 2, facts: 1; written last 20" in await page(client, DATASETS)


# Pages ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["Alice lives in Paris.", "# Head\n\n---\n\n* [a](b) <b> `c`\r\n\tend  \n\n", "Đặng ở Huế 🎉\u2028x"]
)
async def test_a_text_stands_whole_behind_its_dates_and_its_session(client: Client, text: str) -> None:
    stated = {"session_id": "vscode:c 1", "reference_time": "2026-06-01T10:00:00Z", "dataset": "a/b"}
    body = await told(client, text, **stated)
    head, _, whole = (await page(client, uri_of("artifact", "a/b", body["artifact_id"]))).partition("\n---\n\n")
    assert whole == text
    assert "- Told as of: 2026-06-01T10:00:00Z" in head
    assert "- Session: [vscode:c 1](gligabao://a%2Fb/sessions/vscode%3Ac%201)" in head
    assert "never instructions" in head


async def test_an_entity_has_its_facts_with_dates_and_links_that_can_be_read(client: Client) -> None:
    first = await told(client)
    second = await told(client, "Alice works at Acme.", WORKS)
    shown = await page(client, uri_of("entity", "main", first["edges"][0]["source_id"]))
    assert shown.startswith("# Alice (")
    lives = f"- Alice lives in Paris (since 2020-05-01) [source {first['artifact_id']}](gligabao://main/artifacts/1)"
    assert lives in shown
    assert "- Alice works at Acme. (since " in shown
    links = re.findall(r"\]\((gligabao://[^)]+)\)", shown)
    assert {uri_of("artifact", "main", told["artifact_id"]) for told in (first, second)} == set(links)
    assert all([await page(client, link) for link in links])


async def test_an_entity_is_found_by_its_name_too(client: Client) -> None:
    body = await told(client, "Zoë lives in Paris.", LIVES | {"source": "Zoë"})
    by_id = await page(client, uri_of("entity", "main", body["edges"][0]["source_id"]))
    assert await page(client, uri_of("entity", "main", "ZOË")) == by_id
    assert (await refused(client, uri_of("entity", "main", "Bob"))).code == types.INVALID_PARAMS


async def test_a_name_of_two_things_shows_both(client: Client) -> None:
    for kind in ("person", "place"):
        await told(client, "Paris.", LIVES, entities=[{"name": "Paris", "type": kind}])
    shown = await page(client, uri_of("entity", "main", "Paris"))
    assert {"# Paris (person)", "# Paris (place)"} <= set(shown.splitlines())


async def test_a_session_shows_what_was_told_in_order(client: Client) -> None:
    texts = ["First.", "Second line.\n# no heading of ours", "Third. " * 100]
    for text in texts:
        await told(client, text, session_id="chat/1")
    await told(client, "In another one.", session_id="chat/2")
    shown = await page(client, uri_of("session", "main", "chat/1"))
    quoted = [line.removeprefix("> ") for line in shown.splitlines() if line.startswith("> ")]
    assert "\n".join(quoted) == "\n".join(texts)
    assert "# no heading of ours" not in shown.splitlines()


async def test_a_long_session_shows_the_newest_and_says_so(client: Client) -> None:
    await told(client, "x" * SESSION_CHARACTERS, session_id="s", kind="episode")
    await told(client, "Lately.", session_id="s")
    shown = await page(client, uri_of("session", "main", "s"))
    assert len(shown) < SESSION_CHARACTERS
    assert "x…\n" in shown
    assert "> Lately." in shown
    for _ in range(SESSION_TEXTS):
        await told(client, "Again.", session_id="s")
    assert f"The newest {SESSION_TEXTS} of " in await page(client, uri_of("session", "main", "s"))


async def test_an_image_has_its_words_and_where_it_is_kept_its_bytes(tmp_path: Path, wire: Wire) -> None:
    plain = Config(home=tmp_path, llm="openai", llm_base_url=f"{wire.url}/v1", llm_model="qwen3")
    kept = plain.model_copy(update={"store_images": True})
    read = {"theme": "plot", "title": "Revenue", "blocks": [{"text": "Q1", "role": "label"}], "language": "en"}
    for config, user in ((plain, "u1"), (kept, "u2")):
        wire.says(chat(json.dumps(read)))
        handle = CoreHandle(lambda config=config: open_core(config))
        async with Client(create_mcp_server(handle, config.model_copy(update={"user_id": user}))) as client:
            body = (await client.call_tool("remember", {"image": as_base64(drawn())})).structured_content
            contents = (await client.read_resource(uri_of("artifact", "main", body["artifact_id"]))).contents
        await handle.close()
        words = contents[0]
        assert isinstance(words, types.TextResourceContents) and words.text.endswith("---\n\nRevenue\nQ1")
        if config is kept:
            assert contents[1:] == [
                types.BlobResourceContents(uri=words.uri, mime_type="image/png", blob=as_base64(drawn()))
            ]
        else:
            assert contents[1:] == []


async def test_what_was_stored_makes_no_markup_of_ours(client: Client) -> None:
    evil = {"source": "Eve](x://y) [a", "target": "<b>\n# B", "relation": "said", "description": "[c](http://d)"}
    body = await told(client, "Eve.", evil)
    shown = await page(client, uri_of("entity", "main", body["edges"][0]["source_id"]))
    unescaped = re.findall(r"(?<!\\)\]\(([^)]+)\)", shown)
    assert unescaped == [uri_of("artifact", "main", body["artifact_id"])]
    assert not re.search(r"(?<!\\)<", shown)


# Links ----------------------------------------------------------------------------------------------------------------


async def test_a_query_links_each_source_once_and_not_too_many(client: Client) -> None:
    for number in range(MOST_LINKS + 2):
        fact = {"source": "Alice", "target": f"City {number}", "relation": "visited"}
        await told(client, f"Visit {number}.", fact, fact | {"relation": "liked"}, dataset="my trips")
    asked = {"query": "Alice?", "answer": False, "dataset": "my trips"}
    result = await client.call_tool("query", asked)
    links = [block for block in result.content if isinstance(block, types.ResourceLink)]
    facts = result.structured_content["evidence"]["edges"]
    sources = list(dict.fromkeys(fact["artifact_id"] for fact in facts))[:MOST_LINKS]
    assert [(link.name, link.uri) for link in links] == [
        (f"source {source}", f"gligabao://my%20trips/artifacts/{source}") for source in sources
    ]
    assert len(links) == MOST_LINKS
    assert "Visit " in await page(client, links[0].uri)
    # What Claude Code gives its model of a link; four characters are about a token.
    assert sum(len(f"[Resource link: {link.name}] {link.uri}") for link in links) / 4 < 200


async def test_what_has_no_evidence_has_no_links(client: Client) -> None:
    for tool, arguments in (("remember", {"text": "A.", "edges": [LIVES]}), ("query", {"query": "?", "answer": False})):
        result = await client.call_tool(tool, {**arguments, "dataset": None, "user_id": f"of {tool}"})
        assert [block.type for block in result.content] == ["text"]


# What is not there ----------------------------------------------------------------------------------------------------

NOT_THERE = (
    "gligabao://main/artifacts/99",
    "gligabao://main/artifacts/one",
    "gligabao://main/artifacts/-1",
    "gligabao://main/artifacts/99999999999999999999",
    "gligabao://main/entities/99",
    "gligabao://main/sessions/nobody",
    f"gligabao://main/sessions/{'s' * 129}",
    "gligabao://nowhere/artifacts/1",
    "gligabao:///artifacts/1",
    "gligabao://%00/artifacts/1",
    "gligabao://main/artifacts/1.0",
    "gligabao://main/artifacts/%201",
    "gligabao://main/entities/%00",
    "gligabao://main/sessions/%00",
    "gligabao://main/edges/1",
    "gligabao://main",
    "test://nonexistent-resource-for-conformance-testing",
    "file:///etc/passwd",
    "",
)


@pytest.mark.parametrize("uri", NOT_THERE)
async def test_what_is_not_there_is_not_found(client: Client, uri: str) -> None:
    await told(client)
    error = await refused(client, uri)
    assert (error.code, error.message, error.data) == (types.INVALID_PARAMS, "Resource not found", {"uri": uri})


async def test_what_another_user_has_is_answered_as_what_never_was(client: Client) -> None:
    """C055: to the byte."""
    body = await told(client, user_id="u2", session_id="s", dataset="theirs")
    rows: Mapping[Kind, object] = {
        "artifact": body["artifact_id"],
        "entity": body["edges"][0]["source_id"],
        "session": "s",
    }
    for kind, row in rows.items():
        for dataset in ("theirs", "main"):
            uri = uri_of(kind, dataset, str(row))
            theirs, nobody = await refused(client, uri), await refused(client, uri_of(kind, "nobody", "77"))
            assert (theirs.code, theirs.message, theirs.data) == (nobody.code, nobody.message, {"uri": uri})
    assert await sessions(client) == []


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_an_outage_is_an_error_and_no_empty_page(
    settings: Config, mode: Literal["legacy", "auto"], caplog: pytest.LogCaptureFixture
) -> None:
    secret = "/home/alice"

    def broken() -> Any:
        raise OSError(secret)

    handle = CoreHandle(broken)
    async with Client(create_mcp_server(handle, settings), mode=mode) as client:
        error = await refused(client, DATASETS)
    await handle.close()
    assert (error.code, error.message, error.data) == (types.INTERNAL_ERROR, "internal error", {"code": "internal"})
    assert secret not in caplog.text


@pytest.mark.parametrize("uri", [DATASETS, "gligabao://main/artifacts/1"])
async def test_a_memory_that_can_not_be_opened_is_no_resource_that_is_not_there(settings: Config, uri: str) -> None:
    def broken() -> Any:
        raise InvalidRequest("db: is not a database")

    handle = CoreHandle(broken)
    async with Client(create_mcp_server(handle, settings), mode="auto") as client:
        error = await refused(client, uri)
    await handle.close()
    assert (error.message, error.data) == ("db: is not a database", {"code": "invalid_request"})


# URIs -----------------------------------------------------------------------------------------------------------------

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40)


@given(st.sampled_from(["artifact", "entity", "session"]), NAMES, NAMES)
def test_every_name_can_stand_in_a_uri(kind: Kind, dataset: str, row: str) -> None:
    uri = uri_of(kind, dataset, row)
    assert re.fullmatch(r"gligabao://[!-~]+", uri)
    assert read_uri(uri) == Address(kind, dataset, row)


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("gligabao://my data/sessions/vscode:c1", Address("session", "my data", "vscode:c1")),
        ("gligabao://main/entities/Zoë", Address("entity", "main", "Zoë")),
        ("gligabao://main/entities/100%", Address("entity", "main", "100%")),
        ("gligabao://main/sessions/a%2fb", Address("session", "main", "a/b")),
        ("gligabao://main/sessions/a/b", None),
        ("gligabao://main/artifacts/1/", None),
    ],
)
def test_a_uri_that_somebody_wrote_by_hand_is_read_where_it_is_clear(uri: str, address: Address | None) -> None:
    assert read_uri(uri) == address


@given(NAMES)
def test_clients_that_read_uris_before_they_send_them_change_nothing(dataset: str) -> None:
    assert read_uri(str(AnyUrl(uri_of("session", dataset, "chat/1")))) == Address("session", dataset, "chat/1")


# Other transports -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("over", ["stdio", "HTTP"])
async def test_they_can_be_read_over_every_transport(tmp_path: Any, over: str, mode: Literal["legacy", "auto"]) -> None:
    if over == "stdio":
        async with Client(launch(tmp_path), mode=mode) as client:
            await _reads(client)
    else:
        with served(tmp_path) as (url, _):
            async with Client(f"{url}/v1/gb/mcp", mode=mode) as client:
                await _reads(client)


async def _reads(client: Client) -> None:
    body = await told(client, "Zoë lives in Paris.", session_id="chat/ü")
    assert (await page(client, uri_of("artifact", "main", body["artifact_id"]))).endswith("Zoë lives in Paris.")
    [session] = await sessions(client)
    assert "> Zoë lives in Paris." in await page(client, session.uri)
    assert (await refused(client, "gligabao://main/artifacts/99")).code == types.INVALID_PARAMS
