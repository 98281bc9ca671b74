"""merge: two entities that a person knows to be one become one."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field, model_validator

from core.core import Core
from core.forget.request import DRY_RUN, Counts
from core.ports import Order
from core.requests import USER_ID, DatasetName, Request, Response, RowId, UserId
from core.wire import Time


class MergeRequest(Request):
    user_id: Annotated[UserId, USER_ID]
    into: Annotated[RowId, Field(description="The entity that stays.")]
    other: Annotated[RowId, Field(description="The entity that goes: its facts and name become the other's.")]
    dataset: Annotated[DatasetName, Field(description="The dataset that both are in.")] = "main"
    dry_run: Annotated[bool, DRY_RUN] = False

    @model_validator(mode="after")
    def _are_two(self) -> MergeRequest:
        if self.into == self.other:
            raise ValueError("other: must be another entity than into")
        return self


class MergeResponse(Response):
    """What was merged. Of `counts`, `moved` facts changed hands; `edges` went: the other entity had them already, or
    they were between the two."""

    into: int
    other: int
    dataset: str
    dry_run: bool
    counts: Counts
    tombstone_id: int | None = None
    undo_until: Time | None = None


async def merge(core: Core, request: MergeRequest) -> MergeResponse:
    """Merge two entities that are one and the same: the facts, sources and name of one become the other's.

    A text that says either name means the one that stays from then on. Nothing is ever merged by itself; undo takes it
    apart again.
    """
    order = Order(
        user_id=request.user_id,
        dataset=request.dataset,
        scope="entity",
        target=request.other,
        clock=core.clock,
        undo_for=timedelta(days=core.config.undo_days),
        allow=lambda _: None,
        dry_run=request.dry_run,
        into=request.into,
    )
    removal = await core.forgetting.merge(order)
    if removal.tombstone is not None and removal.dataset is not None and core.vectors is not None:
        await core.vectors.catch_up(removal.dataset)
    return MergeResponse(
        into=request.into,
        other=request.other,
        dataset=request.dataset,
        dry_run=request.dry_run,
        counts=removal.counts,
        tombstone_id=removal.tombstone.id if removal.tombstone else None,
        undo_until=removal.tombstone.undo_until if removal.tombstone else None,
    )
