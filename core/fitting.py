"""What of a result fits into so many tokens: whole items of lists, and texts that are cut where that is said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

# Fewer than in any language (English has 4, Chinese 2.2), so nothing is longer than it is taken for. Counting would
# be no truer, for every model has tokens of its own, and the table for it takes 36 MB.
BYTES_PER_TOKEN = 2
_TRUNCATED = {"text_truncated": True}


def tokens_of(value: object) -> int:
    """How many tokens the value takes as compact JSON, at most."""
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    return -(-size // BYTES_PER_TOKEN)


def fits(value: object, room: int) -> bool:
    """Whether the value takes at most `room` tokens."""
    return tokens_of(value) <= room


def costs(items: Sequence[object]) -> list[int]:
    """How many tokens each item takes in a list, with the comma behind it."""
    return [tokens_of(item) + 1 for item in items]


def how_many(items: Sequence[object], room: int) -> int:
    """How many of the first items fit together, each as a whole."""
    return sum(used <= room for used in accumulate(costs(items)))


def beginning(text: str, room: int) -> str:
    """The text, or as much of its beginning as fits, cut between two code points."""
    part = text[: max(room, 0) * BYTES_PER_TOKEN]
    while part and not fits(part, room):
        # Proportionally, and a little less: some stretches of a text are longer in bytes than others.
        part = part[: len(part) * room * 9 // (tokens_of(part) * 10)]
    return part


def shortened(item: Mapping[str, Any], room: int) -> dict[str, Any]:
    """An item that doesn't fit, its longest text cut until it does; `text_truncated` says so."""
    longest = max((name for name in item if isinstance(item[name], str)), key=lambda name: len(item[name]), default="")
    if not longest:
        return dict(item)
    rest = {**item, longest: "", **_TRUNCATED}
    return {**rest, longest: beginning(item[longest], room - tokens_of(rest))}
