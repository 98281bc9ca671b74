"""The sentence vectors of this machine: ranks and shapes; the numbers themselves may differ by processor."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from core.errors import NotConfigured
from gligabao_mcp.providers.local.vectors import VOCABULARY, MiniLmEmbedder

pytestmark = pytest.mark.anyio


def cosine(one: bytes, other: bytes) -> float:
    return sum(a * b for a, b in zip(struct.unpack("<384f", one), struct.unpack("<384f", other), strict=True))


async def test_the_fact_that_a_question_means_is_nearest() -> None:
    texts = ["Karen adopted a cat named Pixel.", "The ledger service is written in Go.", "Tom broke his leg."]
    embedder = MiniLmEmbedder()
    facts = (await embedder.embed(texts)).vectors
    (question,) = (await embedder.embed(["What pet does Karen have?"])).vectors
    assert max(range(3), key=lambda i: cosine(facts[i], question)) == 0


async def test_vectors_come_in_the_order_of_the_texts_and_have_unit_length() -> None:
    texts = ["a long sentence about many things " * 9, "short", "", "middle of the road, 海尔", "short"]
    embedded = await MiniLmEmbedder().embed(texts)
    assert len(embedded.vectors) == len(texts)
    assert all(len(v) == 4 * 384 and abs(cosine(v, v) - 1) < 1e-4 for v in embedded.vectors)
    assert cosine(embedded.vectors[1], embedded.vectors[4]) > 0.999
    assert cosine(embedded.vectors[0], embedded.vectors[1]) < 0.9
    assert (embedded.inference.provider, embedded.inference.model) == ("local", "minilm-l6-int8")


async def test_no_texts_are_no_vectors() -> None:
    assert (await MiniLmEmbedder().embed([])).vectors == ()


async def test_a_model_file_that_is_not_there_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match="no embedding model"):
        await MiniLmEmbedder(tmp_path / "model.onnx").embed(["a"])


def test_the_vocabulary_lies_beside_the_code() -> None:
    lines = VOCABULARY.read_text(encoding="utf-8").splitlines()
    assert (len(lines), lines[0], lines[101]) == (30522, "[PAD]", "[CLS]")
