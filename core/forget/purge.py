"""purge: remove for good what was forgotten."""

from __future__ import annotations

from typing import Annotated

from core.core import Core
from core.forget.request import TOMBSTONE_ID, TombstoneItem
from core.requests import USER_ID, Request, Response, RowId, UserId


class PurgeRequest(Request):
    user_id: Annotated[UserId, USER_ID]
    tombstone_id: Annotated[RowId, TOMBSTONE_ID]


class PurgeResponse(Response):
    """What is left: what it was, how much and when. Nothing of its content."""

    tombstone: TombstoneItem


async def purge(core: Core, request: PurgeRequest) -> PurgeResponse:
    """Remove for good what was forgotten: its rows, links, vectors and history, and what the run log tells of it.

    There is no undo. Copies that were made before, such as backups and exports, are not reached.
    """
    tombstone = await core.forgetting.purge(request.user_id, request.tombstone_id, core.clock)
    return PurgeResponse(tombstone=TombstoneItem.of(tombstone))
