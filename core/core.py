"""Core: what one process works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from core.config import Config
from core.overview import Part
from core.ports import DecisionModel, Embedder, Engine, GraphStore, RunLog, VectorStore
from core.turns import Turns


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Core:
    """The ports and settings of one process. `embedder`, `vectors` and `decide` are None when off; `engine` always
    answers, if only with NotConfigured."""

    config: Config
    graph: GraphStore
    runs: RunLog
    engine: Engine
    vectors: VectorStore | None = None
    embedder: Embedder | None = None
    decide: DecisionModel | None = None
    parts: tuple[Part, ...] = ()
    clock: Callable[[], datetime] = _now
    turns: Turns = field(default_factory=Turns)
