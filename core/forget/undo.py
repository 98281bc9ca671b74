"""undo: bring back what was forgotten or merged; tombstones: what can be brought back, and until when."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.core import Core
from core.forget.request import TOMBSTONE_ID, Counts, TombstoneItem
from core.requests import USER_ID, Label, Limit, Request, Response, RowId, UserId


class UndoRequest(Request):
    user_id: Annotated[UserId, USER_ID]
    tombstone_id: Annotated[RowId, TOMBSTONE_ID]


class UndoResponse(Response):
    """What is back: `counts` of the rows; `closed` facts have the end again that it had set."""

    tombstone: TombstoneItem
    counts: Counts


async def undo(core: Core, request: UndoRequest) -> UndoResponse:
    """Bring back what a forget or a merge took away, under the same ids.

    What was told again meanwhile is not doubled. What was purged, or is past its time, can't be brought back.
    """
    removal = await core.forgetting.undo(request.user_id, request.tombstone_id, core.clock)
    assert removal.tombstone is not None
    if removal.dataset is not None and core.vectors is not None:
        await core.vectors.catch_up(removal.dataset)
    return UndoResponse(tombstone=TombstoneItem.of(removal.tombstone), counts=removal.counts)


class TombstonesRequest(Request):
    user_id: Annotated[UserId, USER_ID]
    dataset: Annotated[Label, Field(description="Only those of this dataset.")] = None
    limit: Limit = 100
    before: Annotated[
        RowId | None,
        Field(description="Only those before this tombstone: the `next` of the page before."),
    ] = None


class TombstonesResponse(Response):
    """Newest first; `next` is there when there are more."""

    tombstones: list[TombstoneItem]
    next: int | None = None


async def tombstones(core: Core, request: TombstonesRequest) -> TombstonesResponse:
    """List what was forgotten or merged, and until when each can be undone."""
    found = await core.forgetting.tombstones(
        request.user_id, dataset=request.dataset, before=request.before, limit=request.limit + 1
    )
    page = found[: request.limit]
    more = page[-1].id if len(found) > request.limit else None
    return TombstonesResponse(tombstones=[TombstoneItem.of(one) for one in page], next=more)
