"""Calls to a provider: one deadline around all tries, failures under our own names, no calls while a key is refused."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from json import JSONDecodeError
from typing import TypeVar

import anyio

from core.errors import ModelFailed, ModelOverloaded
from core.inferences import Inference, Reasoning

log = logging.getLogger(__name__)

T = TypeVar("T")

PAUSE = 60.0
"""Seconds without calls after a refusal that no repeating helps against."""

# Medium and high may spend thousands of tokens on thought before the first word of the answer.
_PATIENCE: Mapping[Reasoning, float] = {"none": 1, "low": 1, "medium": 2, "high": 4}
_QUOTA = frozenset({"insufficient_quota", "enforced_spend_limit_reached", "billing_error"})
_KEY = re.compile(r"\b(?:sk|pk|rk|key)-[\w*.-]{4,}|(?<=[Bb]earer )\S+")
_MAX_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a provider's error says. `status` 0: it could not be reached."""

    status: int
    message: str
    code: str = ""
    request_id: str = ""


class Unusable(Exception):
    """The server answered, but with something that can't be used. The message goes on after the provider's name."""

    def __init__(self, message: str = "answered in another format than its API's: is the base URL right?") -> None:
        super().__init__(message)


@contextmanager
def reading() -> Generator[None]:
    """Around code that takes an answer apart: a part that is not there makes it Unusable."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError):
        raise Unusable from None


@dataclass(slots=True)
class Gate:
    """The way to one provider. `name` is how people call it, `key_setting` the setting that holds its key."""

    provider: str
    name: str
    key_setting: str
    deadline: float
    secret: str = field(default="", repr=False)
    clock: Callable[[], float] = time.monotonic
    _refused: dict[str, tuple[float, str]] = field(default_factory=dict[str, tuple[float, str]], repr=False)

    async def call(
        self,
        send: Callable[[], Awaitable[T]],
        explain: Callable[[Exception], Refusal | None],
        *,
        model: str,
        reasoning: Reasoning = "none",
    ) -> tuple[T, int]:
        """What `send` returns within the deadline, and the milliseconds it took.

        Raises ModelFailed or ModelOverloaded with the inference to record. For a minute after a refused key or an
        unknown model the call is not even made, and there is nothing to record.
        """
        self._check(model)
        started = time.perf_counter()
        seconds = self.deadline * _PATIENCE[reasoning]
        try:
            with anyio.fail_after(seconds):
                return await send(), _ms(started)
        except TimeoutError as error:
            refusal, cause = Refusal(0, f"did not answer within {seconds:g} s"), error
        except (Unusable, JSONDecodeError) as error:
            refusal, cause = Refusal(200, str(error if isinstance(error, Unusable) else Unusable())), error
        except Exception as error:
            if (said := explain(error)) is None:
                raise
            refusal, cause = said, error
        log.warning(
            "%s: %s, status %s, request %s", self.name, type(cause).__name__, refusal.status, refusal.request_id
        )
        # The cause is not chained: its text may hold what was sent.
        raise self._failure(refusal, model, reasoning, _ms(started)) from None

    def _check(self, model: str) -> None:
        for scope in ("", model):
            until, message = self._refused.get(scope, (0.0, ""))
            if message and self.clock() < until:
                raise ModelFailed(message)

    def _failure(self, refusal: Refusal, model: str, reasoning: Reasoning, latency_ms: int) -> ModelFailed:
        message = self._message(refusal, model)
        if refusal.status in (401, 403, 404):
            now, scope = self.clock(), "" if refusal.status == 401 else model
            # Requests may name any model: what is over is dropped, or the names would pile up.
            self._refused = {name: held for name, held in self._refused.items() if held[0] > now}
            self._refused[scope] = (now + PAUSE, message)
        inference = Inference(
            provider=self.provider,
            model=model,
            requested_model=model,
            reasoning=reasoning,
            latency_ms=latency_ms,
            request_id=refusal.request_id,
            error=message,
        )
        passing = refusal.status in (0, 408, 429) or refusal.status >= 500
        kind = ModelOverloaded if passing and refusal.code not in _QUOTA else ModelFailed
        return kind(message, inferences=[inference])

    def _message(self, refusal: Refusal, model: str) -> str:
        said = self._harmless(refusal.message)
        if refusal.status == 200 or refusal.status == 0:
            return f"{self.name} {said}"
        if refusal.status == 402 or refusal.code in _QUOTA:
            return f"{self.name}: quota used up ({said})"
        if refusal.status == 401:  # never with their words: some repeat the key
            return f"{self.name} refused the key (401): check {self.key_setting}; no more calls for {PAUSE:g} s"
        if refusal.status == 403:
            return f"{self.name} does not allow this ({said}, 403): check the rights of {self.key_setting}"
        if refusal.status == 404:
            return f"{self.name} found no model {model!r} (404): check the model name and the base URL"
        if refusal.status == 429:
            return f"{self.name} limits the rate of calls (429): try again later"
        if refusal.status >= 500:
            return f"{self.name} is overloaded or failing ({refusal.status}): try again later"
        return f"{self.name} refused the call ({refusal.status}): {said}"

    def _harmless(self, message: str) -> str:
        shown = message.replace(self.secret, "[key]") if self.secret else message
        shown = " ".join(_KEY.sub("[key]", shown).split())
        return shown if len(shown) <= _MAX_MESSAGE else f"{shown[:_MAX_MESSAGE]}…"


def _ms(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
