"""One table of requests, sent through every door: the same answer, the same failure, each in the door's own numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests import wire as api
from tests.doors.conftest import Door
from tests.requirements import requirement
from tests.wire import Said, Wire

pytestmark = pytest.mark.anyio

READ = {
    "entities": [
        {"name": "Alice", "type": "Person", "description": "engineer"},
        {"name": "Acme", "type": "organization", "description": ""},
    ],
    "edges": [
        {
            "source": "Alice",
            "target": "Acme",
            "relation": "works at",
            "description": "Alice works at Acme.",
            "valid_at": "2025-01-31",
            "invalid_at": None,
        }
    ],
}
GIVEN = {"edges": [{"source": "Alice", "target": "Paris", "relation": "lives in", "valid_at": "2026-03"}]}
LONG = "x" * 129


@dataclass(frozen=True)
class Case:
    """A request and what must come of it: the code, words of the error, fields of the body."""

    operation: str
    payload: Mapping[str, Any]
    code: str = "ok"
    says: str = ""
    body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    model: tuple[Said, ...] = ()


def told(**payload: Any) -> Mapping[str, Any]:
    return {"user_id": "u1", "text": "Alice lives in Paris.", **GIVEN, **payload}


def asked(**payload: Any) -> Mapping[str, Any]:
    return {"user_id": "u1", "query": "Where does Alice live?", "answer": False, **payload}


def refused(operation: str, says: str, **payload: Any) -> Case:
    whole = told(**payload) if operation == "remember" else asked(**payload)
    return Case(operation, whole, "invalid_request", says)


CASES = [
    pytest.param(Case("remember", told()), id="facts-given"),
    pytest.param(Case("remember", told(kind="EPISODE"), body={"kind": "episode"}), id="kind-in-any-letter-case"),
    pytest.param(
        Case("remember", told(session_id="chat-42"), body={"session_id": "chat-42"}),
        id="session-echoed",
        marks=requirement("remember.session-id-echoed"),
    ),
    pytest.param(
        Case("query", asked(session_id="chat-42"), body={"session_id": "chat-42"}),
        id="session-echoed-by-query",
        marks=requirement("query.session-id-echoed"),
    ),
    pytest.param(
        Case("remember", told(text="Lim\x00oges"), body={"warnings": ["removed 1 NUL character"]}), id="nul-removed"
    ),
    pytest.param(
        Case(
            "remember",
            told(reference_time="2026-03-01T10:00:00"),
            body={"warnings": ["reference_time has no zone and was read as UTC"], "valid_at": "2026-03-01T10:00:00Z"},
        ),
        id="naive-time-noted",
    ),
    pytest.param(
        refused("remember", "text: must be", text="  "), id="text-blank", marks=requirement("remember.text-required")
    ),
    pytest.param(
        refused("remember", "1 MiB", text="x" * (1024 * 1024 + 1)),
        id="text-too-long",
        marks=requirement("remember.text-limit"),
    ),
    pytest.param(
        refused("remember", "knowledge or episode", kind="gossip"),
        id="kind-unknown",
        marks=requirement("remember.kind-values"),
    ),
    pytest.param(
        refused("remember", "RFC 3339", reference_time="yesterday"),
        id="reference-time",
        marks=requirement("remember.reference-time-format"),
    ),
    pytest.param(
        refused("remember", "session_id: must be at most 128 bytes", session_id=LONG),
        id="session-too-long",
        marks=requirement("sessions.id-limits"),
    ),
    pytest.param(
        refused("remember", "control characters", session_id="a\nb"),
        id="session-control",
        marks=requirement("sessions.id-limits"),
    ),
    pytest.param(
        refused("query", "session_id: must be at most 128 bytes", session_id=LONG),
        id="query-session-too-long",
        marks=requirement("query.session-id-limits"),
    ),
    pytest.param(
        refused("query", "control characters", session_id="a\tb"),
        id="query-session-control",
        marks=requirement("query.session-id-limits"),
    ),
    pytest.param(refused("remember", "dataset: must be at most 128 bytes", dataset=LONG), id="dataset-too-long"),
    pytest.param(refused("remember", "dataset: must not hold control", dataset="a\x07"), id="dataset-control"),
    pytest.param(refused("remember", "user_id: must be at most 128 bytes", user_id=LONG), id="user-too-long"),
    pytest.param(
        refused("remember", "the stages are extract_graph", models={"guess": "m"}),
        id="model-of-an-unknown-stage",
        marks=requirement("models.stage-names"),
    ),
    pytest.param(
        refused("remember", "without white space", models={"extract_graph": "two words"}),
        id="model-name",
        marks=requirement("models.name-limits"),
    ),
    pytest.param(
        refused("remember", "the stages are", reasoning={"web_search": "low"}),
        id="reasoning-of-web-search",
        marks=requirement("reasoning.stage-names"),
    ),
    pytest.param(
        refused("remember", "none, low, medium, high", reasoning={"extract_graph": "huge"}),
        id="reasoning-level",
        marks=requirement("reasoning.levels"),
    ),
    pytest.param(refused("remember", "web_search: not available yet", web_search=True), id="not-available-yet"),
    pytest.param(
        refused("remember", "edges[0].target: is required", edges=[{"source": "A", "relation": "r"}]), id="edge"
    ),
    pytest.param(
        refused("query", "query: must be", query=" "), id="query-blank", marks=requirement("query.query-required")
    ),
    pytest.param(
        refused("query", "none, low, medium, high", reasoning="max"),
        id="query-reasoning",
        marks=requirement("query.reasoning-levels"),
    ),
    pytest.param(refused("query", "as_of", as_of="the past"), id="as-of"),
    pytest.param(
        Case("query", asked(dataset="nope"), "not_found", "dataset"),
        id="unknown-dataset",
        marks=requirement("query.unknown-dataset"),
    ),
    pytest.param(
        Case("remember", {"user_id": "u1", "text": "Alice works at Acme."}, model=(api.chat(json.dumps(READ)),)),
        id="read-by-a-model",
    ),
    pytest.param(
        Case(
            "remember",
            {"user_id": "u1", "text": "Alice works at Acme."},
            "model_failed",
            model=(api.chat("nonsense"), api.chat("nonsense")),
        ),
        id="useless-reply",
        marks=requirement("remember.model-failure"),
    ),
    pytest.param(
        Case(
            "remember",
            {"user_id": "u1", "text": "Alice works at Acme."},
            "upstream_overloaded",
            model=(api.openai_error(503, "busy"),) * 9,
        ),
        id="model-overloaded",
    ),
]


@pytest.mark.parametrize("case", CASES)
async def test_every_door_gives_the_same_outcome(case: Case, door: Door, wire: Wire) -> None:
    wire.says(*case.model)
    outcome = await door.send(case.operation, case.payload)
    assert outcome.code == case.code, outcome.body
    assert case.says in outcome.body.get("error", "")
    assert {name: outcome.body[name] for name in case.body} == dict(case.body)


@requirement("overview.example-answers", "overview.text-becomes-facts", "query.response-shape")
async def test_what_is_told_at_a_door_is_answered_there(door: Door, wire: Wire) -> None:
    wire.says(api.chat(json.dumps(READ)))
    told = await door.send("remember", {"user_id": "u1", "text": "Alice works at Acme.", "session_id": "chat-42"})
    edge = told.body["edges"][0]
    assert (edge["source"], edge["relation"], edge["target"]) == ("Alice", "works_at", "Acme")

    wire.says(api.chat(json.dumps({"answer": "Alice works at Acme.", "entities": [], "edges": [edge["id"]]})))
    answer = await door.send("query", {"user_id": "u1", "query": "Where does Alice work?", "session_id": "chat-42"})
    assert answer.body["answer"] == "Alice works at Acme."
    assert answer.body["session_id"] == "chat-42"
    assert [e["id"] for e in answer.body["evidence"]["edges"]] == [edge["id"]]
    assert {e["name"] for e in answer.body["evidence"]["entities"]} == {"Alice", "Acme"}


@requirement("query.model-call-fails", "query.model-output-unusable")
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (api.openai_error(529, "overloaded"), "upstream_overloaded"),
        (api.chat("no JSON at all"), "model_failed"),
        (api.chat("", finish_reason="length"), "model_failed"),
    ],
    ids=["overloaded", "not JSON", "truncated"],
)
async def test_a_failed_answer_is_a_failure_and_never_an_empty_memory(
    door: Door, wire: Wire, reply: Said, code: str
) -> None:
    """C083: down is not empty."""
    await door.send("remember", told())
    wire.always(reply)
    outcome = await door.send("query", asked(answer=True))
    assert outcome.code == code
    assert "evidence" not in outcome.body
