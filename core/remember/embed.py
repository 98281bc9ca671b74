"""The vectors of what was stored, after the commit: from the outbox into the index."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import IndexUnavailable
from core.graph import Stored
from core.ports import VectorStore


@dataclass(frozen=True, slots=True)
class Indexed:
    """How the vectors of one call stand when it answers. `failed`: writing the index raised."""

    pending: int = 0
    failed: str = ""


async def embed(stored: Stored, vectors: VectorStore | None, *, later: bool) -> Indexed:
    """Brings the vectors to the index and waits for them, at most 5 s. What waits longer is repaired by itself."""
    if vectors is None or not stored.queued:
        return Indexed()
    if later:
        return Indexed(stored.queued)
    try:
        flushed = await vectors.flush(stored.dataset, stored.seq)
    except IndexUnavailable as failure:
        return Indexed(stored.queued, failure.message)
    return Indexed(flushed.pending)
