"""The one hop to SQL: `read` on a small pool, `write` on the one writer thread of the process."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.pool import ConnectionPoolEntry

from core.errors import InvalidRequest, StorageBusy, StorageGone

T = TypeVar("T")

BUSY_MS = 5000
TRIES = 3
# What a server says when the same transaction may well succeed the next time: serialization failure, deadlock, a lock
# that was not to be had in time, and a server that is shutting down or starting.
_AGAIN = {"40001", "40P01", "55P03", "57P01", "57P02", "57P03"}
# The session's time zone is ours: in another one a date of year 1 or 9999 may be no date of Python's any more.
_SESSION = ("SET TIME ZONE 'UTC'", f"SET lock_timeout = {BUSY_MS}")
_SYNCHRONOUS = {"durable": "PRAGMA synchronous = FULL", "relaxed": "PRAGMA synchronous = NORMAL"}
# What SQLite says of a file that will be no database at the next try either.
_UNUSABLE = {
    sqlite3.SQLITE_NOTADB: "is not a database, or its beginning is damaged: `gligabao restore` a backup",
    sqlite3.SQLITE_CANTOPEN: "can't be opened as a file",
    sqlite3.SQLITE_READONLY: "is read-only",
}
_FILES, _SERVERS = ("sqlite", "sqlite+pysqlite"), ("postgresql", "postgresql+psycopg")
_NO_WAIT = sa.text("SET LOCAL synchronous_commit = off")


class Database:
    """SQLite or PostgreSQL by URL.

    On SQLite every transaction that may write begins IMMEDIATE, so what it decides on and what it writes is one
    snapshot, and a second process waits in line instead of failing half way. Raises InvalidRequest for a URL that
    nothing here can open, StorageBusy when the database can't be reached or is held longer than we wait, and
    StorageGone while the file is not where it was opened.
    """

    def __init__(self, url: str, *, durable: bool = True) -> None:
        self.url = _read_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.durable = durable
        self.name = Path(str(self.url.database)).stem if self.sqlite else str(self.url.database)
        """The stem of the file, or what the database is called on its server."""
        self._file: os.stat_result | None = None
        """The file that is open, since the first connection to it."""
        self.engine = self._sqlite_engine() if self.sqlite else _server_engine(self.url)
        self._writer = ThreadPoolExecutor(1, "gligabao-sql-writer")
        self._readers = ThreadPoolExecutor(4, "gligabao-sql-reader")

    def _sqlite_engine(self) -> Engine:
        path = Path(str(self.url.database))
        _make_file(path)
        # The connection that was used last is used next: its pages and prepared statements are still warm.
        arguments = {"isolation_level": None, "check_same_thread": False, "cached_statements": 512}
        engine = sa.create_engine(self.url, connect_args=arguments, pool_use_lifo=True)

        def connected(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            try:
                _switch_to_wal(connection)
            except sqlite3.Error as failure:
                _refuse_unusable(path, failure)
                raise
            connection.execute(f"PRAGMA synchronous = {'FULL' if self.durable else 'NORMAL'}")
            connection.execute("PRAGMA foreign_keys = ON")
            self._file = self._file or path.stat()

        def begin(connection: Connection) -> None:
            options = connection.get_execution_options()
            wait, mode = options.get("wait", BUSY_MS), options.get("writes")
            if wait != connection.info.get("wait", BUSY_MS):
                connection.exec_driver_sql(f"PRAGMA busy_timeout = {wait}")
                connection.info["wait"] = wait
            if mode and self.durable:
                connection.exec_driver_sql(_SYNCHRONOUS[mode])
            connection.exec_driver_sql("BEGIN IMMEDIATE" if mode else "BEGIN")

        event.listen(engine, "connect", connected)
        event.listen(engine, "begin", begin)
        return engine

    async def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` reads, from one snapshot."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self.read_now, work)

    async def write(self, work: Callable[[Connection], T], *, relaxed: bool = False) -> T:
        """What `work` returns, once its transaction is committed. `work` may run again from the start.

        A `relaxed` one survives a crash of the process but perhaps no power cut: for what can be done again or only
        tells what was done. It does not wait for the disk.
        """
        asked = time.monotonic()
        return await asyncio.get_running_loop().run_in_executor(self._writer, self.write_now, work, relaxed, asked)

    def read_now(self, work: Callable[[Connection], T]) -> T:
        """`read` for callers outside the event loop."""
        isolation: dict[str, Any] = {} if self.sqlite else {"isolation_level": "REPEATABLE READ"}

        def read(_: int) -> T:
            with self.engine.connect().execution_options(**isolation) as connection, connection.begin():
                return work(connection)

        return self._tried(read, "nothing was read")

    def open_snapshot(self) -> Connection:
        """A read transaction for whoever reads for long and closes it. It takes no place in the pool."""

        def begin(_: int) -> Connection:
            connection = self.engine.connect()
            try:
                if not self.sqlite:
                    connection.execution_options(isolation_level="REPEATABLE READ")
                connection.detach()
                connection.begin()
            except BaseException:
                connection.close()
                raise
            return connection

        return self._tried(begin, "nothing was read")

    def write_now(self, work: Callable[[Connection], T], relaxed: bool = False, asked: float | None = None) -> T:
        """`write` for callers outside the event loop. `asked` at that time.monotonic(), it has stood in line since."""
        mode = "relaxed" if relaxed else "durable"

        def write(wait: int) -> T:
            with self.engine.connect().execution_options(writes=mode, wait=wait) as connection, connection.begin():
                if relaxed and not self.sqlite:
                    connection.execute(_NO_WAIT)
                return work(connection)

        return self._tried(write, "nothing was stored", asked)

    async def empty_log(self) -> None:
        """Empties the write-ahead log of SQLite, so that what was deleted is in no file any more. Where a reader keeps
        it, the next checkpoint does."""
        if self.sqlite:
            await asyncio.get_running_loop().run_in_executor(self._writer, self._empty_log)

    def _empty_log(self) -> None:
        connection = self.engine.raw_connection()
        try:
            connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.close()

    def _tried(self, work: Callable[[int], T], so_far: str, asked: float | None = None) -> T:
        """The work, tried again a few times while the database is held or can't be reached. It is told how many
        milliseconds to wait for a lock: what stood in line behind others that waited has waited with them."""
        until = (asked or time.monotonic()) + TRIES * BUSY_MS / 1000
        for attempt in range(TRIES):
            left = round(1000 * (until - time.monotonic()))
            if attempt and left <= 0:
                break
            if attempt:
                time.sleep(random.uniform(0.05, 0.25) * attempt)
            self._check_file(so_far)
            try:
                return work(max(0, min(BUSY_MS, left)))
            except exc.DBAPIError as failure:
                if not _may_pass(failure):
                    _refuse_unusable(Path(str(self.url.database)), failure.orig)
                    raise
        place = "held by another process" if self.sqlite else "out of reach or held by another process"
        raise StorageBusy(f"the database is {place}; {so_far}, send the same call again")

    def _check_file(self, so_far: str) -> None:
        """Raises StorageGone where the path names another file than the open one, or none: what is written into that
        is lost when we close it. Windows lets nobody take away a file that is open."""
        if self._file is None or sys.platform == "win32":
            return
        try:
            if os.path.samestat(self._file, os.stat(str(self.url.database))):
                return
        except OSError:
            pass
        raise StorageGone(
            f"the database file was deleted, moved or replaced while it was in use; {so_far}. Put it back, or start "
            "again with the file that is there now"
        )

    def close(self) -> None:
        """Waits for what runs, then lets go of every connection."""
        self._writer.shutdown()
        self._readers.shutdown()
        self.engine.dispose()


def file_url(file: Path) -> str:
    """The URL of a SQLite file, whatever its path is made of: elsewhere in a URL a "?" or a "%" means something."""
    return URL.create("sqlite", database=str(file)).render_as_string()


def file_of(url: str) -> Path:
    """The SQLite file that a URL names."""
    return Path(str(make_url(url).database))


def _make_file(path: Path) -> None:
    """Makes the file, if need be, closed to other users."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)
    except OSError as failure:
        raise InvalidRequest(f"db: {path} can't be written ({failure.strerror})", param="db") from failure


