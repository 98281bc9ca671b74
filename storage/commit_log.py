"""SqlCommits: which commit a dataset was at, by time and by number."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.graph import Dataset
from core.rdf.ports import StoredCommit
from storage.database import Database
from storage.tables import commits

_C = commits.c
_COMMIT = sa.select(_C.seq, _C.kind, _C.created_at, _C.artifact_id, _C.session_id)


class SqlCommits:
    """core.rdf.ports.CommitLog on SQLAlchemy."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def at(self, dataset: Dataset, moment: datetime) -> StoredCommit | None:
        # Commits that were written in one microsecond are told apart by their numbers.
        newest = _COMMIT.where(_C.created_at <= moment).order_by(_C.created_at.desc(), _C.seq.desc())
        return await self._one(dataset, newest)

    async def first(self, dataset: Dataset) -> StoredCommit | None:
        return await self._one(dataset, _COMMIT.order_by(_C.seq))

    async def commit(self, dataset: Dataset, seq: int) -> StoredCommit | None:
        return await self._one(dataset, _COMMIT.where(_C.seq == seq))

    async def _one(self, dataset: Dataset, select: sa.Select[*tuple[Any, ...]]) -> StoredCommit | None:
        mine = select.where(_C.dataset_id == dataset.id).limit(1)
        row = await self.database.read(lambda connection: connection.execute(mine).one_or_none())
        if row is None:
            return None
        # Of commits before version 4 of the tables nobody wrote down what they did.
        return StoredCommit(row.seq, row.kind or "write", row.created_at, row.artifact_id, row.session_id)
