"""The embedded engine: it reads, compares and answers by rules, with no key and no network."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Literal

from core.errors import NotConfigured
from core.extraction import read_extraction, spoken_by, together
from core.graph import Edge, Extraction, Message, StatedEdge, Verdict
from core.images import Image, ImageReading
from core.inferences import Choice, Inference
from core.ports import Answer, Reply
from core.query.subgraph import Subgraph
from gligabao_mcp.providers.local.answering import answer_from
from gligabao_mcp.providers.local.extracting import read_text
from gligabao_mcp.providers.local.reading import parser
from gligabao_mcp.providers.local.resolving import resolve
from gligabao_mcp.providers.local.summarizing import summarize
from gligabao_mcp.providers.ocr import OcrReader

PROVIDER = "local"
MODEL_ID = "rules-en-1"


class EmbeddedEngine:
    """Reads English by rules. What they don't understand is kept as a note, so that nothing said is lost."""

    answer_mode: Literal["model", "extractive"] = "extractive"

    def __init__(self) -> None:
        self._ocr = OcrReader()

    def require(self) -> None:
        """The rules are always there; a missing package of theirs says so itself when a text is read."""

    async def warm(self) -> None:
        """Imports the language model, so that the first text does not wait for it."""
        with suppress(NotConfigured):
            await asyncio.to_thread(parser)

    async def aclose(self) -> None:
        """Nothing to close."""

    async def extract(self, text: str, reference_time: datetime, choice: Choice) -> Reply[Extraction]:
        """The facts that the text states plainly, and a note for each sentence that says more than they do. Raises
        NotConfigured where the packages of the extra `local` are missing."""
        began = time.perf_counter()
        extraction = await asyncio.to_thread(_extract, text, reference_time)
        return Reply(extraction, (_inference(choice, began),))

    async def extract_messages(self, messages: Sequence[Message], choice: Choice) -> Reply[Extraction]:
        """What each message states, read by itself: rules don't follow a conversation. "I" is its speaker."""
        began = time.perf_counter()
        return Reply(await asyncio.to_thread(_extract_each, messages), (_inference(choice, began),))

    async def summarize(self, text: str, choice: Choice) -> Reply[str]:
        """The three most central sentences, as they stand."""
        began = time.perf_counter()
        return Reply(await asyncio.to_thread(summarize, text), (_inference(choice, began),))

    async def read_image(self, image: Image, choice: Choice) -> Reply[ImageReading]:
        """The words that stand in it. Raises NotConfigured where the packages of the extra `ocr` are missing."""
        return await self._ocr.read_image(image, choice)

    async def resolve(
        self, new: Sequence[StatedEdge], candidates: Sequence[Edge], choice: Choice
    ) -> Reply[list[Verdict]]:
        """One verdict for each new fact: what holds once at a time, and facts that read the same from both ends."""
        began = time.perf_counter()
        return Reply(resolve(new, candidates), (_inference(choice, began),))

    async def answer(self, question: str, subgraph: Subgraph, now: datetime, choice: Choice) -> Reply[Answer]:
        """One to three sentences from the best facts, or "I don't know"."""
        began = time.perf_counter()
        answer = await asyncio.to_thread(answer_from, question, subgraph, now)
        return Reply(answer, (_inference(choice, began),))


def _extract(text: str, reference_time: datetime) -> Extraction:
    read = read_text(text, reference_time, parser())
    return read_extraction(read.entities, read.edges, reference_time=reference_time, model_id=MODEL_ID)


def _extract_each(messages: Sequence[Message]) -> Extraction:
    return together([spoken_by(m.speaker, _extract(m.text, m.reference_time)) for m in messages])


def _inference(choice: Choice, began: float) -> Inference:
    latency = round((time.perf_counter() - began) * 1000)
    return Inference(PROVIDER, MODEL_ID, choice.model or MODEL_ID, latency_ms=latency)