def _refuse_unusable(path: Path, failure: BaseException | None) -> None:
    """Raises InvalidRequest where a file can't be used for a reason that will not pass."""
    code = getattr(failure, "sqlite_errorcode", None) or 0
    if words := _UNUSABLE.get(code & 0xFF):
        raise InvalidRequest(f"db: {path} {words}", param="db") from failure


def _read_url(url: str) -> URL:
    try:
        read = make_url(url)
    except (exc.ArgumentError, ValueError):
        raise InvalidRequest(
            "db: can't be read as a file or as postgresql+psycopg://user:password@host/name", param="db"
        ) from None
    is_file = read.drivername in _FILES and bool(read.database) and not read.host
    if not is_file and read.drivername not in _SERVERS:
        raise InvalidRequest("db: must be a SQLite file or postgresql+psycopg://user:password@host/name", param="db")
    return read


def _server_engine(url: URL) -> Engine:
    try:
        engine = sa.create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 5})
    except ModuleNotFoundError:
        raise InvalidRequest("db: PostgreSQL needs its driver: install gligabao-mcp[postgres]", param="db") from None

    def connected(connection: Any, _: ConnectionPoolEntry) -> None:
        for statement in _SESSION:
            connection.execute(statement)
        connection.commit()

    event.listen(engine, "connect", connected)
    return engine


def _may_pass(failure: exc.DBAPIError) -> bool:
    """Whether the same transaction may succeed when it is sent again: nothing of it was kept."""
    if isinstance(failure.orig, sqlite3.Error):
        return "locked" in str(failure.orig) or "busy" in str(failure.orig)
    state = getattr(failure.orig, "sqlstate", None)
    lost = failure.connection_invalidated or (isinstance(failure, exc.OperationalError) and state is None)
    return lost or state in _AGAIN


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """WAL, however many processes open the fresh file at this moment: the switch itself does not wait for a lock."""
    for attempt in range(50):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if attempt == 49:
                raise
            time.sleep(0.02)
