"""Ids for rows that had others elsewhere: in the same order, and never one that was given out before."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.engine import Connection

# The highest id that is taken over as it is: one that a stranger wrote must not use up what a database can count.
_MOST = 2**40


def new_ids(connection: Connection, table: sa.Table, ids: Iterable[int]) -> dict[int, int]:
    """The new id for each old one. Where the database never gave out any as high, as in a fresh one, they stay."""
    old = sorted(set(ids))
    if not old:
        return {}
    last = _last(connection, table)
    if old[0] > last and old[-1] <= _MOST:
        _go_on_after(connection, table, old[-1])
        return {i: i for i in old}
    return dict(zip(old, _taken(connection, table, len(old), last), strict=True))


def _last(connection: Connection, table: sa.Table) -> int:
    """The last id that was given out; 0 for none."""
    if connection.dialect.name == "sqlite":
        last = sa.text("SELECT seq FROM sqlite_sequence WHERE name = :name")
        return int(connection.execute(last, {"name": table.name}).scalar() or 0)
    row = connection.execute(sa.text(f"SELECT last_value, is_called FROM {_sequence(connection, table)}")).one()
    return int(row[0]) if row[1] else 0


def _taken(connection: Connection, table: sa.Table, count: int, last: int) -> list[int]:
    """So many ids, which nobody else gets."""
    if connection.dialect.name == "sqlite":
        _go_on_after(connection, table, last + count)
        return list(range(last + 1, last + count + 1))
    # One after the other: others may take some in between.
    values = sa.text("SELECT nextval(CAST(:sequence AS regclass)) FROM generate_series(1, :count)")
    return sorted(
        int(i) for i in connection.execute(values, {"sequence": _sequence(connection, table), "count": count}).scalars()
    )


def _go_on_after(connection: Connection, table: sa.Table, last: int) -> None:
    """The next row gets a higher id, whether rows of these ids come or not."""
    if connection.dialect.name == "sqlite":
        values = {"name": table.name, "last": last}
        changed = connection.execute(sa.text("UPDATE sqlite_sequence SET seq = :last WHERE name = :name"), values)
        if not changed.rowcount:
            connection.execute(sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), values)
    else:
        values = {"sequence": _sequence(connection, table), "last": last}
        connection.execute(sa.text("SELECT setval(CAST(:sequence AS regclass), :last)"), values)


def _sequence(connection: Connection, table: sa.Table) -> str:
    name = sa.select(sa.func.pg_get_serial_sequence(table.name, "id"))
    return str(connection.execute(name).scalar_one())
