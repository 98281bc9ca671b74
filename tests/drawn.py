"""Images that the tests draw themselves."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Literal

from PIL import Image, ImageDraw, ImageFont

Format = Literal["PNG", "JPEG", "GIF", "WEBP"]

# By default: a title and two lines below it.
LINES: Mapping[tuple[int, int, int], str] = {
    (200, 30, 48): "Revenue 2025",
    (60, 200, 28): "Q1 sales were good",
    (60, 300, 28): "Acme Corporation",
}


def drawn(
    kind: Format = "PNG",
    *,
    size: tuple[int, int] = (800, 500),
    lines: Mapping[tuple[int, int, int], str] = LINES,
    mode: str = "RGB",
    noise: bytes = b"",
    **options: object,
) -> bytes:
    """The bytes of an image with these words at (x, y, height in pixels). `noise` stands behind the image, where no
    reader looks."""
    picture = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(picture)
    for (x, y, height), text in lines.items():
        pen.text((x, y), text, fill="black", font=ImageFont.load_default(height))
    file = io.BytesIO()
    picture.convert(mode).save(file, kind, **options)
    return file.getvalue() + noise


def as_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
