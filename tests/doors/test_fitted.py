"""A result that is too long: whole items as far as they fit, and a cursor that gets every other fact."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.fitting import tokens_of
from core.query.cursor import Rest
from gligabao_mcp.mcp_door.fitted import fitted

NOW = datetime(2026, 7, 2, tzinfo=UTC)
TIME = "2026-07-01T10:00:00.123456Z"
ARGUMENTS = {"dataset": "work"}


def edge(number: int, source: int = 1, target: int = 2, words: str = "") -> dict[str, Any]:
    ends = {"source_id": source, "target_id": target, "source": f"Name {source}", "target": f"Name {target}"}
    return {"id": number, **ends, "relation": "knows", "description": words, "created_at": TIME}


def entity(number: int, words: str = "") -> dict[str, Any]:
    return {"id": number, "name": f"Name {number}", "type": "person", "description": words}


def test_what_fits_is_left_as_it_is() -> None:
    body = {"answer": "Yes.", "evidence": {"entities": [entity(1), entity(2)], "edges": [edge(1)]}}
    assert fitted(body, ARGUMENTS, 500) is body


def test_chunks_come_without_the_facts_that_stand_above_them() -> None:
    facts = {"entities": [entity(i) for i in range(1, 9)], "edges": [edge(i) for i in range(1, 9)]}
    body = {"artifact_id": 1, **facts, "chunks": [{"artifact_id": 2, "index": 0, **facts}]}
    shown = fitted(body, ARGUMENTS, tokens_of(body) - 100)
    assert shown == {"artifact_id": 1, **facts, "chunks": [{"artifact_id": 2, "index": 0}]}


def test_other_lists_get_the_room_that_facts_leave() -> None:
    messages = [{"artifact_id": i, "id": f"message {i}", "edge_ids": [i]} for i in range(1, 400)]
    body = {"kind": "episode", "entities": [], "edges": [edge(1), edge(2)], "messages": messages}
    shown = fitted(body, ARGUMENTS, 2_000)
    assert shown["edges"] == body["edges"]
    assert shown["messages"] == messages[: len(shown["messages"])]
    assert (shown["shown"], shown["total"]) == ({"messages": len(shown["messages"])}, {"messages": 399})
    assert 20 < len(shown["messages"]) < 399
    assert "cursor" not in shown, "no fact is missing"


def test_an_image_with_many_words_is_cut_between_its_blocks() -> None:
    blocks = [{"text": f"Line {i} of a long page", "role": "body"} for i in range(500)]
    shown = fitted({"artifact_id": 1, "blocks": blocks}, ARGUMENTS, 1_000)
    assert shown["total"] == {"blocks": 500}
    assert shown["blocks"] == blocks[: shown["shown"]["blocks"]]


def test_what_went_wrong_is_told_before_what_went_well_and_leaves_room_for_it() -> None:
    warnings = [f"part {i}: left out a date that can't be read" for i in range(500)]
    facts = {"entities": [], "edges": [edge(i) for i in range(1, 100)], "invalidated_edges": [*range(1, 900)]}
    shown = fitted({"artifact_id": 1, **facts, "warnings": warnings}, ARGUMENTS, 2_000)
    assert tokens_of(shown) <= 2_000
    assert shown["warnings"] == warnings[: shown["shown"]["warnings"]]
    assert 5 < len(shown["warnings"]) < 40
    assert len(shown["edges"]) > 5
    assert shown["total"] == {"warnings": 500, "edges": 99, "invalidated_edges": 899}


def test_a_run_that_is_too_long_is_shown_without_its_steps() -> None:
    facts = {"entities": [entity(1)], "edges": [edge(i) for i in range(1, 100)], "invalidated_edges": [*range(1, 900)]}
    stages = {f"stage {i}": {"status": "succeeded", "inference_ids": [*range(300)]} for i in range(9)}
    run = {"state": "succeeded", "stages": stages, "parameters": {"text_bytes": 9}, "response": facts}
    shown = fitted(run, ARGUMENTS, 1_000)
    assert tokens_of(shown) <= 1_000
    assert shown.keys() == {"state", "response", "shown", "total", "cursor"}
    assert fitted(run, ARGUMENTS, tokens_of(run) + 200) is run


def test_what_no_room_is_left_for_still_gets_on() -> None:
    facts = {"entities": [entity(1)], "edges": [edge(1)], "invalidated_edges": [*range(1, 9)]}
    shown = fitted({"note": "long " * 1_000, **facts, "warnings": ["One."]}, ARGUMENTS, 500)
    assert (shown["entities"], shown["edges"], shown["invalidated_edges"]) == ([entity(1)], [], [])
    assert Rest.read(shown["cursor"]).edges == (1,)


def test_an_answer_stays_whole_whatever_its_evidence() -> None:
    body = {"answer": "Because. " * 100, "evidence": {"entities": [], "edges": [edge(i) for i in range(1, 100)]}}
    assert fitted(body, ARGUMENTS, 1_000)["answer"] == body["answer"]


def test_the_rest_is_read_where_and_when_the_first_part_was() -> None:
    body = {"evidence": {"entities": [], "edges": [edge(i) for i in range(1, 100)]}}
    known_at = "2026-02-01T00:00:00Z"
    rest = Rest.read(fitted(body, ARGUMENTS | {"known_at": known_at}, 1_000)["cursor"])
    assert (rest.dataset, rest.known_at.isoformat()) == ("work", "2026-02-01T00:00:00+00:00")
    after = Rest.read(fitted(body, {"cursor": rest.cursor()}, 1_000)["cursor"])
    assert (after.dataset, after.known_at) == (rest.dataset, rest.known_at)


def test_a_fact_of_a_clock_that_is_ahead_is_not_lost() -> None:
    ahead = {"created_at": "2090-01-01T00:00:00Z"}
    body = {"evidence": {"entities": [], "edges": [edge(i) | ahead for i in range(1, 100)]}}
    assert Rest.read(fitted(body, ARGUMENTS, 1_000)["cursor"]).known_at.year == 2090


@pytest.mark.parametrize("limit", [500, 700, 1_000, 8_000])
def test_the_longest_names_and_the_smallest_parts_get_on_too(limit: int) -> None:
    name = "\u6f22" * 333
    everyone = [{"id": i, "name": name, "type": name, "description": name * 9} for i in range(1, 7)]
    ends = {"source": name, "target": name, "relation": name, "description": name * 9}
    edges = [edge(i, i, i + 1) | ends for i in range(1, 6)]
    seen: list[tuple[str, int]] = []
    waiting, arguments = Rest("work", NOW, tuple(range(1, 7)), tuple(range(1, 6))), ARGUMENTS
    while waiting.rows:
        rows = {"entities": [everyone[i - 1] for i in waiting.entities], "edges": [edges[i - 1] for i in waiting.edges]}
        part = fitted({"evidence": rows}, arguments, limit)
        assert tokens_of(part) <= limit
        seen += [(kind, row["id"]) for kind in ("edges", "entities") for row in part["evidence"][kind]]
        before, waiting = waiting.rows, Rest.read(part["cursor"]) if "cursor" in part else Rest("work", NOW)
        assert waiting.rows < before, "whoever follows the cursor gets on"
        arguments = {"cursor": part.get("cursor", "")}
    assert sorted(seen) == [*(("edges", i) for i in range(1, 6)), *(("entities", i) for i in range(1, 7))]


LENGTHS = st.integers(0, 60) | st.integers(0, 3_000)


@settings(max_examples=40, deadline=None)
@given(
    edges=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60), LENGTHS), max_size=100),
    entities=st.lists(LENGTHS, max_size=60),
    limit=st.integers(1_000, 8_000),
)
def test_the_parts_are_short_and_hold_every_row_once(
    edges: list[tuple[int, int, int]], entities: list[int], limit: int
) -> None:
    everyone = {i: entity(i, "word " * length) for i, length in enumerate(entities, 1)}
    facts = {i: edge(i, source, target, "word " * length) for i, (source, target, length) in enumerate(edges, 1)}
    arguments: dict[str, Any] = dict(ARGUMENTS)
    waiting = Rest("work", NOW, tuple(everyone), tuple(facts))
    seen: list[tuple[str, int]] = []
    while waiting.rows:
        rows = {"entities": [everyone[i] for i in waiting.entities], "edges": [facts[i] for i in waiting.edges]}
        part = fitted({"evidence": rows}, arguments, limit)
        assert tokens_of(part) <= limit
        shown = [(name, row["id"]) for name in ("edges", "entities") for row in part["evidence"][name]]
        assert shown, "whoever follows the cursor gets on"
        seen += shown
        arguments = {"cursor": part.get("cursor", "")}
        waiting = Rest.read(part["cursor"]) if "cursor" in part else Rest("work", NOW)
    assert sorted(seen) == sorted([*(("edges", i) for i in facts), *(("entities", i) for i in everyone)])
