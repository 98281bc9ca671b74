"""What a remember request may hold, field by field, and what is said of one that breaks a rule."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from core.config import DEFAULT_MODEL
from core.core import Core
from core.engine import NoEngine
from core.errors import InvalidRequest, NotConfigured
from core.remember.request import MAX_FACTS, MAX_TEXT, RememberRequest
from gligabao_mcp.operations import REMEMBER, parse
from tests.conftest import Tables
from tests.facts import tell
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


def request(**fields: object) -> RememberRequest:
    """The request that a door reads from these fields."""
    return parse(REMEMBER, {"user_id": "u1", "text": "Bo owns a kiln."} | fields).request


def refused(**fields: object) -> InvalidRequest:
    """The refusal, which names one of these fields."""
    with pytest.raises(InvalidRequest) as refusal:
        request(**fields)
    assert refusal.value.code == "invalid_request"
    assert refusal.value.param is not None
    assert refusal.value.param.split(".")[0].split("[")[0] in fields
    assert refusal.value.message.startswith((f"{refusal.value.param}: ", "unknown field "))
    return refusal.value


@requirement("remember.user-id-required", "remember.text-required")
@pytest.mark.parametrize("field", ["user_id", "text"])
@pytest.mark.parametrize("missing", [None, "", 5, ["a"]])
def test_user_and_text_are_required(field: str, missing: object) -> None:
    assert field in refused(**{field: missing}).message


@requirement("remember.text-required")
@pytest.mark.parametrize("blank", [" ", " \n\t\n", "\u3000", "\x00", "\x00 \n"])
def test_a_blank_text_is_refused(blank: str) -> None:
    """C043."""
    assert refused(text=blank).message == "text: must be a non-empty text, is blank"


@requirement("remember.text-limit")
@pytest.mark.parametrize("letter", ["x", "é", "海", "👋"])
def test_a_text_of_one_mib_is_taken_and_one_byte_more_is_not(letter: str) -> None:
    """C041: the limit counts bytes of UTF-8, and the message says it."""
    size = len(letter.encode())
    most = letter * (MAX_TEXT // size) + "x" * (MAX_TEXT % size)
    assert request(text=most).text == most
    over = refused(text=f"{most}x")
    assert f"at most {MAX_TEXT} bytes of UTF-8 (1 MiB), has {MAX_TEXT + 1}" in over.message


@requirement("sessions.id-limits")
@pytest.mark.parametrize("field", ["user_id", "dataset", "session_id"])
def test_a_name_has_at_most_128_bytes_and_no_control_characters(field: str) -> None:
    for taken in ("x" * 128, "é" * 64, " ", "a b", "../etc", "名前", "a'b\";--"):
        assert getattr(request(**{field: taken}), field) == taken
    for wrong in ("x" * 129, "é" * 64 + "x", "海" * 43):
        assert "must be at most 128 bytes of UTF-8" in refused(**{field: wrong}).message
    for wrong in ("a\nb", "a\x7fb", "\x85", "\t"):
        assert refused(**{field: wrong}).message == f"{field}: must not hold control characters"
    refused(**{field: 7})


@requirement("remember.dataset-created")
def test_without_a_dataset_it_is_main_and_an_empty_session_is_none() -> None:
    assert request().dataset == request(dataset=None).dataset == "main"
    assert refused(dataset="").param == "dataset"
    assert request().session_id is request(session_id="").session_id is None


@requirement("remember.kind-values")
def test_a_kind_is_knowledge_or_episode_in_any_letter_case() -> None:
    assert request().kind == request(kind="").kind == request(kind="KNOWLEDGE").kind == "knowledge"
    assert request(kind=" Episode ").kind == "episode"
    for wrong in ("fact", "chunk", 1, ["episode"]):
        assert refused(kind=wrong).message == "kind: must be knowledge or episode"


@requirement("remember.reference-time-format")
@pytest.mark.parametrize(
    ("stated", "at"),
    [
        ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00+00:00"),
        ("2026-03-01t10:00:00z", "2026-03-01T10:00:00+00:00"),
        ("2026-03-01 10:00:00.25+05:30", "2026-03-01T10:00:00.250000+05:30"),
        ("2026-03-01T10:00:00", "2026-03-01T10:00:00"),
        ("2026-03-01T10:00-08:00", "2026-03-01T10:00:00-08:00"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:00"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59+00:00"),
    ],
)
def test_a_reference_time_is_an_rfc_3339_time(stated: str, at: str) -> None:
    """C014: one without a zone is taken, as UTC."""
    assert request(reference_time=stated).reference_time == datetime.fromisoformat(at)


@requirement("remember.reference-time-format")
@pytest.mark.parametrize(
    "wrong",
    [
        *("yesterday", "1772359200", "2026-02-30", "2026-02-30T10:00:00Z", "2026-03-01T25:00:00Z"),
        *("0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00", "10000-01-01T00:00:00Z", 1772359200, {}, True),
    ],
)
def test_anything_else_is_no_reference_time(wrong: object) -> None:
    assert refused(reference_time=wrong).message == (
        "reference_time: must be an RFC 3339 time such as 2026-03-01T10:00:00Z"
    )


@requirement("remember.reference-time-format")
@pytest.mark.parametrize("date", ["2026-03-01", "2026-03", "2026"])
def test_a_date_alone_is_no_reference_time_and_the_error_says_what_it_lacks(date: str) -> None:
    assert refused(reference_time=date).message == (
        "reference_time: must be an RFC 3339 time such as 2026-03-01T10:00:00Z: a date needs its time of day and zone"
    )


@requirement("models.stage-names", "models.name-limits", "models.default")
def test_models_names_the_stages_that_take_a_model() -> None:
    stages = ("extract_graph", "summarize_chunk", "resolve_edges", "web_search", "resolve_series", "detect_geo")
    for stage in (*stages, "extract_image"):
        assert request(models={stage: "m-1"}).models == {stage: "m-1"}
        assert request(models={stage: ""}).models == {stage: ""}
    assert request(models={"extract_graph": "é" * 64}).models["extract_graph"] == "é" * 64
    assert request().models == request(models=None).models == {}
    for unknown in ("classify_complexity", "store", "embed", "EXTRACT_GRAPH", ""):
        assert "the stages are extract_graph" in refused(models={unknown: "m-1"}).message
    for wrong in ("x" * 129, "é" * 64 + "x", "a b", "a\n", "a\x7f", "a\u00a0b", 5, None, ["m"]):
        assert refused(models={"extract_graph": wrong}).message.startswith("models: extract_graph must be a")
    for wrong in ("m-1", ["m-1"], 5):
        assert refused(models=wrong).message == "models: must be an object from a stage to a model name"


@requirement("reasoning.stage-names", "reasoning.levels")
def test_reasoning_names_the_stages_that_can_think() -> None:
    stages = ("extract_graph", "summarize_chunk", "resolve_edges", "resolve_series", "detect_geo", "extract_image")
    for stage in stages:
        for level in ("none", "low", "medium", "high"):
            assert request(reasoning={stage: level}).reasoning == {stage: level}
    assert request(reasoning={"extract_graph": " HIGH ", "resolve_edges": ""}).reasoning == {
        "extract_graph": "high",
        "resolve_edges": "none",
    }
    for unknown in ("web_search", "classify_complexity", "query", ""):
        assert "the stages are extract_graph" in refused(reasoning={unknown: "low"}).message
    for wrong in ("max", "0", 1, True, ["low"]):
        assert refused(reasoning={"extract_graph": wrong}).message == (
            "reasoning: must be one of none, low, medium, high"
        )
    for wrong in ("low", ["low"]):
        assert refused(reasoning=wrong).message == "reasoning: must be an object from a stage to a level"


@pytest.mark.parametrize(
    "later",
    [
        {"timeseries": {}},
        {"timeseries": {"series": []}},
        {"web_search": True},
    ],
    ids=str,
)
def test_options_of_later_releases_are_refused_in_clear_words(later: dict[str, object]) -> None:
    (name,) = later
    assert refused(**later).message == f"{name}: not available yet"


def test_an_option_of_a_later_release_that_is_not_wanted_is_no_matter() -> None:
    assert request(image=None, timeseries=None, web_search=False).text == "Bo owns a kiln."


def test_an_unknown_field_is_refused_with_the_known_ones() -> None:
    refusal = refused(txet="Bo")
    assert refusal.message.startswith("unknown field txet; the fields are user_id, text, messages, dataset")
    with pytest.raises(InvalidRequest, match="must be a JSON object"):
        parse(REMEMBER, ["text"])


def test_given_facts_have_the_fields_of_an_extraction() -> None:
    given = request(
        entities=[{"name": "Bo"}, {"name": "Kiln", "type": "Product", "description": "a blue one"}],
        edges=[{"source": "Bo", "target": "Kiln", "relation": "owns", "valid_at": "2019", "invalid_at": None}],
    )
    assert given.entities is not None and given.edges is not None
    assert [(e.name, e.type, e.description) for e in given.entities] == [
        ("Bo", "", ""),
        ("Kiln", "Product", "a blue one"),
    ]
    assert [(e.source, e.relation, e.target, e.valid_at) for e in given.edges] == [("Bo", "owns", "Kiln", "2019")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"entities": "Bo"},
        {"entities": ["Bo"]},
        {"entities": [{"type": "person"}]},
        {"entities": [{"name": "Bo", "id": 7}]},
        {"entities": [{"name": None}]},
        {"edges": {"source": "Bo"}},
        {"edges": [{"source": "Bo", "relation": "owns"}]},
        {"edges": [{"source": "Bo", "target": "Kiln", "relation": 5}]},
        {"edges": [{"source": "Bo", "target": "Kiln", "relation": "owns", "valid_at": 2019}]},
        {"entities": [{"name": "Bo"}] * (MAX_FACTS + 1)},
        {"edges": [{"source": "Bo", "target": "Kiln", "relation": "owns"}] * (MAX_FACTS + 1)},
    ],
    ids=lambda wrong: str(wrong)[:60],
)
def test_given_facts_of_another_form_are_refused(wrong: dict[str, Any]) -> None:
    refused(**wrong)


def test_a_refusal_never_repeats_what_was_sent() -> None:
    for field in ("kind", "reference_time", "dataset", "session_id"):
        assert "s3cret" not in refused(**{field: "s3cret\n" * 40}).message
    assert "s3cret" not in refused(models={"extract_graph": "s3cret s3cret"}).message


@requirement("overview.starts-without-a-key", "remember.reference-time-format", "runlog.no-row-for-400")
async def test_without_a_model_the_answer_names_every_way_out(plain: Core, tables: Tables) -> None:
    unconfigured = replace(plain, engine=NoEngine())
    with pytest.raises(NotConfigured) as refusal:
        await tell(unconfigured)
    for way_out in ("ANTHROPIC_API_KEY", "--llm openai", "--llm local", "entities and edges", "answer: false"):
        assert way_out in refusal.value.message
    assert tables.count("gb_remember_runs") == 0
    before = datetime.now(UTC)
    given = await tell(unconfigured, "Bo owns a kiln.", edges=[])
    assert before <= given.valid_at <= given.created_at <= datetime.now(UTC)


def test_the_default_model_is_the_promised_one() -> None:
    assert DEFAULT_MODEL == "claude-haiku-5-5"
