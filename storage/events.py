"""The last ten thousand events, in gb_events: written a moment after the operations that they tell of."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from core.errors import GligabaoError
from core.events import Event
from storage.database import Database
from storage.tables import events as t

log = logging.getLogger(__name__)

KEPT = 10_000
# Events that follow each other faster than this share one write.
SOON = 0.2


class SqlEvents:
    """core.events.Sink in SQL, a ring: the newest events stay. A write that fails is logged, and loses its events."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._waiting: deque[Event] = deque(maxlen=KEPT)
        self._soon: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    def take(self, event: Event) -> None:
        self._waiting.append(event)
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(SOON, self._start)

    async def flush(self) -> None:
        """Writes what waits, now."""
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        if self._writing is not None:
            await self._writing
        await self._write()

    async def newest(self, limit: int, *, after: int = 0) -> list[tuple[int, dict[str, Any]]]:
        """The newest events with their ids, oldest first; only those after an id."""
        newest = sa.select(t.c.id, t.c.event).where(t.c.id > after).order_by(t.c.id.desc()).limit(limit)
        rows = await self.database.read(lambda connection: list(connection.execute(newest)))
        return [(int(row.id), row.event) for row in reversed(rows)]

    def _start(self) -> None:
        self._soon = None
        before = self._writing
        self._writing = asyncio.create_task(self._after(before))

    async def _after(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        await self._write()

    async def _write(self) -> None:
        if not self._waiting:
            return
        events = list(self._waiting)
        self._waiting.clear()
        try:
            await self.database.write(lambda connection: _append(connection, events), relaxed=True)
        except (SQLAlchemyError, GligabaoError) as failure:
            log.warning("%d events could not be written: %s", len(events), type(failure).__name__)


def _append(connection: Connection, events: Sequence[Event]) -> None:
    rows = [{"created_at": event.time, "user_id": event.user_id, "event": event.body()} for event in events]
    connection.execute(sa.insert(t), rows)
    # Ids grow by one, so the rows before the last ten thousand are those below an id.
    newest = sa.select(sa.func.max(t.c.id)).scalar_subquery()
    connection.execute(sa.delete(t).where(t.c.id <= newest - KEPT))
