"""One model call as it is recorded: who answered, at which level, and what it took."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

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
    output tokens, thinking included. `web_searches`: those that the provider ran and bills."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_write: int = 0
    thinking: int = 0
    web_searches: int = 0


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


def prompt_hash(system: str) -> str:
    """What tells the wordings of a system prompt apart, in the record of its calls."""
    return hashlib.sha256(system.encode()).hexdigest()[:12]
