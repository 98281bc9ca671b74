"""How far a call is, sent to a client that asked for it with a progress token."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from core.ask.events import Event
from core.progress import Progress, Watcher
from core.remember.stages import STAGES
from gligabao_mcp import event_words
from gligabao_mcp.mcp_door.signals import Context

logger = logging.getLogger(__name__)

# A client that does not read holds nothing up: what it has no room for is left out.
ROOM = 64
LAST_STEPS_SECONDS = 1.0

_PLACES = {stage.name: place for place, stage in enumerate(STAGES, 1)}


@asynccontextmanager
async def reporting(context: Context) -> AsyncGenerator[Watcher]:
    """A watcher that sends each step to the client inside the block, in the stream of its call. It never waits."""
    steps = asyncio.Queue[Progress](ROOM)

    def watcher(progress: Progress) -> None:
        with suppress(asyncio.QueueFull):
            steps.put_nowait(progress)

    sender = asyncio.create_task(_send(context, steps))
    try:
        yield watcher
        with suppress(TimeoutError):  # none may come after the answer
            async with asyncio.timeout(LAST_STEPS_SECONDS):
                await steps.join()
    finally:
        sender.cancel()


async def _send(context: Context, steps: asyncio.Queue[Progress]) -> None:
    """The protocol wants numbers that grow: a step that is taken again is not told again."""
    sent = -1.0
    while True:
        step = await steps.get()
        try:
            if (done := how_far(step)) > sent:
                sent = done
                await context.session.report_progress(done, step.of or None, in_words(step))
        except Exception as failure:  # whoever hung up
            logger.debug("progress could not be told: %s", type(failure).__name__)
        finally:
            steps.task_done()


class Steps:
    """Tells a watcher the steps of an operation that has events, each in words."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._taken = 0

    def take(self, event: Event) -> None:
        """The next event."""
        if words := event_words.in_words(event):
            self._taken += 1
            self._watcher(Progress(done=self._taken, stage=words))


def how_far(step: Progress) -> float:
    """The parts that are done, and of the one that goes the share that its stage begins at."""
    return round(step.done + _PLACES.get(step.stage, 0) / (len(STAGES) + 1), 3)


def in_words(step: Progress) -> str | None:
    """As in "chunk 3 of 12: extract_graph"; for a text of one part the stage alone."""
    if step.of < 2:
        return step.stage or None
    if not step.stage:
        return f"{step.done} of {step.of} chunks stored"
    return f"chunk {step.done + 1} of {step.of}: {step.stage}"
