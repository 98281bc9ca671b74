"""evals_goldens, create_golden, accept_golden and delete_golden: the operations on what answers are checked against."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from core.core import Core
from core.errors import InvalidRequest, NotFound
from core.evals.golden import Golden, GoldenSuite, Judgment, query_golden_id
from core.evals.items import each_item
from core.evals.query_type import query_type_of
from core.evals.reading import read_golden
from core.evals.trace import TracedEntailment
from core.evals.writable import written_graph
from core.graph import Dataset
from core.graphs.graph_of import NOTHING, graph_of
from core.graphs.requests import GraphRead, GraphRequest
from core.rdf.gate import MAX_QUERY
from core.rdf.terms import Solutions
from core.requests import Response
from core.sparql.sparql import MAX_WORDS

MAX_JUDGED = 1_000
GOLDEN_ID = Field(min_length=1, max_length=64, description="The id of the golden.")


class GoldensRequest(GraphRequest):
    """Whose goldens."""


class CreateGoldenRequest(GraphRequest):
    sparql: Annotated[str, Field(min_length=1, max_length=MAX_QUERY, description="A SELECT or an ASK.")]
    request: Annotated[str | None, Field(max_length=MAX_WORDS, description="What it answers, in plain words.")] = None
    entailment: Annotated[TracedEntailment, Field(description="As for the query itself.")] = "none"
    surface: Annotated[
        Literal["sparql"], Field(description="sparql. A question becomes a golden by a label on its trace.")
    ] = "sparql"


class GoldenRequest(GraphRead):
    id: Annotated[str, GOLDEN_ID]


class GoldenResponse(Response):
    """The golden, and the version of the suite that it is in."""

    golden: Golden
    suite_version: int


class GoldenDeleted(Response):
    """Whether it was there, and the version of the suite without it."""

    deleted: bool
    suite_version: int


async def goldens(core: Core, request: GoldensRequest) -> GoldenSuite:
    """List the goldens: the questions and queries whose right answers are known."""
    return await core.evals.suite(await graph_of(core, request))


async def create_golden(core: Core, request: CreateGoldenRequest) -> GoldenResponse:
    """Freeze a query: every row that it returns now has to come back."""
    dataset = await written_graph(core, request)
    sparql, solutions = await read_golden(core, dataset, request.sparql, request.entailment)
    rows, now = _all_right(core, solutions, "sparql"), core.clock()
    made = Golden(
        id=query_golden_id(request.request, sparql, request.entailment),
        request=request.request,
        sparql=sparql,
        entailment=request.entailment,
        surface="sparql",
        query_type=query_type_of(sparql),
        origin="manual",
        judgments=rows,
        label_source="explicit",
        frozen_at_seq=solutions.seq,
        created_at=now,
    )

    def change(before: Golden | None) -> Golden:
        return made if before is None else made.model_copy(update={"created_at": before.created_at})

    golden, version = await core.evals.put_golden(dataset, made.id, change)
    return GoldenResponse(golden=golden, suite_version=version)


async def accept_golden(core: Core, request: GoldenRequest) -> GoldenResponse:
    """Take the rows that a golden's query returns now for the right ones. Rows that were judged wrong, and do not come
    back, stay wrong."""
    dataset = await graph_of(core, request)
    golden = await _golden(core, dataset, request.id)
    if not golden.sparql:
        raise InvalidRequest("id: the golden has no query, so no rows to accept", param="id")
    _, solutions = await read_golden(core, dataset, golden.sparql, golden.entailment)
    rows, now = _all_right(core, solutions, golden.surface), core.clock()

    def change(before: Golden | None) -> Golden:
        if before is None:
            raise _no_golden()
        wrong = {id_: judgment for id_, judgment in before.judgments.items() if not judgment.relevant}
        update = {"frozen_at_seq": solutions.seq, "accepted_at": now, "accepted_by": "user"}
        return before.model_copy(update={"judgments": {**wrong, **rows}, **update})

    accepted, version = await core.evals.put_golden(dataset, golden.id, change)
    return GoldenResponse(golden=accepted, suite_version=version)


async def delete_golden(core: Core, request: GoldenRequest) -> GoldenDeleted:
    """Take a golden out of the suite. What runs found with it stays in their results."""
    dataset = await graph_of(core, request)
    if dataset.id == NOTHING:
        return GoldenDeleted(deleted=False, suite_version=0)
    deleted, version = await core.evals.delete_golden(dataset, request.id)
    return GoldenDeleted(deleted=deleted, suite_version=version)


async def _golden(core: Core, dataset: Dataset, golden_id: str) -> Golden:
    suite = await core.evals.suite(dataset)
    found = next((golden for golden in suite.goldens if golden.id == golden_id), None)
    if found is None:
        raise _no_golden()
    return found


def _no_golden() -> NotFound:
    return NotFound("id: there is no such golden", param="id")


def _all_right(core: Core, solutions: Solutions, surface: Literal["sparql", "ask"]) -> dict[str, Judgment]:
    items = each_item(solutions, surface)
    if len(items) > MAX_JUDGED:
        raise InvalidRequest(f"sparql: returns more than {MAX_JUDGED:,} rows; give it a LIMIT", param="sparql")
    now = core.clock()
    return {
        item.id: Judgment(relevant=True, label=item.label, source="explicit", ts=now, iri=item.iri) for item in items
    }
