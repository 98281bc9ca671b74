"""Results of a graph as a model reads them: rows as plain values, and as many of each list as fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from core import fitting

Body = dict[str, Any]

# Tokens for the session, and for what is said of lists that were cut.
ENVELOPE = 200
# Of an answer: how it was come by. REST and the command line show that.
_FOR_PEOPLE = ("steps", "models", "timings", "grounding", "attempts")


def fitted_graph(operation: str, body: Body, limit: int) -> Body:
    """The body in about `limit` tokens. Lists keep whole items; `shown` and `total` count those of each list that was
    cut, by its name, and `text_truncated` says that a text was. What REST goes on with (next_cursor, row_page) stays.
    """
    body = _SHAPES.get(operation, dict)(body)
    cutting = _Cutting()
    return {**cutting.fitted(body, limit - ENVELOPE), **cutting.told()}


@dataclass(slots=True)
class _Cutting:
    """Cuts a result, and keeps what was cut of it."""

    shown: dict[str, int] = field(default_factory=dict[str, int])
    total: dict[str, int] = field(default_factory=dict[str, int])
    texts: bool = False

    def fitted(self, body: Mapping[str, Any], room: int, inside: str = "") -> Body:
        """The object in that room: what is short stays whole, and what is long shares the rest."""
        kept: Body = dict.fromkeys(body)
        left = room - fitting.tokens_of(kept)
        shortest_first = sorted(body, key=lambda name: fitting.tokens_of(body[name]))
        for later, name in zip(range(len(body), 0, -1), shortest_first, strict=True):
            kept[name] = self._part(body[name], left // later, f"{inside}{name}")
            left -= fitting.tokens_of(kept[name])
        return kept

    def _part(self, part: Any, room: int, name: str) -> Any:
        if fitting.fits(part, room):
            return part
        if isinstance(part, list):
            return self._items(cast("list[Any]", part), room, name)
        if isinstance(part, Mapping):
            return self.fitted(cast("Mapping[str, Any]", part), room, f"{name}.")
        self.texts |= isinstance(part, str)
        return fitting.beginning(part, room) if isinstance(part, str) else part

    def _items(self, items: list[Any], room: int, name: str) -> list[Any]:
        """The first items that fit as wholes; where not even one does, a part of it."""
        kept = items[: fitting.how_many(items, room)] or [self._part(items[0], room, name)]
        if len(kept) < len(items):
            self.shown[name], self.total[name] = len(kept), len(items)
        return kept

    def told(self) -> Body:
        """What is said of it."""
        counts = {"shown": self.shown, "total": self.total} if self.shown else {}
        return {**counts, **({"text_truncated": True} if self.texts else {})}


# How each is shown ----------------------------------------------------------------------------------------------------


def _answered(body: Body) -> Body:
    kept = {name: part for name, part in body.items() if name not in (*_FOR_PEOPLE, "result", "history")}
    if result := body.get("result"):
        kept |= _rows(result)
    if history := body.get("history"):
        kept["history"] = _without_types(history)
    return kept


def _rows(body: Body) -> Body:
    """Each row as an object from a variable to its value; of an ASK yes or no."""
    document: Mapping[str, Any] = json.loads(body["results"])
    more = {name: body[name] for name in ("row_page", "search", "next_cursor", "trace_id") if name in body}
    if "boolean" in document:
        return {"boolean": document["boolean"], **more}
    return {"rows": _without_types(document["results"]["bindings"]), **more}


def _without_types(value: object) -> Any:
    """The same with the value alone of each term of SPARQL results."""
    if isinstance(value, list):
        return [_without_types(item) for item in cast("list[object]", value)]
    if not isinstance(value, Mapping):
        return value
    stated = cast("Mapping[str, object]", value)
    if "value" in stated and stated.get("type") in ("uri", "literal", "bnode", "triple"):
        return stated["value"]
    return {name: _without_types(part) for name, part in stated.items()}


def _described(body: Body) -> Body:
    """The text, which says all that the lists beside it do."""
    return {name: body[name] for name in ("text", "commit_seq", "unknown", "partial") if name in body}


_SHAPES: Mapping[str, Callable[[Body], Body]] = {
    "ask": _answered,
    "sparql": _rows,
    "describe": _described,
    "compare": _without_types,
}
