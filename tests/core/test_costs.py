"""What was spent: summed in many ways, and the daily limit that stops paid calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from core.core import Core
from core.costs import CostsRequest, costs
from core.errors import DailyLimit, UnknownDatabase
from core.inferences import Inference, Usage
from core.ports import CostFilter, CostKey, CostSum
from core.prices import Price, PriceTable
from core.spending import Limits, Spending, charge_to
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from tests.conftest import Opener, Tables
from tests.facts import ALICE_WORKS_AT_ACME, answer, ask, edge, graph, tell, tell_facts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

# A scripted call takes 100 and 20 tokens: one US dollar.
DOLLAR = {"scripted-1": Price(input=10_000)}


def book(tables: Tables, **more: Any) -> None:
    """A recorded call."""
    row: dict[str, Any] = {
        "at": datetime(2026, 11, 29, 12, tzinfo=UTC),
        "user": "u1",
        "dataset": "main",
        "type": "remember",
        "stage": "extract_graph",
        "model": "m",
        "cost": 1.0,
    } | more
    if tables.engine.dialect.name == "sqlite":
        row["at"] = row["at"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    insert = (
        "INSERT INTO gb_inferences (created_at, user_id, dataset, type, stage, provider, model, requested_model, "
        "reasoning, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, thinking_tokens, cost_usd, "
        "latency_ms, stop_reason, request_id, prompt_hash) VALUES (:at, :user, :dataset, :type, :stage, 'p', :model, "
        ":model, 'none', 100, 40, 10, 20, 5, :cost, 1, '', '', '')"
    )
    with tables.engine.begin() as connection:
        connection.execute(sa.text(insert), row)


async def summed(core: Core, by: str = "", **more: Any) -> dict[str, Any]:
    return (await costs(core, CostsRequest(db=core.database, by=by, **more))).body()


async def test_calls_are_summed_by_what_is_asked_for_in_its_order(core: Core, tables: Tables) -> None:
    late = datetime(2026, 11, 29, 23, 59, 59, 999_999, tzinfo=UTC)
    book(tables, at=late, user="bob")
    book(tables, at=late + timedelta(microseconds=1), user="amy", stage="embed", type="embedding", cost=0.5)
    book(tables, user="amy", model="n", cost=0.25)
    sums = {"calls": 1, "input_tokens": 100, "cached_input_tokens": 40, "cache_write_tokens": 10}
    sums |= {"output_tokens": 20, "thinking_tokens": 5}
    by_user = await summed(core, "user,day")
    assert by_user["rows"] == [
        {"user": "amy", "day": "2026-11-29", **sums, "cost_usd": 0.25},
        {"user": "amy", "day": "2026-11-30", **sums, "cost_usd": 0.5},
        {"user": "bob", "day": "2026-11-29", **sums, "cost_usd": 1.0},
    ]
    assert by_user["by"] == ["user", "day"]
    assert by_user["total"] == {name: 3 * count for name, count in sums.items()} | {"cost_usd": 1.75}
    for by, groups in (
        ("stage", ["embed", "extract_graph"]),
        ("model", ["m", "n"]),
        ("type", ["embedding", "remember"]),
    ):
        assert [row[by] for row in (await summed(core, by))["rows"]] == groups


async def test_only_the_calls_of_a_time_a_user_or_a_dataset(core: Core, tables: Tables) -> None:
    for day in (28, 29, 30):
        book(tables, at=datetime(2026, 11, day, tzinfo=UTC), user=f"u{day}", dataset=f"d{day}", cost=day)
    assert (await summed(core, since="2026-11-29"))["total"]["cost_usd"] == 59
    assert (await summed(core, until="2026-11-29"))["total"]["cost_usd"] == 28
    assert (await summed(core, since="2026-11-29T01:00:00+01:00", until="2026-11-30"))["total"]["cost_usd"] == 29
    assert (await summed(core, user_id="u30"))["total"]["cost_usd"] == 30
    assert (await summed(core, dataset="d28"))["total"]["calls"] == 1


async def test_nothing_sums_to_nothing(core: Core) -> None:
    empty = await summed(core, "day,stage,model,user,type")
    assert empty["rows"] == []
    assert set(empty["total"].values()) == {0}


async def test_there_is_one_database_and_it_has_a_name(core: Core) -> None:
    with pytest.raises(UnknownDatabase, match=r"^db: not found"):
        await costs(core, CostsRequest(db="another"))


@requirement("inferences.cost")
async def test_what_was_recorded_is_what_is_summed(opened: Opener, model: ScriptedModel) -> None:
    model.replies(ALICE_WORKS_AT_ACME, answer("At Acme."))
    async with opened(prices=DOLLAR) as core:
        await tell(core)
        await ask(core, "Where does Alice work?")
        rows = (await summed(core, "type,stage"))["rows"]
    assert [(row["type"], row["stage"], row["calls"], row["cost_usd"]) for row in rows] == [
        ("embedding", "embed", 1, 0.0),
        ("query", "query", 1, 1.0),
        ("remember", "extract_graph", 1, 1.0),
    ]


# The daily limit -----------------------------------------------------------------------------------------------------


async def test_once_the_day_is_spent_no_paid_call_is_sent(opened: Opener, model: ScriptedModel) -> None:
    model.replies(ALICE_WORKS_AT_ACME, graph())
    async with opened(prices=DOLLAR, daily_spend_limit_usd=2) as core:
        await tell(core)
        await tell(core, user_id="u2")
        with pytest.raises(
            DailyLimit, match=r"2 of 2 USD since midnight UTC \(setting daily_spend_limit_usd\)"
        ) as raised:
            await tell(core)
        with pytest.raises(DailyLimit):
            await ask(core, "Where does Alice work?")
    assert len(model.prompts) == 2
    assert raised.value.retry_after is not None
    assert 0 < raised.value.retry_after <= 24 * 3600


async def test_the_limit_of_each_user_stops_nobody_else(opened: Opener, model: ScriptedModel) -> None:
    model.replies(graph(), graph())
    async with opened(prices=DOLLAR, daily_spend_limit_usd_per_user=1) as core:
        await tell(core)
        with pytest.raises(DailyLimit, match="daily_spend_limit_usd_per_user"):
            await tell(core)
        await tell(core, user_id="u2")
    assert len(model.prompts) == 2


async def test_what_costs_nothing_goes_on(opened: Opener, model: ScriptedModel) -> None:
    model.replies(ALICE_WORKS_AT_ACME, answer("At Acme."))
    async with opened(daily_spend_limit_usd=0) as core:
        await tell(core)
        assert (await ask(core, "Where does Alice work?")).answer == "At Acme."
    async with opened(prices=DOLLAR, daily_spend_limit_usd=0) as core:
        await tell_facts(core, edge("Ivo", "lives_in", "Rome"))
        assert (await ask(core, "Where does Ivo live?", answer=False)).evidence.edges


async def test_embeddings_are_paid_too(opened: Opener, model: ScriptedModel, embedder: HashEmbedder) -> None:
    model.replies(ALICE_WORKS_AT_ACME)
    async with opened(prices={"hash-1": Price(input=1)}, daily_spend_limit_usd=0) as core:
        with pytest.raises(DailyLimit):
            await tell(core)
    assert embedder.calls == 0


async def test_a_second_try_is_a_call_of_its_own(opened: Opener, model: ScriptedModel) -> None:
    model.replies("not json", ALICE_WORKS_AT_ACME)
    async with opened(prices=DOLLAR, daily_spend_limit_usd=1) as core:
        with pytest.raises(DailyLimit):
            await tell(core)
    assert len(model.prompts) == 1


async def test_a_document_stops_between_its_chunks_and_keeps_what_was_paid(
    opened: Opener, model: ScriptedModel, tables: Tables
) -> None:
    text = " ".join(f"Person {i} lives in town number {i}." for i in range(60))
    model.replies(*[reply for i in range(9) for reply in (graph(f"Person {i}"), {"summary": "About people."})])
    async with opened(prices=DOLLAR, daily_spend_limit_usd=4, chunk_size=100) as core:
        with pytest.raises(DailyLimit, match="the parts before it stay stored") as raised:
            await tell(core, text)
    assert len(model.prompts) == 4
    chunks = raised.value.saved["chunks"]
    assert isinstance(chunks, list)
    assert len(chunks) == 2  # pyright: ignore[reportUnknownArgumentType]


async def test_calls_made_at_the_same_time_are_all_counted(opened: Opener, model: ScriptedModel) -> None:
    model.replies(*[graph()] * 5)
    async with opened(prices=DOLLAR, daily_spend_limit_usd=5) as core:
        await asyncio.gather(*(tell(core, user_id=f"u{i}") for i in range(5)))
        with pytest.raises(DailyLimit):
            await tell(core)


async def test_another_start_knows_what_the_day_has_cost(opened: Opener, model: ScriptedModel) -> None:
    model.replies(graph())
    async with opened(prices=DOLLAR) as core:
        await tell(core)
    async with opened(prices=DOLLAR, daily_spend_limit_usd=1) as core:
        with pytest.raises(DailyLimit):
            await tell(core)


class Recorded:
    """Costs that another process records, and a clock."""

    def __init__(self) -> None:
        self.usd = 0.0
        self.now = datetime(2026, 11, 30, 23, 59, 50, tzinfo=UTC)
        self.asked: list[datetime] = []

    async def spent(self, since: datetime, user_id: str | None) -> float:
        self.asked.append(since)
        return self.usd

    async def sums(self, by: Sequence[CostKey], among: CostFilter) -> list[CostSum]:
        raise NotImplementedError


async def test_calls_of_other_processes_are_seen_after_some_seconds_and_midnight_clears_all() -> None:
    others = Recorded()
    spending = Spending(Limits(1.0, None), PriceTable(DOLLAR), others, lambda: others.now)
    charge_to("u1")
    await spending.allow("scripted-1")
    others.usd = 5.0
    await spending.allow("scripted-1")
    assert len(others.asked) == 1
    others.now += timedelta(seconds=4)
    with pytest.raises(DailyLimit) as raised:
        await spending.allow("scripted-1")
    assert raised.value.retry_after == 7
    others.usd = 0.0
    others.now += timedelta(seconds=3)
    with pytest.raises(DailyLimit):
        await spending.allow("scripted-1")
    others.now += timedelta(seconds=3)
    await spending.allow("scripted-1")
    assert [since.day for since in others.asked] == [30, 30, 30, 1]
    spending.add(Inference("p", "scripted-1", "scripted-1", Usage(input=100)))
    with pytest.raises(DailyLimit):
        await spending.allow("scripted-1")
