"""How many questions were asked in a day, in gb_question_days."""

from __future__ import annotations

from datetime import date

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from storage.database import Database
from storage.tables import question_days as t


class SqlQuestions:
    """core.ask.ports.Questions in SQL: one statement counts and decides, whichever processes ask at once."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def count(self, day: date, most: int) -> bool:
        """Whether it is among the `most` questions of the day; then it is counted."""
        if most < 1:
            return False
        return await self.database.write(lambda connection: self._counted(connection, day, most))

    def _counted(self, connection: Connection, day: date, most: int) -> bool:
        dialect = sqlite if self.database.sqlite else postgresql
        counted = (
            dialect.insert(t)
            .values(day=day.isoformat(), asked=1)
            .on_conflict_do_update(index_elements=[t.c.day], set_={"asked": t.c.asked + 1}, where=t.c.asked < most)
            .returning(t.c.asked)
        )
        return connection.execute(counted).first() is not None
