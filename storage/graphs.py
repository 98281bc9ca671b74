"""SqlGraphs: datasets made before anything is written into them, and how much they hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.graph import Dataset
from core.graphs.ports import Stored
from storage import tables as t
from storage.database import Database
from storage.rows import DATASET, dataset_of
from storage.write import insert_or_ignore


class SqlGraphs:
    """core.graphs.ports.Graphs on SQLAlchemy."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def create(self, user_id: str, name: str, clock: Callable[[], datetime]) -> Dataset:
        def write(connection: Connection) -> Dataset:
            make = insert_or_ignore(connection.dialect.name, t.datasets, "user_id", "name", "forgotten_id")
            connection.execute(make, [{"user_id": user_id, "name": name, "head_seq": 0, "created_at": clock()}])
            mine = DATASET.where(t.datasets.c.user_id == user_id, t.datasets.c.name == name)
            return dataset_of(connection.execute(mine).one())

        return await self.database.write(write)

    async def stored(self, dataset: Dataset) -> Stored:
        def count(table: sa.Table) -> sa.ScalarSelect[int]:
            rows = sa.select(sa.func.count()).select_from(table)
            return rows.where(table.c.dataset_id == dataset.id).scalar_subquery()

        counts = sa.select(count(t.artifacts), count(t.edges), count(t.quads))
        return await self.database.read(lambda connection: Stored(*connection.execute(counts).one()))
