"""Keyword seeds in SQL, with exactly the scores of core/query/score.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.graph import Entity
from core.query.score import IN_DESCRIPTION, IN_NAME, score_keys
from core.query.subgraph import Match
from core.text import fold
from storage.rows import ENTITY, entity_of
from storage.tables import entities as t
from storage.tables import entity_versions

# SQLite refuses longer patterns (50,000 bytes); what is longer is looked for in a slower way.
LONGEST_PATTERN = 1_000


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
        for row in connection.execute(_top(connection, dataset_id, match, match.seeds + len(best))):
            best.setdefault(row.id, (row.points, row.updated_at, row.id))
    ranked = sorted((found for found in best.values() if found[0] > 0), reverse=True)
    if ranked:
        return by_ids(connection, [i for _, _, i in ranked[: match.seeds]])
    recent = ENTITY.where(mine).order_by(t.c.updated_at.desc(), t.c.id.desc()).limit(match.recent)
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


def _named(connection: Connection, mine: sa.ColumnElement[bool], match: Match) -> Iterable[_Keys]:
    """The entities whose name stands in the question, if perhaps only as a part of a word."""
    columns = (t.c.id, t.c.name_key, t.c.desc_key, t.c.updated_at)
    position = sa.func.strpos if connection.dialect.name == "postgresql" else sa.func.instr
    named = sa.select(*columns).where(mine & (position(sa.literal(match.question_key), t.c.name_key) > 0))
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


def _top(connection: Connection, dataset_id: int, match: Match, limit: int) -> sa.Select[tuple[Any, ...]]:
    """Ids by the points of their terms, best first. The inner LIMIT keeps the points from being computed twice."""
    points = _points(connection, match.terms).label("points")
    where = _scanned(connection, dataset_id)
    if match.known_at is not None:
        where &= t.c.created_at <= match.known_at
    everyone = sa.select(t.c.id, t.c.updated_at, points).where(where)
    inner = (everyone if connection.dialect.name == "postgresql" else everyone.limit(-1).offset(0)).subquery()
    newest = (inner.c.updated_at.desc(), inner.c.id.desc())
    return sa.select(inner).where(inner.c.points > 0).order_by(inner.c.points.desc(), *newest).limit(limit)


def _scanned(connection: Connection, dataset_id: int) -> sa.ColumnElement[bool]:
    """The rows of the dataset. SQLite keeps no statistics: it would jump from an index to every single row, which
    takes twice as long as reading the table from end to end where most of it belongs to the dataset."""
    if connection.dialect.name == "postgresql":
        return t.c.dataset_id == dataset_id
    mine = sa.select(sa.func.count()).where(t.c.dataset_id == dataset_id).scalar_subquery()
    all_of_it = sa.select(sa.func.max(t.c.id)).scalar_subquery()
    dense = connection.execute(sa.select(3 * mine > all_of_it)).scalar()
    return t.c.dataset_id + 0 == dataset_id if dense else t.c.dataset_id == dataset_id


def _points(connection: Connection, words: Sequence[str]) -> sa.ColumnElement[int]:
    def points(column: sa.Column[str], word: str, worth: int) -> sa.ColumnElement[int]:
        return sa.case((_holds(connection, column, word), worth), else_=0)

    parts = [points(t.c.name_key, w, IN_NAME) for w in words] + [points(t.c.desc_key, w, IN_DESCRIPTION) for w in words]
    total: sa.ColumnElement[int] = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _holds(connection: Connection, text: sa.Column[str], word: str) -> sa.ColumnElement[bool]:
    """Whether the text holds the word. GLOB is three times as fast as instr, and a word has none of its signs."""
    if connection.dialect.name == "postgresql":
        return sa.func.strpos(text, word) > 0
    if len(word) > LONGEST_PATTERN or any(sign in word for sign in "*?["):
        return sa.func.instr(text, word) > 0
    return text.op("GLOB", is_comparison=True)(f"*{word}*")
