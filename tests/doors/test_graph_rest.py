"""The routes of a graph: where fields come from, how failures look, documents as bodies, and who is meant."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest

from core.config import Config
from gligabao_mcp.graph_operations import ASK
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.operations import parse
from tests.bearer import made
from tests.doors.conftest import http_client
from tests.doors.probes import Probe, probed
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

PROBE, GET = "/v1/query/probe", "/v1/graph/probe"


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Probe:
    return probed(monkeypatch)


@pytest.fixture
async def graph(probe: Probe, handle: CoreHandle, settings: Config) -> AsyncGenerator[httpx2.AsyncClient]:
    async with http_client(handle, settings) as client:
        yield client


async def got(sent: httpx2.Response) -> dict[str, Any]:
    assert sent.status_code == 200, sent.text
    return sent.json()["got"]


def refused(answer: httpx2.Response, status: int) -> dict[str, Any]:
    """The failure in the envelope of these routes."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error["request_id"] == answer.headers["x-request-id"]
    assert error["doc_url"] is None
    return error


# Where fields come from -----------------------------------------------------------------------------------------------


async def test_a_graph_is_a_dataset_and_a_request_without_a_user_means_the_one_of_the_settings(
    graph: httpx2.AsyncClient,
) -> None:
    sent = await graph.post(PROBE, params={"graph": "crm", "stack": "s", "branch": "b"}, json={"words": "a"})
    assert await got(sent) == {"words": "a", "dataset": "crm", "user_id": "local"}
    assert (await got(await graph.post(PROBE, json={"words": "a", "user_id": "ann"})))["user_id"] == "ann"
    assert (await got(await graph.get(GET, params={"words": "a", "user_id": "bob"})))["user_id"] == "bob"


async def test_parameters_are_fields_too_and_numbers_come_as_texts(graph: httpx2.AsyncClient) -> None:
    asked = {"words": "a", "limit": "7", "dry_run": "true", "class": "c", "consistency": "strong"}
    told = {**asked, "limit": 7, "dry_run": True, "user_id": "local"}
    assert await got(await graph.get(GET, params=asked)) == told
    assert await got(await graph.delete(GET, params=asked)) == told
    split: dict[str, Any] = {
        "json": {"words": "a", "limit": 7},
        "params": {"dry_run": "true", "class": "c", "consistency": "strong"},
    }
    assert await got(await graph.put(GET, **split)) == told
    assert await got(await graph.post(PROBE, **split)) == told


async def test_a_field_is_said_once_and_in_one_place(graph: httpx2.AsyncClient) -> None:
    both = refused(await graph.post(PROBE, params={"limit": 2}, json={"words": "a", "limit": 2}), 400)
    assert (both["code"], both["param"]) == ("invalid_ask_request", "limit")
    twice = await graph.get(f"{GET}?words=a&words=b")
    assert refused(twice, 400)["param"] == "words"
    two_names = await graph.post(PROBE, params={"graph": "a", "dataset": "b"}, json={"words": "a"})
    assert refused(two_names, 400)["param"] == "graph"


@requirement("ask.unknown-field")
async def test_what_is_no_json_and_an_unknown_field_are_told_with_the_fields(graph: httpx2.AsyncClient) -> None:
    for body in (b"{question", b"[1]", b'"text"'):
        error = refused(await graph.post(PROBE, content=body), 400)
        assert (error["type"], error["code"]) == ("invalid_request_error", "invalid_request")
    for unknown in (
        await graph.post(PROBE, json={"words": "a", "colour": "red"}),
        await graph.post(PROBE, params={"colour": "red"}, json={"words": "a"}),
        await graph.get(GET, params={"words": "a", "colour": "red"}),
    ):
        error = refused(unknown, 400)
        assert error["code"] == "invalid_request"
        assert "colour" in error["message"]
        assert all(name in error["message"] for name in ("words", "limit", "anchor", "class"))
        assert "retryable" not in error


