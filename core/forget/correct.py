"""correct: what a person says of a stored fact: it ended then, or it is otherwise."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from pydantic import Field, model_validator

from core.core import Core
from core.datasets import find_dataset
from core.errors import Conflict, InvalidRequest, NotFound, Stale
from core.extraction import CALLER, RawEdge, RawEntity, read_extraction
from core.graph import Artifact, Dataset, Edge, Entity, Extraction, GraphChange, StatedEdge, Stored, Verdict
from core.query.subgraph import Match
from core.requests import SESSION_ID, USER_ID, DatasetName, Request, Response, RowId, SessionId, UserId
from core.secrets import mask
from core.times import read_moment, rfc3339
from core.wire import EdgeItem, Time

TRIES = 3
MAX_WORDS = 4000
_DATE = "RFC 3339, YYYY-MM-DD, YYYY-MM or YYYY"


class Restatement(Request):
    """What is so instead; what is left out stays as it was. Dates: RFC 3339, YYYY-MM-DD, YYYY-MM or YYYY."""

    source: str | None = None
    target: str | None = None
    relation: str | None = None
    description: Annotated[str | None, Field(max_length=MAX_WORDS)] = None
    valid_at: str | None = None
    invalid_at: str | None = None


class CorrectRequest(Request):
    user_id: Annotated[UserId, USER_ID]
    edge_id: Annotated[RowId, Field(description="The fact to correct.")]
    dataset: Annotated[DatasetName, Field(description="The dataset that it is in.")] = "main"
    invalid_at: Annotated[str | None, Field(description=f"When the fact ended: {_DATE}.")] = None
    restate: Annotated[Restatement | None, Field(description="What is so instead of the fact.")] = None
    reason: Annotated[
        str | None, Field(max_length=MAX_WORDS, description="Why, in plain words: kept as its source.")
    ] = None
    session_id: Annotated[SessionId, SESSION_ID] = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> CorrectRequest:
        if (self.invalid_at is None) == (self.restate is None):
            raise ValueError("invalid_at: give it or restate, one of the two")
        for field, date in (
            ("invalid_at", self.invalid_at),
            ("restate", self.restate.valid_at if self.restate else None),
            ("restate", self.restate.invalid_at if self.restate else None),
        ):
            if date is not None and read_moment(date) is None:
                raise ValueError(f"{field}: holds a date that can't be read; write {_DATE}")
        return self


class CorrectResponse(Response):
    """The fact as it is now: the one that ended, or the one that stands in its place."""

    edge: EdgeItem
    corrected_edge_id: int
    invalidated_edges: list[int]
    artifact_id: int
    dataset: str
    session_id: str | None = None
    created_at: Time


async def correct(core: Core, request: CorrectRequest) -> CorrectResponse:
    """Correct a stored fact on the caller's word: say when it ended, or what is so instead.

    The old state stays readable as it was known before. The correction is kept as a source of its own, so forgetting
    that one takes the correction back.
    """
    for _ in range(TRIES):
        try:
            stored = await _attempt(core, request)
        except Stale:
            continue
        if core.vectors is not None:
            await core.vectors.catch_up(stored.dataset)
        return CorrectResponse(
            edge=EdgeItem.of(stored.edges[0], described=True),
            corrected_edge_id=request.edge_id,
            invalidated_edges=list(stored.invalidated),
            artifact_id=stored.artifact_ids[0],
            dataset=request.dataset,
            session_id=request.session_id,
            created_at=stored.created_at,
        )
    raise Conflict("others changed the same facts meanwhile; send it again")


async def _attempt(core: Core, request: CorrectRequest) -> Stored:
    """The correction, decided on the fact as it is now."""
    dataset = await find_dataset(core, request.user_id, request.dataset)
    assert dataset is not None  # it was named
    edge, ends = await _fact(core, dataset, request.edge_id)
    now = core.clock()
    if request.restate is None:
        extraction = _ended(edge, ends, str(request.invalid_at), now)
        verdict = Verdict(ends=edge.id)
    else:
        extraction = _restated(edge, ends, request.restate, now)
        verdict = Verdict(restates=edge.id)
    text = _words(core, request.reason or "") or _sentence(edge, extraction.edges[0], ended=request.restate is None)
    return await core.graph.write(
        GraphChange(
            user_id=request.user_id,
            dataset=request.dataset,
            artifacts=[Artifact("correction", text, request.session_id, now)],
            sources=[0],
            extraction=extraction,
            verdicts=[verdict],
            read_seq=dataset.head_seq,
            clock=core.clock,
            embed_later=core.embedder is not None,
        )
    )


async def _fact(core: Core, dataset: Dataset, edge_id: int) -> tuple[Edge, dict[int, Entity]]:
    found = await core.graph.facts(dataset, [edge_id], Match("", ()))
    if not found.edges:
        raise NotFound("edge_id: there is no such edge in the dataset", param="edge_id")
    return found.edges[0], {entity.id: entity for entity in found.entities}


def _words(core: Core, words: str) -> str:
    return mask(words.strip())[0] if core.config.mask_secrets else words.strip()


def _ended(edge: Edge, ends: dict[int, Entity], date: str, now: datetime) -> Extraction:
    """The fact as it was, with its end."""
    raw = RawEdge(edge.source, edge.target, edge.relation, edge.description, rfc3339(edge.valid_at), date)
    return _read(raw, edge, ends, now, "invalid_at")


def _restated(edge: Edge, ends: dict[int, Entity], told: Restatement, now: datetime) -> Extraction:
    """What stands in its place. A new wording is not guessed: without one a fact that says something else has none."""
    source, target = told.source or edge.source, told.target or edge.target
    relation = told.relation or edge.relation
    end = edge.invalid_at and rfc3339(edge.invalid_at)
    dates = (told.valid_at or rfc3339(edge.valid_at), told.invalid_at or end)
    extraction = _read(RawEdge(source, target, relation, told.description or "", *dates), edge, ends, now, "restate")
    new = extraction.edges[0]
    if told.valid_at is None:
        new = replace(new, valid_at=edge.valid_at, valid_at_source=edge.valid_at_source)
    if told.description is None and _says(new) == _says(edge):
        raise InvalidRequest("restate: must say something else than the fact says", param="restate")
    return replace(extraction, edges=(new,))


def _says(fact: Edge | StatedEdge) -> tuple[object, ...]:
    return fact.source, fact.relation, fact.target, fact.valid_at, fact.invalid_at


def _read(raw: RawEdge, edge: Edge, ends: dict[int, Entity], now: datetime, field: str) -> Extraction:
    """The fact as it is stored: an end that keeps its name is the entity that it was."""
    kept = [ends[i] for i, name in ((edge.source_id, raw.source), (edge.target_id, raw.target)) if ends[i].name == name]
    entities = [RawEntity(entity.name, entity.type) for entity in kept]
    extraction = read_extraction(entities, [raw], reference_time=now, model_id=CALLER)
    if not extraction.edges:
        raise InvalidRequest(f"{field}: {'; '.join(extraction.notes)}", param=field)
    if extraction.edges[0].inverted:
        raise InvalidRequest(f"{field}: the end lies before the start of the fact", param=field)
    return extraction


def _sentence(edge: Edge, new: StatedEdge, *, ended: bool) -> str:
    """What was corrected, in words, where the caller gives no reason."""

    def said(fact: Edge | StatedEdge) -> str:
        return f"{fact.source} {fact.relation.replace('_', ' ')} {fact.target}"

    if ended:
        assert new.invalid_at is not None  # its date was read
        return f"Correction: {said(edge)} until {rfc3339(new.invalid_at)}."
    since = f" since {rfc3339(new.valid_at)}"
    return f"Correction: not that {said(edge)}, but that {said(new)}{since}."
