"""The words of a picture: titles of columns with their units, names of records, numbers as people write them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import unquote

# How a column says its unit: the last word of its name.
_UNITS = {
    "eur": "EUR", "usd": "USD", "gbp": "GBP", "percent": "%", "pct": "%",
    "kg": "kg", "km": "km", "cm": "cm", "mm": "mm", "ms": "ms", "hours": "hours", "minutes": "minutes",
    "seconds": "seconds", "days": "days", "weeks": "weeks", "months": "months", "years": "years",
}  # fmt: skip
_COUNTS = {"n", "cnt", "count", "num"}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+")
_LABEL_WORDS = {"label", "name", "title"}


def titled(column: str) -> str:
    """A column as a title: `revenueEur` is "Revenue (EUR)", `teamLabel` is "Team", `n` is "Count"."""
    words = [word if word.isupper() and len(word) > 1 else word.lower() for word in _WORD.findall(column)]
    if not words:
        return column
    if len(words) > 1 and words[-1].lower() in _LABEL_WORDS:
        words.pop()
    unit = _UNITS.get(words[-1].lower()) if len(words) > 1 else None
    said = " ".join(words[:-1] if unit else words)
    said = "count" if said in _COUNTS else said
    return f"{said[0].upper()}{said[1:]}" + (f" ({unit})" if unit else "")


def local_name(iri: str) -> str:
    """What an IRI calls its record: its last part, in words."""
    last = re.split(r"[/#:]", iri.rstrip("/#"))[-1] or iri
    return unquote(last).replace("_", " ")


def clean(text: str) -> str:
    """The text on one line, without what would steer a terminal or break a document."""
    kept = (" " if char.isspace() else char for char in text if char.isspace() or _is_visible(char))
    return " ".join("".join(kept).split())


def _is_visible(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cs", "Cn", "Co") and char not in "\u202a\u202b\u202c\u202d\u202e"


def short(text: str, most: int) -> str:
    """The text, cut to that many characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def distinct(texts: Sequence[str], most: int) -> list[str]:
    """The texts, cut to that many characters: at their end, or in their middle where they begin alike."""
    cut = [short(text, most) for text in texts]
    if len(set(cut)) == len(set(texts)):
        return cut
    tail = most // 3
    return [text if len(text) <= most else f"{text[: most - tail - 1].rstrip()}…{text[-tail:]}" for text in texts]


def number(value: float) -> str:
    """The number as people write it: 1,234 and 0.25 and 1.2e+16."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1e15 or abs(value) < 1e-4:
        return f"{value:.3g}"
    return f"{value:,.2f}" if abs(value) >= 10 else f"{value:.4g}"


def tick(value: float) -> str:
    """The number beside a line of the grid, where all are round."""
    return number(value) if value == int(value) or abs(value) < 1e-4 else f"{value:,.6g}"
