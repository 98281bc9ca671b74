"""Lists by page, newest first, and what a row rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.browse.excerpt import excerpt
from core.browse.stored import Key, Page, Support, Window
from storage import tables as t

T = TypeVar("T")
Rule = sa.ColumnElement[bool]


def page_of(rows: Sequence[T], total: int, window: Window, key: Callable[[T], Key]) -> Page[T]:
    """The page of rows that were read with one more than the window lets through, to see whether there are more."""
    shown = tuple(rows[: window.limit])
    return Page(shown, total, key(shown[-1]) if len(rows) > window.limit else None)


def count(connection: Connection, table: sa.Table, rules: Iterable[Rule]) -> int:
    """How many rows keep the rules."""
    return connection.execute(sa.select(sa.func.count()).select_from(table).where(*rules)).scalar_one()


def newest_by_id(
    connection: Connection, select: sa.Select[*tuple[Any, ...]], table: sa.Table, rules: Sequence[Rule], window: Window
) -> tuple[Sequence[sa.Row[Any]], int]:
    """The rows of a page, newest first, one more than fit, and how many there are in all."""
    behind = table.c.id < window.after[0] if window.after else sa.true()
    # The ids come out of an index alone; the rows themselves are read for this page only.
    ids = sa.select(table.c.id).where(*rules, behind).order_by(table.c.id.desc()).limit(window.limit + 1)
    rows = connection.execute(select.where(table.c.id.in_(ids)).order_by(table.c.id.desc())).all()
    return rows, count(connection, table, rules)


def within(table: sa.Table, dataset_id: int, ids: Sequence[sa.Select[Any]]) -> list[Rule]:
    """Rows of the dataset that all of these find."""
    if not ids:
        return [table.c.dataset_id == dataset_id]
    # The sum keeps SQLite from walking an index over the whole dataset instead of going to these rows.
    return [table.c.dataset_id + 0 == dataset_id, *(table.c.id.in_(some) for some in ids)]


def holds(connection: Connection, words: Iterable[str], *columns: sa.Column[str]) -> list[Rule]:
    """Every word occurs in one of the columns, which are folded. A word is no pattern."""
    position = sa.func.instr if connection.dialect.name == "sqlite" else sa.func.strpos
    return [sa.or_(*(position(column, word) > 0 for column in columns)) for word in words]


def linked(key: sa.Column[int], *rules: Rule) -> sa.Select[Any]:
    """The rows of some links."""
    return sa.select(key).where(*rules)


def told_by(links: sa.Table, dataset_id: int, artifact_id: int) -> Rule:
    """Links of the artifact or of its chunks: a text that was chunked has no links of its own."""
    a = t.artifacts
    chunks = sa.select(a.c.id).where(a.c.dataset_id == dataset_id, a.c.parent_id == artifact_id)
    own = sa.select(a.c.id).where(a.c.dataset_id == dataset_id, a.c.id == artifact_id)
    return links.c.artifact_id.in_(own.union_all(chunks))


def supports(
    connection: Connection,
    links: sa.Table,
    key: sa.Column[int],
    row_id: int,
    window: Window,
    wording: Sequence[str],
) -> Page[Support]:
    """The artifacts of an entity or a fact, newest first, each with the passage that has its wording."""
    a = t.artifacts
    ends = links.c.states_end if "states_end" in links.c else sa.false()
    columns = (a.c.id, a.c.kind, a.c.parent_id, a.c.valid_at, a.c.session_id, a.c.text, ends)
    newest = sa.select(*columns).join(links, links.c.artifact_id == a.c.id).where(key == row_id)
    rows = connection.execute(newest.order_by(a.c.id.desc()).limit(window.limit)).all()
    found = tuple(Support(*row[:-2], excerpt(row[-2], wording), bool(row[-1])) for row in rows)
    return Page(found, count(connection, links, [key == row_id]))


def seen_in(connection: Connection, sessions: sa.Table, key: sa.Column[int], row_id: int, window: Window) -> Page[str]:
    """The sessions of an entity or a fact, the one that named it last for the first time first."""
    order = (sessions.c.first_seen_at.desc(), sessions.c.session_id.desc())
    newest = sa.select(sessions.c.session_id).where(key == row_id).order_by(*order).limit(window.limit)
    return Page(tuple(connection.execute(newest).scalars()), count(connection, sessions, [key == row_id]))
