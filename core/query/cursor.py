"""The rest of an evidence that was too long for one result, as a string that its reader sends back."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate, pairwise
from typing import cast

from core.errors import InvalidRequest
from core.requests import MAX_ID
from core.text import clean
from core.times import read_instant, rfc3339, utc

MAX_CURSOR = 8192
MAX_ROWS = 10_000
"""Entities, and facts: a database asks for so many ids at once, and a cursor that was made up can claim more."""
_MAX_JSON = 256 * 1024


@dataclass(frozen=True, slots=True)
class Rest:
    """The rows that were left out, in their order, and the moment that they are read as of. A cursor holds no rows and
    grants nothing: whoever sends it reads what is his in the dataset."""

    dataset: str
    known_at: datetime
    entities: tuple[int, ...] = ()
    edges: tuple[int, ...] = ()

    def cursor(self) -> str:
        """The string. Ids are told as steps from one to the next and packed: a model has to repeat every character."""
        parts = [self.dataset, rfc3339(self.known_at), _steps(self.entities), _steps(self.edges)]
        packed = zlib.compress(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode(), 9)
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.entities) + len(self.edges)

    def without(self, entities: Iterable[int], edges: Iterable[int]) -> Rest:
        """The rest without these rows."""
        return replace(self, entities=_but(self.entities, entities), edges=_but(self.edges, edges))

    @property
    def is_too_long(self) -> bool:
        """Whether no cursor can hold it."""
        return max(len(self.entities), len(self.edges)) > MAX_ROWS or len(self.cursor()) > MAX_CURSOR

    def first_half(self) -> Rest:
        """The first half of the entities and of the facts."""
        return replace(self, entities=_half(self.entities), edges=_half(self.edges))

    @classmethod
    def read(cls, cursor: str) -> Rest:
        """What a cursor says; raises InvalidRequest for a string that is none."""
        try:
            dataset, known_at, entities, edges = cast("list[object]", _unpacked(cursor))
            moment = read_instant(known_at) if isinstance(known_at, str) else None
            if moment is None or not isinstance(dataset, str) or clean(dataset)[0] != dataset:
                raise TypeError
            return cls(dataset, utc(moment), _ids(entities), _ids(edges))
        except (ValueError, TypeError, zlib.error, RecursionError):
            raise InvalidRequest("cursor: is no cursor of a result", param="cursor") from None


def _unpacked(cursor: str) -> object:
    packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    # No more than a cursor of ours unpacks to: a few bytes can claim to be gigabytes.
    return json.loads(zlib.decompressobj().decompress(packed, _MAX_JSON))


def _but(ids: tuple[int, ...], others: Iterable[int]) -> tuple[int, ...]:
    left_out = {*others}
    return tuple(i for i in ids if i not in left_out)


def _half(ids: tuple[int, ...]) -> tuple[int, ...]:
    return ids[: len(ids) // 2]


def _steps(ids: Sequence[int]) -> list[int]:
    return [b - a for a, b in pairwise((0, *ids))]


def _ids(steps: object) -> tuple[int, ...]:
    stated = cast("list[int]", steps)
    if not isinstance(steps, list) or any(type(step) is not int for step in stated):
        raise TypeError
    ids = tuple(accumulate(stated))
    if not all(0 < i <= MAX_ID for i in ids) or len({*ids}) < len(ids) or len(ids) > MAX_ROWS:
        raise ValueError
    return ids
