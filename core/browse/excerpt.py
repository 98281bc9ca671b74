"""The piece of a text that shows why it was found."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from core.text import fold

EXCERPT = 200
# So much of an excerpt stands before what it shows.
BEFORE = 60


def excerpt(text: str, phrases: Sequence[str] = ()) -> str:
    """At most 200 code points of the text: around the first of the phrases that occurs in it, else from its start. The
    phrases are folded."""
    place = next((at for phrase in phrases if phrase and (at := _place(text, phrase)) is not None), 0)
    start = max(0, min(place - BEFORE, len(text) - EXCERPT))
    return text[start : start + EXCERPT]


def _place(text: str, phrase: str) -> int | None:
    """Where in the text the phrase begins, about."""
    lowered = text.casefold()
    if len(lowered) == len(text) and (at := lowered.find(phrase)) >= 0:
        return at
    if phrase not in fold(text):
        return None
    # Folding changes lengths: its end is where the folded beginning of the text holds it for the first time.
    end = bisect_left(range(len(text)), True, key=lambda i: phrase in fold(text[: i + 1]))
    return max(0, end + 1 - len(phrase))
