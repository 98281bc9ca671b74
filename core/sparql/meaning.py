"""The search by meaning of one query: the nearest records that the rest of the query lets through."""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from core.core import Core
from core.embeddings.keep import embedded_texts
from core.embeddings.ports import Embedding, Near, Spent
from core.embeddings.status import UsageShown, lag_of
from core.errors import InvalidRequest, NoEmbedding, NotConfigured, QueryTimeout, QueryTooLarge
from core.graph import Dataset
from core.rdf.ports import GraphQuery
from core.sparql.report import Plan, SearchReport, SearchTimings
from core.sparql.similar import Similar

# So many are asked for at first, for each record that is wanted; more where the query lets too few of them through.
FIRST, LEAST, WIDER = 4, 50, 8
MAX_CANDIDATES = 20_000
"""Records that one search works out the similarity of."""
FILTER_SHARE = 0.4
"""Of the time that is left, for finding all records that the rest of the query lets through."""


@dataclass(frozen=True, slots=True)
class Found:
    """The records to bind into the query, best first, of which embeddings they are, and how they were found."""

    hits: Sequence[Near]
    embeddings: Sequence[Embedding]
    report: SearchReport
    dropped: int
    """Near records that the rest of the query did not let through."""


async def find(
    core: Core, dataset: Dataset, similar: Similar, query: GraphQuery, *, at_seq: int | None = None
) -> Found:
    """The best records that the rest of the query lets through. `query` says how that is read.

    Raises NoEmbedding, InvalidRequest (param `query`), NotConfigured, ModelFailed, IndexUnavailable, and what a query
    raises.
    """
    return await _Search(core, dataset, similar, query, at_seq).run()


@dataclass(frozen=True, slots=True)
class _Looked:
    """Records that were near, and those of them that the rest of the query lets through, best first. `is_all`: there
    are no others that it could have let through."""

    plan: Plan
    near: Sequence[Near]
    through: Sequence[Near]
    is_all: bool


