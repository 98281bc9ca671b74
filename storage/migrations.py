"""The schema's versions: numbered steps that run in order, in one transaction, on a database of any earlier version."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.errors import InvalidRequest, NewerDatabase
from storage.database import Database
from storage.tables import metadata, schema
from storage.version_2 import to_version_2
from storage.version_3 import to_version_3
from storage.version_4 import to_version_4

log = logging.getLogger(__name__)

# (version, how to get there from the one before). A released step never changes. A fresh database gets the tables of
# tables.py at once.
MIGRATIONS: list[tuple[int, Callable[[Connection], None]]] = [(2, to_version_2), (3, to_version_3), (4, to_version_4)]
VERSION = 4
# The oldest code that may still read and write this schema.
MIN_READER_VERSION = 2
# How long a process waits for another one that brings the same file up to date.
PATIENCE_MS = 600_000


def migrate(database: Database) -> None:
    """Brings the database to this release's schema; does nothing when it is there. Racing processes wait in line.

    A SQLite file of an older release is copied first, to `<file>.bak-v<version>`. Raises NewerDatabase when a later
    release wrote it in a way that this one can't read, and InvalidRequest where there is no room for the copy: nothing
    is changed then.
    """
    version, min_reader = database.read_now(_stored_versions)
    if version > VERSION and min_reader > VERSION:
        raise NewerDatabase(
            f"the database has schema version {version}, this release reads up to {VERSION}: update gligabao-mcp"
        )
    if version < VERSION and database.sqlite:
        _migrate_file(database)
    elif version < VERSION:
        database.write_now(_migrate_server)


def _migrate_file(database: Database) -> None:
    with database.engine.connect().execution_options(writes="durable") as connection:
        # The settings below go with this connection: no other work gets it. They are set while no transaction is open;
        # with foreign keys on, to drop a table that is written anew would take what refers to it along.
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        connection.detach()
        driver.execute("PRAGMA foreign_keys = OFF")
        driver.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}")
        with connection.begin():
            version, _ = _stored_versions(connection)
            if 0 < version < VERSION:
                log.warning("schema %d becomes %d; a copy is in %s", version, VERSION, _back_up(database, version))
            broken = _broken_references(connection)
            _migrate(connection, version)
            if _broken_references(connection) > broken:
                raise RuntimeError("the migration broke references between tables; nothing was changed")


def _migrate_server(connection: Connection) -> None:
    # Two processes that create the first tables at once would both fail; this holds until the commit.
    connection.execute(sa.text("SET LOCAL lock_timeout = 0"))
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(0x61BABA0)))
    version, _ = _stored_versions(connection)
    if 0 < version < VERSION:
        log.warning("schema %d becomes %d; keep a backup of this database (pg_dump)", version, VERSION)
    _migrate(connection, version)


def _migrate(connection: Connection, version: int) -> None:
    """The steps that are missing."""
    if version >= VERSION:
        return
    if version == 0:
        metadata.create_all(connection)
    else:
        for number, step in MIGRATIONS:
            if number > version:
                step(connection)
    connection.execute(sa.delete(schema))
    row = {"version": VERSION, "min_reader_version": MIN_READER_VERSION, "created_at": datetime.now(UTC)}
    connection.execute(sa.insert(schema).values(row))


def _stored_versions(connection: Connection) -> tuple[int, int]:
    """The schema version of the database, and the oldest release's that may read it; zeros for an empty one."""
    if not sa.inspect(connection).has_table(schema.name):
        return 0, 0
    row = connection.execute(sa.select(schema.c.version, schema.c.min_reader_version)).one()
    return int(row.version), int(row.min_reader_version)


def _broken_references(connection: Connection) -> int:
    return len(connection.exec_driver_sql("PRAGMA foreign_key_check").all())


def _back_up(database: Database, version: int) -> Path:
    """Copies the file as it is, for whoever wants the older release back. The write lock is held meanwhile, which keeps
    no reader out: the copy is what the steps begin with."""
    source = Path(str(database.url.database))
    target = free_name(source.with_name(f"{source.name}.bak-v{version}"))
    try:
        copy_file(source, target)
    except sqlite3.Error as failure:
        target.unlink(missing_ok=True)
        raise InvalidRequest(
            f"db: the copy {target} that precedes an update of the schema could not be written ({failure}); nothing "
            "was changed",
            param="db",
        ) from failure
    return target


def copy_file(source: Path, target: Path) -> None:
    """A copy of a SQLite file that others may be using, as of this moment, closed to other users."""
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(source, isolation_level=None)) as connection:
        connection.execute("PRAGMA busy_timeout = 5000")
        connection.execute("VACUUM INTO ?", (str(target),))


def free_name(path: Path) -> Path:
    """The path, or with the first number behind it that nothing has yet."""
    names = (path if n == 0 else path.with_name(f"{path.name}.{n}") for n in range(10_000))
    return next(name for name in names if not name.exists())
