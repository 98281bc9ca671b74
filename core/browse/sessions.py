"""sessions and session: the operations, the conversations that something was remembered in."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.browse.artifacts import ArtifactList, artifact_list
from core.browse.requests import InDataset, Paged, next_cursor, window
from core.browse.stored import ArtifactFilter, Page
from core.core import Core
from core.datasets import find_dataset
from core.errors import NotFound
from core.requests import DatasetName, Response
from core.wire import Time


class SessionsRequest(Paged, InDataset):
    """Which page of the sessions."""


class SessionItem(Response):
    """A session: how many artifacts it told, how many entities and facts they name and state, and when the first and
    the last of it was stored."""

    session_id: str
    artifacts: int
    entities: int
    edges: int
    first_at: Time
    last_at: Time


class SessionsResponse(Response):
    """Sessions; those that began last come first."""

    items: list[SessionItem]
    total: int
    next_cursor: str | None = None


class SessionRequest(Paged, InDataset):
    # A name as any other, in a path: never empty.
    session_id: Annotated[DatasetName, Field(description="The session.")]


class SessionResponse(Response):
    """A session and a page of its artifacts, newest first."""

    session_id: str
    entities: int
    edges: int
    first_at: Time
    last_at: Time
    artifacts: ArtifactList


async def sessions(core: Core, request: SessionsRequest) -> SessionsResponse:
    """List the sessions of a dataset with their counts, those that began last first."""
    part = window(request, "sessions", key=[int, str])
    dataset = await find_dataset(core, request.user_id, request.dataset)
    page = Page((), 0) if dataset is None else await core.reader.sessions(dataset, part)
    return SessionsResponse(
        items=[SessionItem.model_validate(row, from_attributes=True) for row in page.rows],
        total=page.total,
        next_cursor=next_cursor("sessions", page),
    )


async def session(core: Core, request: SessionRequest) -> SessionResponse:
    """Show a session: how much came of it, from when to when, and its artifacts."""
    part = window(request, "artifacts", key=[int])
    dataset = await find_dataset(core, request.user_id, request.dataset)
    found = dataset and await core.reader.session(dataset, ArtifactFilter(session_id=request.session_id), part)
    if not found:
        raise NotFound("session_id: not found", param="session_id")
    whole, artifacts = found
    return SessionResponse(
        session_id=whole.session_id,
        entities=whole.entities,
        edges=whole.edges,
        first_at=whole.first_at,
        last_at=whole.last_at,
        artifacts=artifact_list(artifacts),
    )
