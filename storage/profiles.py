"""Profiles of graphs in gb_profiles."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.ask.profile import Profile, ProfileExample, check_version
from core.graph import Dataset
from storage.database import Database
from storage.tables import datasets
from storage.tables import profiles as t
from storage.write import insert_or_ignore


class SqlProfiles:
    """core.ask.profile.ProfileStore in SQL."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def read(self, dataset: Dataset) -> Profile:
        return await self.database.read(lambda connection: _profile(connection, dataset.id))

    async def write(
        self, dataset: Dataset, profile: Profile, expected_version: int | None, clock: Callable[[], datetime]
    ) -> Profile:
        def write(connection: Connection) -> Profile:
            dataset_id = held_dataset(connection, dataset, clock)
            version = _profile(connection, dataset_id).version
            check_version(version, expected_version)
            written = Profile(profile.notes, profile.examples, version + 1, clock())
            _replace(connection, dataset_id, written)
            return written

        return await self.database.write(write)


def held_dataset(connection: Connection, dataset: Dataset, clock: Callable[[], datetime]) -> int:
    """The id of the dataset, created if it is not there yet. Its row is held until the transaction ends, so that one
    dataset has one writer at a time."""
    fresh = {"user_id": dataset.user_id, "name": dataset.name, "head_seq": 0, "created_at": clock()}
    create = insert_or_ignore(connection.dialect.name, datasets, "user_id", "name", "forgotten_id")
    connection.execute(create, [fresh])
    mine = (datasets.c.user_id == dataset.user_id) & (datasets.c.name == dataset.name) & (datasets.c.forgotten_id == 0)
    return int(connection.execute(sa.select(datasets.c.id).where(mine).with_for_update()).scalar_one())


def _profile(connection: Connection, dataset_id: int) -> Profile:
    row = connection.execute(sa.select(t).where(t.c.dataset_id == dataset_id)).one_or_none()
    if row is None:
        return Profile()
    examples = [ProfileExample.model_validate(example) for example in row.examples]
    return Profile(row.notes, examples, row.version, row.updated_at)


def _replace(connection: Connection, dataset_id: int, profile: Profile) -> None:
    values = {
        "version": profile.version,
        "notes": profile.notes,
        "examples": [example.model_dump(exclude_none=True) for example in profile.examples],
        "updated_at": profile.updated_at,
    }
    connection.execute(sa.delete(t).where(t.c.dataset_id == dataset_id))
    connection.execute(sa.insert(t).values(dataset_id=dataset_id, **values))
