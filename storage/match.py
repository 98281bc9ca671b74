"""Keyword seeds in SQL, with exactly the scores of core/query/score.py."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.graph import Entity
from core.query.score import IN_DESCRIPTION, IN_NAME, score_keys
from core.query.subgraph import Match
from storage.rows import ENTITY, entity_of
from storage.tables import entities as t


def seeds(connection: Connection, dataset_id: int, match: Match) -> list[Entity]:
    """The best scored entities, ties by the most recently updated; the most recent ones where none scores.

    SQL adds up the terms for every entity. Only for the few whose name may stand whole in the question is the score
    computed here, since word boundaries are no matter for SQL. Any other entity of the top ten is among the first
    `seeds + few` rows of the SQL order, so the merged top ten is exact.
    """
    mine = t.c.dataset_id == dataset_id
    if match.known_at is not None:
        mine &= t.c.created_at <= match.known_at
    recent = (t.c.updated_at.desc(), t.c.id.desc())
    named = {row.id: row for row in connection.execute(_named(connection, mine, match))}
    best: dict[int, tuple[int, Any]] = {
        i: (score_keys(match.question_key, match.terms, row.name_key, row.desc_key), row) for i, row in named.items()
    }
    if match.terms:
        points = _points(connection, match.terms)
        scored = sa.select(t.c.id, t.c.updated_at, points.label("points")).where(mine & (points > 0))
        top = scored.order_by(sa.desc("points"), *recent).limit(match.seeds + len(named))
        for row in connection.execute(top):
            best.setdefault(row.id, (row.points, row))
    ranked = sorted(
        (item for item in best.values() if item[0] > 0), key=lambda s: (s[0], s[1].updated_at, s[1].id), reverse=True
    )
    if ranked:
        return by_ids(connection, [row.id for _, row in ranked[: match.seeds]])
    return [entity_of(row) for row in connection.execute(ENTITY.where(mine).order_by(*recent).limit(match.recent))]


def by_ids(connection: Connection, ids: list[int]) -> list[Entity]:
    """The entities of these ids, in this order."""
    found = {row.id: entity_of(row) for row in connection.execute(ENTITY.where(t.c.id.in_(ids)))} if ids else {}
    return [found[i] for i in ids if i in found]


def _holds(connection: Connection, text: Any, part: Any) -> sa.ColumnElement[int]:
    position = sa.func.strpos if connection.dialect.name == "postgresql" else sa.func.instr
    return position(text, part)


def _named(connection: Connection, mine: sa.ColumnElement[bool], match: Match) -> sa.Select[*tuple[Any, ...]]:
    question = sa.literal(match.question_key)
    columns = (t.c.id, t.c.name_key, t.c.desc_key, t.c.updated_at)
    return sa.select(*columns).where(mine & (_holds(connection, question, t.c.name_key) > 0))


def _points(connection: Connection, words: tuple[str, ...]) -> sa.ColumnElement[int]:
    def points(column: Any, word: str, worth: int) -> sa.ColumnElement[int]:
        return sa.case((_holds(connection, column, sa.literal(word)) > 0, worth), else_=0)

    parts = [points(t.c.name_key, w, IN_NAME) for w in words] + [points(t.c.desc_key, w, IN_DESCRIPTION) for w in words]
    total: sa.ColumnElement[int] = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
