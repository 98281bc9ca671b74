"""What of a result fits into so many tokens: whole items of lists, and texts that are cut where that is said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, cast

# Fewer than in any language (English has 4, Chinese 2.2), so nothing is longer than it is taken for. Counting would
# be no truer, for every model has tokens of its own, and the table for it takes 36 MB.
BYTES_PER_TOKEN = 2
_TRUNCATED = {"text_truncated": True}
# Characters of the longest RFC 3339 time; no text that short is worth cutting.
_LONGEST_TIME = 32


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


def shortened(item: Any, room: int) -> Any:
    """An item of a list that doesn't fit, its texts cut until it does, the longest first; `text_truncated` says so. Ids
    and times stay as they are, so it may still be too long."""
    if isinstance(item, str):
        return beginning(item, room)
    return _with_short_texts(cast("Mapping[str, Any]", item), room) if isinstance(item, Mapping) else item


def _with_short_texts(item: Mapping[str, Any], room: int) -> dict[str, Any]:
    texts = [name for name, text in item.items() if isinstance(text, str) and len(text) > _LONGEST_TIME]
    cut = {**item, **_TRUNCATED} if texts else dict(item)
    for name in sorted(texts, key=lambda name: len(item[name]), reverse=True):
        if not name.endswith("id") and not fits(cut, room):
            cut[name] = beginning(item[name], room - tokens_of({**cut, name: ""}))
    return cut
