"""forget: take something out of the memory, at once and everywhere, so that it can be undone for a while."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field, WithJsonSchema, model_validator

from core.core import Core
from core.errors import ConfirmationRequired
from core.forget.request import DRY_RUN, Counts, rows_in
from core.ports import Order, Removal, Scope
from core.requests import USER_ID, DatasetName, Label, Request, Response, RowOrSession, UserId, row_id
from core.wire import Time

# What a person can take in at a glance; more has to be said twice.
UNASKED = 20
_WITH_ID = ("artifact", "entity", "edge", "run")


class ForgetRequest(Request):
    user_id: Annotated[UserId, USER_ID]
    scope: Annotated[
        Scope,
        Field(
            description="artifact: a text, its chunks and what it alone supports; run: what one remember call told; "
            "session: what a conversation told; entity: it and its facts; edge: one fact; dataset; user: all datasets."
        ),
    ]
    id: Annotated[
        RowOrSession,
        WithJsonSchema({"type": ["integer", "string"]}),
        Field(description="The id of the row, or the session_id. Not for scope dataset and user."),
    ] = None
    dataset: Annotated[DatasetName, Field(description="The dataset that it is in.")] = "main"
    dry_run: Annotated[bool, DRY_RUN] = False
    confirm: Annotated[
        Label, Field(description="Needed above 20 rows: the confirm that a dry run, or the refusal, answered with.")
    ] = None
    purge: Annotated[bool, Field(description="true: remove it for good; there is no undo.")] = False

    @model_validator(mode="after")
    def _names_one_thing(self) -> ForgetRequest:
        if self.scope in ("dataset", "user"):
            if self.id is not None:
                raise ValueError(f"id: can't be given with scope {self.scope}")
            if self.scope == "user" and "dataset" in self.model_fields_set:
                raise ValueError("dataset: can't be given with scope user, which is all of them")
        elif self.id is None:
            raise ValueError(f"id: is required with scope {self.scope}")
        elif self.scope in _WITH_ID and row_id(self.id) is None:
            raise ValueError(f"id: must be the number of the {self.scope}")
        return self

    @property
    def target(self) -> int | str | None:
        """The id as it is looked up."""
        return row_id(self.id) if self.scope in _WITH_ID and self.id is not None else self.id


class ForgetResponse(Response):
    """What was forgotten, or with dry_run would be. `reopened` facts hold again, for only what was forgotten had ended
    them. `confirm` is told where it is needed."""

    scope: Scope
    id: int | str | None = None
    dataset: str | None = None
    dry_run: bool
    counts: Counts
    confirm: str | None = None
    tombstone_id: int | None = None
    undo_until: Time | None = None
    purged: bool


async def forget(core: Core, request: ForgetRequest) -> ForgetResponse:
    """Forget something that was remembered: a text, a conversation, one fact, an entity, a dataset or a whole user.

    It is gone at once for every reader, with the facts and entities that nothing else supports; facts that other texts
    support stay, and facts that it alone had ended hold again. Until `undo_until` undo brings it back.
    """

    def allow(removal: Removal) -> None:
        needs = rows_in(removal) > UNASKED and not request.dry_run
        if needs and request.confirm != removal.digest:
            raise ConfirmationRequired(
                f"confirm: {rows_in(removal)} rows would go; send it again with confirm {removal.digest!r}",
                saved={**echo, "counts": dict(removal.counts), "confirm": removal.digest},
            )

    echo: dict[str, object] = {"scope": request.scope, "id": request.target, "dataset": _dataset(request)}
    echo = {name: value for name, value in echo.items() if value is not None}
    order = Order(
        user_id=request.user_id,
        dataset=request.dataset,
        scope=request.scope,
        target=request.target,
        clock=core.clock,
        undo_for=timedelta(days=core.config.undo_days),
        allow=allow,
        dry_run=request.dry_run,
    )
    removal = await core.forgetting.forget(order)
    if removal.tombstone is not None and request.purge:
        tombstone = await core.forgetting.purge(request.user_id, removal.tombstone.id, core.clock)
        removal = replace(removal, tombstone=tombstone)
    elif removal.tombstone is not None and removal.dataset is not None and core.vectors is not None:
        await core.vectors.catch_up(removal.dataset)
    return _response(request, removal)


def _dataset(request: ForgetRequest) -> str | None:
    return None if request.scope == "user" else request.dataset


def _response(request: ForgetRequest, removal: Removal) -> ForgetResponse:
    tombstone = removal.tombstone
    purged = tombstone is not None and tombstone.purged_at is not None
    return ForgetResponse(
        scope=request.scope,
        id=request.target,
        dataset=_dataset(request),
        dry_run=request.dry_run,
        counts=removal.counts,
        confirm=removal.digest if request.dry_run and rows_in(removal) > UNASKED else None,
        tombstone_id=tombstone.id if tombstone else None,
        undo_until=tombstone.undo_until if tombstone and not purged else None,
        purged=purged,
    )
