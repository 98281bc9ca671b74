"""Images as they are told and kept: their form, known from their first bytes, and what was read from them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from core.requests import MIB

MAX_BYTES = 15 * MIB // 4
"""3.75 MiB: what 5 MiB of base64 hold, the most that the Anthropic API takes for one image."""
MAX_SIDE = 8000
MAX_BLOCKS = 200
MAX_BLOCK = 4000
"""Characters of one block."""

Theme = Literal["plot", "graph", "diagram", "table", "document", "screenshot", "photo", "map", "handwriting", "other"]
Role = Literal["title", "heading", "paragraph", "axis_label", "legend", "cell", "caption", "label", "other"]
THEMES: tuple[Theme, ...] = get_args(Theme)
ROLES: tuple[Role, ...] = get_args(Role)

MediaType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]


@dataclass(frozen=True, slots=True)
class Image:
    """An image; sides in pixels, `size` in bytes. `content` is None for one whose bytes are not kept."""

    sha256: str
    media_type: MediaType
    width: int
    height: int
    size: int
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of text that stands in an image, word for word, and what it is there."""

    text: str
    role: Role


@dataclass(frozen=True, slots=True)
class ImageReading:
    """What was read from an image, the blocks in reading order. `title` may be empty."""

    theme: Theme
    title: str
    blocks: tuple[Block, ...]
    language: str = ""

    @property
    def text(self) -> str:
        """The words of the image, a line for the title and each block: what it is searched by."""
        return "\n".join(filter(None, [self.title, *(block.text for block in self.blocks)]))


@dataclass(frozen=True, slots=True)
class ReadImage:
    """An image with what was read from it."""

    image: Image
    reading: ImageReading


@dataclass(frozen=True, slots=True)
class KnownImage:
    """An image that a dataset holds: its artifact, and the run that told it first."""

    artifact_id: int
    run_id: int | None
    session_id: str | None
    valid_at: datetime
    created_at: datetime
    read: ReadImage


_PREFIX = re.compile(r"data:image/[\w.+-]+;base64,", re.IGNORECASE)


def bare_base64(stated: str) -> str:
    """The base64 of an image without white space and without the prefix of a data URL."""
    bare = "".join(stated.split())
    prefix = _PREFIX.match(bare)
    return bare[prefix.end() :] if prefix else bare


def decoded_image(stated: str) -> Image:
    """The image that a base64 text holds. Raises ValueError that says which rule it breaks."""
    bare = bare_base64(stated)
    if len(bare) > MAX_BYTES * 4 // 3 + 4:
        raise ValueError(_TOO_LARGE)
    try:
        content = base64.b64decode(bare, validate=True)
    except (binascii.Error, ValueError):  # a character outside of ASCII is the latter
        raise ValueError("must be an image in base64") from None
    if len(content) > MAX_BYTES:
        raise ValueError(_TOO_LARGE)
    form = _form(content)
    if form is None:
        raise ValueError("must be a PNG, JPEG, GIF or WebP image")
    media_type, width, height = form
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise ValueError(f"must have sides of 1 to {MAX_SIDE} pixels, has {width} x {height}")
    return Image(hashlib.sha256(content).hexdigest(), media_type, width, height, len(content), content)


_TOO_LARGE = f"must be at most {MAX_BYTES} bytes once decoded (3.75 MiB)"


# Formats --------------------------------------------------------------------------------------------------------------

Sides = tuple[int, int]


def _form(content: bytes) -> tuple[MediaType, int, int] | None:
    """The format by the first bytes, whatever a label says, with the width and the height that they state."""
    for media_type, begins, sides in _FORMATS:
        if begins.match(content) and (found := sides(content)):
            return media_type, *found
    return None


def _png(content: bytes) -> Sides | None:
    return (_big(content, 16, 4), _big(content, 20, 4)) if content[12:16] == b"IHDR" and len(content) >= 24 else None


def _gif(content: bytes) -> Sides | None:
    return (_little(content, 6, 2), _little(content, 8, 2)) if len(content) >= 10 else None


def _jpeg(content: bytes) -> Sides | None:
    """From the frame header, which stands behind any number of other segments."""
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:  # a byte that fills up
            at += 1
        elif marker in _FRAMES:
            return _big(content, at + 7, 2), _big(content, at + 5, 2)
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:  # these have no length
            at += 2
        else:
            at += 2 + _big(content, at + 2, 2)
    return None


def _webp(content: bytes) -> Sides | None:
    if len(content) < 30:
        return None
    kind = content[12:16]
    if kind == b"VP8X":
        return 1 + _little(content, 24, 3), 1 + _little(content, 27, 3)
    if kind == b"VP8L" and content[20] == 0x2F:
        bits = _little(content, 21, 4)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and content[23:26] == b"\x9d\x01\x2a":
        return _little(content, 26, 2) & 0x3FFF, _little(content, 28, 2) & 0x3FFF
    return None


def _big(content: bytes, at: int, length: int) -> int:
    return int.from_bytes(content[at : at + length], "big")


def _little(content: bytes, at: int, length: int) -> int:
    return int.from_bytes(content[at : at + length], "little")


_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_FORMATS: tuple[tuple[MediaType, re.Pattern[bytes], Callable[[bytes], Sides | None]], ...] = (
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n"), _png),
    ("image/jpeg", re.compile(rb"\xff\xd8\xff"), _jpeg),
    ("image/gif", re.compile(rb"GIF8[79]a"), _gif),
    ("image/webp", re.compile(rb"RIFF.{4}WEBP", re.DOTALL), _webp),
)
