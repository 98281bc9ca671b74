"""Entries follow the graph: after a commit, the records that it may have changed are read, and those whose text changed
are embedded again, in the background."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.embeddings.changed import changed_records
from core.embeddings.ports import Embedding, NewEntry, Spent
from core.embeddings.recipe import digest_of
from core.embeddings.records import record_texts, texts_among
from core.errors import GligabaoError, ModelFailed
from core.graph import Dataset
from core.inferences import Inference
from core.ports import Embedder, ModelCall, RunOf
from core.prices import PriceTable
from core.spending import charge_to

if TYPE_CHECKING:
    from core.core import Core

log = logging.getLogger(__name__)

# Texts of one call of the embedder.
AT_ONCE = 64
# How often commits are looked for: where something follows them, and where nothing does.
POLL, IDLE = 1.0, 30.0
# A pass may read every record of its class. The next one waits so many times as long as that took, and at most so long.
REST, MOST_REST = 3.0, 60.0
# After a failure the next try waits so many seconds.
RETRY = 30.0


class Keeper:
    """Follows the commits for all embeddings of a database. `wake` makes it look at once."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self.turns: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        """One task of this process at a time embeds for an embedding, by its id."""
        self._rests: dict[int, float] = {}
        """Until when an embedding is left alone, by its id."""

    def wake(self) -> None:
        """There is something to embed."""
        self._woken.set()

    async def keep_up(self, core: Core) -> None:
        """Looks for what is behind, again and again, until cancelled. A failure is logged and tried again later."""
        while True:
            wait = IDLE
            try:
                if core.embedder is not None and await core.embeddings.is_any():
                    wait = POLL
                    await self._look(core, core.embedder)
            except GligabaoError as failure:
                log.warning("embeddings wait: %s", type(failure).__name__)
            try:
                await asyncio.wait_for(self._woken.wait(), wait)
                self._rests.clear()
            except TimeoutError:
                pass
            self._woken.clear()

    async def _look(self, core: Core, embedder: Embedder) -> None:
        for dataset, embedding in await core.embeddings.behind():
            if time.monotonic() < self._rests.get(embedding.id, 0.0):
                continue
            try:
                done = await catch_up(core, embedder, dataset, embedding)
                rest = min(MOST_REST, REST * done.reading) if done else POLL
            except GligabaoError as failure:
                log.warning("embedding %d waits: %s", embedding.id, type(failure).__name__)
                rest = RETRY
            self._rests[embedding.id] = time.monotonic() + rest


@dataclass(frozen=True, slots=True)
class Pass:
    """What one look at the records of an embedding did, and the seconds that reading them took."""

    spent: Spent
    removed: int
    scanned: int
    reading: float


async def catch_up(core: Core, embedder: Embedder, dataset: Dataset, embedding: Embedding) -> Pass | None:
    """Embeds the records whose text is another than that of their entry, and takes entries away whose record is gone.

    None where another process is at it, and where the embedding waits for another model than this one. Raises
    ModelFailed, IndexUnavailable, and what a query raises; what was embedded until then is kept.
    """
    if (embedding.model, embedding.dim) != (embedder.model, embedder.dim):
        return None
    async with core.keeper.turns[embedding.id]:
        if not await core.embeddings.claim(embedding):
            return None
        try:
            now = next((one for one in await core.embeddings.all(dataset) if one.id == embedding.id), None)
            return await _pass(core, embedder, dataset, now) if now else None
        finally:
            await core.embeddings.release(embedding)


async def _pass(core: Core, embedder: Embedder, dataset: Dataset, embedding: Embedding) -> Pass | None:
    changed = await changed_records(core, dataset, embedding)
    held = await core.embeddings.digests(embedding, changed and changed.iris)
    recipe = embedding.recipe
    read = texts_among(core.queries, dataset, recipe, changed.iris) if changed else None
    seq, scanned, spent = changed and changed.seq, 0, Spent()
    began, embedding_took = time.monotonic(), 0.0
    async for records in read or record_texts(core.queries, dataset, recipe):
        scanned += len(records.texts)
        seq = records.seq if seq is None else min(seq, records.seq)
        other = {iri: text for iri, text in records.texts.items() if held.pop(iri, "") != digest_of(text)}
        paused = time.monotonic()
        for some in _batches(other):
            took = await _embed(core, embedder, dataset, embedding, some)
            if took is None:
                return None
            spent += took
        embedding_took += time.monotonic() - paused
    reading = time.monotonic() - began - embedding_took
    gone = list(held)
    # Reading may have taken longer than a claim lasts.
    if not await core.embeddings.claim(embedding):
        return None
    if gone and not await core.embeddings.write(embedding, (), gone, Spent()):
        return None
    await core.embeddings.follow(embedding, seq or 0)
    return Pass(spent, len(gone), scanned, reading)


async def _embed(
    core: Core, embedder: Embedder, dataset: Dataset, embedding: Embedding, texts: Mapping[str, str]
) -> Spent | None:
    """Embeds the texts of these records and stores them; what that took. None where the embedding, or the claim, is not
    there any more."""
    if not await core.embeddings.claim(embedding):
        return None
    vectors, spent = await embedded_texts(core, embedder, dataset, list(texts.values()))
    entries = [
        NewEntry(iri, text, digest_of(text), vector) for (iri, text), vector in zip(texts.items(), vectors, strict=True)
    ]
    return spent if await core.embeddings.write(embedding, entries, (), spent) else None


async def embedded_texts(
    core: Core, embedder: Embedder, dataset: Dataset, texts: Sequence[str]
) -> tuple[Sequence[bytes], Spent]:
    """The vectors of the texts, and what they took. The call is recorded for the owner of the dataset, whether it was
    of use or not. Raises ModelFailed, ModelOverloaded and DailyLimit."""
    charge_to(dataset.user_id)
    try:
        embedded = await embedder.embed(texts)
    except ModelFailed as failure:
        for inference in failure.inferences:
            await _record(core, dataset, inference)
        raise
    await _record(core, dataset, embedded.inference)
    cost = PriceTable(core.config.prices).cost(embedded.inference.model, embedded.inference.usage)
    return embedded.vectors, Spent(len(texts), sum(map(len, texts)), cost)


async def _record(core: Core, dataset: Dataset, inference: Inference) -> None:
    await core.record(ModelCall("embedding", "embed", inference), RunOf(dataset.user_id, dataset.name, None))


def _batches(texts: Mapping[str, str]) -> list[dict[str, str]]:
    pairs = list(texts.items())
    return [dict(pairs[start : start + AT_ONCE]) for start in range(0, len(pairs), AT_ONCE)]
