"""Tokens in gb_tokens: each by the SHA-256 of what its holder shows."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.access import AccessScope, Token
from storage.database import Database
from storage.tables import tokens as t


class SqlTokens:
    """core.access.TokenStore in SQL."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def add(
        self,
        digest: str,
        user_id: str,
        scopes: Collection[AccessScope],
        name: str | None,
        created_at: datetime,
        expires_at: datetime | None,
    ) -> Token:
        row = {
            "digest": digest,
            "user_id": user_id,
            "scopes": " ".join(sorted(scopes)),
            "name": name,
            "created_at": created_at,
            "expires_at": expires_at,
        }
        added = sa.insert(t).values(row).returning(t)
        return await self.database.write(lambda connection: _token(connection.execute(added).one()))

    async def find(self, digest: str) -> Token | None:
        return await self.database.read(lambda connection: _first(connection, t.c.digest == digest))

    async def all(self) -> list[Token]:
        rows = sa.select(t).order_by(t.c.id)
        return await self.database.read(lambda connection: [_token(row) for row in connection.execute(rows)])

    async def revoke(self, token_id: int, now: datetime) -> Token | None:
        def revoke(connection: Connection) -> Token | None:
            still = sa.and_(t.c.id == token_id, t.c.revoked_at.is_(None))
            connection.execute(sa.update(t).where(still).values(revoked_at=now))
            return _first(connection, t.c.id == token_id)

        return await self.database.write(revoke)


def _first(connection: Connection, rule: sa.ColumnElement[bool]) -> Token | None:
    row = connection.execute(sa.select(t).where(rule)).one_or_none()
    return None if row is None else _token(row)


def _token(row: sa.Row[Any]) -> Token:
    scopes = cast("list[AccessScope]", row.scopes.split())
    return Token(
        row.id, row.digest, row.user_id, frozenset(scopes), row.name, row.created_at, row.expires_at, row.revoked_at
    )
