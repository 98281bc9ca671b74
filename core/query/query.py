"""query: the operation, its request and its response."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from core.core import Core
from core.errors import ModelFailed, UnknownDataset
from core.graph import Dataset
from core.inferences import Choice
from core.ports import Answer, ModelCall, RunOf
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
from core.times import utc
from core.wire import EdgeItem, EntityItem

DEFAULT_DATASET = "main"
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
    retrieval: Annotated[
        Retrieval | None,
        BeforeValidator(lambda v: None if v == "" else v),
        WithJsonSchema({"type": "string", "enum": ["keyword", "hybrid"]}),
        Field(description="keyword: by names and words. hybrid: by meaning too."),
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
    if request.answer:
        core.engine.require()
    dataset = await _dataset(core, request)
    if dataset is None:
        return _nothing_known(request)
    of = RunOf(request.user_id, dataset.name, request.session_id)
    match = match_for(request.query, request.as_of, request.known_at)
    subgraph = await retrieve(core, request.query, dataset, match, of, hybrid=_hybrid(core, request))
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


async def _dataset(core: Core, request: QueryRequest) -> Dataset | None:
    """The dataset to search; None for the default one of a user who has told nothing yet."""
    name = request.dataset or DEFAULT_DATASET
    dataset = await core.graph.dataset(request.user_id, name)
    if dataset is None and request.dataset is not None:
        known = await core.graph.dataset_names(request.user_id)
        there = f"the datasets of this user are {', '.join(known)}" if known else "this user has none yet"
        raise UnknownDataset(f"dataset: not found; {there}", param="dataset")
    return dataset


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
        inferences = reply.inferences
    except ModelFailed as failure:
        for inference in failure.inferences:
            await core.runs.inference(ModelCall("query", "query", inference), of)
        raise
    for inference in inferences:
        await core.runs.inference(ModelCall("query", "query", inference), of)
    return reply.value


def _evidence(subgraph: Subgraph, *, described: bool) -> Evidence:
    return Evidence(
        entities=[EntityItem.of(entity) for entity in subgraph.entities],
        edges=[EdgeItem.of(edge, described=described) for edge in subgraph.edges],
    )


def _nothing_known(request: QueryRequest) -> QueryResponse:
    answer = NOTHING_KNOWN if request.answer else None
    return QueryResponse(session_id=request.session_id, answer=answer, evidence=Evidence())