@requirement("ask.field-out-of-limits", "ask.removed-fields")
async def test_a_field_outside_its_limits_and_one_that_is_gone_have_the_code_of_the_operation(
    graph: httpx2.AsyncClient,
) -> None:
    wrong: list[dict[str, Any]] = [
        *({"words": value} for value in ("", "a" * 11, 5)),
        {"limit": 0},
        {"limit": "many"},
        {"anchor": ["a"] * 3},
        {"run": True},
    ]
    for given in wrong:
        error = refused(await graph.post(PROBE, json={"words": "a", **given}), 400)
        assert (error["code"], error["param"]) == ("invalid_ask_request", next(iter(given)))
    assert refused(await graph.post(PROBE, content=b""), 400)["param"] == "words"
    of_another_kind = refused(await graph.get(GET, params={"words": "a", "limit": "0"}), 400)
    assert (of_another_kind["code"], of_another_kind["param"]) == ("invalid_request", "limit")
    no_name = refused(await graph.post(PROBE, params={"graph": "g" * 200}, json={"words": "a"}), 400)
    assert (no_name["code"], no_name["param"]) == ("invalid_request", "graph")
    assert no_name["message"].startswith("graph: ")


# How failures look ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("user", ["in the URL", "in both"])
async def test_a_user_is_named_in_one_place_too(graph: httpx2.AsyncClient, user: str) -> None:
    body = {"words": "a"} if user == "in the URL" else {"words": "a", "user_id": "ann"}
    sent = await graph.post(PROBE, params={"user_id": "ann"}, json=body)
    if user == "in the URL":
        assert (await got(sent))["user_id"] == "ann"
    else:
        assert refused(sent, 400)["param"] == "user_id"


async def test_a_failure_says_whether_it_heals(graph: httpx2.AsyncClient) -> None:
    no_model = refused(await graph.post(PROBE, json={"words": "no model"}), 503)
    assert (no_model["type"], no_model["code"], no_model["retryable"]) == (
        "api_error",
        "rewrite_model_unavailable",
        False,
    )
    spent = refused(await graph.post(PROBE, json={"words": "limit"}), 429)
    assert (spent["type"], spent["code"], spent["retryable"]) == ("rate_limit_error", "rewrite_limit", False)
    pending = await graph.post(PROBE, json={"words": "pending"})
    assert refused(pending, 429)["retryable"] is True
    assert refused(pending, 429)["retry_after_seconds"] == int(pending.headers["retry-after"]) == 1


@requirement("ask.old-path")
async def test_routes_that_are_not_there_answer_in_the_same_envelope(graph: httpx2.AsyncClient) -> None:
    moved = await graph.post("/v1/query/rewrite", json={"question": "q"})
    assert refused(moved, 404)["code"] == "not_found"
    assert refused(moved, 404)["did_you_mean"] == moved.json()["did_you_mean"] == "/v1/query/ask"
    for path in ("/v1/query/nothing", "/v1/graph/nothing", "/v1/evals/nothing", "/v1/embeddings/nothing"):
        missing = refused(await graph.post(path, json={}), 404)
        assert (missing["type"], missing["code"]) == ("not_found_error", "not_found")
    assert refused(await graph.get(PROBE), 405)["code"] == "method_not_allowed"
    assert (await graph.get("/v1/gb/nothing")).json()["error"] == "not found", "the memory has an envelope of its own"


async def test_every_answer_says_which_request_it_belongs_to(graph: httpx2.AsyncClient) -> None:
    answers = [await graph.post(PROBE, json={"words": "a"}), await graph.post("/v1/query/nothing")]
    answers.append(await graph.post(PROBE, json={"words": "a"}, headers={"host": "elsewhere.example"}))
    assert [answer.status_code for answer in answers] == [200, 404, 421]
    assert len({answer.headers["x-request-id"] for answer in answers}) == 3
    assert {answer.headers["lbb-version"] for answer in answers} == {"2026-10-21"}
    assert "x-request-id" not in (await graph.get("/healthz")).headers


async def test_a_body_over_the_limit_is_413(graph: httpx2.AsyncClient) -> None:
    error = refused(await graph.post(PROBE, content=b" " * (64 * 1024 + 1)), 413)
    assert (error["code"], error["type"]) == ("too_large", "api_error")


