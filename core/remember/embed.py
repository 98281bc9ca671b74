"""The vectors of what was stored, after the commit: from the outbox into the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.core import Core
from core.errors import IndexUnavailable
from core.graph import Dataset, Stored
from core.ports import Embedder
from core.remember.run import Run


@dataclass(frozen=True, slots=True)
class Indexed:
    """How the vectors of one call stand when it answers. `failed`: writing the index raised."""

    pending: int = 0
    failed: str = ""


def embedder_for(core: Core, dataset: Dataset | None, run: Run) -> tuple[Embedder | None, bool]:
    """Who makes the vectors of what is told to the dataset, and whether they wait for another one that does."""
    embedder = core.embedder
    if embedder is None or dataset is None or dataset.takes(embedder.model, embedder.dim):
        return embedder, False
    run.note(f"{embedder.model} does not make the vectors of this dataset: they wait for the model that does")
    return None, True


async def embed(stored: Sequence[Stored], core: Core) -> Indexed:
    """Brings the vectors to the index and waits for them, at most 5 s. What waits longer is repaired by itself."""
    queued = sum(count for one in stored for count in one.queued.values())
    if core.vectors is None or not queued:
        return Indexed()
    last = stored[-1]
    embedder = core.embedder
    if embedder is None or not last.dataset.takes(embedder.model, embedder.dim):
        return Indexed(queued)  # they wait for the embedder that fits the dataset
    try:
        flushed = await core.vectors.flush(last.dataset, last.seq)
    except IndexUnavailable as failure:
        return Indexed(queued, failure.message)
    return Indexed(flushed.pending)
