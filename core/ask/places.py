"""The commits that one question may read: the newest, and those that its dates stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from core.ask.request import AskRequest
from core.ask.response import ResolvedBy
from core.core import Core
from core.errors import InvalidRequest
from core.graph import Dataset
from core.graphs.commit_at import end_of
from core.times import rfc3339

_NAMED = re.compile(r"\bcommit\s+(?:number\s+|no\.?\s+|#)?(\d{1,18})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """A past commit, and how it was come by: the date that it stands for, and the label of its point in a timeline."""

    seq: int
    by: ResolvedBy
    date: date | None = None
    label: str | None = None

    def told(self) -> str:
        """The place as the model reads it."""
        label = f" ({self.label})" if self.label else ""
        return f"as_of_commit_seq {self.seq}{label}"


class Places:
    """Finds the commit of a date, and lets no query read another past commit than one that was found, or that the
    request or the words of the question name."""

    def __init__(self, core: Core, dataset: Dataset, request: AskRequest) -> None:
        self._core = core
        self._dataset = dataset
        self._timeline = sorted(request.timeline, key=lambda point: point.date)
        self._of_request = request.as_of_commit_seq
        latest = dataset.head_seq if self._of_request is None else self._of_request
        named = map(int, _NAMED.findall(request.question))
        self._known = {seq: Place(seq, "request") for seq in named if seq <= latest}

    @property
    def usual(self) -> Place | None:
        """Where a query reads that names no commit; None is the newest one."""
        return None if self._of_request is None else Place(self._of_request, "request")

    def at(self, seq: int | None) -> Place | None:
        """Where a query reads that names this commit. Raises InvalidRequest for one that nothing leads to."""
        if seq is None or seq == self._of_request:
            return self.usual
        if seq in self._known:
            return self._known[seq]
        if self._of_request is None and seq == self._dataset.head_seq:
            return None
        raise InvalidRequest(
            "as_of_commit_seq: no date of this question stands for that commit; call commit_for_date first",
            param="as_of_commit_seq",
        )

    async def of(self, point: date | int) -> Place:
        """Where a date or the number of a commit leads. Raises InvalidRequest where it leads nowhere."""
        if isinstance(point, date):
            return await self.of_date(point)
        return self.at(point) or Place(point, "request")

    async def of_date(self, day: date) -> Place:
        """The commit that holds the graph as it was at the end of a day, UTC; by the timeline, where there is one.
        Raises InvalidRequest for a day that can't be placed."""
        place = self._of_timeline(day) if self._timeline else await self._of_log(day)
        if self._of_request is not None and place.seq > self._of_request:
            raise InvalidRequest(
                f"date: its commit is later than commit {self._of_request}, which this question is asked of",
                param="date",
            )
        self._known[place.seq] = place
        return place

    def _of_timeline(self, day: date) -> Place:
        before = [point for point in self._timeline if point.date <= day]
        if not before:
            raise InvalidRequest(
                f"date: is before the first point of the timeline, {self._timeline[0].date.isoformat()}; the graph "
                "can't tell what held then",
                param="date",
            )
        point = before[-1]
        return Place(point.as_of_commit_seq, "timeline", day, point.label)

    async def _of_log(self, day: date) -> Place:
        found = await self._core.commits.at(self._dataset, end_of(day))
        if found is not None:
            return Place(found.seq, "commit_time", day)
        first = await self._core.commits.first(self._dataset)
        began = f"was written at {rfc3339(first.created_at)}" if first else "is still to come"
        raise InvalidRequest(
            f"date: is before the first commit of the graph, which {began}; the graph can't tell what held then",
            param="date",
        )
