"""Counting the questions of a day."""

from __future__ import annotations

import asyncio
from datetime import date

import pytest

from core.config import Config
from gligabao_mcp.wiring import database_url
from storage.database import Database
from storage.migrations import migrate
from storage.questions import SqlQuestions
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

TODAY, TOMORROW = date(2026, 11, 30), date(2026, 12, 1)


@requirement("ask.daily-limit")
async def test_processes_that_ask_at_once_share_the_questions_of_a_day(config: Config) -> None:
    databases = [Database(database_url(config)) for _ in range(2)]
    await asyncio.to_thread(migrate, databases[0])
    try:
        counts = [SqlQuestions(database).count(TODAY, 7) for database in databases for _ in range(5)]
        assert sum(await asyncio.gather(*counts)) == 7
        assert await SqlQuestions(databases[1]).count(TOMORROW, 7)
    finally:
        for database in databases:
            database.close()


async def test_a_limit_of_none_takes_none(config: Config) -> None:
    database = Database(database_url(config))
    await asyncio.to_thread(migrate, database)
    try:
        assert not await SqlQuestions(database).count(TODAY, 0)
    finally:
        database.close()
