"""Results that are too long for a model, in parts; and browse, which shows all that is stored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.fitting import tokens_of
from tests.doors.matrix import Tools
from tests.doors.test_tools import ASKED, LIVES, TOLD, reads_on
from tests.wire import Said, Wire, chat, openai_error

pytestmark = pytest.mark.anyio

LIMIT = 8_000
BROWSED = ("datasets", "sessions", "artifacts", "entities", "edges")


def hub(facts: int, *, words: int = 12) -> list[dict[str, Any]]:
    """Facts around one entity, each of some length."""
    said = "and so on " * words
    return [
        {"source": "Nora", "target": f"Friend {i}", "relation": "knows", "description": f"Nora knows {i} {said}"}
        for i in range(facts)
    ]


async def rest_of(tools: Tools, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The result and all that its cursors lead to, each no longer than a result may be."""
    bodies = [body]
    while cursor := bodies[-1].get("cursor"):
        bodies.append(await tools.done("query", query="more", cursor=cursor))
    assert all(tokens_of(part) <= LIMIT for part in bodies)
    return bodies


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


async def test_a_long_evidence_comes_in_parts_of_whole_rows(tools: Tools) -> None:
    told = await tools.done("remember", text="Nora knows many.", edges=hub(120))
    parts = await rest_of(tools, await tools.done("query", query="Nora?", answer=False))
    first, *others = parts
    edges = [edge for part in parts for edge in part["evidence"]["edges"]]
    entities = [entity for part in parts for entity in part["evidence"]["entities"]]
    assert len(others) >= 1
    assert (first["shown"]["edges"], first["total"]["edges"]) == (len(first["evidence"]["edges"]), len(edges))
    assert first["total"]["entities"] == len(entities) == len({*ids(entities)})
    assert len(edges) == len({*ids(edges)}) == 100, "as many as a question is answered from, each once"
    assert all(edge["description"].endswith("so on") for edge in edges), "none is cut inside"
    ends = {end for edge in first["evidence"]["edges"] for end in (edge["source_id"], edge["target_id"])}
    assert ends <= {*ids(first["evidence"]["entities"])}, "a fact comes with what it is about"
    assert told["artifact_id"]


async def test_the_rest_is_as_of_the_same_moment(tools: Tools, wire: Wire) -> None:
    wire.always(reads_on)
    await tools.done("remember", text="Nora knows many.", edges=hub(100))
    first = await tools.done("query", query="Nora?", answer=False)
    later = {"text": "Nora moved.", "edges": [{**LIVES, "source": "Nora"}], "entities": [{"name": "Nora", "type": "x"}]}
    await tools.done("remember", **later)
    shown = {*ids(first["evidence"]["edges"])}
    (oldest, *_) = sorted({edge["id"] for edge in (await all_edges(tools)) if edge["relation"] == "knows"} - shown)
    await tools.done("forget", scope="edge", id=oldest)
    parts = await rest_of(tools, first)
    edges = [edge for part in parts for edge in part["evidence"]["edges"]]
    assert all(edge["relation"] == "knows" for edge in edges), "what was learned after it is not there"
    assert oldest not in ids(edges), "and what was forgotten is gone"
    assert len(edges) == 99


async def all_edges(tools: Tools) -> list[dict[str, Any]]:
    """Every fact, page by page."""
    found: list[dict[str, Any]] = []
    page: dict[str, Any] = {"next_cursor": None}
    while not found or page.get("next_cursor"):
        page = await tools.done("browse", what="edges", limit=500, cursor=page["next_cursor"])
        assert page["shown"] == len(page["items"])
        assert tokens_of(page) <= LIMIT
        found += page["items"]
    assert page["total"] == len(found)
    return found


async def test_a_long_result_of_remember_comes_in_parts_too(tools: Tools) -> None:
    told = await tools.done("remember", text="Nora knows many.", edges=hub(200))
    parts = await rest_of(tools, told)
    assert told["total"]["edges"] == 200
    assert told["shown"]["edges"] == len(told["edges"]) > 20
    rest = [edge for part in parts[1:] for edge in part["evidence"]["edges"]]
    assert sorted(ids([*told["edges"], *rest])) == sorted({edge["id"] for edge in await all_edges(tools)})
    run = await tools.done("remember_status", remember_run_id=told["remember_run_id"])
    assert run["total"]["edges"] == 200
    assert tokens_of(run) <= LIMIT
    again = [edge for part in (await rest_of(tools, run))[1:] for edge in part["evidence"]["edges"]]
    assert sorted(ids([*run["response"]["edges"], *again])) == sorted(ids([*told["edges"], *rest]))


