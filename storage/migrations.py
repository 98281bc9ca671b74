"""The schema's versions: numbered functions that run in order, in one transaction, on a file of any earlier version."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.errors import NewerDatabase
from storage.database import Database
from storage.tables import metadata, schema


def _first_release(connection: Connection) -> None:
    metadata.create_all(connection)


# (version, how to get there from the one before). A released function never changes.
MIGRATIONS: list[tuple[int, Callable[[Connection], None]]] = [(1, _first_release)]
VERSION = MIGRATIONS[-1][0]
# The oldest code that may still read and write this schema.
MIN_READER_VERSION = 1


def migrate(database: Database) -> None:
    """Brings the database to this release's schema; does nothing when it is there. Racing processes wait in line.

    Raises NewerDatabase when a later release wrote it in a way that this one can't read.
    """
    database.write_now(_migrate)


def _migrate(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        # Two processes that create the first tables at once would both fail; this holds until the commit.
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(0x61BABA0)))
    version, min_reader = _stored_version(connection)
    if version > VERSION and min_reader > VERSION:
        raise NewerDatabase(
            f"the database has schema version {version}, this release reads up to {VERSION}: update gligabao-mcp"
        )
    for number, step in MIGRATIONS:
        if number > version:
            step(connection)
    if version < VERSION:
        connection.execute(sa.delete(schema))
        row = {"version": VERSION, "min_reader_version": MIN_READER_VERSION, "created_at": datetime.now(UTC)}
        connection.execute(sa.insert(schema).values(row))


def _stored_version(connection: Connection) -> tuple[int, int]:
    if not sa.inspect(connection).has_table(schema.name):
        return 0, 0
    row = connection.execute(sa.select(schema.c.version, schema.c.min_reader_version)).one()
    return int(row.version), int(row.min_reader_version)
