"""A text cut into what can be read by itself: sentences, and code that nobody should be looked for in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^(```|~~~).*?(?:^\1\s*$|\Z)", re.MULTILINE | re.DOTALL)
# Runs as in base64, hex dumps and keys; a web address is none. Prose has no word of this length.
_NOISE = re.compile(r"(?:data:[\w/+.-]+;base64,)?(?<![\w/.:])[A-Za-z0-9+/=_-]{80,}")
_BULLET = re.compile(r"^\s*(?:[-*•>]|\d+[.)]|#{1,6})\s+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|Sr|Jr|Mt|Gen|Col|Rev|Hon|vs|etc|approx|No|Fig|Inc|Ltd|Co|Corp|Bros|Ave|Rd"
    r"|e\.g|i\.e|a\.m|p\.m|U\.S|U\.K|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)|\b[A-Z])\.$"
)
_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s+[^\sa-z])|[。！？؟]+|\n\s*\n|\n(?=\s*(?:[-*•>]|\d+[.)]|#)\s)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text. `code`: a fenced block."""

    text: str
    code: bool = False


def pieces(text: str) -> Iterator[Piece]:
    """The sentences and code blocks of a text, in order, without what is noise or blank."""
    position = 0
    for fence in _FENCE.finditer(text):
        yield from _prose(text[position : fence.start()])
        yield Piece(fence[0].strip(), code=True)
        position = fence.end()
    yield from _prose(text[position:])


def _prose(text: str) -> Iterator[Piece]:
    for sentence in sentences(_NOISE.sub(" ", text)):
        line = " ".join(_BULLET.sub("", sentence).split())
        if any(char.isalnum() or ord(char) > 0x2000 for char in line) and not _unprintable(line):
            yield Piece(line)


def sentences(text: str) -> Iterator[str]:
    """The text cut after each sentence; an abbreviation or an initial ends none."""
    start = 0
    for end in _END.finditer(text):
        if not _ABBREVIATION.search(text[max(0, start, end.end() - 12) : end.end()]):
            yield text[start : end.end()]
            start = end.end()
    yield text[start:]


def _unprintable(line: str) -> bool:
    # Binary read as text: more than one character in ten is a control, private or replacement character.
    strange = sum(not char.isprintable() or char == "\ufffd" for char in line)
    return strange * 10 > len(line)
