"""Images without a language model: the extra `ocr` reads their words, with nothing but what its packages hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import ModelFailed, NotConfigured
from core.images import Image, decoded_image
from core.inferences import Choice
from core.remember.remember import remember
from core.remember.request import RememberRequest
from core.remember.response import ImageResponse
from gligabao_mcp.providers.local.engine import EmbeddedEngine
from gligabao_mcp.providers.ocr import Box, OcrReader, in_reading_order, reading_of
from gligabao_mcp.wiring import Providers, open_core
from tests.conftest import Config
from tests.drawn import Format, as_base64, drawn

pytestmark = pytest.mark.anyio

reader = OcrReader()


def image(content: bytes) -> Image:
    return decoded_image(as_base64(content))


async def read(content: bytes) -> tuple[str, list[str]]:
    reading = (await reader.read_image(image(content), Choice())).value
    return reading.title, [block.text for block in reading.blocks]


@pytest.mark.parametrize(
    ("kind", "mode"), [("PNG", "RGB"), ("PNG", "P"), ("PNG", "1"), ("JPEG", "L"), ("GIF", "P"), ("WEBP", "RGBA")]
)
async def test_title_and_lines_are_read_whatever_the_format(kind: Format, mode: str) -> None:
    assert await read(drawn(kind, mode=mode)) == ("Revenue 2025", ["Q1 sales were good", "Acme Corporation"])


async def test_an_image_without_words_has_none() -> None:
    assert await read(drawn(lines={})) == ("", [])


async def test_the_reader_is_named_and_says_that_it_knows_no_themes() -> None:
    reply = await reader.read_image(image(drawn(lines={})), Choice("asked-for"))
    (call,) = reply.inferences
    assert call.model.startswith("rapidocr-3.") and call.requested_model == "asked-for"
    assert reply.value.theme == "other"


async def test_a_damaged_image_is_a_failure() -> None:
    with pytest.raises(ModelFailed, match="the image can't be decoded: its file is damaged"):
        await read(drawn()[:60])


async def test_the_embedded_engine_remembers_an_image(config: Config) -> None:
    async with open_core(config, Providers(EmbeddedEngine())) as core:
        seen = await remember(core, RememberRequest(user_id="u1", image=as_base64(drawn())))
    assert isinstance(seen, ImageResponse)
    assert (seen.title, [block.text for block in seen.blocks]) == (
        "Revenue 2025",
        ["Q1 sales were good", "Acme Corporation"],
    )


async def test_without_the_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    with pytest.raises(NotConfigured, match=r"install gligabao-mcp\[ocr\]"):
        await OcrReader().read_image(image(drawn()), Choice())


OFFLINE = """
import asyncio, socket, sys

def refuse(*_):
    raise AssertionError("the network was asked")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
from core.images import decoded_image
from core.inferences import Choice
from gligabao_mcp.providers.ocr import OcrReader
reply = asyncio.run(OcrReader().read_image(decoded_image(sys.stdin.read()), Choice()))
print(reply.value.title)
"""


async def test_nothing_is_downloaded() -> None:
    told = subprocess.run(
        [sys.executable, "-c", OFFLINE],
        input=as_base64(drawn()),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.stdout.strip(), told.stderr) == ("Revenue 2025", "")


# Where lines stand


def box(text: str, left: float, top: float, height: float = 20) -> Box:
    return Box(text, left, top, top + height)


def test_rows_are_read_from_left_to_right() -> None:
    boxes = [box("c", 10, 52), box("d", 200, 48), box("b", 300, 1), box("a", 10, 3), box("e", 10, 100)]
    assert [b.text for b in in_reading_order(boxes)] == ["a", "b", "c", "d", "e"]


def test_a_title_is_large_and_at_the_top() -> None:
    small = [box("one", 0, 110), box("two", 0, 140), box("three", 0, 400)]
    assert reading_of([*small, box("Large", 0, 10, 40)], 600).title == "Large"
    assert reading_of([*small, box("Low", 0, 300, 40)], 600).title == ""
    assert reading_of([*small, box("Plain", 0, 10)], 600).title == ""
    assert reading_of([box("Alone", 0, 10)], 600) == reading_of([box("Alone", 5, 10)], 600)
    assert reading_of([box("Alone", 0, 10)], 600).title == "Alone"
    assert reading_of([], 600).text == ""
