"""Bearer tokens: who calls, what that user may do, and how a token is made, listed and revoked."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, Protocol, get_args

from pydantic import BeforeValidator, Field

from core.errors import InvalidRequest, NotFound
from core.requests import Label, Request, UserId
from core.times import read_moment

AccessScope = Literal["read", "write", "admin"]
ACCESS_SCOPES: tuple[AccessScope, ...] = get_args(AccessScope)
# Somebody who finds a token in a file or a log can tell what it is, and so can programs that look for leaked ones.
PREFIX = "gbt_"
SECRET_BYTES = 32
_SPAN = re.compile(r"([0-9]{1,5})([mhdw])")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is kept: all but the token itself, of which there is only the SHA-256."""

    id: int
    digest: str
    user_id: str
    scopes: frozenset[AccessScope]
    name: str | None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def holds_at(self, now: datetime) -> bool:
        """Whether it still opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class TokenStore(Protocol):
    """The tokens of a database."""

    async def add(
        self,
        digest: str,
        user_id: str,
        scopes: Collection[AccessScope],
        name: str | None,
        created_at: datetime,
        expires_at: datetime | None,
    ) -> Token: ...

    async def find(self, digest: str) -> Token | None:
        """The token of that digest, also one that was revoked or has expired."""
        ...

    async def all(self) -> list[Token]:
        """In the order they were made."""
        ...

    async def revoke(self, token_id: int, now: datetime) -> Token | None:
        """The token, revoked now unless it was before; None where there is none of that id."""
        ...


def _scopes(value: object) -> object:
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else []
    if not parts or not set(parts) <= set(ACCESS_SCOPES):
        raise ValueError(f"must be some of {', '.join(ACCESS_SCOPES)}, separated by commas")
    return parts


class TokenRequest(Request):
    """What a new token is to be."""

    user_id: Annotated[UserId, Field(description="Whose memory it opens.")]
    scope: Annotated[
        frozenset[AccessScope], BeforeValidator(_scopes), Field(description="Some of read, write, admin, with commas.")
    ] = frozenset({"read", "write"})
    name: Annotated[Label, Field(description="Where it is used, for whoever reads the list.")] = None
    expires: Annotated[str | None, Field(description="90d, 12h, 2w, or a date; without it, never.")] = None


async def create_token(store: TokenStore, request: TokenRequest, now: datetime) -> tuple[Token, str]:
    """A new token: what is kept of it, and the token itself, which can never be read again. Raises InvalidRequest."""
    # An empty one is refused: a variable that nobody set must not make a token that never ends.
    expires_at = None if request.expires is None else _end(request.expires, now)
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    token = await store.add(_digest(secret), request.user_id, request.scope, request.name, now, expires_at)
    return token, secret


async def revoke_token(store: TokenStore, token_id: int, now: datetime) -> Token:
    """The token, which opens nothing from now on. Raises NotFound."""
    token = await store.revoke(token_id, now)
    if token is None:
        raise NotFound("id: no token has this id", param="id")
    return token


async def check_token(store: TokenStore, secret: str, now: datetime) -> Token | None:
    """The token that somebody showed, where it opens anything now."""
    if not secret.startswith(PREFIX):
        return None
    # 256 random bits can't be guessed, so one round of a fast hash is enough to keep them by.
    digest = _digest(secret)
    token = await store.find(digest)
    if token is None or not hmac.compare_digest(token.digest, digest):
        return None
    return token if token.holds_at(now) else None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _end(stated: str, now: datetime) -> datetime:
    if span := _SPAN.fullmatch(stated.strip()):
        end = now + int(span[1]) * _UNITS[span[2]]
    elif moment := read_moment(stated):
        end = moment.at.astimezone(UTC)
    else:
        raise InvalidRequest("expires: must be a span such as 90d, 12h or 2w, or a date", param="expires")
    if end <= now:
        raise InvalidRequest("expires: must lie in the future", param="expires")
    return end
