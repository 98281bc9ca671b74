"""admin_remember_runs: the operation, the runs of all users as they were recorded."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from core.core import Core
from core.costs import check_database
from core.ports import RunFilter, RunRecord
from core.remember.runs import StageItem, stage_item
from core.remember.stages import STAGES
from core.requests import Label, Limit, Offset, Request, Response
from core.wire import Time

Status = Literal["started", "succeeded", "failed"]


class AdminRunsRequest(Request):
    db: Annotated[str, Field(description="The name of the open database.")]
    status: Annotated[
        Status | None,
        BeforeValidator(lambda v: None if v == "" else v),
        WithJsonSchema({"type": "string", "enum": ["started", "succeeded", "failed"]}),
        Field(description="Only runs in this status."),
    ] = None
    dataset: Annotated[Label, Field(description="Only runs of datasets of this name.")] = None
    user_id: Annotated[Label, Field(description="Only runs of this user.")] = None
    limit: Limit = 100
    offset: Annotated[Offset, Field(description="How many of the newest to skip.")] = 0


class AdminRun(Response):
    """One run of remember. `parameters` are what was asked, with the size and digest of the text instead of itself;
    `stages` has every stage by its name."""

    id: int
    user_id: str
    dataset: str
    session_id: str | None = None
    kind: str
    status: Status
    error: str | None = None
    parameters: dict[str, Any]
    artifact_id: int | None = None
    created_at: Time
    finished_at: Time | None = None
    stages: dict[str, StageItem]

    @classmethod
    def of(cls, run: RunRecord) -> AdminRun:
        used = {record.stage: record for record in run.stages}
        return cls(
            id=run.id,
            user_id=run.user_id,
            dataset=run.dataset,
            session_id=run.session_id,
            kind=run.kind,
            status=run.status,
            error=run.error,
            parameters=dict(run.parameters),
            artifact_id=run.artifact_id,
            created_at=run.created_at,
            finished_at=run.finished_at,
            stages={stage.name: stage_item(used.get(stage.name)) for stage in STAGES},
        )


class RunCounts(Response):
    """How many runs there are, whatever was filtered."""

    total: int
    started: int
    succeeded: int
    failed: int


class AdminRunsResponse(Response):
    """`total`, `limit` and `offset` are of the filtered list, `counts` of all runs; `stages` names them in order."""

    counts: RunCounts
    stages: list[str]
    runs: list[AdminRun]
    total: int
    limit: int
    offset: int


async def admin_remember_runs(core: Core, request: AdminRunsRequest) -> AdminRunsResponse:
    """List the runs of remember of all users, newest first, each with its stages."""
    check_database(core, request.db)
    among = RunFilter(user_id=request.user_id, dataset=request.dataset, status=request.status)
    counted = await core.runs.counts()
    return AdminRunsResponse(
        counts=RunCounts(
            total=sum(counted.values()),
            started=counted.get("started", 0),
            succeeded=counted.get("succeeded", 0),
            failed=counted.get("failed", 0),
        ),
        stages=[stage.name for stage in STAGES],
        runs=[AdminRun.of(run) for run in await core.runs.runs(among, request.limit, request.offset)],
        total=await core.runs.count(among),
        limit=request.limit,
        offset=request.offset,
    )