class _Search:
    """One search on its way; milliseconds of its parts are in `took`."""

    def __init__(self, core: Core, dataset: Dataset, similar: Similar, query: GraphQuery, at_seq: int | None) -> None:
        self.core = core
        self.dataset = dataset
        self.similar = similar
        self.query = query
        self.at_seq = at_seq
        self.began = time.monotonic()
        self.took = {"resolve_ms": 0.0, "embed_ms": 0.0, "index_ms": 0.0, "check_ms": 0.0, "filter_ms": 0.0}
        self.rounds = 0
        self.spent = Spent()

    async def run(self) -> Found:
        with self._timed("resolve_ms"):
            embeddings = await self._embeddings()
        with self._timed("embed_ms"):
            vector, embeddings = await self._vector(embeddings)
        looked = await self._look(embeddings, vector, max(LEAST, FIRST * self.similar.top))
        if not self._is_enough(looked):
            looked = await self._filter_first(embeddings, vector) or await self._search_first(embeddings, vector)
        hits = looked.through[: self.similar.top]
        is_ready = all(one.seq is not None for one in embeddings)
        report = SearchReport(
            plan=looked.plan,
            top=self.similar.top,
            hits=len(hits),
            complete=len(hits) == self.similar.top or (looked.is_all and is_ready),
            candidates=len(looked.near),
            entries_considered=sum(embedding.entries for embedding in embeddings),
            rounds=self.rounds,
            embeddings=[one.name for one in embeddings],
            model_id=embeddings[0].model,
            lag_commits=max(lag_of(one, self.dataset) for one in embeddings),
            embedded_through_seq=min((one.seq for one in embeddings if one.seq is not None), default=None),
            usage=UsageShown.of(self.spent),
            timings=SearchTimings(total_ms=_ms(self.began), **{part: round(ms) for part, ms in self.took.items()}),
        )
        return Found(hits, embeddings, report, len(looked.near) - len(looked.through))

    def _is_enough(self, looked: _Looked) -> bool:
        return looked.is_all or len(looked.through) >= self.similar.top

    async def _look(
        self, embeddings: Sequence[Embedding], vector: bytes, wanted: int, plan: Plan = "nearest"
    ) -> _Looked:
        """The nearest records, and which of them the rest of the query lets through."""
        self.rounds += 1
        with self._timed("index_ms"):
            near = await self._nearest(embeddings, vector, wanted)
        with self._timed("check_ms"):
            through = await self._through(near)
        return _Looked(plan, near, through, all(embedding.entries <= wanted for embedding in embeddings))

    async def _search_first(self, embeddings: Sequence[Embedding], vector: bytes) -> _Looked:
        """More and more of the nearest, until enough of them pass."""
        wanted = max(LEAST, FIRST * self.similar.top)
        while True:
            wanted = min(MAX_CANDIDATES, wanted * WIDER)
            looked = await self._look(embeddings, vector, wanted, "search_first")
            if self._is_enough(looked) or wanted == MAX_CANDIDATES:
                return looked

    async def _filter_first(self, embeddings: Sequence[Embedding], vector: bytes) -> _Looked | None:
        """The nearest of all records that the rest of the query lets through; None where these are too many, or take
        too long to find."""
        text = self.similar.allowed()
        if text is None:
            return None
        query = self._query(text, limit=MAX_CANDIDATES, seconds=self.left * FILTER_SHARE)
        with self._timed("filter_ms"):
            try:
                found = await self.core.queries.solve(self.dataset, query, at_seq=self.at_seq)
            except (QueryTimeout, QueryTooLarge):
                return None
        allowed = [row[self.similar.variable].value for row in found.rows if self.similar.variable in row]
        if len(allowed) < found.total or not found.complete:
            return None
        self.rounds += 1
        with self._timed("index_ms"):
            near = await self._nearest(embeddings, vector, max(1, len(allowed)), allowed)
        return _Looked("filter_first", near, near, is_all=True)

    async def _embeddings(self) -> list[Embedding]:
        """Those that are searched."""
        there = await self.core.embeddings.all(self.dataset)
        if not there:
            raise NoEmbedding(
                "query: search:similarTo needs an embedding, and this graph has none (PUT /v1/embeddings)",
                param="query",
            )
        named = [one for one in there if self.similar.embedding in (None, one.name)]
        if not named:
            names = ", ".join(one.name for one in there)
            raise InvalidRequest(f"query: search:embedding is none of {names}", param="query")
        return named

    async def _vector(self, embeddings: Sequence[Embedding]) -> tuple[bytes, list[Embedding]]:
        """What is searched near to, and the embeddings that have vectors of its model."""
        if self.similar.target.iri:
            return await self._vector_of_record(embeddings)
        if self.similar.target.vector:
            return self._stated_vector(embeddings)
        embedder = self.core.embedder
        if embedder is None:
            raise NotConfigured("no embedder is set: words can't be searched for, only records and vectors")
        fitting = [one for one in embeddings if (one.model, one.dim) == (embedder.model, embedder.dim)]
        if not fitting:
            raise NotConfigured(
                f"{embedder.model} is set, and the embeddings of this graph are by {embeddings[0].model}"
            )
        (vector,), self.spent = await embedded_texts(self.core, embedder, self.dataset, [self.similar.target.words])
        return vector, fitting

    async def _vector_of_record(self, embeddings: Sequence[Embedding]) -> tuple[bytes, list[Embedding]]:
        for embedding in embeddings:
            vector = await self.core.embeddings.vector(embedding, self.similar.target.iri)
            if vector is not None:
                space = (embedding.model, embedding.dim)
                return vector, [one for one in embeddings if (one.model, one.dim) == space]
        raise InvalidRequest("query: search:similarTo names a record that no embedding holds", param="query")

    def _stated_vector(self, embeddings: Sequence[Embedding]) -> tuple[bytes, list[Embedding]]:
        numbers = self.similar.target.vector
        fitting = [one for one in embeddings if one.dim == len(numbers)]
        # As float32, in which the index computes.
        is_usable = all(math.isfinite(number) and abs(number) < 1e18 for number in numbers) and any(numbers)
        if not fitting or not is_usable:
            dims = " or ".join(sorted({str(one.dim) for one in embeddings}))
            raise InvalidRequest(f"query: a vector has {dims} numbers here, not all of them 0", param="query")
        return struct.pack(f"<{len(numbers)}f", *numbers), fitting

    async def _nearest(
        self, embeddings: Iterable[Embedding], vector: bytes, wanted: int, among: Sequence[str] | None = None
    ) -> list[Near]:
        """The nearest records of all embeddings, each once with its best score; not the one that others are like."""
        best: dict[str, Near] = {}
        for embedding in embeddings:
            for near in await self.core.embeddings.nearest(embedding, vector, wanted, among):
                if near.iri not in best or near.score > best[near.iri].score:
                    best[near.iri] = near
        best.pop(self.similar.target.iri, None)
        return sorted(best.values(), key=lambda near: (-near.score, near.iri))

    async def _through(self, near: Sequence[Near]) -> list[Near]:
        """Those that the rest of the query lets through; all are in the graph."""
        if not near:
            return []
        query = self._query(self.similar.surviving(near), seconds=self.left)
        found = await self.core.queries.solve(self.dataset, query, at_seq=self.at_seq)
        through = {row[self.similar.variable].value for row in found.rows}
        return [one for one in near if one.iri in through]

    def _query(self, text: str, *, limit: int | None = None, seconds: float) -> GraphQuery:
        return replace(self.query, text=text, limit=limit, offset=0, seconds=seconds)

    @property
    def left(self) -> float:
        """Seconds until the query has to be answered."""
        return self.query.seconds - (time.monotonic() - self.began)

    @contextmanager
    def _timed(self, part: str) -> Generator[None]:
        began = time.monotonic()
        yield
        self.took[part] += 1000 * (time.monotonic() - began)


def _ms(began: float) -> int:
    return round(1000 * (time.monotonic() - began))