def test_whatever_a_question_may_hold_fits_into_a_body() -> None:
    """Also where a client writes each character as an escape."""
    point = {"date": "2026-01-01", "as_of_commit_seq": 2**63 - 1, "label": "\U0001f956" * 200}
    most: dict[str, Any] = {
        "question": "\U0001f956" * 4_000,
        "context": "\U0001f956" * 8_000,
        "anchor": ["https://bakery.test/" + "\u2028" * 1_900] * 10,
        "timeline": [point] * 200,
    }
    assert parse(ASK, {"user_id": "u1", **most})
    assert len(json.dumps(most)) <= ASK.max_bytes


async def test_the_version_is_told_to_everybody(probe: Probe, handle: CoreHandle, settings: Config) -> None:
    async with http_client(handle, settings.model_copy(update={"tokens": "on"})) as client:
        told = await client.get("/version")
        assert told.status_code == 200
        assert told.json().keys() == {"version", "capabilities", "git_commit", "built_at", "persisted_format"}
        assert told.json()["capabilities"] == ["gone_v1", "got_v1", "load_v1", "probe_v1", "put_v1", "update_v1"]


# Documents and texts as bodies ----------------------------------------------------------------------------------------


async def test_a_document_is_the_body_and_its_type_says_its_format(graph: httpx2.AsyncClient) -> None:
    turtle = await graph.post("/v1/graph/load", content="<a> <b> <c> .", headers={"content-type": "text/turtle; q=1"})
    assert (await got(turtle))["format"] == "turtle"
    stated: dict[str, Any] = {"content": b"x", "headers": {"content-type": "text/turtle", "idempotency-key": "k"}}
    told = await got(await graph.post("/v1/graph/load", params={"format": "trig", "graph": "g"}, **stated))
    assert (told["format"], told["dataset"], told["idempotency_key"], told["text"]) == ("trig", "g", "k", "x")
    other = await got(await graph.post("/v1/graph/load", content=b"x", headers={"content-type": "image/png"}))
    assert "format" not in other
    large = b"a" * (3 * 1024 * 1024)
    assert len((await got(await graph.post("/v1/graph/load", content=large)))["text"]) == len(large)


async def test_a_document_over_the_limit_is_413(probe: Probe, handle: CoreHandle, settings: Config) -> None:
    async with http_client(handle, settings.model_copy(update={"max_import_bytes": 1000})) as client:
        error = refused(await client.post("/v1/graph/load", content=b"a" * 1001), 413)
        assert "max_import_bytes" in error["message"]
        assert refused(await client.post("/v1/graph/load", params={"nope": "1"}, content=b"a"), 400)["param"] == "nope"
        assert refused(await client.post("/v1/graph/load", params={"document": "1"}), 400)["param"] == "document"


async def test_a_text_is_the_body_and_the_answer_may_be_empty(graph: httpx2.AsyncClient) -> None:
    done = await graph.post("/update", content="INSERT DATA {}", headers={"content-type": "application/sparql-update"})
    assert (done.status_code, done.content) == (200, b"")
    assert refused(await graph.post("/update", content=b"\xff\xfe"), 400)["param"] == "update"
    assert refused(await graph.post("/update", content=b""), 400)["param"] == "update"
    assert refused(await graph.post("/update", content=b"a" * 1025), 413)["code"] == "too_large"


# Who is meant ---------------------------------------------------------------------------------------------------------


async def test_with_tokens_the_user_comes_from_the_token(probe: Probe, handle: CoreHandle, settings: Config) -> None:
    async with http_client(handle, settings.model_copy(update={"tokens": "on"})) as client:
        ann, reader = await made(settings, "ann"), await made(settings, "ann", "read")
        assert (await got(await client.post(PROBE, json={"words": "a"}, headers=ann)))["user_id"] == "ann"
        other = await client.post(PROBE, json={"words": "a", "user_id": "bob"}, headers=ann)
        assert refused(other, 403)["type"] == "auth_error"
        assert (await client.get(GET, params={"words": "a", "user_id": "bob"}, headers=ann)).status_code == 403
        for headers in ({}, {"authorization": "Bearer lbb_sk_test_1"}):
            nobody = refused(await client.post(PROBE, json={"words": "a"}, headers=headers), 401)
            assert (nobody["type"], nobody["code"]) == ("auth_error", "unauthorized")
        assert (await client.post(PROBE, json={"words": "a"}, headers=reader)).status_code == 200
        assert refused(await client.post("/update", content=b"a", headers=reader), 403)["code"] == "forbidden"
