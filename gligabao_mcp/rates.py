"""How many requests one caller may send in a minute, counted in this process alone."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from core.config import Config
from core.errors import RateLimited
from gligabao_mcp import rest
from gligabao_mcp.bearer import asks_for_tokens, is_public
from gligabao_mcp.callers import caller_of
from gligabao_mcp.errors import failure

DEFAULT_PER_MINUTE = 600
# How many callers are remembered before it is worth looking for those who have their whole minute back.
FEW_CALLERS = 10_000


def limit_of(config: Config) -> int:
    """Requests a minute; 0 where there is no limit."""
    if config.rate_limit_per_minute is not None:
        return config.rate_limit_per_minute
    return DEFAULT_PER_MINUTE if asks_for_tokens(config) else 0


class Rate:
    """A minute's worth of requests at once, then one for each that the minute gives back (GCRA)."""

    def __init__(self, per_minute: int, now: Callable[[], float] = time.monotonic) -> None:
        self._spacing = 60 / per_minute
        self._now = now
        self._full_at: dict[str, float] = {}
        """When a caller has its whole minute back: the only thing there is to remember of one."""
        self._room = FEW_CALLERS

    def wait(self, caller: str) -> float:
        """Counts a request; the seconds until it would be let in, 0 for one that is."""
        now = self._now()
        full_at = max(self._full_at.get(caller, now), now) + self._spacing
        if (wait := full_at - now - 60) > 1e-9:
            return wait
        if len(self._full_at) >= self._room:
            self._full_at = {one: at for one, at in self._full_at.items() if at > now}
            # Of a crowd that is still there not everybody is looked at with each request.
            self._room = max(FEW_CALLERS, 2 * len(self._full_at))
        self._full_at[caller] = full_at
        return 0


class RateCheck:
    """Answers 429 with Retry-After to a caller over the limit: a user with tokens, else an address."""

    def __init__(self, app: ASGIApp, per_minute: int) -> None:
        self._app = app
        self._rate = Rate(per_minute)
        self._per_minute = per_minute

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_public(scope["path"]) or not (wait := self._rate.wait(_caller(scope))):
            await self._app(scope, receive, send)
            return
        text = f"more than {self._per_minute} requests in a minute; send the same again later"
        refusal = failure(RateLimited(text, retry_after=math.ceil(wait)))
        await rest.answer(refusal, scope)(scope, receive, send)


def _caller(scope: Scope) -> str:
    if caller := caller_of(HTTPConnection(scope)):
        return f"user {caller.user_id}"
    address = scope.get("client")
    return f"address {address[0] if address else ''}"
