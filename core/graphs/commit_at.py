"""commit_at: the commit that a dataset was at, at a moment or at the end of a day."""

from __future__ import annotations

from datetime import UTC, datetime, time
from datetime import date as Date
from typing import Annotated, Literal

from pydantic import Field, model_validator

from core.core import Core
from core.graphs.graph_of import graph_of
from core.graphs.requests import Day, GraphRead
from core.requests import Instant, Response
from core.times import rfc3339, utc
from core.wire import Time


class CommitAtRequest(GraphRead):
    date: Annotated[Day, Field(description="A date, YYYY-MM-DD: the end of that day, UTC.")] = None
    moment: Annotated[Instant, Field(description="Or a moment, RFC 3339.")] = None

    @model_validator(mode="after")
    def _names_one_point(self) -> CommitAtRequest:
        if (self.date is None) == (self.moment is None):
            raise ValueError("date: give it or moment, one of the two")
        return self


class CommitAtResponse(Response):
    """The last commit written by then. Before the first one there is none: `first_commit_at` tells when that came."""

    moment: Time
    as_of_commit_seq: int | None = None
    committed_at: Time | None = None
    resolved_by: Literal["commit_time"] | None = None
    first_commit_at: Time | None = None
    note: str | None = None


async def commit_at(core: Core, request: CommitAtRequest) -> CommitAtResponse:
    """Find the last commit that was written by the end of a day (UTC) or by a moment: read as of it, a query tells what
    was stored then."""
    dataset = await graph_of(core, request)
    if request.date is not None:
        moment = end_of(request.date)
    else:
        assert request.moment is not None  # one of the two is given
        moment = utc(request.moment)
    found = await core.commits.at(dataset, moment)
    if found is not None:
        return CommitAtResponse(
            moment=moment, as_of_commit_seq=found.seq, committed_at=found.created_at, resolved_by="commit_time"
        )
    first = await core.commits.first(dataset)
    if first is None:
        return CommitAtResponse(moment=moment, note="nothing was written yet")
    note = f"the first commit was written at {rfc3339(first.created_at)}; nothing is known of the time before"
    return CommitAtResponse(moment=moment, first_commit_at=first.created_at, note=note)


def end_of(day: Date) -> datetime:
    """The last microsecond of a day, UTC."""
    return datetime.combine(day, time.max, UTC)
