"""The model calls of one question: made within its deadline, once more where one failed, and recorded each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from core.ask.deadline import AGAIN_SECONDS, Deadline
from core.ask.response import ModelCallShown, Role
from core.core import Core
from core.errors import GligabaoError, ModelFailed
from core.inferences import Choice, Inference, prompt_hash
from core.ports import ModelCall, RunOf
from core.prompts.ask import SYSTEM
from core.talk import CannotCallTools, Talk, ToolCallingModel, Turn
from core.text import clean
from core.trajectory import known, recording

TURN_SECONDS = 40.0
"""For one call: a model on a small machine needs that long, and one that hangs leaves time for another."""
PAUSE = 0.5
"""Seconds before a call is sent once more."""
_LATE = "the question took longer than the 60 s that it has"

STAGES: dict[Role, str] = {"router": "route", "rewriter": "ask"}


class Stopped(GligabaoError):
    """The work ended before an answer; the message says why, for the person who asked."""


class ModelGone(Stopped):
    """The model failed, and once more."""


@dataclass(slots=True)
class Calls:
    """The calls so far, as they are shown. Prices are those in force."""

    core: Core
    of: RunOf
    deadline: Deadline
    shown: list[ModelCallShown] = field(default_factory=list[ModelCallShown])

    async def turn(self, model: ToolCallingModel, talk: Talk) -> Turn:
        """The model's next turn; a call that fails is sent once more. Raises ModelGone, and Stopped where the model
        refuses or the time is up."""
        for again in (True, False):
            if not self.deadline.left():
                raise Stopped(_LATE)
            turn = await self._tried(model, talk)
            if turn is not None and turn.stop == "refused":
                raise Stopped("the model refused to answer")
            if turn is not None and turn.stop == "finished":
                return turn
            if again and not self.deadline.left():
                raise Stopped(_LATE)
            if self.deadline.left() < AGAIN_SECONDS:
                break
            if again:
                await asyncio.sleep(PAUSE)
        raise ModelGone("the model did not answer; ask again later")

    async def _tried(self, model: ToolCallingModel, talk: Talk) -> Turn | None:
        """A turn, of no use if it was cut off; None where the call failed."""
        began = self.deadline.now()
        try:
            async with asyncio.timeout(self.deadline.share(TURN_SECONDS)):
                turn = _storable(await model.turn(talk, Choice()))
        except ModelFailed as failure:
            await self.record("rewriter", [_of_ask(one, one.error) for one in failure.inferences], None)
            if isinstance(failure, CannotCallTools):
                raise ModelGone(f"the model {model.model} can't call tools; name another in ask_model") from None
            return None
        except TimeoutError:
            late = self.late(model.model, began)
            await self.record("rewriter", [_of_ask(late, late.error)], None)
            return None
        error = "" if turn.stop == "finished" else f"the turn was {turn.stop}"
        said = turn.text or [{"tool": call.name, **call.arguments} for call in turn.calls]
        await self.record("rewriter", [_of_ask(turn.inference, error)], said)
        return turn

    def late(self, model: str, began: float) -> Inference:
        """A call that was given up; nobody knows what it cost."""
        return Inference("", model, model, latency_ms=self.deadline.ms(began), error="took too long")

    async def record(self, role: Role, inferences: Sequence[Inference], said: object) -> None:
        """Calls that were made, whether they were of use or not; `said` is what the last one answered."""
        ids: list[int | None] = []
        for inference in inferences:
            self.shown.append(self._shown(role, inference))
            ids.append(await self.core.record(ModelCall("query", STAGES[role], inference), self.of))
        if seen := recording():
            seen.asked(STAGES[role], inferences, said, [known(one) for one in ids])

    def _shown(self, role: Role, inference: Inference) -> ModelCallShown:
        usage = inference.usage
        cost = self.core.monitor.prices.cost(inference.model, usage)
        return ModelCallShown(
            role=role,
            provider=inference.provider,
            model=inference.model,
            ok=not inference.error,
            ms=inference.latency_ms,
            tokens=usage.input + usage.output,
            cost_micro_usd=round(cost * 1_000_000),
        )


def _of_ask(inference: Inference, error: str) -> Inference:
    return replace(inference, prompt_hash=prompt_hash(SYSTEM), error=error)


def _storable(turn: Turn) -> Turn:
    """The turn with what it says fit to be stored and sent: models write characters that are none."""
    (text, _), (content, _) = clean(turn.text), clean(turn.content)
    calls = [replace(call, arguments=cast("Mapping[str, Any]", clean(call.arguments)[0])) for call in turn.calls]
    return replace(turn, text=str(text), calls=calls, content=content)
