"""Going: a run of remember in this process, and who waits for it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Literal

from core.remember.request import RememberRequest
from core.remember.response import Remembering
from core.remember.run import Run

Caller = asyncio.Task[Any] | None


@dataclass(slots=True, eq=False)
class Going:
    """A run of this process, from the moment it is accepted. `queued`: its turn has not come. `durable`: another
    process takes it up when this one ends."""

    run: Run
    request: RememberRequest
    durable: bool
    queued: bool
    callers: set[Caller] = field(default_factory=set[Caller])
    look: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[Remembering] = field(init=False)

    @property
    def state(self) -> Literal["queued", "running"]:
        return "queued" if self.queued else "running"

    def may_be_dropped(self, caller: Caller) -> bool:
        """Whether nothing has begun, and nobody but this caller waits for it."""
        return self.queued and not self.durable and self.callers == {caller}

    def is_left_of(self, request: RememberRequest) -> bool:
        """Whether it was taken over from a process that is gone, and this is its call again, in the same session."""
        mine = self.request
        if not self.run.resumed or request.session_id is None or request.session_id != mine.session_id:
            return False
        return request.idempotency_key in (None, mine.idempotency_key) and request.digest() == mine.digest()

    def before(self, other: Going) -> bool:
        """Whether the other one has to wait for it."""
        mine, its = self.run.of, other.run.of
        same = (mine.user_id, mine.dataset) == (its.user_id, its.dataset)
        return same and self is not other and (not self.queued or (mine.run_id or 0) < (its.run_id or 0))
