"""edges and edge: the operations, the facts of the graph and what each rests on."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.browse.requests import InDataset, MaybeFlag, MaybeId, Paged, Words, folded, next_cursor, window
from core.browse.stored import EdgeFilter, Page, WholeEdge, Window
from core.browse.supports import SessionNames, SupportList, session_names, support_list
from core.core import Core
from core.datasets import find_dataset
from core.errors import NotFound
from core.graph import Edge, TimeSource
from core.requests import Label, ReadTime, Response, RowId
from core.text import relation
from core.times import utc
from core.wire import EdgeItem, Time

ARTIFACTS_SHOWN = 100


class EdgesRequest(Paged, InDataset):
    entity_id: Annotated[MaybeId, Field(description="Only facts of this entity, at either end.")] = None
    relation: Annotated[Label, Field(description="Only facts of this relation, such as lives_in.")] = None
    artifact_id: Annotated[MaybeId, Field(description="Only facts that this artifact or a chunk of it states.")] = None
    session_id: Annotated[Label, Field(description="Only facts that this session stated.")] = None
    live: Annotated[
        MaybeFlag, Field(description="true: only facts that still hold; false: only those that newer ones superseded.")
    ] = None
    as_of: Annotated[ReadTime, Field(description="Only what was true in the world at this time (RFC 3339).")] = None
    since: Annotated[ReadTime, Field(description="Only facts learned after this time (RFC 3339 or a date).")] = None
    words: Annotated[
        Words, Field(description="Only facts whose names, relation and description hold all of these words or parts.")
    ] = None


class EdgeList(Response):
    """Facts, those learned last first."""

    items: list[EdgeItem]
    total: int
    next_cursor: str | None = None


class EdgeVersionItem(Response):
    """The times that a fact had until it was changed, at `until`."""

    until: Time
    valid_at: Time
    invalid_at: Time | None = None
    expired_at: Time | None = None
    valid_at_source: TimeSource | None = None
    invalid_at_source: TimeSource | None = None
    closed_by: int | None = None


class EdgeRequest(InDataset):
    edge_id: Annotated[RowId, Field(description="The fact.")]


class EdgeResponse(EdgeItem):
    """A fact and all that it rests on. The two sources say where its start and its end come from: stated in a text, the
    reference time of one, or reconciled with other facts. `closed_by` is the fact that superseded it; `history` are
    the times that it had before, oldest first."""

    model_id: str | None = None
    valid_at_source: TimeSource
    invalid_at_source: TimeSource | None = None
    closed_by: int | None = None
    artifacts: SupportList
    sessions: SessionNames
    history: list[EdgeVersionItem]

    @classmethod
    def of_whole(cls, whole: WholeEdge) -> EdgeResponse:
        edge = whole.edge
        return cls(
            **EdgeItem.of(edge, described=True).model_dump(),
            model_id=edge.model_id,
            valid_at_source=edge.valid_at_source,
            invalid_at_source=edge.invalid_at_source,
            closed_by=edge.closed_by,
            artifacts=support_list(whole.artifacts, of_fact=True),
            sessions=session_names(whole.sessions),
            history=[EdgeVersionItem.model_validate(version, from_attributes=True) for version in whole.history],
        )


def edge_list(page: Page[Edge]) -> EdgeList:
    """A page of facts as it is shown."""
    items = [EdgeItem.of(edge, described=True) for edge in page.rows]
    return EdgeList(items=items, total=page.total, next_cursor=next_cursor("edges", page))


async def edges(core: Core, request: EdgesRequest) -> EdgeList:
    """List the facts of the graph, those learned last first, the superseded ones too unless they are left out."""
    part = window(request, "edges", key=[int, int])
    dataset = await find_dataset(core, request.user_id, request.dataset)
    if dataset is None:
        return edge_list(Page((), 0))
    among = EdgeFilter(
        entity_id=request.entity_id,
        relation=None if request.relation is None else relation(request.relation),
        artifact_id=request.artifact_id,
        session_id=request.session_id,
        live=request.live,
        as_of=request.as_of and utc(request.as_of),
        since=request.since and utc(request.since),
        words=folded(request.words),
    )
    return edge_list(await core.reader.edges(dataset, among, part))


async def edge(core: Core, request: EdgeRequest, *, most: int = ARTIFACTS_SHOWN) -> EdgeResponse:
    """Show a fact: its times and where they come from, every artifact that supports it, and what it was before."""
    dataset = await find_dataset(core, request.user_id, request.dataset)
    whole = dataset and await core.reader.edge(dataset, request.edge_id, Window(most))
    if not whole:
        raise NotFound("edge_id: not found", param="edge_id")
    return EdgeResponse.of_whole(whole)
