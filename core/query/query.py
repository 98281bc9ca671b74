"""query: the operation, its request and its response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from core.core import Core
from core.datasets import find_dataset
from core.errors import ModelFailed
from core.inferences import Choice, Inference
from core.ports import Answer, ModelCall, RunOf
from core.query.cursor import MAX_CURSOR, Rest
from core.query.evidence import is_grounded, verify
from core.query.retrieve import match_for, retrieve
from core.query.subgraph import Subgraph
from core.requests import (
    SESSION_ID,
    USER_ID,
    DatasetName,
    Level,
    ReadTime,
    Request,
    Response,
    SessionId,
    Spoken,
    UserId,
)
from core.spending import charge_to
from core.times import utc
from core.trajectory import Of, Tool, known, recorded, recording
from core.wire import EdgeItem, EntityItem

Retrieval = Literal["keyword", "hybrid"]


class QueryRequest(Request):
    user_id: Annotated[UserId, USER_ID]
    query: Annotated[Spoken, Field(description="The question, in plain words.")]
    dataset: Annotated[
        DatasetName | None,
        WithJsonSchema({"type": "string"}),
        Field(description="The dataset to search. Default: main."),
    ] = None
    session_id: Annotated[SessionId, SESSION_ID] = None
    reasoning: Annotated[Level, Field(description="How much the model may think: none, low, medium or high.")] = "none"
    answer: Annotated[bool, Field(description="false: only the evidence, no written answer and no model call.")] = True
    as_of: Annotated[ReadTime, Field(description="Only what was true in the world at this time (RFC 3339).")] = None
    known_at: Annotated[ReadTime, Field(description="Only what was known at this time (RFC 3339).")] = None
    since: Annotated[ReadTime, Field(description="Only facts learned after this time (RFC 3339 or a date).")] = None
    retrieval: Annotated[
        Retrieval | None,
        BeforeValidator(lambda v: None if v == "" else v),
        WithJsonSchema({"type": "string", "enum": ["keyword", "hybrid"]}),
        Field(description="keyword: by names and words. hybrid: by meaning too."),
    ] = None
    cursor: Annotated[
        Annotated[str, Field(max_length=MAX_CURSOR)] | None,
        BeforeValidator(lambda v: None if v == "" else v),
        WithJsonSchema({"type": "string", "maxLength": MAX_CURSOR}),
        Field(description="The cursor of a result that was cut: shows the rest of its rows and nothing else."),
    ] = None


class Evidence(Response):
    """The rows an answer rests on; both lists are always there."""

    entities: list[EntityItem] = Field(default_factory=list[EntityItem])
    edges: list[EdgeItem] = Field(default_factory=list[EdgeItem])


class QueryResponse(Response):
    """An answer and its evidence. `grounded` is false when the answer named no row that was shown to it."""

    session_id: str | None = None
    answer: str | None = None
    evidence: Evidence
    answer_mode: Literal["extractive"] | None = None
    grounded: bool | None = None


NOTHING_KNOWN = "I don’t have any information in memory to answer that."


async def query(core: Core, request: QueryRequest) -> QueryResponse:
    """Answer a question from the knowledge graph, with the evidence used.

    The answer rests on stored facts alone, and says so when they don't hold it; evidence is what it cites, checked
    against what it was shown.
    """
    if request.cursor is not None:
        return await _rest(core, request, Rest.read(request.cursor))
    charge_to(request.user_id)
    if request.answer:
        core.engine.require()
    of = Of("query", request.session_id)
    async with recorded(core, of, request.query, lambda: request.model_dump(mode="json", exclude={"query"})):
        return await _query(core, request)


async def _rest(core: Core, request: QueryRequest, rest: Rest) -> QueryResponse:
    """The rows that a result was cut by, as they stood then."""
    dataset = await find_dataset(core, request.user_id, rest.dataset)
    rows = Subgraph() if dataset is None else await core.graph.rows(dataset, rest.entities, rest.edges, rest.known_at)
    return QueryResponse(session_id=request.session_id, evidence=_evidence(rows, described=True))


async def _query(core: Core, request: QueryRequest) -> QueryResponse:
    dataset = await find_dataset(core, request.user_id, request.dataset)
    if dataset is None:
        return _nothing_known(request)
    of = RunOf(request.user_id, dataset.name, request.session_id)
    match = match_for(request.query, request.as_of, request.known_at, request.since)
    subgraph = await retrieve(core, request.query, dataset, match, of, hybrid=_hybrid(core, request))
    if seen := recording():
        rows = {"entities": [e.id for e in subgraph.entities], "edges": [e.id for e in subgraph.edges]}
        seen.used("retrieve", Tool("retrieve", {"question": request.query, "dataset": dataset.name}, rows))
    if not request.answer:
        return QueryResponse(session_id=request.session_id, evidence=_evidence(subgraph, described=True))
    if not subgraph.entities:
        return _nothing_known(request)
    answer = await _answer(core, request, subgraph, of)
    evidence = verify(answer, subgraph)
    return QueryResponse(
        session_id=request.session_id,
        answer=answer.text,
        evidence=_evidence(evidence, described=False),
        answer_mode="extractive" if core.engine.answer_mode == "extractive" else None,
        grounded=None if is_grounded(answer, evidence) else False,
    )


def _hybrid(core: Core, request: QueryRequest) -> bool:
    """By meaning too where asked for; rules read no synonyms, so with the embedded engine always."""
    if request.retrieval is None:
        return core.engine.answer_mode == "extractive"
    return request.retrieval == "hybrid"


async def _answer(core: Core, request: QueryRequest, subgraph: Subgraph, of: RunOf) -> Answer:
    """The engine's answer, its model calls recorded whether it was of use or not."""
    now = request.as_of or core.clock()
    try:
        reply = await core.engine.answer(request.query, subgraph, utc(now), Choice(reasoning=request.reasoning))
    except ModelFailed as failure:
        await _record(core, failure.inferences, None, of)
        raise
    await _record(core, reply.inferences, reply.value.text, of)
    return reply.value


async def _record(core: Core, inferences: Sequence[Inference], said: str | None, of: RunOf) -> None:
    ids = [await core.record(ModelCall("query", "query", inference), of) for inference in inferences]
    if seen := recording():
        seen.asked("query", inferences, said, [known(i) for i in ids])


def _evidence(subgraph: Subgraph, *, described: bool) -> Evidence:
    return Evidence(
        entities=[EntityItem.of(entity) for entity in subgraph.entities],
        edges=[EdgeItem.of(edge, described=described) for edge in subgraph.edges],
    )


def _nothing_known(request: QueryRequest) -> QueryResponse:
    answer = NOTHING_KNOWN if request.answer else None
    return QueryResponse(session_id=request.session_id, answer=answer, evidence=Evidence())
