"""The request: its fields and their limits."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from core.ask.ask import AskRequest
from gligabao_mcp.errors import invalid
from tests.requirements import requirement

POINT = {"date": "2026-01-01", "as_of_commit_seq": 1}


def refused(**fields: Any) -> tuple[str | None, str]:
    with pytest.raises(ValidationError) as failed:
        AskRequest.model_validate({"user_id": "u", "question": "q", **fields})
    shown = invalid(failed.value, AskRequest)
    return shown.param, shown.message


@requirement(
    "ask.question",
    "ask.context",
    "ask.limit",
    "ask.today",
    "ask.anchor-limit",
    "ask.timeline-limit",
    "ask.field-out-of-limits",
)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("question", ""),
        ("question", "  "),
        ("question", "q" * 4001),
        ("context", "c" * 8001),
        ("limit", 0),
        ("limit", 1001),
        ("route", "guess"),
        ("mode", "rewrite"),
        ("as_of_commit_seq", -1),
        ("today", "tomorrow"),
        ("today", "2026-02-30"),
        ("anchor", ["https://a.test/x"] * 11),
        ("anchor", ["no iri"]),
        ("anchor", ["https://a.test/> } INSERT"]),
        ("timeline", [POINT] * 201),
        ("timeline", [{"date": "2026-01-01"}]),
        ("timeline", [{**POINT, "date": "June"}]),
        ("timeline", [{**POINT, "label": "l" * 201}]),
        ("timeline", [{**POINT, "colour": "red"}]),
    ],
)
def test_a_field_outside_its_limits_is_named_and_not_repeated(name: str, value: object) -> None:
    param, message = refused(**{name: value})
    assert param
    assert param.split("[")[0].split(".")[0] == name
    assert "INSERT" not in message
    assert "tomorrow" not in message


@requirement("ask.no-model-to-choose", "ask.unknown-field")
@pytest.mark.parametrize("name", ["model", "api_key", "run", "previous"])
def test_no_other_field_is_known_nor_a_model_or_a_key(name: str) -> None:
    param, message = refused(**{name: "x"})
    assert param == name
    assert "question, context, route, mode, limit" in message


@requirement("ask.question", "ask.context", "ask.anchor-limit", "ask.timeline-limit", "ask.limit")
def test_the_limits_themselves_are_taken() -> None:
    request = AskRequest.model_validate(
        {
            "user_id": "u",
            "question": "q" * 4000,
            "context": "c" * 8000,
            "limit": 1000,
            "anchor": ["urn:x:1"] * 10,
            "timeline": [{**POINT, "label": "l" * 200}] * 200,
            "today": "2024-02-29",
        }
    )
    assert len(request.timeline) == 200


def test_null_is_not_given() -> None:
    names = ("context", "route", "limit", "as_of_commit_seq", "today", "include_grounding", "anchor", "timeline")
    request = AskRequest.model_validate({"user_id": "u", "question": "q", **dict.fromkeys(names)})
    assert request == AskRequest(user_id="u", question="q")
    assert request.given() == {"user_id": "u"}
