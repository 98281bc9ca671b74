"""Deadline: the time that one question has, and what it may still begin."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = 60.0
QUERY_SECONDS = 8.0
COMPARE_SECONDS = 12.0
# A model needs so long for an answer: with less left it may take no more steps.
ANSWER_SECONDS = 15.0
# A call that failed is sent once more, and an answer goes back, while so much is left.
AGAIN_SECONDS = 10.0


class Deadline:
    """Counts down from 60 seconds. `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.began = clock()
        self._seconds = SECONDS

    def left(self) -> float:
        """Seconds that are left, 0 at the least."""
        return max(0.0, self.began + self._seconds - self._clock())

    def share(self, most: float) -> float:
        """What is left of it, `most` at the most."""
        return min(most, self.left())

    def ms(self, since: float | None = None) -> int:
        """Milliseconds since a reading of the clock, by default since the beginning."""
        return round(1000 * (self._clock() - (self.began if since is None else since)))

    def now(self) -> float:
        """A reading of the clock."""
        return self._clock()
