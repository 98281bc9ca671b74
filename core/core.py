"""Core: what one process works with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from core.access import TokenStore
from core.config import Config
from core.describe.kept import Descriptions
from core.embeddings.keep import Keeper
from core.embeddings.ports import EmbeddingStore
from core.events import Monitor
from core.graphs.ports import Graphs
from core.names.kept import NameIndexes
from core.names.ports import TouchedRecords
from core.overview import Part
from core.ports import (
    CostStore,
    DecisionModel,
    Embedder,
    Engine,
    EventRing,
    Exports,
    Forgetting,
    GraphReader,
    GraphStore,
    Imports,
    ModelCall,
    RunLog,
    RunOf,
    VectorStore,
)
from core.rdf.ports import CommitLog, GraphQueries, TripleStore
from core.talk import ToolCallingModel
from core.trajectory import TrajectorySink

if TYPE_CHECKING:
    from core.ask.ports import Questions, Router
    from core.ask.profile import ProfileStore
    from core.evals.ports import EvalStore
    from core.remember.manager import RememberManager


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Core:
    """The ports and settings of one process. `embedder`, `vectors` and `decide` are None when off; `engine` always
    answers, if only with NotConfigured."""

    config: Config
    graph: GraphStore
    reader: GraphReader
    forgetting: Forgetting
    runs: RunLog
    costs: CostStore
    exports: Exports
    imports: Imports
    events: EventRing
    tokens: TokenStore
    queries: GraphQueries
    commits: CommitLog
    triples: TripleStore
    graphs: Graphs
    touched: TouchedRecords
    profiles: ProfileStore
    embeddings: EmbeddingStore
    questions: Questions
    evals: EvalStore
    engine: Engine
    manager: RememberManager
    vectors: VectorStore | None = None
    embedder: Embedder | None = None
    decide: DecisionModel | None = None
    asker: ToolCallingModel | None = None
    """Answers ask; None where no model is set that can call tools."""
    router: Router | None = None
    """Picks the kind of a question."""
    parts: tuple[Part, ...] = ()
    database: str = ""
    """The name of the open database: the stem of its file, or what it is called on its server."""
    monitor: Monitor = field(default_factory=Monitor)
    keeper: Keeper = field(default_factory=Keeper)
    """Keeps embeddings in step with the graph."""
    descriptions: Descriptions = field(default_factory=Descriptions)
    names: NameIndexes = field(default_factory=NameIndexes)
    trajectories: TrajectorySink | None = None
    """Where the course of each call is kept, texts included; None where that is off."""
    clock: Callable[[], datetime] = _now
    monotonic: Callable[[], float] = time.monotonic
    """Seconds, for deadlines."""

    async def record(self, call: ModelCall, of: RunOf) -> int | None:
        """Records a model call outside a remember run; its id, None when it could not be written."""
        self.monitor.called(call)
        return await self.runs.inference(call, of)
