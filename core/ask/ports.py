"""What asking needs of the outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from core.evals.trace import RouteKind
from core.ports import Reply


class Questions(Protocol):
    """Counts questions, those of all processes together."""

    async def count(self, day: date, most: int) -> bool:
        """Counts a question of that day, unless `most` of them are counted: then False."""
        ...


@dataclass(frozen=True, slots=True)
class Picked:
    """The kind of a question as predicted, with the probability of each kind."""

    kind: RouteKind
    confidence: float
    probabilities: Mapping[RouteKind, float]


class Router(Protocol):
    """A quick model that picks the kind of a question. Advisory: callers go on without it."""

    model: str

    async def pick_route(self, question: str, context: str, description: str) -> Reply[Picked]:
        """The kind of the question, by the notes that came with it and the description of its graph. Raises
        ModelFailed."""
        ...
