"""Clock: when facts begin and end, so that moving the moment of a view costs what it passes."""

from __future__ import annotations

import heapq

from storage.rdf.changes import FactRow


class Clock:
    """The moments at which facts begin or end, with their ids: those ahead, and those that are passed.

    Moments that a fact had before it was changed stay in: whoever passes one looks at the fact as it is.
    """

    def __init__(self) -> None:
        self._ahead: list[tuple[int, int]] = []
        self._behind: list[tuple[int, int]] = []
        """With their times negative, so that the last one comes first."""

    def __len__(self) -> int:
        """How many moments it knows, those that no longer hold included."""
        return len(self._ahead) + len(self._behind)

    def add(self, id_: int, fact: FactRow, now: int) -> None:
        """Notes when a fact begins and ends."""
        for moment in (fact.valid_at, fact.invalid_at):
            if moment is None:
                continue
            if moment > now:
                heapq.heappush(self._ahead, (moment, id_))
            else:
                heapq.heappush(self._behind, (-moment, id_))

    def passed(self, moment: int) -> set[int]:
        """The facts that may begin or end on the way to a moment, be it a later or an earlier one."""
        ids: set[int] = set()
        while self._ahead and self._ahead[0][0] <= moment:
            time, id_ = heapq.heappop(self._ahead)
            heapq.heappush(self._behind, (-time, id_))
            ids.add(id_)
        while self._behind and -self._behind[0][0] > moment:
            time, id_ = heapq.heappop(self._behind)
            heapq.heappush(self._ahead, (-time, id_))
            ids.add(id_)
        return ids
