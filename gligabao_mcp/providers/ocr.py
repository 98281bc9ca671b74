"""Words in images, read on this machine: rapidocr, whose models lie inside its package. No key, no download."""

from __future__ import annotations

import asyncio
import importlib
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from statistics import median
from typing import Any, cast

from core.errors import ModelFailed, NotConfigured
from core.images import MAX_BLOCK, MAX_BLOCKS, Block, Image, ImageReading
from core.inferences import Choice, Inference
from core.ports import Reply
from core.text import clean

PROVIDER = "local"
INSTALL = "reading images without a language model needs its packages: install gligabao-mcp[ocr]"
MODULES = ("rapidocr", "onnxruntime")

# The reader scales larger images down to this itself; doing it first keeps 64 megapixels from being copied three times.
_LARGEST_SIDE = 2000
# A title is set larger than the words around it: 1.2 keeps the first line of plain text from being taken for one.
_TITLE_IS_LARGER = 1.2
# More threads than cores make onnxruntime wait in circles.
_PARAMETERS = {
    "Global.log_level": "error",
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}


@dataclass(frozen=True, slots=True)
class Box:
    """A line of text as it was found: its place in pixels from the top left corner."""

    text: str
    left: float
    top: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The library, once it is imported."""

    model_id: str
    find: Callable[[bytes], tuple[list[Box], int]]
    """The boxes of an image, and how high it is."""


class OcrReader:
    """Reads the words of an image, one image at a time. The library is imported with the first one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    async def read_image(self, image: Image, choice: Choice) -> Reply[ImageReading]:
        """The words by their places; of what kind the image is, nobody can say here. Raises NotConfigured where the
        packages of the extra `ocr` are missing."""
        began = time.perf_counter()
        model_id, boxes, height = await asyncio.to_thread(self._read, image)
        latency = round((time.perf_counter() - began) * 1000)
        inference = Inference(PROVIDER, model_id, choice.model or model_id, latency_ms=latency)
        return Reply(reading_of(boxes, height), (inference,))

    def _read(self, image: Image) -> tuple[str, list[Box], int]:
        assert image.content is not None
        with self._lock:
            if self._loaded is None:
                self._loaded = _load()
            boxes, height = self._loaded.find(image.content)
            return self._loaded.model_id, boxes, height


def reading_of(boxes: Sequence[Box], height: int) -> ImageReading:
    """The title, if a line of the top third is set larger than the others, and the other lines in reading order."""
    lines = in_reading_order(boxes)
    title = _title(lines, height)
    blocks = [Block(box.text[:MAX_BLOCK], "other") for box in lines if box is not title]
    return ImageReading("other", title.text[:MAX_BLOCK] if title else "", tuple(blocks[:MAX_BLOCKS]))


def in_reading_order(boxes: Sequence[Box]) -> list[Box]:
    """Rows from top to bottom, each from left to right. A box belongs to the row whose first box it stands beside."""
    rows: list[list[Box]] = []
    for box in sorted(boxes, key=lambda box: box.middle):
        if rows and rows[-1][0].top <= box.middle <= rows[-1][0].bottom:
            rows[-1].append(box)
        else:
            rows.append([box])
    return [box for row in rows for box in sorted(row, key=lambda box: box.left)]


def _title(lines: Sequence[Box], height: int) -> Box | None:
    at_the_top = [box for box in lines if box.middle <= height / 3]
    if not at_the_top:
        return None
    largest = max(at_the_top, key=lambda box: box.height)
    others = [box.height for box in lines if box is not largest]
    return largest if not others or largest.height >= _TITLE_IS_LARGER * median(others) else None


def _load() -> _Loaded:
    try:
        rapidocr, numpy, pillow, operations = (
            cast("Any", importlib.import_module(name)) for name in ("rapidocr", "numpy", "PIL.Image", "PIL.ImageOps")
        )
    except ImportError as error:
        raise NotConfigured(INSTALL) from error
    from importlib.metadata import version

    engine = rapidocr.RapidOCR(params=_PARAMETERS)
    broken = (OSError, SyntaxError, ValueError, EOFError, struct.error, pillow.DecompressionBombError)

    def pixels(content: bytes) -> Any:
        """The first frame as somebody would see it: turned as the camera says, a palette as its colours."""
        try:
            opened = operations.exif_transpose(pillow.open(BytesIO(content)))
            picture = opened.convert("RGBA" if opened.has_transparency_data else "RGB")
        except broken:
            raise ModelFailed("the image can't be decoded: its file is damaged") from None
        picture.thumbnail((_LARGEST_SIDE, _LARGEST_SIDE))
        return picture

    def find(content: bytes) -> tuple[list[Box], int]:
        picture = pixels(content)
        found = engine(picture)
        if found.boxes is None or found.txts is None:
            return [], picture.height
        boxes = [_box(numpy.asarray(box), text) for box, text in zip(found.boxes, found.txts, strict=True)]
        return [box for box in boxes if box.text], picture.height

    return _Loaded(f"rapidocr-{version('rapidocr')}", find)


def _box(corners: Any, text: str) -> Box:
    said, _ = clean(text)
    left, top = corners.min(axis=0)
    return Box(str(said).strip(), float(left), float(top), float(corners[:, 1].max()))
