"""What a model call costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.core import Core
from core.errors import ModelFailed
from core.inferences import Inference, Usage
from core.ports import Completion
from core.prices import PRICES, LongPrompt, Price, PriceTable
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.settings import load
from tests.conftest import Opener, Tables
from tests.facts import ALICE_WORKS_AT_ACME, answer, ask, edge, graph, tell, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

SCRIPTED = {"scripted-1": Price(input=1000, output=10_000), "hash-1": Price(input=500)}


def cost_usd(model: str, usage: Usage) -> float:
    return PriceTable().cost(model, usage)


def test_the_worked_examples_of_the_price_page() -> None:
    assert cost_usd("claude-haiku-5-5", Usage(input=620, output=180)) == pytest.approx(0.000152)
    assert cost_usd("jev-1.13.0", Usage(input=310, output=9)) == pytest.approx(0.00001302)
    assert cost_usd("text-embedding-3-small", Usage(input=40)) == pytest.approx(8e-7)


def test_cached_and_newly_cached_tokens_have_their_own_prices() -> None:
    usage = Usage(input=4320, output=90, cached=4000, cache_write=300)
    expected = (20 * 0.10 + 4000 * 0.01 + 300 * 0.125 + 90 * 0.50) / 1_000_000
    assert cost_usd("claude-haiku-5-5", usage) == pytest.approx(expected)


def test_a_long_prompt_moves_the_whole_request_into_the_dearer_band() -> None:
    edge = Usage(input=100_000, output=1000, cached=90_000)
    over = Usage(input=100_001, output=1000, cached=90_000)
    assert cost_usd("claude-haiku-5-5", edge) == pytest.approx((10_000 * 0.1 + 90_000 * 0.01 + 1000 * 0.5) / 1e6)
    assert cost_usd("claude-haiku-5-5", over) == pytest.approx((10_001 * 0.5 + 90_000 * 0.05 + 1000 * 2.5) / 1e6)


@requirement("reasoning.thinking-is-output")
def test_thinking_is_billed_as_the_output_it_is_part_of() -> None:
    thought, plain = Usage(output=1000, thinking=900), Usage(output=1000)
    assert cost_usd("claude-haiku-5-5", thought) == cost_usd("claude-haiku-5-5", plain) == pytest.approx(0.0005)


def test_searches_of_the_web_are_paid_by_the_thousand() -> None:
    assert cost_usd("claude-haiku-5-5", Usage(web_searches=3)) == pytest.approx(0.03)


def test_a_dated_snapshot_costs_what_its_alias_costs() -> None:
    usage = Usage(input=1000, output=1000)
    assert cost_usd("claude-haiku-4-5-20251001", usage) == cost_usd("claude-haiku-4-5", usage) > 0


@pytest.mark.parametrize("model", ["qwen3", "", "claude-haiku-5-5-preview", "jev", "claude-haiku-5-5-2026"])
def test_a_model_that_is_not_in_the_table_costs_nothing(model: str) -> None:
    assert cost_usd(model, Usage(input=10**9, output=10**9)) == 0.0
    assert PriceTable().price(model).free


def test_no_price_of_cached_tokens_is_above_that_of_fresh_ones() -> None:
    for price in PRICES.values():
        for rates in (price, *([price.long_prompt] if price.long_prompt else [])):
            assert rates.cache_read is None or rates.cache_read < rates.input
            assert rates.cache_write is None or rates.cache_write > rates.input


def test_a_row_of_the_settings_replaces_a_built_in_one_for_its_snapshots_too() -> None:
    prices = PriceTable({"claude-haiku-4-5": Price(input=7), "jev-1*": Price(input=3), "own-20260101": Price(input=5)})
    million = Usage(input=1_000_000, output=1_000_000)
    assert prices.cost("claude-haiku-4-5-20251001", million) == 7
    assert prices.cost("jev-1.13.0", million) == 3
    assert prices.cost("jev-2.0", million) == pytest.approx(0.042)
    assert (prices.cost("own-20260101", million), prices.cost("own", million)) == (5, 0)


def test_cached_tokens_cost_what_fresh_ones_do_where_nothing_is_said_of_them() -> None:
    prices = PriceTable({"m": Price(input=2)})
    assert prices.cost("m", Usage(input=1_000_000, cached=400_000, cache_write=600_000)) == 2


def test_the_prices_of_gligabao_toml_are_read_as_they_are_documented(tmp_path: Path) -> None:
    (tmp_path / "gligabao.toml").write_text(
        '[prices."my-model.v2"]\ninput = 0.5\noutput = 2.0\ncache_read = 0.05\ncache_write = 0.6\n'
        "web_search_per_1000 = 8\nlong_prompt = {above = 1000, input = 1, output = 4}\n",
        encoding="utf-8",
    )
    config = load({}, {"GLIGABAO_HOME": str(tmp_path)}).config
    assert config.prices == {
        "my-model.v2": Price(
            input=0.5,
            output=2,
            cache_read=0.05,
            cache_write=0.6,
            web_search_per_1000=8,
            long_prompt=LongPrompt(above=1000, input=1, output=4),
        )
    }
    prices = PriceTable(config.prices)
    assert prices.cost("my-model.v2", Usage(input=1000, output=10)) == pytest.approx((500 + 20) / 1e6)
    assert prices.cost("my-model.v2", Usage(input=1001, output=10)) == pytest.approx((1001 + 40) / 1e6)


# What is recorded ----------------------------------------------------------------------------------------------------


def recorded(tables: Tables) -> list[tuple[str, str, float]]:
    rows = tables.rows("SELECT stage, model, cost_usd, input_tokens, output_tokens FROM gb_inferences ORDER BY id")
    return [(row["stage"], row["model"], row["cost_usd"]) for row in rows]


@requirement("query.inference-cost", "embed.one-inference-cost", "inferences.cost")
async def test_every_recorded_call_holds_what_it_cost(opened: Opener, model: ScriptedModel, tables: Tables) -> None:
    model.replies(ALICE_WORKS_AT_ACME, graph(edges=[edge("Alice", "works_at", "Nord")]), verdicts(verdict()))
    model.replies(answer("At Acme."))
    async with opened(prices=SCRIPTED) as core:
        await tell(core)
        await tell(core)
        await ask(core, "Where does Alice work?")
    call = (100 * 1000 + 20 * 10_000) / 1e6
    tokens = {row["stage"]: row["input_tokens"] for row in tables.rows("SELECT * FROM gb_inferences ORDER BY id DESC")}
    assert [(stage, cost) for stage, _, cost in recorded(tables)] == [
        ("extract_graph", pytest.approx(call)),
        ("embed", pytest.approx(tokens["embed"] * 500 / 1e6)),
        ("extract_graph", pytest.approx(call)),
        ("search_similar", pytest.approx(tokens["search_similar"] * 500 / 1e6)),
        ("resolve_edges", pytest.approx(call)),
        ("embed", pytest.approx(recorded(tables)[-2][2])),
        ("query", pytest.approx(call)),
    ]
    assert all(cost > 0 for _, _, cost in recorded(tables))


@requirement("models.unpriced")
async def test_a_model_without_a_price_is_recorded_as_free(core: Core, model: ScriptedModel, tables: Tables) -> None:
    model.replies(ALICE_WORKS_AT_ACME)
    await tell(core)
    assert recorded(tables) == [("extract_graph", "scripted-1", 0.0), ("embed", "hash-1", 0.0)]


async def test_an_answer_of_no_use_was_paid_all_the_same(opened: Opener, model: ScriptedModel, tables: Tables) -> None:
    paid = Inference("scripted", "scripted-1", "scripted-1", Usage(input=1000))
    model.replies(Completion("", paid, "truncated"), Completion("", paid, "refused"))
    model.replies(ALICE_WORKS_AT_ACME, "not json", "nor this")
    async with opened(prices=SCRIPTED) as core:
        with pytest.raises(ModelFailed):
            await tell(core)
        await tell(core)
        with pytest.raises(ModelFailed):
            await ask(core, "Where does Alice work?")
    assert [(stage, cost) for stage, model, cost in recorded(tables) if model == "scripted-1"] == [
        ("extract_graph", pytest.approx(1.0)),
        ("extract_graph", pytest.approx(1.0)),
        ("extract_graph", pytest.approx(0.3)),
        ("query", pytest.approx(0.3)),
        ("query", pytest.approx(0.3)),
    ]


async def test_a_later_price_does_not_rewrite_what_was_recorded(
    opened: Opener, model: ScriptedModel, embedder: HashEmbedder, tables: Tables
) -> None:
    model.replies(graph(), graph())
    async with opened(prices=SCRIPTED) as core:
        await tell(core)
    async with opened(prices={}) as core:
        await tell(core)
    costs = [cost for stage, _, cost in recorded(tables) if stage == "extract_graph"]
    assert costs == [pytest.approx(0.3), 0.0]
