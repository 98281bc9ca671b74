"""What a model hands back: the reader takes what fits and says None where nothing does."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.answers import Usable, read_answer, read_graph, read_json, read_verdicts
from core.extraction import RawEdge, RawEntity
from core.graph import NOTHING, Verdict
from core.ports import Answer
from tests.requirements import requirement

VISITED = '{"source": "Ivo", "target": "Rome", "relation": "visited"}'
EDGE = RawEdge("Ivo", "Rome", "visited")

words = st.text(st.characters(codec="utf-8"), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)
prose = st.text(st.characters(codec="utf-8", exclude_characters='{}[]<"\\'), max_size=40)


def anything(value: object) -> object:
    return value


def only_objects(value: object) -> object:
    return cast("object", value) if isinstance(value, dict) else None


def edges(text: str) -> list[RawEdge]:
    graph = read_graph(text)
    assert graph is not None
    return graph.value[1]


# Finding the JSON


@requirement("remember.extract-json-only", "query.json-tolerated")
@pytest.mark.parametrize(
    "text",
    [
        f'{{"entities": [], "edges": [{VISITED}]}}',
        f'Based on {{travel}} notes: {{"entities":[],"edges":[{VISITED}]}}',
        f'```json\n{{"entities": [], "edges": [{VISITED}]}}\n```\nHope that helps {{:}}!',
        f'<think>{{"entities": [], "edges": []}} no, wait</think>\n{{"entities": [], "edges": [{VISITED}]}}',
        f'The user wants {{edges}}: {{"entities": [], "edges": []}}</think>{{"entities": [], "edges": [{VISITED}]}}',
        f'{{"graph": {{"entities": [], "edges": [{VISITED}]}}}}',
        f'[{{"entities": [], "edges": [{VISITED}]}}]',
        f"Here is the list: [{VISITED}]",
        f'{{"facts": [{VISITED}]}}',
        f'{{"edges": [{VISITED}]}}',
    ],
)
def test_the_answer_is_found_whatever_stands_around_it(text: str) -> None:
    assert edges(text) == [EDGE]


@given(prose, values, prose)
def test_any_object_is_found_between_any_words(before: str, value: object, after: str) -> None:
    text = before + json.dumps({"answer": value}) + after
    assert read_json(text, only_objects) == {"answer": value}


@given(st.text())
def test_no_text_is_too_odd_to_read(text: str) -> None:
    for usable in (read_graph(text), read_verdicts(text, 2, {1, 2}), read_answer(text)):
        assert usable is None or usable.left_out >= 0


@given(st.text(alphabet='{}[]",:\\u0dD8e"1 <think>/', max_size=200))
def test_no_mess_of_brackets_is_too_odd_to_read(text: str) -> None:
    found = read_json(text, anything)
    assert found is None or isinstance(found, dict | list)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 50_000, "[1," * 50_000, "9" * 5_000, "[" + "9" * 5_000 + "]"]
)
def test_a_text_without_end_is_given_up(text: str) -> None:
    assert read_graph(text) is None


def test_a_thought_that_never_ends_is_no_answer() -> None:
    assert read_graph(f'<think>maybe {{"entities": [], "edges": [{VISITED}]}}') is None


@pytest.mark.parametrize(
    "text",
    [
        '{"entities": [{"name": "Ivo"}, {"name": "Rome"}], "edges": [{"source": "Ivo", "tar',
        '{"entities": [{"name": "a "quoted" name"}], "edges": [' + VISITED + "]}",
        '{"nodes": [{"name": "Ivo"}], "links": [' + VISITED + "]}",
    ],
)
def test_a_part_of_an_answer_is_not_taken_for_the_whole(text: str) -> None:
    assert read_graph(text) is None


# Characters


@pytest.mark.parametrize(
    ("escaped", "name"),
    [
        (r"\ud83d", "\ufffd"),
        (r"\ude00 x", "\ufffd x"),
        (r"\ud83d\u0041", "\ufffdA"),
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\ud83", "\ufffd"),
        (r"caf\u00e9", "café"),
        (r"\\ud83d", r"\ud83d"),
        (r"O\'Brien", "O'Brien"),
        ("\ud83d", "\ufffd"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_a_broken_escape_costs_one_character_not_the_answer(escaped: str, name: str) -> None:
    graph = read_graph(f'{{"entities": [{{"name": "{escaped}", "type": "other"}}], "edges": []}}')
    assert graph is not None
    assert graph.value[0] == [RawEntity(name, "other")]


@given(st.text(st.characters(categories=["Cs", "Ll"]), max_size=10))
def test_no_lone_surrogate_comes_out(name: str) -> None:
    for text in (json.dumps({"answer": f"x{name}"}), json.dumps({"answer": f"x{name}"}, ensure_ascii=False)):
        answer = read_answer(text)
        assert answer is not None
        answer.value.text.encode("utf-8")


# The graph


def test_an_empty_graph_is_a_graph() -> None:
    graph = read_graph('{"entities": [], "edges": []}')
    assert graph is not None
    assert graph.value == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I can't help with that.",
        "{}",
        "[]",
        '{"memories": [{"fact": "Ivo visited Rome"}]}',
        '[{"fact": "Ivo visited Rome"}]',
        '{"entities": [], "edges": [{"subject": "Ivo", "object": "Rome"}]}',
        '{"entities": [{"label": "Ivo"}], "edges": []}',
        '{"entities": {"name": "Ivo"}}',
    ],
)
def test_what_holds_no_graph_is_no_empty_graph(text: str) -> None:
    assert read_graph(text) is None


def test_items_that_do_not_fit_are_left_out_one_by_one_and_counted() -> None:
    graph = read_graph(f'{{"entities": ["Ivo", null, {{"name": "Rome", "type": 7}}], "edges": [{VISITED}, 3, {{}}]}}')
    assert graph == Usable(([RawEntity("Ivo"), RawEntity("Rome", "7")], [EDGE]), left_out=3)


def test_dates_are_taken_as_text_and_null_in_words_is_null() -> None:
    stated = {"source": "Ola", "target": "Nord", "relation": "works_at", "valid_at": 2019, "invalid_at": "null"}
    assert edges(json.dumps({"edges": [stated]})) == [RawEdge("Ola", "Nord", "works_at", valid_at="2019")]


# The verdicts


@requirement("remember.model-flags-the-rest")
def test_verdicts_are_read_by_the_number_of_their_fact() -> None:
    first, second = (
        '{"new": 0, "duplicate_of": null, "contradicts": [5]}',
        '{"new": 1, "duplicate_of": 17, "contradicts": []}',
    )
    text = f'{{"results": [{second}, {first}]}}'
    assert read_verdicts(text, 3, {5, 17}) == Usable([Verdict(contradicts=(5,)), Verdict(17), NOTHING])


@pytest.mark.parametrize(
    "text",
    [
        '{"results": [{"new": "n0", "duplicate_of": "null", "contradicts": ["12", 99, "twelve", 12.5, true, -1]}]}',
        '{"duplicates": [{"new": 0, "old": 99}], "contradictions": ["12", -1, [1], {}, {"new": 7, "old": 12}, "x"]}',
    ],
)
def test_unknown_ids_are_dropped_one_by_one_and_counted(text: str) -> None:
    assert read_verdicts(text, 1, {11, 12}) == Usable([Verdict(contradicts=(12,))], left_out=6)


def test_the_other_spelling_is_read_as_well() -> None:
    text = '{"duplicates":[{"new":0,"old":99}],"contradictions":["12", -1]}'
    assert read_verdicts(text, 1, {11, 12}) == Usable([Verdict(contradicts=(12,))], left_out=2)


def test_a_contradiction_without_a_fact_is_dropped_where_several_could_be_meant() -> None:
    text = '{"duplicates": [{"new": 1, "old": 11}], "contradictions": [12, {"new": 0, "old": 12}]}'
    assert read_verdicts(text, 2, {11, 12}) == Usable([Verdict(contradicts=(12,)), Verdict(11)], left_out=1)


def test_a_contradiction_outweighs_a_duplicate() -> None:
    text = '[{"new": 0, "duplicate_of": 11, "contradicts": [11, 12, 11]}]'
    assert read_verdicts(text, 1, {11, 12}) == Usable([Verdict(None, (11, 12))])


@pytest.mark.parametrize(
    "text", ['{"oops": true}', "no conflicts", "{}", '{"results": [{"fact": 0}]}', '{"results": 3}']
)
def test_what_holds_no_verdict_closes_nothing(text: str) -> None:
    assert read_verdicts(text, 1, {11}) is None


def test_no_results_mean_nothing_to_do() -> None:
    assert read_verdicts('{"results": []}', 2, {11}) == Usable([NOTHING, NOTHING])


@given(values, st.sets(st.integers(), max_size=5), st.integers(0, 4))
def test_verdicts_name_only_ids_that_were_sent(value: object, ids: set[int], new: int) -> None:
    read = read_verdicts(json.dumps({"results": value}), new, ids)
    if read is not None:
        assert len(read.value) == new
        assert all({v.duplicate_of, *v.contradicts} - {None} <= ids for v in read.value)


# The answer


def test_an_answer_and_its_ids_are_read() -> None:
    text = '{"answer": " Alice works at Acme. ", "entities": [1, "2", 2.0], "edges": ["1", null, "one", 1.5, false]}'
    assert read_answer(text) == Usable(Answer("Alice works at Acme.", (1, 2, 2), (1,)), left_out=4)


def test_missing_lists_are_empty() -> None:
    assert read_answer('{"answer": 42}') == Usable(Answer("42"))


@pytest.mark.parametrize(
    "text", ['{"answer": ""}', '{"answer": "  "}', '{"answer": null}', '{"reply": "Acme"}', "Acme."]
)
def test_no_words_are_no_answer(text: str) -> None:
    assert read_answer(text) is None


def test_a_nul_does_not_come_through() -> None:
    read = read_answer(r'{"answer": "Lim\u0000oges"}')
    assert cast("Usable[Answer]", read).value.text == "Limoges"
