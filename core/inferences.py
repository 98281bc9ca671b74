"""One model call as it is recorded: who answered, at which level, what it took and what it cost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

Reasoning = Literal["none", "low", "medium", "high"]
REASONING_LEVELS: tuple[Reasoning, ...] = ("none", "low", "medium", "high")
# The room that a level gives to thinking, in tokens, on top of the answer's own limit (seed 004, Reasoning).
THINKING_TOKENS: Mapping[Reasoning, int] = {"none": 0, "low": 1024, "medium": 4096, "high": 16384}

MODEL_STAGES = (
    "extract_graph",
    "summarize_chunk",
    "resolve_edges",
    "resolve_series",
    "detect_geo",
    "extract_image",
    "web_search",
)
REASONING_STAGES = tuple(stage for stage in MODEL_STAGES if stage != "web_search")

InferenceType = Literal["remember", "query", "embedding"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What a request may choose for one model call. `model` empty means the default of the process."""

    model: str = ""
    reasoning: Reasoning = "none"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. `input` counts all prompt tokens, the cached and the newly cached ones included; `output` all
    output tokens, thinking included."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_write: int = 0
    thinking: int = 0


@dataclass(frozen=True, slots=True)
class Inference:
    """One model call. `model` is the name that the provider's API reported, `reasoning` the level it ran with; `error`
    says why the answer was of no use (it was paid all the same), or why there was none."""

    provider: str
    model: str
    requested_model: str
    usage: Usage = Usage()
    reasoning: Reasoning = "none"
    latency_ms: int = 0
    stop_reason: str = ""
    request_id: str = ""
    error: str = ""
    prompt_hash: str = ""

    @property
    def cost_usd(self) -> float:
        """US dollars, by the price table; 0 for a model that is not in it."""
        return cost_usd(self.model, self.usage)


class Price(NamedTuple):
    """US dollars per million tokens."""

    input: float
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


class Band(NamedTuple):
    """Other prices for a whole request whose prompt is over `above` tokens."""

    above: int
    price: Price


PRICES: Mapping[str, Price] = {
    "claude-haiku-5-5": Price(0.10, 0.50, 0.01, 0.125),
    "claude-sonnet-5-5": Price(2, 10, 0.10, 2.50),
    "claude-sonnet-5": Price(2, 10, 0.20, 2.50),
    "claude-opus-5-5": Price(4, 20, 0.40, 5.00),
    "claude-fable-5-1": Price(10, 50, 1.00, 12.50),
    "claude-haiku-4-5": Price(1, 5, 0.10, 1.25),
    "text-embedding-3-small": Price(0.02),
    "text-embedding-3-large": Price(0.13),
}
BANDS: Mapping[str, Band] = {"claude-haiku-5-5": Band(100_000, Price(0.50, 2.50, 0.05, 0.625))}
_JEV = Price(0.042)

_SNAPSHOT = re.compile(r"-\d{8}$")


def cost_usd(model: str, usage: Usage) -> float:
    """The cost of one call: fresh, cached and newly cached prompt tokens and output tokens, each at its price.

    The band is chosen by all prompt tokens. The name is looked up as reported, then without a `-YYYYMMDD` tail; a model
    that is in no row costs 0.
    """
    name = model if model in PRICES else _SNAPSHOT.sub("", model)
    price = PRICES.get(name) or (_JEV if name.startswith("jev-") else None)
    if price is None:
        return 0.0
    if (band := BANDS.get(name)) and usage.input > band.above:
        price = band.price
    fresh = max(0, usage.input - usage.cached - usage.cache_write)
    tokens = (
        fresh * price.input
        + usage.output * price.output
        + usage.cached * price.cache_read
        + usage.cache_write * price.cache_write
    )
    return tokens / 1_000_000
