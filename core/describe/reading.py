"""Reading: the queries of one description, within one deadline."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from core.errors import QueryTimeout, QueryTooLarge
from core.graph import Dataset
from core.rdf.ports import GraphQueries, GraphQuery
from core.rdf.terms import Row

# A query that is given less than this is not worth its start.
LEAST_SECONDS = 0.05


class Reading:
    """Queries over one graph, all of them within `seconds`. `seq` is the lowest commit that one of them read."""

    def __init__(self, queries: GraphQueries, dataset: Dataset, at_seq: int | None, seconds: float) -> None:
        self._queries = queries
        self._dataset = dataset
        self._at_seq = at_seq
        self._deadline = time.perf_counter() + seconds
        self.seq = dataset.head_seq if at_seq is None else at_seq
        self.last: int | None = None
        """The commit that the last query read."""
        self.partial = False
        """Something that was asked for could not be read whole."""

    async def rows(self, text: str, limit: int, at_seq: int | None = None) -> Sequence[Row]:
        """The rows of a query, at another commit where that is given. Raises QueryTimeout where the time is over."""
        left = self._deadline - time.perf_counter()
        if left < LEAST_SECONDS:
            raise QueryTimeout("the time for reading the graph's description is over")
        query = GraphQuery(text, limit=limit, seconds=left)
        found = await self._queries.solve(self._dataset, query, at_seq=self._at_seq if at_seq is None else at_seq)
        self.seq = found.seq if self.last is None else min(self.seq, found.seq)
        self.last = found.seq
        self.partial = self.partial or found.total > limit or not found.complete
        return found.rows

    async def rows_if_time(self, text: str, limit: int) -> Sequence[Row]:
        """The same, but none where the time or the memory of a query is not enough: the whole is partial then."""
        try:
            return await self.rows(text, limit)
        except (QueryTimeout, QueryTooLarge):
            self.partial = True
            return ()


def values_of(iris: Iterable[str]) -> str:
    """The IRIs as the values of a VALUES block."""
    return " ".join(f"<{iri}>" for iri in iris)
