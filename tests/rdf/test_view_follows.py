"""After any sequence of writes and crashes the graph that is asked says what the rows of the database say: now and at
past commits, in this process and in another one."""

from __future__ import annotations

import asyncio
import io
import tempfile
from collections import Counter
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pyoxigraph as ox
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from core.config import Config
from core.core import Core
from core.engine import NoEngine
from core.errors import QueryTimeout
from core.export.export import ExportRequest, export
from core.imports.imports import ImportRequest, import_document
from core.rdf.ports import GraphQuery
from core.rdf.terms import Solutions, Term
from gligabao_mcp.wiring import Providers, open_core
from storage.rdf import queries as module
from storage.rdf.queries import SqlGraphQueries
from storage.rdf.rows import microseconds
from tests.rdf.history import REMOVING, TELLING, USER, History
from tests.rdf.written_down import Rows, fact_nodes, graph

EVERYTHING = "SELECT ?s ?p ?o { ?s ?p ?o }"
ENDLESS = f"SELECT (COUNT(*) AS ?n) {{ {' . '.join(f'?a{n} ?b{n} ?c{n}' for n in range(9))} }}"
WRITES = (*TELLING, *REMOVING, "imported")
CRASHES = ("killed", "killed_in_a_query", "killed_as_it_loads")
LONG = (*("told",) * 4, "forgotten", "merged", "loaded", "undone", "imported", "told", "updated", "undone", "forgotten")


class Life(History):
    """A history with crashes in between, asked by two processes on one database."""

    def __init__(self, core: Core, seed: int) -> None:
        super().__init__(core, seed)
        assert isinstance(core.queries, SqlGraphQueries)
        self.here = core.queries
        self.there = SqlGraphQueries(self.database)

    async def imported(self) -> None:
        async with aclosing(await export(self.core, ExportRequest(user_id=USER))) as stream:
            document = b"".join([piece async for piece in stream])
        await import_document(self.core, ImportRequest(user_id=USER, dataset="main"), io.BytesIO(document))

    async def killed(self) -> None:
        for queries in (self.here, self.there):
            if queries.pid:
                with suppress(psutil.NoSuchProcess):
                    psutil.Process(queries.pid).kill()

    async def killed_in_a_query(self) -> None:
        """The one that asks is answered all the same, by its deadline."""
        query = GraphQuery(ENDLESS, seconds=2.0)
        asked = asyncio.create_task(self.here.solve(await self.dataset(), query))
        await asyncio.sleep(0.1)
        await self.killed()
        with suppress(QueryTimeout):  # where so much is stored that it has no end
            await asked

    async def killed_as_it_loads(self) -> None:
        await self.killed()
        asked = asyncio.create_task(self.said(self.here))
        await asyncio.sleep(self.random.random() / 4)
        await self.killed()
        await asked

    # What is said -----------------------------------------------------------------------------------------------------

    async def said(
        self, queries: SqlGraphQueries, at_seq: int | None = None, *, facts: bool = False
    ) -> Counter[tuple[str, ...]]:
        found = await queries.solve(await self.dataset(), GraphQuery(EVERYTHING, facts=facts), at_seq=at_seq)
        assert found.complete
        return Counter(_spelled(found))

    async def check(self) -> None:
        """Both processes say the same as the rows, at once: whoever wrote reads what was written."""
        head = (await self.dataset()).head_seq
        past = self.random.randint(1, head)
        for queries in (self.here, self.there):
            for facts in (False, True):
                assert await self.said(queries, facts=facts) == await self.written(None, facts=facts)
            assert await self.said(queries, past, facts=True) == await self.written(past, facts=True)

    async def written(self, seq: int | None, *, facts: bool) -> Counter[tuple[str, ...]]:
        changes = await self.whole(seq)
        rows = Rows()
        rows.take(changes)
        now = microseconds(datetime.now(UTC)) if seq is None else changes.at
        fresh = ox.Store()
        fresh.extend([*graph(rows, now), *(fact_nodes(rows) if facts else ())])
        said = fresh.query(EVERYTHING)
        assert isinstance(said, ox.QuerySolutions)
        return Counter(tuple(map(str, row)) for row in said)


def _spelled(found: Solutions) -> list[tuple[str, ...]]:
    return [tuple(_term(row[name]) for name in found.variables) for row in found.rows]


def _term(term: Term) -> str:
    if term.kind == "uri":
        return f"<{term.value}>"
    if term.kind == "triple":
        return term.value
    assert term.kind == "literal"
    return str(ox.Literal(term.value, datatype=ox.NamedNode(term.datatype) if term.datatype else None))


STEPS = st.lists(st.sampled_from(WRITES) | st.sampled_from(CRASHES), min_size=4, max_size=8)


@settings(max_examples=3, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@example(LONG, 0, False)
@example(LONG, 1, True)
@given(STEPS, st.integers(0, 1000), st.booleans())
def test_after_any_writes_and_crashes_the_graph_says_what_the_rows_say(
    steps: list[str], seed: int, past_on_its_own: bool
) -> None:
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        if past_on_its_own:
            patch.setattr(module, "SMALL", -1)
            patch.setattr(module, "NEAR", 0)
        asyncio.run(lived(Path(home), steps, seed))


async def lived(home: Path, steps: list[str], seed: int) -> None:
    async with open_core(Config(home=home), Providers(NoEngine())) as core:
        life = Life(core, seed)
        try:
            await life.told()
            for kind in steps:
                await life.step(kind)
                await life.check()
        finally:
            await life.there.close()
