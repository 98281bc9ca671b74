"""Asking: one question from its grounding to its response."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any, TypeVar

from core.ask.admission import Admitted, asker_of
from core.ask.calls import Calls, ModelGone, Stopped
from core.ask.ending import Ending, answered, stopped, tells
from core.ask.events import Event
from core.ask.known import Known
from core.ask.loop import Loop
from core.ask.places import Places
from core.ask.request import AskRequest
from core.ask.response import AskResponse, GroundingShown, StepShown, Timings
from core.ask.routing import route_of
from core.ask.seen import Seen
from core.ask.steps import Step, Steps
from core.core import Core
from core.describe.anchors import Anchor, read_anchors
from core.describe.grounding import Grounding, grounding
from core.describe.prefixes import ShortNames
from core.errors import DailyLimit, ModelUnavailable, QueryTimeout, QueryTooLarge
from core.evals.trace import Route
from core.names.names import Linked, link_names
from core.ports import RunOf
from core.prompts.ask import Background, Example, Opening, opening, system_parts
from core.talk import SystemPart
from core.trajectory import Tool, recording

T = TypeVar("T")

_LINKS = 3
"""Records for each name of the question."""


@dataclass(slots=True)
class Asking:
    """The work on one question. `tell` is given each event but the last."""

    core: Core
    request: AskRequest
    let_in: Admitted
    tell: Callable[[Event], None]
    calls: Calls = field(init=False)
    spent: dict[str, int] = field(default_factory=dict[str, int])
    """Milliseconds, by the names of their timings."""

    def __post_init__(self) -> None:
        of = RunOf(self.request.user_id, self.let_in.dataset.name, None)
        self.calls = Calls(self.core, of, self.let_in.deadline)

    async def response(self) -> AskResponse:
        """Raises ModelUnavailable where the model fails before it found anything."""
        ground = await self._grounding()
        if self.request.mode == "route":
            route = await self._route(ground)
            return self._whole(Ending(_chosen_by(route)), route, ground)
        route, known = await self._prepared(ground)
        steps = self._steps(ground, known)
        ending, route = await self._ended(route, ground, known, steps)
        return self._whole(ending, route, ground, known, steps.taken)

    # What is known before the model starts ----------------------------------------------------------------------------

    async def _grounding(self) -> Grounding:
        request = self.request
        work = grounding(self.core, self.let_in.dataset, request.question, request.as_of_commit_seq)
        ground = await self._timed("ground_ms", work)
        told = {"cached": ground.cached, "age_ms": ground.age_ms, "classes": ground.classes}
        self.tell(Event("grounding", told))
        return ground

    async def _prepared(self, ground: Grounding) -> tuple[Route, Known]:
        """The route, and the records, which are read while a model picks it. Where one fails, the others end."""
        route = asyncio.create_task(self._route(ground))
        linked, anchors = asyncio.create_task(self._linked()), asyncio.create_task(self._anchors())
        try:
            await asyncio.gather(route, linked, anchors)
            return route.result(), Known(linked.result(), anchors.result())
        finally:
            for task in (route, linked, anchors):
                task.cancel()

    async def _route(self, ground: Grounding) -> Route:
        route = await self._timed("route_ms", route_of(self.core, self.request, ground.text, self.calls))
        self.tell(Event("route", route.body()))
        return route

    async def _linked(self) -> Linked | None:
        work = link_names(self.core, self.let_in.dataset, self.request.question, _LINKS)
        try:
            return await self._timed("link_ms", work)
        except (QueryTimeout, QueryTooLarge):
            return None

    async def _anchors(self) -> Sequence[Anchor]:
        if not self.request.anchor:
            return ()
        work = read_anchors(self.core, self.let_in.dataset, self.request.anchor, self.request.as_of_commit_seq)
        return await self._timed("anchor_ms", work)

    async def _timed(self, name: str, work: Awaitable[T]) -> T:
        began = self.let_in.deadline.now()
        try:
            return await work
        finally:
            self.spent[name] = self.let_in.deadline.ms(began)

    # The model's work -------------------------------------------------------------------------------------------------

    def _steps(self, ground: Grounding, known: Known) -> Steps:
        seen = Seen(ground.prefixes)
        seen.read(ground.text)
        seen.add(known.iris())
        places = Places(self.core, self.let_in.dataset, self.request)
        return Steps(self.core, self.let_in.dataset, ground, places, seen, self.let_in.deadline, self.request.limit)

    async def _ended(self, route: Route, ground: Grounding, known: Known, steps: Steps) -> tuple[Ending, Route]:
        """How it ended, and the route, which may be another by then."""
        loop = Loop(asker_of(self.core), self._system(ground), route.kind, self.calls, steps, self._step_told)
        try:
            answer = await loop.run(self._opening(route, ground, known))
        except (Stopped, DailyLimit) as why:
            if not any(step.found and tells(step.found) for step in steps.taken):
                _refuse(why)
            return stopped(why.message, steps.taken), route
        if answer.route and route.by != "caller":
            route = Route(kind=answer.route, confidence=1.0, by="rewriter", probabilities=route.probabilities)
            self.tell(Event("route", route.body()))
        ending = await answered(self.core, self.let_in.dataset, self.request, route, answer, ground.commit_seq)
        if ending.reply:
            self.tell(Event("answer", ending.reply.body()))
        return ending, route

    def _system(self, ground: Grounding) -> list[SystemPart]:
        profile = ground.profile
        examples = [Example(one.question, one.sparql, one.note) for one in profile.examples]
        return system_parts(Background(ground.overview, profile.notes, examples, self.request.context))

    def _opening(self, route: Route, ground: Grounding, known: Known) -> str:
        return opening(
            Opening(
                question=self.request.question,
                today=self.request.today or self.core.clock().astimezone(UTC).date(),
                kind=route.kind,
                confidence=route.confidence,
                focus=ground.focus,
                records=known.records(),
                picked=known.picked(ShortNames(ground.prefixes)),
                as_of_commit_seq=self.request.as_of_commit_seq,
            )
        )

    def _step_told(self, step: Step) -> None:
        told: dict[str, Any] = {"n": step.n, "tool": step.tool, "input": step.line, "ok": step.error is None}
        self.tell(Event("step", told if step.rows is None else {**told, "rows": step.rows}))
        if seen := recording():
            seen.used("ask", Tool(step.tool, step.input, step.text))

    # The response -----------------------------------------------------------------------------------------------------

    def _whole(
        self, ending: Ending, route: Route, ground: Grounding, known: Known | None = None, taken: Sequence[Step] = ()
    ) -> AskResponse:
        return AskResponse(
            answer=ending.reply,
            route=route,
            query=ending.query,
            result=ending.result,
            history=ending.history,
            rationale=ending.rationale,
            attempts=sum(step.tool in ("sparql", "compare") for step in taken),
            steps=[_shown_step(step) for step in taken] if known else None,
            error=ending.error,
            grounding=self._shown_grounding(ground, known),
            models=self.calls.shown,
            timings=self._timings(taken),
            linked=known.candidates if known else None,
            anchors=known.shown_anchors() if known else None,
        )

    def _shown_grounding(self, ground: Grounding, known: Known | None) -> GroundingShown:
        return GroundingShown(
            commit_seq=ground.commit_seq,
            classes=ground.classes,
            properties=ground.properties,
            embeddings=ground.embeddings,
            age_ms=ground.age_ms,
            focus_classes=ground.focus_classes,
            focus_properties=ground.focus_properties,
            names=known.names if known else None,
            profile_version=ground.profile_version,
            text=ground.text if self.request.include_grounding else None,
        )

    def _timings(self, taken: Sequence[Step]) -> Timings:
        rewriting = sum(call.ms for call in self.calls.shown if call.role == "rewriter")
        running = sum(step.ms for step in taken)
        total = self.let_in.deadline.ms()
        return Timings.model_validate({**self.spent, "rewrite_ms": rewriting, "run_ms": running, "total_ms": total})


def _shown_step(step: Step) -> StepShown:
    return StepShown(
        n=step.n,
        tool=step.tool,
        input=dict(step.input),
        ok=step.error is None,
        rows=step.rows,
        error=step.error,
        ms=step.ms,
    )


def _chosen_by(route: Route) -> str:
    return "The caller fixed the route." if route.by == "caller" else "The router picked the route."


def _refuse(why: Stopped | DailyLimit) -> None:
    """Raises what a question ends with where nothing was found and a model is to blame. What a provider said stays
    here."""
    if isinstance(why, DailyLimit):
        raise why
    if isinstance(why, ModelGone):
        raise ModelUnavailable(why.message) from None
