"""The tools as clients call them, in both protocol eras, in memory, over stdio and over HTTP."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import anyio
import anyio.from_thread
import jsonschema
import mcp_types as types
import pytest
from anyio.lowlevel import current_token
from mcp.shared.exceptions import MCPError

from gligabao_mcp.mcp_door import tools as table
from tests import wire as api
from tests.doors.matrix import Tools, text_of
from tests.requirements import requirement
from tests.wire import Said, Slow, Wire

pytestmark = pytest.mark.anyio

LIVES = {"source": "Alice", "target": "Paris", "relation": "lives in"}
TOLD: dict[str, Any] = {"text": "Alice lives in Paris.", "edges": [LIVES]}
ASKED: dict[str, Any] = {"query": "Where does Alice live?", "answer": False}


def reads_on(body: dict[str, Any]) -> Said:
    """A model that finds no fact repeated or contradicted, and something to say of every chunk."""
    asked = body["response_format"]["json_schema"]["name"]
    replies: dict[str, Any] = {"resolve_edges": {"results": []}, "summarize_chunk": {"summary": "Some of it."}}
    return api.chat(json.dumps(replies[asked]))


# What is offered ------------------------------------------------------------------------------------------------------


@requirement("overview.mcp-tools")
async def test_a_client_lists_the_tools(tools: Tools) -> None:
    listed = (await tools.client.list_tools()).tools
    assert [tool.name for tool in listed] == ["remember", "remember_status", "query", "forget", "browse", "ask"]
    assert listed == list(table.tools("full"))


async def test_results_keep_the_schemas_that_are_listed(tools: Tools) -> None:
    schemas = {tool.name: tool.output_schema for tool in (await tools.client.list_tools()).tools}
    told = await tools.done("remember", **TOLD)
    found = await tools.done("query", **ASKED)
    run = await tools.done("remember_status", remember_run_id=told["remember_run_id"])
    listed = await tools.done("browse", what="edges")
    gone = await tools.done("forget", scope="artifact", id=told["artifact_id"], dry_run=True)
    refused = (await tools.call("query", query="")).structured_content
    for name, body in (
        *(("remember", told), ("query", found), ("remember_status", run), ("browse", listed), ("forget", gone)),
        ("query", refused),
    ):
        schema = schemas[name]
        assert schema is not None
        jsonschema.validate(body, schema)


# What each is for -----------------------------------------------------------------------------------------------------


@requirement("overview.text-becomes-facts")
async def test_what_was_told_is_found_shown_and_forgotten(tools: Tools) -> None:
    told = await tools.done("remember", **TOLD)
    (fact,) = (await tools.done("query", **ASKED))["evidence"]["edges"]
    assert (fact["source"], fact["relation"], fact["target"]) == ("Alice", "lives_in", "Paris")
    source = await tools.done("browse", what="artifacts", id=fact["artifact_id"])
    assert source["row"]["text"] == TOLD["text"]

    dry = await tools.done("forget", scope="artifact", id=told["artifact_id"], dry_run=True)
    assert dry["counts"]["edges"] == 1
    gone = await tools.done("forget", scope="artifact", id=str(told["artifact_id"]))
    assert gone["tombstone_id"]
    assert (await tools.done("query", **ASKED))["evidence"] == {"entities": [], "edges": []}


async def test_much_is_forgotten_only_when_it_is_said_again(tools: Tools) -> None:
    facts = [{**LIVES, "source": f"Person {i}", "target": f"Place {i}"} for i in range(12)]
    told = await tools.done("remember", text="Many live somewhere.", edges=facts)
    refused = await tools.call("forget", scope="artifact", id=told["artifact_id"])
    assert refused.structured_content["code"] == "confirmation_required"
    confirm = refused.structured_content["confirm"]
    gone = await tools.done("forget", scope="artifact", id=told["artifact_id"], confirm=confirm)
    assert gone["counts"]["edges"] == 12


@requirement("runlog.read")
async def test_a_call_that_does_not_wait_can_be_followed(tools: Tools) -> None:
    kept = await tools.done("remember", **TOLD, wait=False)
    assert kept["state"] == "queued"
    run: dict[str, Any] = {"state": "queued"}
    with anyio.fail_after(30):
        while run["state"] != "succeeded":
            run = await tools.done("remember_status", remember_run_id=kept["remember_run_id"])
    assert run["response"]["edges"][0]["relation"] == "lives_in"


# Arguments ------------------------------------------------------------------------------------------------------------


async def test_an_unknown_tool_is_an_error_of_the_protocol(tools: Tools) -> None:
    with pytest.raises(MCPError) as refused:
        await tools.client.call_tool("forget\neverything\x1b[2J" + "x" * 5_000, {})
    shown = refused.value.error
    assert shown.code == types.INVALID_PARAMS
    assert shown.message == "Unknown tool; the tools are remember, remember_status, query, forget, browse, ask"


async def test_an_unknown_argument_is_named_with_those_that_there_are(tools: Tools) -> None:
    said = await tools.refused("query", query="A?", sesion_id="s")
    assert said == (
        "unknown field sesion_id; the fields are query, session_id, as_of, answer, cursor, dataset "
        "(did you mean session_id?)"
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("remember", {"text": "x", "kind": "hearsay"}, "kind: must be knowledge or episode"),
        ("remember", {"text": "x", "edges": "Alice lives in Paris"}, "edges: must be a list"),
        ("remember", {"text": "x", "edges": [["hearsay"]]}, "edges[0]: must be an object"),
        (
            "remember",
            {"text": "x", "edges": [{**LIVES, "since": "hearsay"}]},
            "edges[0].since: is not known here; the fields are source, target, relation, description, valid_at, ",
        ),
        ("remember", {"text": "x", "models": '["hearsay"]'}, "models: must be an object from a stage to a model name"),
        ("query", {"query": "A?", "answer": "hearsay"}, "answer: must be true or false"),
        ("query", {"query": "A?", "session_id": ["hearsay"]}, "session_id: must be a string"),
        ("query", {"query": "A?", "session_id": 5}, "session_id: must be a string"),
        ("query", {"query": "A?", "session_id": {"a": 1}}, "session_id: must be a string"),
        ("query", {"query": "A?", "session_id": 0}, "session_id: must be a string"),
        ("query", {"query": "A?", "user_id": []}, "user_id: must be a string"),
        ("query", {"query": "A?", "cursor": "hearsay"}, "cursor: is no cursor of a result"),
        (
            "browse",
            {"what": "hearsay"},
            "what: must be one of 'datasets', 'sessions', 'artifacts', 'entities' or 'edges'",
        ),
        ("browse", {"what": "edges", "id": "hearsay"}, "id: must be a number with what edges"),
        ("browse", {"what": "edges", "limit": 0}, "limit: must be at least 1"),
        ("browse", {"what": "sessions", "words": "hearsay"}, "words: can't be given with what sessions"),
        ("browse", {"what": "edges", "id": 1, "words": "hearsay"}, "words: can't be given with id"),
        ("forget", {"scope": "hearsay"}, "scope: must be one of 'artifact', 'entity', 'edge', 'session', 'run', "),
        ("remember_status", {"remember_run_id": "hearsay"}, "remember_run_id: must be a whole number"),
        ("remember_status", {"remember_run_id": "9" * 5_000}, "remember_run_id: must be a whole number"),
        ("remember_status", {"remember_run_id": 1.5}, "remember_run_id: must be a whole number"),
        ("remember_status", {"remember_run_id": True}, "remember_run_id: must be a whole number"),
        ("browse", {"what": "edges", "entity_id": True}, "entity_id: must be a whole number"),
        ("browse", {"what": "edges", "limit": True}, "limit: must be a whole number"),
        ("browse", {"what": "edges", "id": 1, "offset": False}, "offset: must be a whole number"),
        ("forget", {"scope": "edge", "id": [1]}, "id: must be a string"),
        ("forget", {"scope": "dataset", "dataset": "hearsay"}, "dataset: not found"),
        ("remember_status", {}, "remember_run_id: is required"),
    ],
)
async def test_a_wrong_argument_is_one_line_that_names_it_and_repeats_nothing(
    tools: Tools, tool: str, arguments: dict[str, Any], said: str
) -> None:
    line = await tools.refused(tool, **arguments)
    assert line.startswith(said)
    assert "hearsay" not in line


async def test_lists_objects_numbers_and_flags_are_read_from_strings(tools: Tools, wire: Wire) -> None:
    """C095: lists as strings."""
    wire.says(api.chat(json.dumps({"entities": [], "edges": []}), model="m"))
    await tools.done("remember", text="x", models='{"extract_graph":"m"}', dataset=None, session_id=None)
    assert wire.bodies[0]["model"] == "m"

    as_list = await tools.done("remember", text="Alice lives in Paris.", edges=json.dumps([LIVES]))
    inside = await tools.done("remember", text="Again.", edges=[json.dumps(LIVES)], entities="[]")
    twice = await tools.done("remember", text="Once more.", edges=json.dumps([json.dumps(LIVES)]))
    assert as_list["edges"] == inside["edges"] == twice["edges"]
    assert as_list["edges"][0]["relation"] == "lives_in"

    assert (await tools.done("browse", what="artifacts", limit="2"))["shown"] == 2
    assert "answer" not in await tools.done("query", query="Alice?", answer="false")


async def test_null_is_not_given_also_inside_a_fact(tools: Tools) -> None:
    fact = {**LIVES, "description": None, "valid_at": None}
    told = await tools.done("remember", text="Alice lives in Paris.", edges=[fact], kind=None, reference_time=None)
    assert told["edges"][0]["relation"] == "lives_in"


async def test_a_text_that_is_json_stays_a_text(tools: Tools) -> None:
    text = '["Alice", {"lives": "in Paris"}]'
    told = await tools.done("remember", text=text, edges=[LIVES])
    assert (await tools.done("browse", what="artifacts", id=told["artifact_id"]))["row"]["text"] == text


async def test_fields_that_are_not_listed_are_taken_all_the_same(tools: Tools) -> None:
    found = await tools.done("query", **ASKED, retrieval="keyword", reasoning="low", user_id="nobody")
    assert found["evidence"] == {"entities": [], "edges": []}


# Conversations --------------------------------------------------------------------------------------------------------


async def test_a_session_is_told_and_can_be_sent_on(tools: Tools) -> None:
    told = await tools.done("remember", **TOLD)
    assert told["session_source"] == tools.way.session_source
    asked = await tools.done("query", **ASKED, session_id=told["session_id"])
    assert (asked["session_id"], asked["session_source"]) == (told["session_id"], "argument")
    without = await tools.done("query", **ASKED)
    known = tools.way.session_source != "minted"
    assert (without.get("session_id"), without["session_source"]) == (
        (told["session_id"], tools.way.session_source) if known else (None, "none")
    )


async def test_the_host_names_the_conversation(tools: Tools) -> None:
    told = await replace(tools, meta={"vscode.conversationId": "c1", "threadId": "t1"}).done("remember", **TOLD)
    assert (told["session_id"], told["session_source"]) == ("vscode:c1", "meta")
    other = await replace(tools, meta={"threadId": "t1"}).done("remember", **TOLD)
    assert other["session_source"] == tools.way.session_source, "threadId is a word that anybody may use"


async def test_a_run_tells_the_session_it_was_told_in_and_not_where_this_call_was_made(tools: Tools) -> None:
    told = await tools.done("remember", **TOLD, session_id="s1")
    run = await tools.done("remember_status", remember_run_id=told["remember_run_id"])
    assert run["session_id"] == "s1"
    assert "session_source" not in run


# Failures and calls that are given up ---------------------------------------------------------------------------------


async def test_a_failing_model_is_an_error_that_says_so(tools: Tools, wire: Wire) -> None:
    await tools.done("remember", **TOLD)
    wire.always(api.openai_error(529, "overloaded"))
    result = await tools.call("query", query="Where does Alice live?")
    assert result.structured_content["code"] == "upstream_overloaded"
    assert "overloaded" in text_of(result)


async def test_calls_that_are_given_up_leave_the_server_fit(tools: Tools, wire: Wire) -> None:
    """C097: cancel and hang up."""
    await tools.done("remember", **TOLD)
    loop = current_token()
    for _ in range(5):
        asked = anyio.Event()

        def answer(_body: dict[str, Any], asked: anyio.Event = asked) -> Said:
            anyio.from_thread.run_sync(asked.set, token=loop)
            return api.chat("too late")

        wire.says(answer)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: tools.call("query", query="Where does Alice live?"))
            await asked.wait()
            tasks.cancel_scope.cancel()
    # For whoever asks: the server may still be at work on a call that was given up.
    wire.always(api.chat(json.dumps({"answer": "In Paris.", "entities": [], "edges": []})))
    assert (await tools.done("query", query="Where does Alice live?"))["answer"] == "In Paris."


async def test_a_remember_that_the_client_gave_up_is_stored_once_even_when_it_repeats(tools: Tools, wire: Wire) -> None:
    """C092: longer than the client waits."""
    slow = Slow(api.chat(json.dumps({"entities": [], "edges": []})))
    wire.says(slow)
    arguments = {"text": "Alice lives in Paris.", "session_id": "s"}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: tools.call("remember", **arguments))
        await anyio.to_thread.run_sync(slow.asked.wait)
        tasks.cancel_scope.cancel()
    slow.let()
    repeated = await tools.done("remember", **arguments)
    assert len(wire.asked) == 1, "the repeated call joined the one that was still running"
    (stored,) = (await tools.done("browse", what="artifacts"))["items"]
    assert stored["id"] == repeated["artifact_id"]


async def test_many_calls_at_once_are_all_answered(tools: Tools, wire: Wire) -> None:
    """C070: parallel tool calls in one turn."""
    wire.always(reads_on)
    people = [f"Person {i}" for i in range(8)]
    answers: dict[str, dict[str, Any]] = {}

    async def tell(name: str) -> None:
        fact = {**LIVES, "source": name}
        answers[name] = await tools.done("remember", text=f"{name} lives in Paris.", edges=[fact])

    async with anyio.create_task_group() as tasks:
        for name in people:
            tasks.start_soon(tell, name)
        for _ in range(4):
            tasks.start_soon(lambda: tools.done("query", **ASKED))
    assert {answer["edges"][0]["source"] for answer in answers.values()} == {*people}
    found = await tools.done("browse", what="edges")
    assert sorted(edge["source"] for edge in found["items"]) == people
    assert len({edge["target_id"] for edge in found["items"]}) == 1, "one Paris"
    assert (await tools.done("browse", what="artifacts"))["total"] == 8
