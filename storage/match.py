"""Keyword seeds in SQL, with exactly the scores of core/query/score.py."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.graph import Entity
from core.query.score import IN_DESCRIPTION, IN_NAME, pieces, score_keys
from core.query.subgraph import Match
from core.text import fold
from storage.rows import ENTITY, entity_of
from storage.tables import entities as t
from storage.tables import entity_versions

# SQLite refuses longer patterns (50,000 bytes); what is longer is looked for in a slower way.
LONGEST_PATTERN = 1_000
# A question with more pieces that could be a name is compared with every name instead.
MOST_PIECES = 300

_RECENT = (t.c.updated_at.desc(), t.c.id.desc())


class _Keys(NamedTuple):
    """What of an entity is scored and ranked."""

    id: int
    name_key: str
    desc_key: str
    updated_at: datetime


def seeds(connection: Connection, dataset_id: int, match: Match) -> list[Entity]:
    """The best scored entities, ties by the most recently updated; the most recent ones where none scores.

    SQL adds up the terms for every entity. Only for a few the score is computed here: those whose name may stand whole
    in the question, since word boundaries are no matter for SQL, and those whose description was another one at
    `known_at`. Any other entity of the top ten is among the first `seeds + few` rows of the SQL order, so the merged
    top ten is exact.
    """
    mine = t.c.dataset_id == dataset_id
    if match.known_at is not None:
        mine &= t.c.created_at <= match.known_at
    best = {
        few.id: (score_keys(match.question_key, match.terms, few.name_key, few.desc_key), few.updated_at, few.id)
        for few in (*_named(connection, mine, match), *_described_otherwise(connection, dataset_id, mine, match))
    }
    if match.terms:
        for row in _top(connection, dataset_id, match, match.seeds + len(best)):
            best.setdefault(row.id, (row.points, row.updated_at, row.id))
    ranked = sorted((found for found in best.values() if found[0] > 0), reverse=True)
    if ranked:
        return by_ids(connection, [i for _, _, i in ranked[: match.seeds]])
    recent = ENTITY.where(mine).order_by(*_RECENT).limit(match.recent)
    return [entity_of(row) for row in connection.execute(recent)]


def by_ids(connection: Connection, ids: list[int]) -> list[Entity]:
    """The entities of these ids, in this order."""
    found = {row.id: entity_of(row) for row in connection.execute(ENTITY.where(t.c.id.in_(ids)))} if ids else {}
    return [found[i] for i in ids if i in found]


def descriptions_at(connection: Connection, dataset_id: int, known_at: datetime) -> dict[int, str]:
    """What the entities whose description was replaced after `known_at` said then."""
    v = entity_versions
    later = (v.c.dataset_id == dataset_id) & (v.c.changed_at > known_at)
    rows = connection.execute(sa.select(v.c.entity_id, v.c.description).where(later).order_by(v.c.seq.desc()))
    return {row.entity_id: row.description for row in rows}  # of several the earliest, read last, stays


# The few that are scored here -----------------------------------------------------------------------------------------


def _named(connection: Connection, mine: sa.ColumnElement[bool], match: Match) -> Iterable[_Keys]:
    """The entities whose name stands whole in the question, if perhaps only as a part of a word."""
    names = pieces(match.question_key, MOST_PIECES)
    if names is None:
        position = sa.func.strpos if connection.dialect.name == "postgresql" else sa.func.instr
        mine &= position(sa.literal(match.question_key), t.c.name_key) > 0
    else:
        mine &= t.c.name_key.in_(names)
    named = sa.select(t.c.id, t.c.name_key, t.c.desc_key, t.c.updated_at).where(mine)
    return (_Keys(*row) for row in connection.execute(named))


def _described_otherwise(
    connection: Connection, dataset_id: int, mine: sa.ColumnElement[bool], match: Match
) -> Iterable[_Keys]:
    """The entities whose description was another one at `known_at`, with that one."""
    if match.known_at is None or not (then := descriptions_at(connection, dataset_id, match.known_at)):
        return ()
    changed = sa.select(entity_versions.c.entity_id).where(
        (entity_versions.c.dataset_id == dataset_id) & (entity_versions.c.changed_at > match.known_at)
    )
    rows = connection.execute(sa.select(t.c.id, t.c.name_key, t.c.updated_at).where(mine & t.c.id.in_(changed)))
    return [_Keys(row.id, row.name_key, fold(then[row.id]), row.updated_at) for row in rows]


# All others, by the points of their terms -----------------------------------------------------------------------------


def _top(connection: Connection, dataset_id: int, match: Match, rows: int) -> Iterable[sa.Row[Any]]:
    """Id, time and points of the best entities, best first."""
    postgresql = connection.dialect.name == "postgresql"
    plain = all(len(w) <= LONGEST_PATTERN and not set(w) & set("*?[") for w in match.terms)
    how = "strpos" if postgresql else "GLOB" if plain else "instr"
    dense = not postgresql and bool(connection.execute(_DENSE, {"dataset_id": dataset_id}).scalar())
    words = {f"word{i}": f"*{w}*" if how == "GLOB" else w for i, w in enumerate(match.terms)}
    known = {} if match.known_at is None else {"known_at": match.known_at}
    best = _best(len(words), how, dense=dense, earlier=bool(known))
    return connection.execute(best, {"dataset_id": dataset_id, "rows": rows, **words, **known})


# SQLite keeps no statistics: it would jump from an index to every single row, which takes twice as long as reading the
# table from end to end where most of it belongs to the dataset.
_MINE = t.c.dataset_id == sa.bindparam("dataset_id")
_OTHERS = (t.c.dataset_id < sa.bindparam("dataset_id")) | (t.c.dataset_id > sa.bindparam("dataset_id"))
_DENSE = sa.select(
    sa.case(
        (~sa.exists().where(_OTHERS), True),
        else_=3 * sa.select(sa.func.count()).where(_MINE).scalar_subquery()
        > sa.select(sa.func.max(t.c.id)).scalar_subquery(),
    )
)


@lru_cache(maxsize=128)
def _best(words: int, how: str, *, dense: bool, earlier: bool) -> sa.Select[*tuple[Any, ...]]:
    """The statement for so many words. The inner LIMIT keeps SQLite from computing the points twice."""
    where = t.c.dataset_id + 0 == sa.bindparam("dataset_id") if dense else _MINE
    if earlier:
        where &= t.c.created_at <= sa.bindparam("known_at")
    everyone = sa.select(t.c.id, t.c.updated_at, _points(words, how).label("points")).where(where)
    inner = (everyone if how == "strpos" else everyone.limit(-1).offset(0)).subquery()
    order = (inner.c.points.desc(), inner.c.updated_at.desc(), inner.c.id.desc())
    return sa.select(inner).where(inner.c.points > 0).order_by(*order).limit(sa.bindparam("rows", type_=sa.Integer))


def _points(words: int, how: str) -> sa.ColumnElement[int]:
    def points(column: sa.Column[str], number: int, worth: int) -> sa.ColumnElement[int]:
        return sa.case((_holds(column, sa.bindparam(f"word{number}", type_=sa.String), how), worth), else_=0)

    total: sa.ColumnElement[int] = sa.literal_column("0")
    for number in range(words):
        total = total + points(t.c.name_key, number, IN_NAME) + points(t.c.desc_key, number, IN_DESCRIPTION)
    return total


def _holds(text: sa.Column[str], word: sa.BindParameter[str], how: str) -> sa.ColumnElement[bool]:
    """Whether the text holds the word. GLOB is three times as fast as instr, and a word has none of its signs."""
    if how == "GLOB":
        return text.op("GLOB", is_comparison=True)(word)
    return (sa.func.strpos if how == "strpos" else sa.func.instr)(text, word) > 0
