"""How many requests one caller may send in a minute, and what it is told beyond that."""

from __future__ import annotations

import pytest

from core.config import Config
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.rates import DEFAULT_PER_MINUTE, FEW_CALLERS, Rate, limit_of
from gligabao_mcp.wiring import open_core
from tests.bearer import made
from tests.doors.conftest import http_client

MCP_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def test_there_is_a_limit_where_tokens_are_asked_for_unless_another_is_set() -> None:
    assert limit_of(Config()) == 0
    assert limit_of(Config(tokens="on")) == limit_of(Config(host="0.0.0.0")) == DEFAULT_PER_MINUTE
    assert limit_of(Config(tokens="on", rate_limit_per_minute=0)) == 0
    assert limit_of(Config(rate_limit_per_minute=5)) == 5


@pytest.mark.anyio
async def test_each_user_has_a_minute_of_its_own(settings: Config) -> None:
    guarded = settings.model_copy(update={"tokens": "on", "rate_limit_per_minute": 3})
    one, two = await made(guarded), await made(guarded, "u2")
    async with http_client(CoreHandle(lambda: open_core(guarded)), guarded) as rest:
        for _ in range(3):
            assert (await rest.get("/v1/gb/datasets", headers=one)).status_code == 200
        refused = await rest.post("/v1/gb/mcp", headers={**MCP_HEADERS, **one})
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert 0 < int(refused.headers["retry-after"]) <= 20
        assert (await rest.get("/v1/gb/datasets", headers=two)).status_code == 200
        assert (await rest.get("/healthz", headers=one)).status_code == 200
        assert (await rest.get("/v1/gb/datasets")).status_code == 401


@pytest.mark.anyio
async def test_without_tokens_an_address_counts_where_the_setting_asks_for_it(
    handle: CoreHandle, settings: Config
) -> None:
    async with http_client(handle, settings.model_copy(update={"rate_limit_per_minute": 1})) as rest:
        assert (await rest.get("/v1/gb/datasets?user_id=u1")).status_code == 200
        assert (await rest.get("/v1/gb/datasets?user_id=u2")).status_code == 429


def test_a_caller_who_waits_as_told_is_let_in() -> None:
    now = 0.0
    rate = Rate(60, lambda: now)
    assert [rate.wait("a") for _ in range(60)] == [0] * 60
    assert (rate.wait("a"), rate.wait("b")) == (pytest.approx(1), 0)
    now = 1.0
    assert (rate.wait("a"), rate.wait("a")) == (0, pytest.approx(1))
    now = 1000.0
    assert [rate.wait("a") for _ in range(60)] == [0] * 60, "no more than a minute's worth is saved up"
    assert rate.wait("a") > 0


def test_callers_who_are_gone_take_no_room() -> None:
    now = 0.0
    rate = Rate(600, lambda: now)
    for n in range(2 * FEW_CALLERS):
        now += 0.01
        assert rate.wait(f"address {n}") == 0
    assert len(rate._full_at) <= FEW_CALLERS  # pyright: ignore[reportPrivateUsage]


def test_a_crowd_that_is_still_there_is_not_looked_through_with_each_request() -> None:
    rate = Rate(1, lambda: 0.0)
    kept, looked_through = rate._full_at, 0  # pyright: ignore[reportPrivateUsage]
    for n in range(3 * FEW_CALLERS):
        assert rate.wait(f"address {n}") == 0
        looked_through += kept is not rate._full_at  # pyright: ignore[reportPrivateUsage]
        kept = rate._full_at  # pyright: ignore[reportPrivateUsage]
    assert looked_through == 2
    assert rate.wait("address 0") > 0, "nobody who still waits is forgotten"
