"""Stage chunk_text: a text that is too long to be read at once, cut into overlapping chunks."""

from __future__ import annotations

import asyncio
from importlib import import_module
from itertools import pairwise
from typing import Any, cast

from core.graph import Span
from core.remember.run import Run
from core.remember.stages import CHUNK_TEXT
from core.tokens import count_tokens

# The splitter makes its chunks out of pieces of the size of the overlap. A character can have four tokens: it would
# look for ever for a place to cut one into smaller pieces.
SMALLEST_OVERLAP = 8


async def chunk_text(text: str, size: int, overlap_percent: int, run: Run) -> list[Span]:
    """The places of the chunks, in order. Each has at most `size` tokens; between two of them only white space may be
    missing, and the later one repeats at most `overlap_percent` of its size of the one before."""
    async with run.stage(CHUNK_TEXT):
        return await asyncio.to_thread(spans, text, size, overlap_percent)


def spans(text: str, size: int, overlap_percent: int) -> list[Span]:
    """`chunk_text` without its stage. For a text of more than `size` tokens: a shorter one would be cut as well."""
    limit = size
    while True:
        covered = _cut(text, limit, overlap_percent)
        # Pieces that are put together can have a token more than they had apart.
        over = max(span.tokens for span in covered) - size
        if over <= 0:
            return covered
        limit -= over


def _cut(text: str, size: int, overlap_percent: int) -> list[Span]:
    chunk: Any = import_module("semchunk").chunk
    shared_tokens = size * overlap_percent // 100
    overlap = shared_tokens if shared_tokens >= SMALLEST_OVERLAP else None
    # Without its memory of every piece of every text that it has seen.
    _, found = chunk(text, size, count_tokens, memoize=False, offsets=True, overlap=overlap)
    places = cast("list[tuple[int, int]]", found)
    shared = [0, *(_tokens(text[later[0] : before[1]]) for before, later in pairwise(places))]
    return [
        Span(index, start, end, count_tokens(text[start:end]), overlap_tokens)
        for index, ((start, end), overlap_tokens) in enumerate(zip(places, shared, strict=True))
    ]


def _tokens(text: str) -> int:
    return count_tokens(text) if text else 0
