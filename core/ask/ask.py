"""ask: a question in plain words, answered by a model that looks at the data."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from core.ask.admission import Admitted, admitted
from core.ask.asking import Asking
from core.ask.events import Event
from core.ask.request import AskRequest
from core.ask.response import AskResponse
from core.core import Core
from core.spending import charge_to
from core.trajectory import Of, recorded

__all__ = ["AskRequest", "AskResponse", "ask", "ask_events"]


async def ask(core: Core, request: AskRequest) -> AskResponse:
    """Answer a question in plain words from the graph: a model runs queries, reads their rows, and answers with the
    records that it cites and the query whose rows hold the answer.

    Raises UnknownDataset, ModelUnavailable, QuestionLimit, DailyLimit, and what reading the graph raises.
    """
    return await _asked(core, request, await admitted(core, request), lambda _event: None)


async def ask_events(core: Core, request: AskRequest) -> AsyncGenerator[Event]:
    """The same, with an event for each thing that it comes to; `done`, the last, holds the response. What the question
    is refused for is raised before the first event. Closing the generator stops the work."""
    let_in = await admitted(core, request)
    events: asyncio.Queue[Event | None] = asyncio.Queue()
    # In a task of its own: the work has a context, whoever takes the events and wherever.
    work = asyncio.create_task(_asked(core, request, let_in, events.put_nowait))
    work.add_done_callback(lambda _work: events.put_nowait(None))
    try:
        while event := await events.get():
            yield event
        yield Event("done", (await work).body())
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def _asked(core: Core, request: AskRequest, let_in: Admitted, tell: Callable[[Event], None]) -> AskResponse:
    charge_to(request.user_id)
    async with recorded(core, Of("ask", None), request.question, request.given):
        return await Asking(core, request, let_in, tell).response()
