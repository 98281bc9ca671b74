"""Sums over gb_inferences: what was called, how many tokens it took and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.ports import CostFilter, CostKey, CostSum
from storage.database import Database
from storage.tables import inferences as t

_TOKENS = (
    t.c.input_tokens,
    t.c.cached_input_tokens,
    t.c.cache_write_tokens,
    t.c.output_tokens,
    t.c.thinking_tokens,
)


class SqlCosts:
    """core.ports.CostStore in SQL."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def spent(self, since: datetime, user_id: str | None) -> float:
        mine = [t.c.user_id == user_id] if user_id is not None else []
        cost = sa.select(sa.func.coalesce(sa.func.sum(t.c.cost_usd), 0.0)).where(t.c.created_at >= since, *mine)
        return await self.database.read(lambda connection: float(connection.execute(cost).scalar_one()))

    async def sums(self, by: Sequence[CostKey], among: CostFilter) -> list[CostSum]:
        keys = [_key(key, self.database.sqlite) for key in by]
        # SUM of BIGINT is NUMERIC on PostgreSQL, and null over no rows.
        totals = [sa.cast(sa.func.coalesce(sa.func.sum(tokens), 0), sa.BigInteger) for tokens in _TOKENS]
        cost = sa.func.coalesce(sa.func.sum(t.c.cost_usd), 0.0)
        summed = sa.select(*keys, sa.func.count(), *totals, cost).where(*_rules(among)).group_by(*keys).order_by(*keys)

        def read(connection: Connection) -> list[CostSum]:
            return [_sum(row, len(keys)) for row in connection.execute(summed)]

        return await self.database.read(read)


def _sum(row: Sequence[Any], keys: int) -> CostSum:
    calls, *tokens, cost = row[keys:]
    return CostSum(tuple(row[:keys]), int(calls), *map(int, tokens), cost_usd=float(cost))  # tokens as in _TOKENS


def _day(sqlite: bool) -> sa.ColumnElement[str]:
    """The UTC day: the text of a time on SQLite; on PostgreSQL sessions run in UTC."""
    if sqlite:
        return sa.func.substr(sa.type_coerce(t.c.created_at, sa.String), 1, 10)
    return sa.func.to_char(t.c.created_at, sa.literal_column("'YYYY-MM-DD'"))


def _key(key: CostKey, sqlite: bool) -> sa.ColumnElement[str]:
    if key == "day":
        return _day(sqlite)
    return t.c.user_id if key == "user" else t.c[key]


def _rules(among: CostFilter) -> list[sa.ColumnElement[bool]]:
    rules: list[sa.ColumnElement[bool]] = []
    if among.since is not None:
        rules.append(t.c.created_at >= among.since)
    if among.until is not None:
        rules.append(t.c.created_at < among.until)
    if among.user_id is not None:
        rules.append(t.c.user_id == among.user_id)
    if among.dataset is not None:
        rules.append(t.c.dataset == among.dataset)
    return rules
