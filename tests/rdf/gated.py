"""Queries that a test can hold up, for what goes on while they run."""

from __future__ import annotations

import asyncio

from core.core import Core
from core.graph import Dataset
from core.rdf.ports import GraphQuery
from core.rdf.terms import Solutions


class GatedQueries:
    """The GraphQueries of a core; each query waits while the gate is closed. `count` counts them."""

    def __init__(self, core: Core) -> None:
        self._queries = core.queries
        self.gate = asyncio.Event()
        self.gate.set()
        self.count = 0

    async def solve(self, dataset: Dataset, query: GraphQuery, *, at_seq: int | None = None) -> Solutions:
        self.count += 1
        await self.gate.wait()
        return await self._queries.solve(dataset, query, at_seq=at_seq)

    async def check(self, text: str) -> None:
        await self._queries.check(text)
