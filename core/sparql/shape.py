"""How a query orders and limits its rows, read from its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.rdf.tokens import Token, is_read, tokens
from core.requests import MAX_ID

# The engine wants no space between a word and its number.
_MODIFIER = re.compile(r"(order|limit|offset)(?:by)?(\d*)")
_DEPTH = {"{": 1, "(": 1, "}": -1, ")": -1}
_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Shape:
    """The modifiers of the query itself, not of its subqueries. The number of its LIMIT stands from one place in
    `limit_at` to the other."""

    is_ordered: bool = False
    limit: int | None = None
    limit_at: tuple[int, int] = (0, 0)
    offset: int | None = None


def shape_of(text: str) -> Shape:
    """The shape of a query that the engine can read."""
    numbers: dict[str, tuple[int, tuple[int, int]]] = {}
    is_ordered = False
    last = ""
    for token, end in _outermost(text):
        modifier = _MODIFIER.fullmatch(token.folded) if token.kind == "word" else None
        name = modifier[1] if modifier else last
        digits = modifier[2] if modifier else token.text
        if name and digits.isdecimal():
            value = int(digits) if len(digits) <= _MAX_DIGITS else MAX_ID
            numbers[name] = value, (end - len(digits), end)
        is_ordered = is_ordered or name == "order"
        last = modifier[1] if modifier else ""
    limit, limit_at = numbers.get("limit", (None, (0, 0)))
    return Shape(is_ordered, limit, limit_at, numbers.get("offset", (None,))[0])


def _outermost(text: str) -> Iterator[tuple[Token, int]]:
    """What stands in no braces and no parentheses, each with the place where it ends."""
    depth = end = 0
    for token in tokens(text):
        end += len(token.text)
        depth += _DEPTH.get(token.text, 0) if token.kind == "sign" else 0
        if depth == 0 and is_read(token):
            yield token, end
