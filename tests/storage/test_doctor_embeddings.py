"""The doctor over the entries of an embedding whose vectors are lost."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from storage import doctor_embeddings
from storage.doctor_embeddings import EntryDifference
from storage.vectors import Place
from tests.conftest import Tables

pytestmark = pytest.mark.anyio
MANY = 70_000
"""PostgreSQL names at most 65,535 values in one statement, SQLite as many as it was built for (32,766 by default)."""


async def test_more_entries_than_one_statement_may_name_are_taken_away(plain: object, tables: Tables) -> None:
    del plain  # opened, so that the tables are there
    one = EntryDifference(Place(1, "embedding-1-1", 0), "u1 / main", tuple(range(1, MANY + 1)), ())
    with tables.engine.begin() as connection:
        doctor_embeddings._forget(connection, one)  # pyright: ignore[reportPrivateUsage]
        left = connection.execute(sa.text("SELECT count(*) FROM gb_embedding_entries")).scalar()
    assert left == 0
