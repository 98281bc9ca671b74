"""The one hop to SQL: `read` on a small pool, `write` on the one writer thread of the process."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.engine import Connection, Engine, make_url
from sqlalchemy.pool import ConnectionPoolEntry

from core.errors import StorageBusy

T = TypeVar("T")

BUSY_MS = 5000
TRIES = 3
# Serialization failure, deadlock: PostgreSQL asks for the same transaction once more.
_NO_WAIT = sa.text("SET LOCAL synchronous_commit = off")
_AGAIN = {"40001", "40P01"}


class Database:
    """SQLite or PostgreSQL by URL.

    On SQLite every transaction that may write begins IMMEDIATE, so what it decides on and what it writes is one
    snapshot, and a second process waits in line instead of failing half way. Raises StorageBusy when another process
    holds the file longer than we wait.
    """

    def __init__(self, url: str, *, durable: bool = True) -> None:
        self.url = make_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.engine = self._sqlite_engine(durable) if self.sqlite else sa.create_engine(self.url, pool_pre_ping=True)
        self._relaxed = self._sqlite_engine(durable=False) if self.sqlite else self.engine
        self._writer = ThreadPoolExecutor(1, "gligabao-sql-writer")
        self._readers = ThreadPoolExecutor(4, "gligabao-sql-reader")

    def _sqlite_engine(self, durable: bool) -> Engine:
        path = Path(str(self.url.database))
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)
        engine = sa.create_engine(self.url, connect_args={"isolation_level": None, "check_same_thread": False})

        def connected(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            _switch_to_wal(connection)
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            connection.execute("PRAGMA foreign_keys = ON")

        def begin(connection: Connection) -> None:
            immediate = connection.get_execution_options().get("immediate", False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

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
        return await asyncio.get_running_loop().run_in_executor(self._writer, self.write_now, work, relaxed)

    def read_now(self, work: Callable[[Connection], T]) -> T:
        """`read` for callers outside the event loop."""
        isolation: dict[str, Any] = {} if self.sqlite else {"isolation_level": "REPEATABLE READ"}
        with self.engine.connect().execution_options(**isolation) as connection, connection.begin():
            return work(connection)

    def write_now(self, work: Callable[[Connection], T], relaxed: bool = False) -> T:
        """`write` for callers outside the event loop."""
        engine = self._relaxed if relaxed else self.engine
        for attempt in range(TRIES):
            if attempt:
                time.sleep(random.uniform(0.05, 0.25) * attempt)
            try:
                with engine.connect().execution_options(immediate=True) as connection, connection.begin():
                    if relaxed and not self.sqlite:
                        connection.execute(_NO_WAIT)
                    return work(connection)
            except exc.OperationalError as failure:
                if not _busy(failure):
                    raise
        raise StorageBusy("the database is held by another process; nothing was stored, send the same call again")

    def close(self) -> None:
        """Waits for what runs, then lets go of every connection."""
        self._writer.shutdown()
        self._readers.shutdown()
        self.engine.dispose()
        self._relaxed.dispose()


def _busy(failure: exc.OperationalError) -> bool:
    if isinstance(failure.orig, sqlite3.OperationalError):
        return "locked" in str(failure.orig) or "busy" in str(failure.orig)
    return getattr(failure.orig, "sqlstate", None) in _AGAIN


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
