"""The operations that read runs of remember: how one goes or went, and which there are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from core.core import Core
from core.errors import NotFound
from core.ports import RunFilter, RunOf, RunRecord, StageRecord
from core.remember.pipeline import Remembered, remembered
from core.remember.remember_image import recall_image
from core.remember.response import MessageItem, Remembering, Terms, respond
from core.remember.stages import STAGES
from core.requests import USER_ID, Label, Limit, Offset, Request, Response, RowId, UserId
from core.wire import Time

State = Literal["queued", "running", "succeeded", "failed"]


class RunRequest(Request):
    user_id: Annotated[UserId, USER_ID]
    remember_run_id: Annotated[RowId, Field(description="The remember_run_id of a call, as its response named it.")]


class RunsRequest(Request):
    user_id: Annotated[UserId, USER_ID]
    dataset: Annotated[Label, Field(description="Only runs of this dataset.")] = None
    status: Annotated[
        Literal["started", "queued", "running", "succeeded", "failed"] | None,
        Field(description="Only runs that stand so. started: queued or running."),
    ] = None
    limit: Limit = 100
    offset: Annotated[Offset, Field(description="How many of the newest to skip.")] = 0


class StageItem(Response):
    """How one step of a run went; one that was not needed stays not_started."""

    status: Literal["not_started", "started", "succeeded", "failed"] = "not_started"
    started_at: Time | None = None
    finished_at: Time | None = None
    duration_ms: int | None = None
    inference_ids: list[int] = Field(default_factory=list[int])
    error: str | None = None


class RunItem(Response):
    """One call of remember. `artifact_id` is what it stored of a text, `error` why it failed."""

    remember_run_id: int
    state: State
    kind: str
    dataset: str
    session_id: str | None = None
    created_at: Time
    finished_at: Time | None = None
    error: str | None = None
    artifact_id: int | None = None
    parameters: dict[str, Any]


class RunResponse(RunItem):
    """One call of remember, its steps in order and, once it has succeeded, the response as it would read now."""

    stages: dict[str, StageItem]
    response: Remembering | None = None


class RunsResponse(Response):
    """Calls of remember, newest first; `total` counts all that fit."""

    runs: list[RunItem]
    total: int


async def remember_status(core: Core, request: RunRequest) -> RunResponse:
    """Tell how a call of remember goes or went: queued, running, succeeded with its response, or failed and why."""
    record = await core.runs.run(request.remember_run_id, request.user_id)
    if record is None:
        raise NotFound("remember_run_id: the user has no run of that id", param="remember_run_id")
    used = {stage.stage: stage for stage in record.stages}
    return RunResponse(
        **_item(record),
        stages={stage.name: stage_item(used.get(stage.name)) for stage in STAGES},
        response=await remembered_by(core, record),
    )


async def remember_runs(core: Core, request: RunsRequest) -> RunsResponse:
    """List calls of remember, newest first."""
    among = RunFilter(request.user_id, request.dataset, request.status)
    found = await core.runs.runs(among, request.limit, request.offset)
    return RunsResponse(runs=[RunItem(**_item(record)) for record in found], total=await core.runs.count(among))


async def remembered_by(core: Core, record: RunRecord) -> Remembering | None:
    """The response of a run that succeeded, from the rows that it stored, as they are now; None where it did not, or
    where its text has been forgotten since."""
    if record.status != "succeeded":
        return None
    if record.kind == "image":
        of = RunOf(record.user_id, record.dataset, record.session_id, record.id)
        return await recall_image(core, of, str(record.parameters.get("image_sha256", "")))
    unlisted = set(record.outcome.get("endpoints", ()))  # entities that only a fact named
    done = [_listed(remembered(commit), unlisted) for commit in await core.graph.stored_by(record.id)]
    terms = _terms(record)
    whole = done and done[0].commit.artifacts
    return respond(done, terms) if whole or terms.messages is not None else None


def _listed(one: Remembered, unlisted: Collection[int]) -> Remembered:
    return replace(one, entities=tuple(entity for entity in one.entities if entity.id not in unlisted))


def _terms(record: RunRecord) -> Terms:
    said, outcome = record.parameters, record.outcome
    known = {int(place): item for place, item in outcome.get("known", {}).items()}
    return Terms(
        run_id=record.id,
        kind="episode" if "messages" in said else said.get("kind", "knowledge"),
        session_id=record.session_id,
        dated="reference_time" in said,
        messages=said.get("messages"),
        known={place: MessageItem(artifact_id=i, id=name, known=True) for place, (i, name) in known.items()},
        warnings=tuple(outcome.get("warnings", ())),
        vectors=outcome.get("vectors", {}),
    )


def _item(record: RunRecord) -> dict[str, Any]:
    return {
        "remember_run_id": record.id,
        "state": _state(record),
        "kind": record.kind,
        "dataset": record.dataset,
        "session_id": record.session_id,
        "created_at": record.created_at,
        "finished_at": record.finished_at,
        "error": record.error,
        "artifact_id": record.artifact_id,
        "parameters": dict(record.parameters),
    }


def _state(record: RunRecord) -> State:
    if record.status == "started":
        return "queued" if record.queued else "running"
    return record.status


def stage_item(record: StageRecord | None) -> StageItem:
    """A stage as it was recorded; None is one that was not used."""
    if record is None:
        return StageItem()
    took = None if record.finished_at is None else record.finished_at - record.started_at
    return StageItem(
        status=record.status,
        started_at=record.started_at,
        finished_at=record.finished_at,
        duration_ms=None if took is None else round(took.total_seconds() * 1000),
        inference_ids=record.inference_ids,
        error=record.error,
    )