async def test_what_a_call_that_failed_half_way_had_stored_is_cut_too(tools: Tools, wire: Wire) -> None:
    def answer(body: dict[str, Any]) -> Said:
        if body["response_format"]["json_schema"]["name"] != "extract_graph":
            return reads_on(body)
        if len(wire.asked) > 4:
            return openai_error(500, "gone")
        facts = [{**fact, "target": f"{fact['target']} {len(wire.asked)}"} for fact in hub(120)]
        return chat(json.dumps({"entities": [], "edges": facts}))

    wire.always(answer)
    failed = (await tools.call("remember", text="Nora knows many. " * 2_000)).structured_content
    assert failed["error"].startswith("part ")
    assert tokens_of(failed) <= LIMIT
    assert failed["shown"]["edges"] < failed["total"]["edges"]
    stored = [edge for part in (await rest_of(tools, failed))[1:] for edge in part["evidence"]["edges"]]
    assert sorted(ids([*failed["edges"], *stored])) == sorted(ids(await all_edges(tools)))


async def test_a_cursor_shows_nothing_of_another_user(tools: Tools) -> None:
    await tools.done("remember", text="Nora knows many.", edges=hub(100))
    cursor = (await tools.done("query", query="Nora?", answer=False))["cursor"]
    other = Tools(tools.way, tools.client)
    assert (await other.refused("query", query="Nora?", cursor=cursor)).startswith("dataset: not found")
    await other.done("remember", **TOLD)
    assert (await other.done("query", query="Nora?", cursor=cursor))["evidence"] == {"entities": [], "edges": []}


async def test_the_rest_is_of_the_dataset_that_was_asked(tools: Tools) -> None:
    told = await tools.done("remember", text="Nora knows many.", edges=hub(100), dataset="office")
    first = await tools.done("query", query="Nora?", answer=False, dataset="office")
    rest = await tools.call("query", query="more", cursor=first["cursor"])
    assert {edge["artifact_id"] for edge in rest.structured_content["evidence"]["edges"]} == {told["artifact_id"]}
    assert [getattr(link, "uri", None) for link in rest.content[1:]] == [
        f"gligabao://office/artifacts/{told['artifact_id']}"
    ]


@pytest.mark.parametrize("cursor", ["x", "eJwDAAAAAAE", "AAAA", "\u00e9", "a" * 8192])
async def test_what_is_no_cursor_is_refused(tools: Tools, cursor: str) -> None:
    assert await tools.refused("query", query="A?", cursor=cursor) == "cursor: is no cursor of a result"


async def test_a_cursor_has_a_length(tools: Tools) -> None:
    assert await tools.refused("query", query="A?", cursor="a" * 8193) == "cursor: must have at most 8192 characters"


# browse ---------------------------------------------------------------------------------------------------------------


async def test_browse_shows_each_list_and_each_row(tools: Tools) -> None:
    told = await tools.done("remember", **TOLD, session_id="s1")
    lists = {what: await tools.done("browse", what=what) for what in BROWSED}
    assert {what: (page["shown"], page["total"]) for what, page in lists.items()} == {
        "datasets": (1, 1), "sessions": (1, 1), "artifacts": (1, 1), "entities": (2, 2), "edges": (1, 1)
    }  # fmt: skip
    rows = {
        what: (await tools.done("browse", what=what, id=page["items"][0].get("id", "s1")))["row"]
        for what, page in lists.items()
        if what != "datasets"
    }
    assert rows["sessions"]["artifacts"]["items"][0]["id"] == told["artifact_id"]
    assert rows["artifacts"]["text"] == TOLD["text"]
    assert rows["entities"]["edges"]["total"] == 1
    assert rows["edges"]["artifacts"]["items"][0]["excerpt"] == TOLD["text"]


