"""What the index of names asks of the storage."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from core.graph import Dataset


@dataclass(frozen=True, slots=True)
class Touched:
    """The records that commits up to `seq` may have changed, by IRI. `model`: these commits say how classes relate."""

    seq: int
    iris: Collection[str]
    model: bool = False


class TouchedRecords(Protocol):
    """Tells which records commits changed."""

    async def since(self, dataset: Dataset, seq: int, base: str, limit: int) -> Touched | None:
        """The records that commits after `seq` may have changed, the IRIs of what was remembered under `base`. None
        where they are more than `limit`, or nobody knows which they are."""
        ...

    async def forgot_since(self, dataset: Dataset, seq: int) -> bool:
        """Whether something was forgotten after that commit: nothing of it may be shown then."""
        ...
