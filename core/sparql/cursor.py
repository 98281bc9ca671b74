"""Cursors of reads that go on at a commit: which request they belong to, where it reads, and how far it has come."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from core.errors import InvalidRequest
from core.requests import MAX_ID

MAX_CURSOR = 200
_DIGEST_BYTES = 12


@dataclass(frozen=True, slots=True)
class Place:
    """The commits that are read, and how many rows or entries were handed out. It grants nothing: whoever sends the
    cursor reads what is his."""

    seqs: tuple[int, ...]
    offset: int

    def cursor(self, request: Sequence[object]) -> str:
        """The string, for a caller who sends the same request again."""
        packed = json.dumps([_digest(request), self.offset, *self.seqs], separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")

    @classmethod
    def read(cls, cursor: str, request: Sequence[object], seqs: int) -> Place:
        """What a cursor says of so many commits; raises InvalidRequest for a string that is none, and for one of
        another request."""
        try:
            digest, offset, *stated = cast("list[object]", _unpacked(cursor))
            numbers = [number for number in (offset, *stated) if type(number) is int and 0 <= number <= MAX_ID]
            if len(numbers) != 1 + seqs or len(stated) != seqs:
                raise TypeError
        except (ValueError, TypeError, RecursionError):
            raise InvalidRequest("cursor: is no cursor of a page", param="cursor") from None
        if digest != _digest(request):
            raise InvalidRequest("cursor: belongs to another request; send the same one again", param="cursor")
        return cls(tuple(numbers[1:]), numbers[0])


def _unpacked(cursor: str) -> object:
    if len(cursor) > MAX_CURSOR:
        raise ValueError
    try:
        return json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except binascii.Error as failure:
        raise ValueError from failure


def _digest(request: Sequence[object]) -> str:
    stated = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(hashlib.sha256(stated).digest()[:_DIGEST_BYTES]).decode()
