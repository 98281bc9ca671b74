"""Whatever a model writes as arguments is read, or refused in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from core.ask.arguments import (
    MAX_LINE,
    AnswerArguments,
    CommitForDateArguments,
    CompareArguments,
    DescribeArguments,
    FindEntitiesArguments,
    SparqlArguments,
    line_of,
    read_arguments,
    shown,
)
from core.ask.response import ToolName
from core.errors import InvalidRequest

MODELS: dict[ToolName, type[BaseModel]] = {
    "sparql": SparqlArguments,
    "compare": CompareArguments,
    "describe": DescribeArguments,
    "find_entities": FindEntitiesArguments,
    "commit_for_date": CommitForDateArguments,
}
NAMES = sorted({name for model in (*MODELS.values(), AnswerArguments) for name in model.model_fields})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
WRITTEN = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=8), VALUES, max_size=8)


@given(WRITTEN)
def test_arguments_are_read_or_refused_in_one_line(written: dict[str, Any]) -> None:
    for model in (*MODELS.values(), AnswerArguments):
        try:
            read_arguments(model, written)
        except InvalidRequest as refused:
            assert "\n" not in refused.message


@given(WRITTEN)
def test_a_step_is_shown_whatever_it_was_asked(written: dict[str, Any]) -> None:
    json.dumps(shown(written))
    for tool in MODELS:
        line = line_of(tool, written)
        assert len(line) <= MAX_LINE
        assert len(line.splitlines()) <= 1


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"text": " So. ", "citations": "urn:x:1"}, ("So.", ("urn:x:1",), None, "")),
        ({"text": "So.", "citations": None, "rationale": None, "route": "", "step": "2"}, ("So.", (), 2, "")),
        ({"text": "So.", "colour": "red", "chart": {"kind": "pie"}}, ("So.", (), None, "")),
    ],
)
def test_small_slips_of_a_model_are_forgiven(written: dict[str, Any], read: tuple[object, ...]) -> None:
    answer = read_arguments(AnswerArguments, written)
    assert (answer.text, answer.citations, answer.step, answer.rationale) == read


def test_variables_lose_their_question_mark() -> None:
    written = {"query": "q", "since": "2026-01-01", "key": ["?team", "$s", "x"], "entailment": None}
    assert read_arguments(CompareArguments, written).key == ("team", "s", "x")
