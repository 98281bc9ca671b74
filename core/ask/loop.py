"""The loop: the model looks at the data round by round, and then answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from core.ask.arguments import AnswerArguments, read_arguments
from core.ask.calls import Calls, Stopped
from core.ask.checks import Answer, answer_of, objections
from core.ask.deadline import AGAIN_SECONDS, ANSWER_SECONDS
from core.ask.steps import Step, Steps
from core.errors import DailyLimit, InvalidRequest
from core.evals.trace import RouteKind
from core.prompts.ask import ANSWER, LAST_TOOLS, MAX_TOKENS, TOOLS
from core.talk import SystemPart, Talk, Told, ToolCall, ToolCallingModel, ToolResult, Turn

MAX_ROUNDS = 4
# Turns that are neither a round of steps nor an answer: unreadable answers, words without a call, calls of tools that
# are not there.
MAX_STRAY = 3

_STEP_TOOLS = frozenset(tool.name for tool in TOOLS) - {ANSWER.name}
_LAST = "That was the last round of steps. Call answer now, with what you have read."
_ANSWER_LATER = "Read the results of the other calls first, then call answer again."
_NO_STEPS_LEFT = "No step is left. Call answer now, with what you have read."
_NO_SUCH_TOOL = "There is no such tool."
_CALL_ANSWER = "Give your answer by calling the tool answer."


@dataclass(slots=True)
class Loop:
    """One question's work. `told` is asked with every step that ends."""

    model: ToolCallingModel
    system: Sequence[SystemPart]
    kind: RouteKind
    calls: Calls
    steps: Steps
    told: Callable[[Step], None]
    messages: list[Told | Turn] = field(default_factory=list[Told | Turn])
    rounds: int = 0
    stray: int = 0
    sent_back: Answer | None = None
    """An answer that went back to the model: it holds where no better one comes."""

    async def run(self, opening: str) -> Answer:
        """The answer. Raises Stopped where the work ends before there is one, ModelGone where the model is to blame."""
        self.messages.append(Told(opening))
        while True:
            try:
                turn = await self.calls.turn(self.model, self._talk())
                self.messages.append(turn)
                if answer := await self._went(turn):
                    return answer
            except (Stopped, DailyLimit):
                if self.sent_back:
                    return self.sent_back
                raise

    def _talk(self) -> Talk:
        """The tools stay what they are while the model goes along: they stand before all else in a provider's cache."""
        tools = LAST_TOOLS if self._is_last and self.stray else TOOLS
        return Talk(self.system, list(self.messages), tools, MAX_TOKENS)

    @property
    def _is_last(self) -> bool:
        """Whether the model has to answer now."""
        return self.rounds >= MAX_ROUNDS or self._takes_no_more

    @property
    def _takes_no_more(self) -> bool:
        return self.steps.left <= 0 or self.calls.deadline.left() < ANSWER_SECONDS

    async def _went(self, turn: Turn) -> Answer | None:
        """What comes of a turn: an answer that holds, or what the model is told next."""
        if any(call.name in _STEP_TOOLS for call in turn.calls) and not self._is_last:
            self.rounds += 1
            results = [await self._taken(call) for call in turn.calls]
            if self._is_last:  # in the last result: some servers take no words between results and an answer
                results[-1] = replace(results[-1], text=f"{results[-1].text}\n\n{_LAST}")
            self.messages.append(Told(results=results))
            return None
        final = next((call for call in turn.calls if call.name == ANSWER.name), None)
        if final is None:
            return self._strayed(turn)
        return self._answered(turn, final)

    async def _taken(self, call: ToolCall) -> ToolResult:
        if call.name == ANSWER.name:
            return ToolResult(call.id, _ANSWER_LATER, failed=True)
        if call.name not in _STEP_TOOLS:
            return ToolResult(call.id, _NO_SUCH_TOOL, failed=True)
        if self._takes_no_more:
            return ToolResult(call.id, _NO_STEPS_LEFT, failed=True)
        step = await self.steps.take(call.name, call.arguments)
        self.told(step)
        return ToolResult(call.id, f"step {step.n}: {step.text}", failed=step.error is not None)

    def _strayed(self, turn: Turn) -> Answer | None:
        """A turn that gets nowhere. Words that a model insists on are its answer."""
        if turn.text.strip() and not turn.calls and self.stray:
            return self._checked(AnswerArguments(text=turn.text))
        told = _NO_STEPS_LEFT if self._is_last else _NO_SUCH_TOOL
        self._again(turn, told if turn.calls else _CALL_ANSWER)
        return None

    def _answered(self, turn: Turn, final: ToolCall) -> Answer | None:
        try:
            stated = read_arguments(AnswerArguments, final.arguments)
        except InvalidRequest as failure:
            self._again(turn, failure.message)
            return None
        answer = self._checked(stated)
        wrong = objections(answer)
        if not wrong or self.sent_back or self.calls.deadline.left() < AGAIN_SECONDS:
            return answer
        self.sent_back = answer
        text = f"The answer does not fit what was read: {'; '.join(wrong)}. Then call answer again."
        self.messages.append(Told(results=_refused(turn, text)))
        return None

    def _checked(self, stated: AnswerArguments) -> Answer:
        return answer_of(stated, self.steps.taken, self.steps.seen, self.kind)

    def _again(self, turn: Turn, text: str) -> None:
        self.stray += 1
        if self.stray > MAX_STRAY:
            raise Stopped("the model did not call the tool that gives an answer")
        self.messages.append(Told(results=_refused(turn, text)) if turn.calls else Told(text))


def _refused(turn: Turn, text: str) -> list[ToolResult]:
    """The same words for each call of a turn."""
    return [ToolResult(call.id, text, failed=True) for call in turn.calls]
