"""What the core asks of the store about graphs as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from core.graph import Dataset


@dataclass(frozen=True, slots=True)
class Stored:
    """How much a dataset holds, in rows: of all times, what is over too."""

    artifacts: int
    facts: int
    triples: int


class Graphs(Protocol):
    """The datasets of users, as graphs."""

    async def create(self, user_id: str, name: str, clock: Callable[[], datetime]) -> Dataset:
        """A dataset that holds nothing yet; the one of that name where there is one."""
        ...

    async def stored(self, dataset: Dataset) -> Stored:
        """How much is stored in it."""
        ...
