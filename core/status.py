"""What one process has and what it can do: the users and datasets, and what is off and why."""

from __future__ import annotations

from dataclasses import dataclass

from core.core import Core
from core.overview import DatasetStatus, Part


@dataclass(frozen=True, slots=True)
class Status:
    """The state of one memory."""

    parts: tuple[Part, ...]
    datasets: tuple[DatasetStatus, ...]
    vectors_pending: int
    runs: dict[str, int]


async def status(core: Core) -> Status:
    """The parts that are on and off, and every dataset with its counts."""
    return Status(
        parts=core.parts,
        datasets=tuple(await core.graph.overview()),
        vectors_pending=await core.vectors.pending() if core.vectors else 0,
        runs=await core.runs.counts(),
    )
