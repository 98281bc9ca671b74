"""What a program that watches is told: numbers for Prometheus, and events for a webhook."""

from __future__ import annotations

import json
import logging
import re

import httpx2
import pytest
from mcp import Client
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from core.config import Config
from core.core import Core
from core.prices import Price
from gligabao_mcp import __version__, webhook
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.mcp_door.server import create_mcp_server
from gligabao_mcp.operations import QUERY, execute, parse
from gligabao_mcp.wiring import open_core
from tests.doors.conftest import http_client
from tests.wire import Wire, chat

pytestmark = pytest.mark.anyio

TOLD = {"user_id": "u1", "text": "Ivo visited Rome."}
EDGE = {"source": "Ivo", "target": "Rome", "relation": "visited"}
USAGE = {"prompt_tokens": 1000, "completion_tokens": 50}


async def scraped(rest: httpx2.AsyncClient) -> dict[str, float]:
    """Every number, as `name{label=value}`."""
    response = await rest.get("/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return {
        sample.name + "".join(f"{{{name}={value}}}" for name, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


async def test_what_happens_is_counted_under_the_documented_names(settings: Config, wire: Wire) -> None:
    settings = settings.model_copy(update={"prices": {"qwen3": Price(input=100, output=1000)}})
    handle = CoreHandle(lambda: open_core(settings))
    graph = {"entities": [{"name": "Ivo", "type": "person", "description": ""}], "edges": [EDGE]}
    wire.says(chat(json.dumps(graph), usage=USAGE), chat("no json"), chat("nor this"))
    async with http_client(handle, settings) as rest:
        assert (await rest.post("/v1/gb/remember", json=TOLD)).status_code == 200
        assert (await rest.post("/v1/gb/remember", json=TOLD)).status_code == 502
        assert (await rest.post("/v1/gb/remember", json=TOLD | {"edges": [EDGE]})).status_code == 200
        assert (await rest.post("/v1/gb/query", json={"user_id": "u1", "query": "Rome?", "answer": False})).is_success
        await rest.get("/v1/gb/nothing")
        found = await scraped(rest)
    model = "{model=qwen3}{%s}{provider=openai}{stage=extract_graph}"
    expected = {
        f"gligabao_build_info{{version={__version__}}}": 1,
        "gligabao_http_requests_total{method=POST}{route=/v1/gb/remember}{status=200}": 2,
        "gligabao_http_requests_total{method=POST}{route=/v1/gb/remember}{status=502}": 1,
        "gligabao_http_requests_total{method=GET}{route=unknown}{status=404}": 1,
        "gligabao_http_request_duration_seconds_count{method=POST}{route=/v1/gb/query}": 1,
        "gligabao_remember_runs_total{status=succeeded}": 2,
        "gligabao_remember_runs_total{status=failed}": 1,
        "gligabao_remember_stage_duration_seconds_count{stage=extract_graph}": 2,
        "gligabao_remember_stage_duration_seconds_count{stage=store}": 2,
        "gligabao_remember_queue_depth": 0,
        "gligabao_query_duration_seconds_count": 1,
        "gligabao_llm_requests_total" + model % "outcome=ok": 1,
        "gligabao_llm_requests_total" + model % "outcome=error": 2,
        "gligabao_llm_tokens_total{kind=output}{model=qwen3}{provider=openai}{stage=extract_graph}": 50 + 2 * 80,
        "gligabao_edges_total{action=inserted}": 1,
        "gligabao_edges_total{action=merged}": 1,
        "gligabao_edges_total{action=closed}": 0,
    }
    assert {name: found.get(name) for name in expected} == expected
    cost = found["gligabao_llm_cost_usd_total{model=qwen3}{provider=openai}{stage=extract_graph}"]
    assert cost == pytest.approx((1000 + 2 * 3000) * 100 / 1e6 + (50 + 2 * 80) * 1000 / 1e6)


async def test_calls_of_tools_are_counted_by_outcome(handle: CoreHandle, settings: Config) -> None:
    async with http_client(handle, settings) as rest, Client(create_mcp_server(handle, settings)) as client:
        await client.call_tool("query", {"query": "Rome?", "answer": False})
        await client.call_tool("query", {"query": "Rome?", "dataset": "nowhere"})
        await client.call_tool("query", {"query": "Rome?", "dataset": 7})
        found = await scraped(rest)
    calls = {name: value for name, value in found.items() if name.startswith("gligabao_mcp_calls_total")}
    assert calls == {
        "gligabao_mcp_calls_total{outcome=ok}{tool=query}": 1,
        "gligabao_mcp_calls_total{outcome=not_found}{tool=query}": 1,
        "gligabao_mcp_calls_total{outcome=invalid_request}{tool=query}": 1,
    }


async def test_no_user_dataset_or_session_is_a_label(rest: httpx2.AsyncClient) -> None:
    told = TOLD | {"user_id": "zoe", "dataset": "attic", "session_id": "chat-9", "edges": [EDGE]}
    await rest.post("/v1/gb/remember", json=told)
    await rest.get("/v1/gb/zoe/attic/chat-9")
    text = (await rest.get("/metrics")).text
    assert "gligabao_remember_runs_total" in text
    assert not re.search("zoe|attic|chat-9|Ivo|Rome", text)


async def test_two_applications_count_apart(settings: Config) -> None:
    for _ in range(2):
        handle = CoreHandle(lambda: open_core(settings))
        async with http_client(handle, settings) as rest:
            await rest.get("/healthz")
            found = await scraped(rest)
        assert found["gligabao_http_requests_total{method=GET}{route=/healthz}{status=200}"] == 1


# A webhook ------------------------------------------------------------------------------------------------------------


async def ask(core: Core, session: str) -> None:
    payload = {"user_id": "u1", "query": "Zanzibar?", "answer": False, "session_id": session}
    await execute(QUERY, core, parse(QUERY, payload))


async def test_each_event_is_posted_to_the_webhook_in_order(settings: Config, wire: Wire) -> None:
    hook = settings.model_copy(update={"event_webhook_url": SecretStr(f"{wire.url}/v1/messages")})
    wire.always(chat())
    async with open_core(hook) as core:
        await ask(core, "s1")
        await ask(core, "s2")
        told = [event for _, event in await core.events.newest(10)]
    assert told == []  # they are written when nobody waits, and here at the end
    assert [(body["type"], body["session_id"], body["status"]) for body in wire.bodies] == [
        ("query", "s1", "ok"),
        ("query", "s2", "ok"),
    ]
    assert "Zanzibar" not in json.dumps(wire.bodies)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/key-123", "nonsense://key-123", "http://[key-123"])
async def test_a_webhook_that_fails_fails_no_call_and_keeps_its_address_to_itself(
    settings: Config, caplog: pytest.LogCaptureFixture, url: str
) -> None:
    async with open_core(settings.model_copy(update={"event_webhook_url": SecretStr(url)})) as core:
        await ask(core, "s1")
    warnings = [record.getMessage() for record in caplog.records if record.name == webhook.__name__]
    assert [warning.partition(":")[0] for warning in warnings] == ["an event could not be sent to event_webhook_url"]
    assert "key-123" not in caplog.text


async def test_a_receiver_that_says_no_is_logged_and_not_asked_again(
    settings: Config, wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, webhook.__name__)
    hook = settings.model_copy(update={"event_webhook_url": SecretStr(f"{wire.url}/v1/messages")})
    async with open_core(hook) as core:  # nothing is scripted: it answers 500
        await ask(core, "s1")
    assert len(wire.asked) == 1
    assert "could not be sent" in caplog.text
