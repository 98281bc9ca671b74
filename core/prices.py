"""What a model call costs: the built-in price list, and the rows of gligabao.toml over it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from core.inferences import Usage

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Rates(BaseModel):
    """US dollars per million tokens. Cached and newly cached prompt tokens cost what others do where nothing is said of
    them; thinking is billed as output."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None

    def cost(self, usage: Usage) -> float:
        """US dollars for the tokens of one call."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        fresh = max(0, usage.input - usage.cached - usage.cache_write)
        tokens = fresh * self.input + usage.cached * read + usage.cache_write * write + usage.output * self.output
        return tokens / 1_000_000


class LongPrompt(Rates):
    """Other rates for a whole request whose prompt, cached tokens included, is over `above` tokens."""

    above: Annotated[int, Field(ge=1)]


class Price(Rates):
    """What one model costs, a row of `[prices]`."""

    input: Dollars = 0.0
    output: Dollars = 0.0
    web_search_per_1000: Dollars = 0.0
    long_prompt: LongPrompt | None = None

    @property
    def free(self) -> bool:
        """Whether no call of the model can cost anything."""
        rates = (self, self.long_prompt) if self.long_prompt else (self,)
        prices = [(r.input, r.output, r.cache_read, r.cache_write) for r in rates]
        return not self.web_search_per_1000 and not any(any(row) for row in prices)


def _claude(into: float, out: float, read: float, write: float, long_prompt: LongPrompt | None = None) -> Price:
    return Price(
        input=into,
        output=out,
        cache_read=read,
        cache_write=write,
        web_search_per_1000=10,
        long_prompt=long_prompt,
    )


_LONG_HAIKU = LongPrompt(above=100_000, input=0.50, output=2.50, cache_read=0.05, cache_write=0.625)
PRICES: Mapping[str, Price] = {
    "claude-haiku-5-5": _claude(0.10, 0.50, 0.01, 0.125, _LONG_HAIKU),
    "claude-sonnet-5-5": _claude(2, 10, 0.10, 2.50),
    "claude-sonnet-5": _claude(2, 10, 0.20, 2.50),
    "claude-opus-5-5": _claude(4, 20, 0.40, 5.00),
    "claude-fable-5-1": _claude(10, 50, 1.00, 12.50),
    "claude-haiku-4-5": _claude(1, 5, 0.10, 1.25),
    "text-embedding-3-small": Price(input=0.02),
    "text-embedding-3-large": Price(input=0.13),
    "jev-*": Price(input=0.042),
}
"""The prices of November 2026. A name that ends in * stands for all that begin so."""

_FREE = Price()
_SNAPSHOT = re.compile(r"-\d{8}$")


@dataclass(frozen=True, slots=True)
class PriceTable:
    """The prices in force; `overrides` replace whole rows of the built-in list, or add some."""

    overrides: Mapping[str, Price] = field(default_factory=dict[str, Price])

    def price(self, model: str) -> Price:
        """The row of a model: by its name, then without a `-YYYYMMDD` tail, then by the beginning of its name. One that
        is in no row is free."""
        alias = _SNAPSHOT.sub("", model)
        for rows in (self.overrides, PRICES):
            if row := rows.get(model) or rows.get(alias):
                return row
        every = {**PRICES, **self.overrides}
        begins = [name for name in every if name.endswith("*") and model.startswith(name[:-1])]
        return every[max(begins, key=len)] if begins else _FREE

    def cost(self, model: str, usage: Usage) -> float:
        """US dollars for one call, searches of the web included; 0 for a model without a price."""
        price = self.price(model)
        long = price.long_prompt
        rates = long if long and usage.input > long.above else price
        return rates.cost(usage) + usage.web_searches * price.web_search_per_1000 / 1000
