"""One event for each operation, told when it has ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.errors import CANCELLED, GligabaoError, ShuttingDown
from core.events import Event, Tally, tallied, tool_called
from core.requests import Request

if TYPE_CHECKING:
    from core.core import Core

INDEXES = ("entities", "edges", "chunks", "summaries")


@dataclass(slots=True)
class Seen:
    """An operation while it runs. Whoever runs it puts the response `body` here. `later`: its event comes from
    elsewhere, when what it began has ended."""

    body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    later: bool = False


@contextmanager
def observed(core: Core, name: str, request: Request) -> Generator[Seen]:
    """Tells everybody who watches what happened inside, also when it failed. The failure goes on."""
    began = time.perf_counter()
    seen = Seen()
    error: str | None = None
    with tallied() as tally:
        try:
            yield seen
        except BaseException as failure:
            error = _code(failure)
            seen.later = isinstance(failure, ShuttingDown) and failure.goes_on
            seen.body = failure.saved if isinstance(failure, GligabaoError) else {}
            raise
        finally:
            if not seen.later:
                core.monitor.tell(_event(core, name, request, tally, began, seen.body, error))


def _event(
    core: Core, name: str, request: Request, tally: Tally, began: float, body: Mapping[str, Any], error: str | None
) -> Event:
    return Event(
        time=core.clock(),
        type=name,
        tool=tool_called(),
        run_id=body.get("remember_run_id", tally.run_id),
        user_id=getattr(request, "user_id", ""),
        dataset=getattr(request, "dataset", None),
        session_id=getattr(request, "session_id", None),
        status="error" if error else "ok",
        http_status=core.monitor.status_of(error),
        latency_ms=round((time.perf_counter() - began) * 1000),
        models=tuple(sorted(tally.models)),
        tokens=tally.tokens,
        cost_usd=tally.cost_usd,
        counts=_counts(body),
        error=error,
    )


def _code(failure: BaseException) -> str:
    if isinstance(failure, asyncio.CancelledError):
        return CANCELLED
    return failure.code if isinstance(failure, GligabaoError) else GligabaoError.code


def _counts(body: Mapping[str, Any]) -> dict[str, int]:
    """How many rows the response tells of."""
    rows = body.get("evidence", body)
    return {
        "entities": _count(rows.get("entities")),
        "edges": _count(rows.get("edges")),
        "invalidated": _count(body.get("invalidated_edges")),
        "vectors": sum(_count(body.get(f"embedded_{index}")) for index in INDEXES),
    }


def _count(value: object) -> int:
    if isinstance(value, list):
        return len(value)  # pyright: ignore[reportUnknownArgumentType]
    return value if isinstance(value, int) else 0
