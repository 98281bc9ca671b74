"""Prompts that a person picks in a host, and the completion of what that person types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from core.config import Config
from gligabao_mcp.mcp_door import completions
from gligabao_mcp.mcp_door.completions import MOST_VALUES
from gligabao_mcp.mcp_door.prompts import MAX_ARGUMENT

pytestmark = pytest.mark.anyio

ENTITIES = "gligabao://{dataset}/entities/{id}"
SESSIONS = "gligabao://{dataset}/sessions/{id}"
ARTIFACTS = "gligabao://{dataset}/artifacts/{id}"


@pytest.fixture
def settings(tmp_path: Path) -> Config:
    """Settings of a memory of its own, without a model: what is told comes with its facts."""
    return Config(home=tmp_path, llm="none")


# Prompts --------------------------------------------------------------------------------------------------------------


async def prompted(client: Client, name: str, **arguments: str) -> str:
    [message] = (await client.get_prompt(name, arguments)).messages
    assert message.role == "user"
    assert isinstance(message.content, types.TextContent)
    return message.content.text


async def test_two_prompts_are_offered(client: Client) -> None:
    """C103: a prompt is offered too."""
    recall, remember = (await client.list_prompts()).prompts
    assert (recall.name, remember.name) == ("recall", "remember_this_conversation")
    assert [(a.name, a.required) for a in recall.arguments or []] == [("topic", True)]
    assert [(a.name, a.required) for a in remember.arguments or []] == [("focus", False)]


async def test_recall_has_the_model_ask_before_it_answers(client: Client) -> None:
    text = await prompted(client, "recall", topic="the move to {topic}")
    assert text.startswith("Before you answer, call the query tool")
    assert text.endswith("Topic: the move to {topic}")
    assert {"date", "source", "artifact_id", "as_of", "unavailable", "no instructions"} <= words_of(text)


async def test_remember_this_conversation_says_what_to_store_and_what_not(client: Client) -> None:
    text = await prompted(client, "remember_this_conversation")
    assert {"full sentence", "session_id", "passwords", "remember", "Invent nothing"} <= words_of(text)
    assert "{" not in text
    focused = await prompted(client, "remember_this_conversation", focus="the move")
    assert "Only what concerns this: the move\n" in focused
    assert focused.replace(" Only what concerns this: the move", "") == text


def words_of(text: str) -> set[str]:
    known = {"date", "source", "artifact_id", "as_of", "unavailable", "no instructions", "full sentence", "session_id"}
    return {words for words in known | {"passwords", "remember", "Invent nothing"} if words in text}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("test_prompt_with_arguments", {}, "Unknown prompt; the prompts are recall, remember_this_conversation"),
        ("recall", {}, "topic: is required"),
        ("recall", {"topic": " \n"}, "topic: is required"),
        ("recall", {"topic": "Alice", "secret": "x"}, "unknown argument; the arguments are topic"),
        ("recall", {"topic": "x" * 1001}, f"topic: must be at most {MAX_ARGUMENT} characters, has 1001"),
    ],
)
async def test_a_prompt_that_can_not_be_had_is_invalid(
    client: Client, name: str, arguments: dict[str, str], message: str
) -> None:
    with pytest.raises(MCPError) as refused:
        await client.get_prompt(name, arguments)
    error = refused.value.error
    assert (error.code, error.message) == (types.INVALID_PARAMS, message)


# Completion -----------------------------------------------------------------------------------------------------------


async def told(client: Client, *names: str, **more: Any) -> None:
    entities = [{"name": name, "type": "person"} for name in names]
    result = await client.call_tool("remember", {"text": "Told.", "edges": [], "entities": entities, **more})
    assert not result.is_error, result.content


async def completed(client: Client, uri: str, name: str, typed: str, **known: str) -> types.Completion:
    ref = types.ResourceTemplateReference(type="ref/resource", uri=uri)
    result = await client.complete(ref, {"name": name, "value": typed}, context_arguments=known or None)
    return result.completion


async def topics(client: Client, typed: str, prompt: str = "recall", name: str = "topic") -> types.Completion:
    ref = types.PromptReference(type="ref/prompt", name=prompt)
    return (await client.complete(ref, {"name": name, "value": typed})).completion


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("zo", {"Zoë", "ZOO GmbH", "zorn"}),
        ("ZOË", {"Zoë"}),
        ("zoe", {"Zoë"}),
        ("  Zoo  ", {"ZOO GmbH"}),
        ("ángel", {"Angel"}),
        ("Đặ", {"Đặng"}),
        ("東", {"東京"}),
        ("%", {"%_"}),
        ("oë", set[str]()),
    ],
)
async def test_names_are_completed_whatever_their_case_and_accents(client: Client, typed: str, found: set[str]) -> None:
    await told(client, "Zoë", "ZOO GmbH", "zorn", "Angel", "Đặng", "東京", "%_", "Alice")
    for completion in (await topics(client, typed), await completed(client, ENTITIES, "id", typed)):
        assert (set(completion.values), completion.total, completion.has_more) == (found, len(found), False)


async def test_the_name_that_was_told_last_comes_first_and_each_once(client: Client) -> None:
    await told(client, "Ann", "Anna")
    await told(client, "Ann", text="Ann again.", entities=[{"name": "Ann", "type": "boat"}])
    assert (await topics(client, "")).values == ["Ann", "Anna"]


async def test_many_names_are_counted_and_the_first_hundred_shown(client: Client) -> None:
    await told(client, *(f"Name {number}" for number in range(MOST_VALUES + 5)))
    for typed in ("", "na"):
        completion = await topics(client, typed)
        assert (len(completion.values), completion.total, completion.has_more) == (MOST_VALUES, MOST_VALUES + 5, True)


async def test_a_name_that_reads_as_an_id_is_not_offered_for_a_uri(client: Client) -> None:
    await told(client, "2024", "2024 report")
    offered = await completed(client, ENTITIES, "id", "20")
    assert (offered.values, offered.total, offered.has_more) == (["2024 report"], 1, False)
    assert set((await topics(client, "20")).values) == {"2024", "2024 report"}


async def test_datasets_and_sessions_are_completed(client: Client) -> None:
    await told(client, "A", dataset="Büro/1", session_id="Chat 1")
    await told(client, "B", session_id="chat 2")
    assert (await completed(client, ARTIFACTS, "dataset", "bu")).values == ["Büro/1"]
    assert (await completed(client, SESSIONS, "dataset", "")).values == ["Büro/1", "main"]
    assert (await completed(client, SESSIONS, "id", "CHAT")).values == ["chat 2"]
    assert (await completed(client, SESSIONS, "id", "chat", dataset="Büro/1")).values == ["Chat 1"]
    assert (await completed(client, ENTITIES, "id", "a", dataset="Büro/1")).values == ["A"]
    assert (await completed(client, ENTITIES, "id", "b", dataset="Büro/1")).values == []


async def test_of_very_many_sessions_the_newest_are_looked_at_and_not_counted(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completions, "MAX_LIMIT", 2)
    for number in range(3):
        await told(client, "A", session_id=f"chat {number}")
    found = await completed(client, SESSIONS, "id", "chat")
    assert (found.values, found.total, found.has_more) == (["chat 2", "chat 1"], None, True)


async def test_what_is_not_known_has_no_values(client: Client) -> None:
    await told(client, "Alice", session_id="s")
    nothing = types.Completion(values=[], total=0, has_more=False)
    assert await topics(client, "a", prompt="test_prompt_with_arguments", name="arg1") == nothing
    assert await topics(client, "a", prompt="remember_this_conversation", name="focus") == nothing
    assert await topics(client, "a", name="other") == nothing
    assert await completed(client, "gligabao://{dataset}/edges/{id}", "id", "") == nothing
    assert await completed(client, ARTIFACTS, "id", "1") == nothing
    assert await completed(client, ENTITIES, "id", "a", dataset="nowhere") == nothing


async def test_another_users_names_are_never_offered(client: Client) -> None:
    """C055: not in completion either."""
    await told(client, "Alice", user_id="u2", dataset="theirs", session_id="s")
    await told(client, "Alan", user_id="u2")
    assert (await topics(client, "")).values == []
    assert (await completed(client, ENTITIES, "dataset", "")).values == []
    assert (await completed(client, ENTITIES, "id", "", dataset="theirs")).values == []
    assert (await completed(client, SESSIONS, "id", "", dataset="theirs")).values == []
