"""How each Anthropic model is asked to think, or not to: the one table of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from core.config import ThinkingStyle
from core.inferences import THINKING_TOKENS, Reasoning

Style = ThinkingStyle
"""off: can't think. budget: a number of tokens. adaptive: as it sees fit, with an effort; can be disabled.
between_tools: the same, but `disabled` goes by that name. always: can't be kept from thinking."""

# The longest prefix wins; every other name is adaptive, as all models since 4.6 are (claude-haiku-5-5 among them).
STYLES: Mapping[str, Style] = {
    "claude-3-": "off",
    "claude-3-7": "budget",
    "claude-sonnet-4-2": "budget",
    "claude-sonnet-4-0": "budget",
    "claude-sonnet-4-5": "budget",
    "claude-opus-4-2": "budget",
    "claude-opus-4-0": "budget",
    "claude-opus-4-1": "budget",
    "claude-opus-4-5": "budget",
    "claude-haiku-4-5": "budget",
    "claude-sonnet-5-5": "between_tools",
    "claude-opus-5-5": "always",
    "claude-fable-5": "always",
    "claude-mythos-5": "always",
    "claude-mythos-preview": "always",
}


@dataclass(frozen=True, slots=True)
class Thinking:
    """What to send for a level: the `thinking` parameter and the effort (None: leave out), the tokens to add to the
    answer's limit, and the level that the call really runs with."""

    thinking: Mapping[str, object] | None
    effort: Literal["low", "medium", "high"] | None
    room: int
    level: Reasoning


def style(model: str, styles: Mapping[str, Style] = STYLES) -> Style:
    """How the model thinks, by its name."""
    prefixes = [prefix for prefix in styles if model.startswith(prefix)]
    return styles[max(prefixes, key=len)] if prefixes else "adaptive"


def thinking(model: str, level: Reasoning, styles: Mapping[str, Style] = STYLES) -> Thinking:
    """How to ask the model for this level. Levels are an effort: newer models refuse budgets. The budget of a level is
    added as room for every style, or the thoughts would use up the answer's tokens."""
    kind = style(model, styles)
    room = THINKING_TOKENS[level]
    if kind == "off":
        return Thinking(None, None, 0, "none")
    if level == "none":
        return _without(kind)
    if kind == "budget":
        return Thinking({"type": "enabled", "budget_tokens": room}, None, room, level)
    return Thinking({"type": "adaptive"}, level, room, level)


def _without(kind: Style) -> Thinking:
    if kind == "always":  # the least it does, and recorded as that
        return Thinking(None, "low", THINKING_TOKENS["low"], "low")
    if kind == "budget":
        return Thinking(None, None, 0, "none")
    return Thinking({"type": "between_tools" if kind == "between_tools" else "disabled"}, None, 0, "none")
