"""A row that is too long to be shown at once, in parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from core import fitting

_TEXTS = ("text", "description")
# A part has at least so many tokens, so that whoever reads on gets to the end.
LEAST = 100


def cut(row: Mapping[str, Any], room: int) -> dict[str, Any]:
    """The row in at most `room` tokens: of the rows around it only how many there are, for they have lists of their
    own; as much of its text as fits; then whole items of its other lists, the number of all beside those."""
    lists = {name: cast("list[Any]", part) for name, part in row.items() if isinstance(part, list)}
    kept: dict[str, Any] = {name: [] if name in lists else _outline(part) for name, part in row.items()}
    if name := _text_of(row):
        kept |= _part(row, name, 0, room - fitting.tokens_of({**kept, name: ""}))
    for name, items in lists.items():
        kept[name] = items[: fitting.how_many(items, room - fitting.tokens_of(kept))]
        if len(kept[name]) < len(items):
            kept[f"{name}_total"] = len(items)
    return kept


def text_from(row: Mapping[str, Any], offset: int, room: int) -> dict[str, Any]:
    """The text of the row from that code point on, as much as fits, and nothing else of it."""
    name = _text_of(row)
    return {"id": row["id"], **(_part(row, name, offset, room) if name else {})}


def _outline(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    inner = cast("Mapping[str, Any]", part)
    if "items" in inner:
        return {"total": inner["total"]}
    # The blocks of an image are the words of its text once more.
    return {name: value for name, value in inner.items() if name != "blocks"}


def _text_of(row: Mapping[str, Any]) -> str | None:
    return next((name for name in _TEXTS if name in row), None)


def _part(row: Mapping[str, Any], name: str, offset: int, room: int) -> dict[str, Any]:
    """A part of the text, cut between two code points, and where it goes on."""
    text: str = row[name]
    part = fitting.beginning(text[offset:], max(room, LEAST))
    end = offset + len(part)
    return {name: part, **({"text_truncated": True, "next_offset": end} if end < len(text) else {})}
