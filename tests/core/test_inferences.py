"""What a model call costs."""

from __future__ import annotations

import pytest

from core.inferences import BANDS, PRICES, Inference, Usage, cost_usd


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


def test_a_dated_snapshot_costs_what_its_alias_costs() -> None:
    usage = Usage(input=1000, output=1000)
    assert cost_usd("claude-haiku-4-5-20251001", usage) == cost_usd("claude-haiku-4-5", usage) > 0


@pytest.mark.parametrize("model", ["qwen3", "", "claude-haiku-5-5-preview", "jev", "claude-haiku-5-5-2026"])
def test_a_model_that_is_not_in_the_table_costs_nothing(model: str) -> None:
    assert cost_usd(model, Usage(input=10**9, output=10**9)) == 0.0


def test_the_cost_goes_by_the_model_that_answered() -> None:
    inference = Inference("anthropic", "claude-sonnet-5-5", "claude-haiku-5-5", Usage(output=1_000_000))
    assert inference.cost_usd == pytest.approx(10.0)


def test_every_price_of_cached_tokens_is_below_that_of_fresh_ones() -> None:
    prices = [*PRICES.values(), *(band.price for band in BANDS.values())]
    assert all(0 <= price.cache_read < price.input for price in prices)
    assert all(price.cache_write > price.input or not price.output for price in prices)
