"""What a question is matched with, and the part of the graph that it is answered from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from core.graph import Edge, Entity


@dataclass(frozen=True, slots=True)
class Match:
    """A question ready for the store: its key, its terms, the time it reads at, and the caps.

    `as_of` keeps the facts that were true in the world at that moment; `known_at` shows every row as it was then;
    `since` keeps the facts that were learned after it.
    `joining` is how many facts that are near in meaning may join the ones that touch a seed.
    """

    question_key: str
    terms: tuple[str, ...]
    as_of: datetime | None = None
    known_at: datetime | None = None
    since: datetime | None = None
    seeds: int = 10
    recent: int = 25
    edges: int = 100
    joining: int = 30

    def learned_in_time(self, edge: Edge) -> bool:
        """Whether the fact was learned after `since`, and before `known_at`."""
        known = self.known_at is None or edge.created_at <= self.known_at
        return known and (self.since is None or edge.created_at > self.since)


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Entities and facts, each once, the facts newest first. `similarity` holds the cosine of the facts that were found
    by meaning."""

    entities: tuple[Entity, ...] = ()
    edges: tuple[Edge, ...] = ()
    similarity: Mapping[int, float] = field(default_factory=dict[int, float])

    def joined(self, other: Subgraph) -> Subgraph:
        """Both, each row once; this one's rows first."""
        entities = {e.id: e for e in self.entities} | {e.id: e for e in other.entities}
        seen = {e.id for e in self.edges}
        return Subgraph(
            tuple(entities.values()),
            self.edges + tuple(e for e in other.edges if e.id not in seen),
            {**other.similarity, **self.similarity},
        )
