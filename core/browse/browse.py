"""browse: the operation, all that is stored through one door, each answer as long as a model can take in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from core import fitting
from core.browse.artifacts import ArtifactRequest, ArtifactsRequest, artifact, artifacts
from core.browse.datasets import DatasetsRequest, datasets
from core.browse.edges import EdgeRequest, EdgesRequest, edge, edges
from core.browse.entities import EntitiesRequest, EntityRequest, entities, entity
from core.browse.parts import cut, text_from
from core.browse.requests import InDataset, MaybeId, Paged, Words
from core.browse.sessions import SessionRequest, SessionsRequest, session, sessions
from core.core import Core
from core.errors import NotFound
from core.requests import Label, Offset, Request, Response, RowOrSession, row_id

What = Literal["datasets", "sessions", "artifacts", "entities", "edges"]
# Tokens for what stands around the rows: counts, a cursor, and what a door adds.
ENVELOPE = 300
# How many of the rows around a row come with it, where there is room.
AROUND = 100


class BrowseRequest(Paged, InDataset):
    what: Annotated[What, Field(description="artifacts are remembered texts, edges are facts.")]
    id: Annotated[
        RowOrSession,
        Field(description="All of this one: its id or session_id."),
    ] = None
    words: Annotated[Words, Field(description="Only what holds all of these words.")] = None
    in_session: Annotated[Label, Field(description="Only those of this session.")] = None
    entity_id: Annotated[MaybeId, Field(description="Only edges of this entity.")] = None
    artifact_id: Annotated[MaybeId, Field(description="Only entities or edges of this artifact.")] = None
    offset: Annotated[Offset, Field(description="With id: the next_offset of a text that was cut.")] = 0

    @model_validator(mode="after")
    def _asks_for_what_there_is(self) -> BrowseRequest:
        for name in self.filters():
            if self.id is not None:
                raise ValueError(f"{name}: can't be given with id")
            if _THEIR_NAMES[name] not in _LISTS[self.what][0].model_fields:
                raise ValueError(f"{name}: can't be given with what {self.what}")
        if self.id is not None:
            self._names_a_row(self.id)
        elif self.offset:
            raise ValueError("offset: can only be given with id")
        return self

    def _names_a_row(self, stated: str) -> None:
        if self.what == "datasets":
            raise ValueError("id: can't be given with what datasets, whose list tells all")
        if self.what == "sessions":
            if self.offset:
                raise ValueError("offset: can't be given with what sessions")
            return
        if row_id(stated) is None:
            raise ValueError(f"id: must be a number with what {self.what}")
        if self.cursor is not None:
            raise ValueError("cursor: can't be given with id")

    def filters(self) -> dict[str, Any]:
        """What the list is limited to, by the names of these fields."""
        return {name: value for name in _THEIR_NAMES if (value := getattr(self, name)) is not None}


class BrowseResponse(Response):
    """A page of a list, or all of one `row`, with the fields of its own operation. A text that was cut says
    text_truncated and next_offset; a list in a row that was cut has its whole number beside it."""

    items: list[dict[str, Any]] | None = None
    shown: int | None = None
    total: int | None = None
    next_cursor: str | None = None
    row: dict[str, Any] | None = None


_LISTS: Mapping[What, tuple[type[Request], Callable[[Core, Any], Awaitable[Response]]]] = {
    "datasets": (DatasetsRequest, datasets),
    "sessions": (SessionsRequest, sessions),
    "artifacts": (ArtifactsRequest, artifacts),
    "entities": (EntitiesRequest, entities),
    "edges": (EdgesRequest, edges),
}
# What a list can be limited to, and what its own operation calls that. A session_id of browse would be the
# conversation that it is called in.
_THEIR_NAMES = {"words": "words", "in_session": "session_id", "entity_id": "entity_id", "artifact_id": "artifact_id"}


async def browse(core: Core, request: BrowseRequest) -> BrowseResponse:
    """Show what is stored: a page of a list, or all of one row."""
    room = core.config.tool_result_tokens - ENVELOPE
    if request.id is None:
        return await _page(core, request, room)
    return BrowseResponse(row=await _row(core, request, request.id, room))


async def _page(core: Core, request: BrowseRequest, room: int) -> BrowseResponse:
    """As many rows as fit. The next page begins behind the last of them, so fewer are asked for instead of left out."""
    body = await _listed(core, request, request.limit)
    count = fitting.how_many(body["items"], room)
    if count < len(body["items"]):
        body = await _listed(core, request, max(1, count))
    if not count:
        body["items"] = [fitting.shortened(item, room) for item in body["items"]]
    return BrowseResponse(shown=len(body["items"]), **body)


async def _listed(core: Core, request: BrowseRequest, limit: int) -> dict[str, Any]:
    model, handler = _LISTS[request.what]
    filters = {_THEIR_NAMES[name]: value for name, value in request.filters().items()}
    fields = {**_whose(request), "limit": limit, "cursor": request.cursor, **filters}
    asked = model.model_validate({name: fields[name] for name in fields.keys() & model.model_fields.keys()})
    return (await handler(core, asked)).body()


async def _row(core: Core, request: BrowseRequest, stated: str, room: int) -> dict[str, Any]:
    """All of the row, with as many of the rows around it as fit."""
    if request.offset:
        return text_from(await _shown(core, request, stated, 1), request.offset, room)
    most = AROUND
    row = await _shown(core, request, stated, most)
    while not fitting.fits(row, room) and most > 1:
        # A little less than their share, for rows differ in length: once more where those that come first are long.
        most = max(1, most * room * 9 // (fitting.tokens_of(row) * 10))
        row = await _shown(core, request, stated, most)
    if fitting.fits(row, room):
        return row
    return _cut_session(row, room) if request.what == "sessions" else cut(row, room)


def _cut_session(row: dict[str, Any], room: int) -> dict[str, Any]:
    """A session of which one artifact alone is too long. It stays, cut: what follows it is got by next_cursor."""
    artifacts = row["artifacts"]
    room -= fitting.tokens_of({**row, "artifacts": {**artifacts, "items": []}})
    return {**row, "artifacts": {**artifacts, "items": [fitting.shortened(item, room) for item in artifacts["items"]]}}


async def _shown(core: Core, request: BrowseRequest, stated: str, most: int) -> dict[str, Any]:
    """The row with at most so many of each kind around it."""
    whose = _whose(request)
    try:
        if request.what == "sessions":
            limit = min(request.limit, most)
            asked = SessionRequest(session_id=stated, limit=limit, cursor=request.cursor, **whose)
            return (await session(core, asked)).body()
        number = row_id(stated)
        assert number is not None  # the request was checked
        if request.what == "artifacts":
            return (await artifact(core, ArtifactRequest(artifact_id=number, **whose), most=most)).body()
        if request.what == "entities":
            return (await entity(core, EntityRequest(entity_id=number, **whose), most=most)).body()
        return (await edge(core, EdgeRequest(edge_id=number, **whose), most=most)).body()
    except NotFound:
        raise NotFound("id: not found", param="id") from None


def _whose(request: BrowseRequest) -> dict[str, Any]:
    return {"user_id": request.user_id, "dataset": request.dataset}
