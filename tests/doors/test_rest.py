"""What only HTTP has: bodies and their limits, content types, envelopes, who may call, health."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from core.config import Config
from core.query.cursor import Rest
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.openapi import document
from gligabao_mcp.wiring import open_core
from tests.doors import golden
from tests.doors.conftest import http_client
from tests.requirements import requirement
from tests.wire import Wire

pytestmark = pytest.mark.anyio

TOLD = {"user_id": "u1", "text": "A.", "edges": [{"source": "A", "target": "B", "relation": "knows"}]}
QUERY_LIMIT, REMEMBER_LIMIT = 64 * 1024, 8 * 1024 * 1024


def padded(payload: dict[str, object], size: int) -> bytes:
    """The payload as JSON of exactly that size."""
    body = json.dumps(payload).encode()
    return body + b" " * (size - len(body))


@requirement("query.body-limit")
@pytest.mark.parametrize(("path", "limit"), [("query", QUERY_LIMIT), ("remember", REMEMBER_LIMIT)])
async def test_a_body_of_the_limit_is_read_and_one_byte_more_is_413(
    rest: httpx2.AsyncClient, path: str, limit: int
) -> None:
    wrong: dict[str, object] = {"user_id": "u1"}
    assert (await rest.post(f"/v1/gb/{path}", content=padded(wrong, limit))).status_code == 400
    refused = await rest.post(f"/v1/gb/{path}", content=padded(wrong, limit + 1))
    assert refused.status_code == 413
    assert str(limit) in refused.json()["error"]


async def test_the_limit_holds_without_a_content_length(rest: httpx2.AsyncClient) -> None:
    async def chunks() -> AsyncGenerator[bytes]:
        for _ in range(9):
            yield b" " * 8192

    assert (await rest.post("/v1/gb/query", content=chunks())).status_code == 413


async def test_the_limit_holds_against_a_content_length_that_lies(rest: httpx2.AsyncClient) -> None:
    refused = await rest.post("/v1/gb/query", content=b" " * (QUERY_LIMIT + 1), headers={"content-length": "2"})
    assert refused.status_code == 413


@requirement("query.invalid-json", "overview.error-envelope")
@pytest.mark.parametrize("body", [b"", b"{", b"nope", b"{'a': 1}", b'{"a": NaN}', b"\xff\xfe\xfa", b"[" * 60_000])
async def test_a_body_that_is_no_json_is_400(rest: httpx2.AsyncClient, body: bytes) -> None:
    for path in ("query", "remember"):
        refused = await rest.post(f"/v1/gb/{path}", content=body)
        assert refused.status_code == 400
        assert refused.json() == {"error": "the request body is not valid JSON", "code": "invalid_request"}


@pytest.mark.parametrize("depth", [50, 400, 900, 5_000])
async def test_a_value_that_is_nested_deeply_is_400(rest: httpx2.AsyncClient, depth: int) -> None:
    body = b'{"user_id": "u1", "query": ' + b"[" * depth + b"]" * depth + b"}"
    refused = await rest.post("/v1/gb/query", content=body)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"1", b"null"])
async def test_json_that_is_no_object_is_400(rest: httpx2.AsyncClient, body: bytes) -> None:
    refused = await rest.post("/v1/gb/query", content=body)
    assert (refused.status_code, refused.json()["error"]) == (400, "the request must be a JSON object")


@requirement("query.user-id-required", "remember.user-id-required")
@pytest.mark.parametrize("path", ["query", "remember"])
@pytest.mark.parametrize("user", [{}, {"user_id": None}, {"user_id": ""}, {"user_id": 5}])
async def test_a_request_without_a_user_is_400(rest: httpx2.AsyncClient, path: str, user: dict[str, object]) -> None:
    refused = await rest.post(f"/v1/gb/{path}", json={"text": "A.", "query": "A?"} | user)
    assert refused.status_code == 400
    assert "user_id" in refused.json()["error"]


@requirement("query.query-required", "remember.text-required")
@pytest.mark.parametrize(("path", "field"), [("query", "query"), ("remember", "text")])
@pytest.mark.parametrize("value", [None, "", "  ", 5, ["a"]])
async def test_what_is_asked_or_told_is_a_text(rest: httpx2.AsyncClient, path: str, field: str, value: object) -> None:
    refused = await rest.post(f"/v1/gb/{path}", json={"user_id": "u1", field: value})
    assert (refused.status_code, refused.json()["param"]) == (400, field)


async def test_an_unknown_field_is_named_with_those_there_are(rest: httpx2.AsyncClient) -> None:
    refused = await rest.post("/v1/gb/query", json={"user_id": "u1", "query": "A?", "sesion_id": "s", "x\n": 1})
    assert refused.status_code == 400
    assert refused.json()["error"].startswith(
        "unknown field sesion_id, x\ufffd; the fields are user_id, query, dataset"
    )


async def test_of_many_unknown_fields_the_first_are_named(rest: httpx2.AsyncClient) -> None:
    refused = await rest.post("/v1/gb/query", json={"user_id": "u1", "query": "A?", **{f"f{i}": i for i in range(900)}})
    assert refused.json()["error"].startswith("unknown field f0, f1, f2, f3, f4, 895 more; the fields are user_id, ")


async def test_the_rest_of_an_evidence_is_read_by_its_cursor(rest: httpx2.AsyncClient) -> None:
    edge = {"source": "Alice", "target": "Paris", "relation": "lives_in"}
    told = (await rest.post("/v1/gb/remember", json={"user_id": "u1", "text": "Alice.", "edges": [edge]})).json()
    cursor = Rest("main", datetime.now(UTC), (), (told["edges"][0]["id"],)).cursor()
    found = await rest.post("/v1/gb/query", json={"user_id": "u1", "query": "Alice?", "cursor": cursor})
    assert found.json() == {"evidence": {"entities": [], "edges": told["edges"]}}
    refused = await rest.post("/v1/gb/query", json={"user_id": "u1", "query": "Alice?", "cursor": cursor[:-9]})
    assert (refused.status_code, refused.json()["param"]) == (400, "cursor")


async def test_an_error_never_repeats_what_was_sent(rest: httpx2.AsyncClient) -> None:
    secret = "sk-secret"
    wrong = {"user_id": [secret], "text": {secret: secret}, "kind": secret, "edges": secret, "models": secret}
    refused = await rest.post("/v1/gb/remember", json=wrong)
    assert refused.status_code == 400
    assert secret not in refused.text
    assert "pydantic" not in refused.text


async def test_a_lone_surrogate_is_replaced(rest: httpx2.AsyncClient) -> None:
    body = json.dumps(TOLD).replace("A.", r"caf\ud83d")
    told = await rest.post("/v1/gb/remember", content=body)
    assert told.status_code == 200
    assert told.json()["warnings"] == ["replaced 1 lone surrogate"]


@pytest.mark.parametrize("content_type", [None, "application/x-www-form-urlencoded", "text/plain", "application/json"])
async def test_any_content_type_will_do(rest: httpx2.AsyncClient, content_type: str | None) -> None:
    headers = {"content-type": content_type} if content_type else {}
    told = await rest.post("/v1/gb/remember", content=json.dumps(TOLD), headers=headers)
    assert told.status_code == 200


async def test_unknown_routes_and_methods_answer_in_json(rest: httpx2.AsyncClient) -> None:
    missing = await rest.get("/v1/gb/nothing")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    wrong = await rest.get("/v1/gb/query")
    assert (wrong.status_code, wrong.json()["code"], wrong.headers["allow"]) == (405, "method_not_allowed", "POST")


async def test_a_transport_session_that_is_gone_is_404(rest: httpx2.AsyncClient) -> None:
    """So that a client whose server was started again opens a new one; what is remembered never lives there."""
    headers = {"mcp-session-id": "gone", "accept": "application/json, text/event-stream"}
    answer = await rest.post("/v1/gb/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=headers)
    assert answer.status_code == 404


async def test_mcp_over_http_replaces_a_lone_surrogate(rest: httpx2.AsyncClient) -> None:
    client = {"name": "CUT", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    answer = await rest.post("/v1/gb/mcp", content=body.replace("CUT", r"caf\ud83d"), headers=headers)
    assert (answer.status_code, "serverInfo" in answer.text) == (200, True), answer.text


async def test_an_mcp_body_over_the_limit_is_413(rest: httpx2.AsyncClient) -> None:
    refused = await rest.post("/v1/gb/mcp", content=b" " * (REMEMBER_LIMIT + 1))
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.1:7878", "localhost:1", "[::1]:7878"])
async def test_this_machine_may_call_with_or_without_a_port(rest: httpx2.AsyncClient, host: str) -> None:
    assert (await rest.get("/healthz", headers={"host": host})).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/openapi.json", "/v1/gb/mcp", "/v1/gb/mcp/", "/v1/gb/query"])
async def test_a_page_that_was_rebound_to_this_machine_may_not(rest: httpx2.AsyncClient, path: str) -> None:
    for host in ("memory.example", "127.0.0.1.example:7878", "localhost.example", ""):
        assert (await rest.post(path, headers={"host": host})).status_code == 421
    for origin in ("null", "http://memory.example", "http://localhost.example", "file://localhost"):
        assert (await rest.post(path, headers={"origin": origin})).status_code == 403
    assert (await rest.get("/healthz", headers={"origin": "http://localhost:5173"})).status_code == 200


async def test_ready_means_that_the_database_answers(rest: httpx2.AsyncClient) -> None:
    assert (await rest.get("/healthz")).json() == {"status": "ok"}
    assert (await rest.get("/readyz")).json() == {"status": "ready"}


@requirement("overview.starts-without-a-key", "query.model-not-configured", "embed.optional")
async def test_a_server_without_a_model_starts_and_answers_503_with_every_way_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = Config(home=tmp_path, llm="none")
    async with http_client(CoreHandle(lambda: open_core(config)), config) as client:
        for path, field in (("remember", "text"), ("query", "query")):
            refused = await client.post(f"/v1/gb/{path}", json={"user_id": "u1", field: "Alice?"})
            assert (refused.status_code, refused.json()["code"]) == (503, "not_configured")
            assert all(way in refused.json()["error"] for way in ("ANTHROPIC_API_KEY", "--llm openai", "--llm local"))
        broken = await client.post("/v1/gb/query", json={"user_id": "u1"})
        assert broken.status_code == 400, "a broken request is told so first"
        missing = await client.post("/v1/gb/query", json={"user_id": "u1", "query": "A?", "dataset": "nope"})
        assert missing.status_code == 503, "404 comes last"
    assert "no embedder is configured" in caplog.text


async def test_the_facts_a_caller_gives_need_no_model(rest: httpx2.AsyncClient, wire: Wire) -> None:
    told = await rest.post("/v1/gb/remember", json=TOLD)
    found = await rest.post("/v1/gb/query", json={"user_id": "u1", "query": "Whom does A know?", "answer": False})
    assert [edge["id"] for edge in found.json()["evidence"]["edges"]] == [told.json()["edges"][0]["id"]]
    assert wire.asked == []


async def test_the_openapi_document_is_the_one_we_published(rest: httpx2.AsyncClient) -> None:
    assert (await rest.get("/openapi.json")).json() == document()
    golden.check("openapi.json", document())
