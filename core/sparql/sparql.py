"""sparql: a SELECT or an ASK over a dataset's graph."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from core.core import Core
from core.errors import InvalidRequest
from core.evals.trace import Route
from core.evals.traces import NewTrace, record_trace
from core.graph import Dataset
from core.graphs.graph_of import graph_of
from core.graphs.requests import GraphRead
from core.rdf.gate import Checked
from core.rdf.ports import MAX_ROWS, READ_SECONDS, Entailment, GraphQuery
from core.requests import Offset, Whole
from core.sparql.cursor import Place
from core.sparql.gate import checked_for
from core.sparql.meaning import find
from core.sparql.paging import page_of
from core.sparql.response import Ran, SparqlResponse, response_of
from core.sparql.similar import similar_in

AnyEntailment = Literal["none", "subclass", "rdfs", "owl"]
MAX_WORDS = 4_000
ENTAILMENT = Field(
    description="none: what is stated. subclass: an instance of a class is one of its superclasses too. rdfs: also "
    "subPropertyOf, domain and range. owl is refused."
)


class SparqlRequest(GraphRead):
    """One query, and which of its rows."""

    query: Annotated[str, Field(min_length=1, description="A SELECT or an ASK, at most 20,000 characters.")]
    entailment: Annotated[AnyEntailment, ENTAILMENT] = "none"
    limit: Annotated[
        Whole | None, Field(ge=0, le=MAX_ROWS, description="Rows to return, 0 to 100,000. Default: all, up to that.")
    ] = None
    offset: Annotated[Offset, Field(description="How many of the rows to pass over first.")] = 0
    as_of_commit_seq: Annotated[Offset | None, Field(description="Read the graph as it was after this commit.")] = None
    cursor: Annotated[
        str | None,
        Field(
            description="Empty for the first page, else the next_cursor of the page before with the same query: all "
            "pages are of one commit. The query's own LIMIT, with an ORDER BY, is the size of a page."
        ),
    ] = None
    request: Annotated[
        str | None,
        Field(max_length=MAX_WORDS, description="The user's words: with them the rows are kept as an eval trace."),
    ] = None
    route: Annotated[Route | None, Field(description="The kind of the question, for the trace.")] = None
    profile: Annotated[bool, Field(description="Taken, and without effect: the engine measures nothing.")] = False
    reason: Annotated[bool, Field(description="Not served: nothing is inferred but by entailment.")] = False

    def identity(self, dataset: Dataset) -> list[object]:
        """What a cursor belongs to."""
        return ["sparql", dataset.id, self.query, self.entailment, self.as_of_commit_seq]


async def sparql(core: Core, request: SparqlRequest) -> SparqlResponse:
    """Run a SPARQL query over the graph: a SELECT or an ASK, now or at an earlier commit."""
    if request.reason:
        raise InvalidRequest("reason: is not served; set entailment to subclass or rdfs", param="reason")
    dataset = await graph_of(core, request)
    ran = await (_whole(core, dataset, request) if request.cursor is None else _page(core, dataset, request))
    if not request.request:
        return ran.response
    trace = NewTrace(
        request=request.request,
        surface="ask" if request.route else "sparql",
        sparql=ran.checked.text,
        entailment=request.entailment,
        seq=ran.solutions.seq,
        solutions=ran.solutions,
        route=request.route,
    )
    return ran.response.model_copy(update={"trace_id": await record_trace(core, dataset, trace)})


async def _whole(core: Core, dataset: Dataset, request: SparqlRequest) -> Ran:
    return await run_sparql(
        core,
        dataset,
        request.query,
        limit=request.limit,
        offset=request.offset,
        entailment=request.entailment,
        at_seq=request.as_of_commit_seq,
    )


async def _page(core: Core, dataset: Dataset, request: SparqlRequest) -> Ran:
    if request.limit is not None or request.offset:
        raise InvalidRequest("cursor: takes no limit and no offset; the query's LIMIT is the page", param="cursor")
    began = dataset.head_seq if request.as_of_commit_seq is None else request.as_of_commit_seq
    identity = request.identity(dataset)
    place = Place.read(request.cursor, identity, 1) if request.cursor else Place((began,), 0)
    checked = await checked_for(core, dataset, request.query)
    page = page_of(checked, place)
    ran = await _run(
        core,
        dataset,
        page.checked,
        offset=place.offset,
        entailment=stated_entailment(request.entailment),
        at_seq=page.seq,
    )
    return replace(ran, checked=checked, response=page.shown(ran.response, identity))


async def run_sparql(
    core: Core,
    dataset: Dataset,
    text: str,
    *,
    limit: int | None = None,
    offset: int = 0,
    entailment: AnyEntailment = "none",
    at_seq: int | None = None,
    seconds: float = READ_SECONDS,
) -> Ran:
    """Checks a query, completes its prefixes and runs it; at most `limit` of its rows from `offset` on.

    Raises InvalidRequest (param `query`, `entailment` or `as_of_commit_seq`), NoEmbedding, QueryTimeout after
    `seconds`, QueryTooLarge and QueriesUnavailable.
    """
    regime = stated_entailment(entailment)
    checked = await checked_for(core, dataset, text)
    return await _run(
        core, dataset, checked, limit=limit, offset=offset, entailment=regime, at_seq=at_seq, seconds=seconds
    )


async def _run(
    core: Core,
    dataset: Dataset,
    checked: Checked,
    *,
    limit: int | None = None,
    offset: int = 0,
    entailment: Entailment,
    at_seq: int | None,
    seconds: float = READ_SECONDS,
) -> Ran:
    query = GraphQuery(checked.text, limit, offset, entailment, checked.facts, seconds)
    report = None
    if similar := similar_in(checked.text):
        began = time.monotonic()
        found = await find(core, dataset, similar, query, at_seq=at_seq)
        report = found.report
        query = replace(query, text=similar.bound(found.hits), seconds=seconds - (time.monotonic() - began))
    solutions = await core.queries.solve(dataset, query, at_seq=at_seq)
    response = await asyncio.to_thread(response_of, solutions, limit, offset, at_seq, report)
    return Ran(checked, solutions, response)


def stated_entailment(entailment: AnyEntailment) -> Entailment:
    """The entailment as the engine takes it; raises InvalidRequest for owl."""
    if entailment == "owl":
        raise InvalidRequest(
            "entailment: owl is not served; rdfs follows subclasses, subproperties, domains and ranges",
            param="entailment",
        )
    return entailment