async def test_browse_limits_lists(tools: Tools, wire: Wire) -> None:
    wire.always(reads_on)
    one = await tools.done("remember", **TOLD, session_id="s1")
    works = {"source": "Alice", "target": "Acme", "relation": "works at"}
    two = await tools.done("remember", text="Alice works at Acme.", edges=[works], session_id="s2")
    paris = one["edges"][0]["target_id"]
    for limits, expected in (
        ({"words": "acme works"}, ["works_at"]),
        ({"in_session": "s1"}, ["lives_in"]),
        ({"entity_id": paris}, ["lives_in"]),
        ({"artifact_id": two["artifact_id"]}, ["works_at"]),
        ({}, ["works_at", "lives_in"]),
    ):
        page = await tools.done("browse", what="edges", **limits)
        assert [edge["relation"] for edge in page["items"]] == expected, limits
    assert await tools.refused("browse", what="edges", id=10**9) == "id: not found"
    assert (await tools.refused("browse", what="edges", dataset="other")).startswith("dataset: not found; ")


async def test_browse_shows_nothing_of_another_user(tools: Tools) -> None:
    told = await tools.done("remember", **TOLD, session_id="s1")
    (edge,) = told["edges"]
    other = Tools(tools.way, tools.client)
    works = {"source": "Bob", "target": "Acme", "relation": "works at"}
    await other.done("remember", text="Bob works at Acme.", edges=[works], session_id="s2")
    for what, row in (
        ("sessions", "s1"),
        ("artifacts", told["artifact_id"]),
        ("entities", edge["source_id"]),
        ("edges", edge["id"]),
    ):
        assert await other.refused("browse", what=what, id=row) == "id: not found"
        page = await other.done("browse", what=what)
        assert row not in [item.get("id", item.get("session_id")) for item in page["items"]]
    for limit in ({"in_session": "s1"}, {"entity_id": edge["source_id"]}, {"artifact_id": told["artifact_id"]}):
        assert (await other.done("browse", what="edges", **limit))["total"] == 0


async def test_browse_leaves_no_row_out_of_a_long_list(tools: Tools) -> None:
    told = await tools.done("remember", text="Nora knows many.", edges=hub(150))
    edges = await all_edges(tools)
    assert sorted(ids(edges)) == sorted({*ids(edges)})
    assert len(edges) == 150
    nora = told["edges"][0]["source_id"]
    row = (await tools.done("browse", what="entities", id=nora))["row"]
    assert row["edges"]["total"] == 150
    assert 10 < len(row["edges"]["items"]) < 100, "as many as fit"
    page = await tools.done("browse", what="edges", entity_id=nora, cursor=row["edges"]["next_cursor"])
    assert not {*ids(page["items"])} & {*ids(row["edges"]["items"])}


async def test_a_long_text_is_read_part_by_part(tools: Tools, wire: Wire) -> None:
    wire.always(reads_on)
    text = "".join(f"Zeile {i}: \u201eschön\u201c \U0001f389\n" for i in range(1_500))
    told = await tools.done("remember", text=text, edges=[LIVES])
    parts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        row = (await tools.done("browse", what="artifacts", id=told["artifact_id"], offset=offset))["row"]
        assert tokens_of(row) <= LIMIT
        assert row.get("text_truncated", False) == ("next_offset" in row)
        parts.append(row["text"])
        offset = row.get("next_offset")
    assert len(parts) > 3
    assert "".join(parts) == text


async def test_a_fact_that_is_too_long_is_cut_and_says_so(tools: Tools) -> None:
    long = {**LIVES, "description": "Alice lives in Paris. " * 3_000}
    told = await tools.done("remember", text="Alice lives in Paris.", edges=[long])
    for body in (
        told,
        await tools.done("query", **ASKED),
        await tools.done("browse", what="edges"),
    ):
        rows = body.get("items") or body.get("evidence", body)["edges"]
        assert tokens_of(body) <= LIMIT
        assert rows[0]["text_truncated"] is True
        assert long["description"].startswith(rows[0]["description"])
    row = (await tools.done("browse", what="edges", id=told["edges"][0]["id"]))["row"]
    assert row["next_offset"] == len(row["description"]) > 10_000
