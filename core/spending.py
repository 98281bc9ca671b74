"""The daily spend limit: once a day's money is spent, no paid model call is made until midnight UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from core.errors import DailyLimit
from core.inferences import Choice, Inference
from core.ports import (
    Completion,
    Complexity,
    CostStore,
    DecisionModel,
    Embedded,
    Embedder,
    LanguageModel,
    Prompt,
    Reply,
)
from core.prices import PriceTable
from core.talk import Talk, ToolCallingModel, Turn

if TYPE_CHECKING:
    from core.ask.ports import Picked, Router

REREAD = timedelta(seconds=3)
"""How old the sum may be that other processes' calls are seen in."""

_PAYER: ContextVar[str | None] = ContextVar("payer", default=None)


def charge_to(user_id: str) -> None:
    """From here on, the paid calls of this task and of those that it starts are this user's."""
    _PAYER.set(user_id)


@dataclass(frozen=True, slots=True)
class Limits:
    """US dollars of one UTC day, for all users together and for each; None is no limit."""

    all_users: float | None = None
    each_user: float | None = None


@dataclass(slots=True)
class _Sum:
    """What was spent in the day, as far as this process knows, and when it last looked."""

    usd: float
    read_at: datetime


class Spending:
    """What may still be spent today. Sums are kept in memory, go up with every call of this process, and are read again
    after a few seconds for the calls of others."""

    def __init__(self, limits: Limits, prices: PriceTable, costs: CostStore, clock: Callable[[], datetime]) -> None:
        self._limits = limits
        self._prices = prices
        self._costs = costs
        self._clock = clock
        self._day = datetime.min.replace(tzinfo=UTC)
        self._sums: dict[str | None, _Sum] = {}
        """By user; None for all of them."""

    async def allow(self, model: str) -> None:
        """Returns when a call of this model may be made; one that costs nothing always may. Raises DailyLimit."""
        if self._prices.price(model).free:
            return
        now = self._clock().astimezone(UTC)
        payer = _PAYER.get()
        await self._check(None, self._limits.all_users, "daily_spend_limit_usd", now)
        if payer is not None:
            await self._check(payer, self._limits.each_user, "daily_spend_limit_usd_per_user", now)

    def add(self, inference: Inference) -> None:
        """Counts a call that was made."""
        cost = self._prices.cost(inference.model, inference.usage)
        for whose in {None, _PAYER.get()}:
            if known := self._sums.get(whose):
                known.usd += cost

    async def _check(self, whose: str | None, limit: float | None, setting: str, now: datetime) -> None:
        if limit is None or (spent := await self._spent(whose, now)) < limit:
            return
        midnight = _day_of(now) + timedelta(days=1)
        raise DailyLimit(
            f"the daily spend limit is reached: {spent:.4g} of {limit:g} USD since midnight UTC (setting {setting}); "
            "no paid model call is made until the next midnight UTC",
            retry_after=int((midnight - now).total_seconds()) + 1,
        )

    async def _spent(self, whose: str | None, now: datetime) -> float:
        if self._day != _day_of(now):
            self._day, self._sums = _day_of(now), {}
        known = self._sums.get(whose)
        if known is None or now - known.read_at >= REREAD:
            read = await self._costs.spent(self._day, whose)
            # Calls of this process may not be recorded yet, so a sum never goes down.
            at_least = known.usd if (known := self._sums.get(whose)) else 0.0
            known = self._sums[whose] = _Sum(max(read, at_least), now)
        return known.usd


def _day_of(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


class LimitedModel:
    """A language model that is asked only while there is money left."""

    def __init__(self, inner: LanguageModel, spending: Spending) -> None:
        self.model = inner.model
        self._inner = inner
        self._spending = spending

    async def complete(self, prompt: Prompt, choice: Choice) -> Completion:
        """Raises DailyLimit, too."""
        await self._spending.allow(choice.model or self.model)
        completion = await self._inner.complete(prompt, choice)
        self._spending.add(completion.inference)
        return completion


class LimitedToolCallingModel(LimitedModel):
    """One that can call tools, under the same rule."""

    def __init__(self, inner: ToolCallingModel, spending: Spending) -> None:
        super().__init__(inner, spending)
        self._talking = inner

    async def turn(self, talk: Talk, choice: Choice) -> Turn:
        """Raises DailyLimit, too."""
        await self._spending.allow(choice.model or self.model)
        turn = await self._talking.turn(talk, choice)
        self._spending.add(turn.inference)
        return turn


class LimitedEmbedder:
    """An embedder that is asked only while there is money left."""

    def __init__(self, inner: Embedder, spending: Spending) -> None:
        self.model = inner.model
        self.dim = inner.dim
        self._inner = inner
        self._spending = spending

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Raises DailyLimit, too."""
        await self._spending.allow(self.model)
        embedded = await self._inner.embed(texts)
        self._spending.add(embedded.inference)
        return embedded


class LimitedRouter:
    """A router that is asked only while there is money left."""

    def __init__(self, inner: Router, spending: Spending) -> None:
        self.model = inner.model
        self._inner = inner
        self._spending = spending

    async def pick_route(self, question: str, context: str, description: str) -> Reply[Picked]:
        """Raises DailyLimit, too."""
        await self._spending.allow(self.model)
        reply = await self._inner.pick_route(question, context, description)
        for inference in reply.inferences:
            self._spending.add(inference)
        return reply


class LimitedDecisions:
    """A decision model that is asked only while there is money left."""

    def __init__(self, inner: DecisionModel, spending: Spending) -> None:
        self.model = inner.model
        self._inner = inner
        self._spending = spending

    async def classify_complexity(self, text: str) -> Reply[Complexity]:
        """Raises DailyLimit, too."""
        await self._spending.allow(self.model)
        reply = await self._inner.classify_complexity(text)
        for inference in reply.inferences:
            self._spending.add(inference)
        return reply
