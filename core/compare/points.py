"""A point in the history of a dataset, and the commit that it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.core import Core
from core.errors import InvalidRequest
from core.graph import Dataset
from core.graphs.commit_at import end_of
from core.graphs.requests import Day
from core.requests import Instant, Offset
from core.times import read_moment, rfc3339

ResolvedBy = Literal["request", "commit_time", "latest"]


class Point(BaseModel):
    """One point: exactly one of a commit, a date and a moment. A commit, a date or a moment alone will do, as people
    type it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    as_of_commit_seq: Annotated[Offset | None, Field(description="This commit.")] = None
    date: Annotated[Day, Field(description="YYYY-MM-DD: the last commit written by the end of that day, UTC.")] = None
    moment: Annotated[Instant, Field(description="RFC 3339: the last commit written at that moment or before.")] = None

    @model_validator(mode="before")
    @classmethod
    def _is_written_short(cls, stated: object) -> object:
        if isinstance(stated, int) and not isinstance(stated, bool):
            return {"as_of_commit_seq": stated}
        if not isinstance(stated, str):
            return stated
        if stated.isascii() and stated.isdecimal():
            return {"as_of_commit_seq": stated}
        if read_moment(stated) is None:
            raise ValueError("must be the number of a commit, a date such as 2026-03-01, or an RFC 3339 time")
        return {"date" if len(stated) == len("YYYY-MM-DD") else "moment": stated}

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if sum(value is not None for value in (self.as_of_commit_seq, self.date, self.moment)) != 1:
            raise ValueError("must have exactly one of as_of_commit_seq, date and moment")
        return self

    @property
    def at(self) -> datetime | None:
        """The time that it names; None where it names a commit."""
        return end_of(self.date) if self.date else self.moment


@dataclass(frozen=True, slots=True)
class Resolved:
    """The commit of a point. `seq` 0 is the empty graph before the first write; its `at` is not known."""

    seq: int
    by: ResolvedBy
    at: datetime | None


async def resolve(core: Core, dataset: Dataset, point: Point | None, param: str) -> Resolved:
    """The commit that a point stands for; None is the newest one.

    Raises InvalidRequest (`param`) for a commit that is not there, and for a time before the first one.
    """
    if point is None:
        return await _named(core, dataset, dataset.head_seq, "latest", param)
    if point.as_of_commit_seq is not None:
        return await _named(core, dataset, point.as_of_commit_seq, "request", param)
    assert point.at is not None  # a point names one of the three
    found = await core.commits.at(dataset, point.at)
    if found is None:
        first = await core.commits.first(dataset)
        began = f"the first commit was written at {rfc3339(first.created_at)}" if first else "there is no commit yet"
        raise InvalidRequest(f"{param}: is before the graph began; {began}", param=param)
    return Resolved(found.seq, "commit_time", found.created_at)


async def at_commit(core: Core, dataset: Dataset, point: Point | None, seq: int, param: str) -> Resolved:
    """A point that an earlier page resolved to the commit `seq`."""
    by: ResolvedBy = "latest" if point is None else "commit_time" if point.at else "request"
    return await _named(core, dataset, seq, by, param)


async def _named(core: Core, dataset: Dataset, seq: int, by: ResolvedBy, param: str) -> Resolved:
    found = await core.commits.commit(dataset, seq)
    if found is None and seq > 0:
        raise InvalidRequest(f"{param}: the newest commit is {dataset.head_seq}", param=param)
    return Resolved(seq, by, found.created_at if found else None)
