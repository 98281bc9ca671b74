"""Facts as they are shown: lists by page, and all of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.browse.stored import EdgeFilter, EdgeVersion, Page, WholeEdge, Window
from core.graph import Edge
from core.text import fold
from storage import tables as t
from storage.pages import Rule, count, linked, page_of, seen_in, supports, told_by, within
from storage.rows import EDGE, SOURCE_NAME, TARGET_NAME, edge_of

_ORDER = (t.edges.c.created_seq, t.edges.c.id)
_NEWEST = tuple(column.desc() for column in _ORDER)
_WORDED = (SOURCE_NAME, t.edges.c.relation, TARGET_NAME, t.edges.c.description)


def edge_page(connection: Connection, dataset_id: int, among: EdgeFilter, window: Window) -> Page[Edge]:
    """Facts, those learned last first."""
    rules = _edge_rules(dataset_id, among)
    if among.words:
        return _worded(connection, rules, among.words, window)
    select = EDGE.add_columns(t.edges.c.created_seq)
    behind = sa.tuple_(*_ORDER) < sa.tuple_(*map(sa.literal, window.after)) if window.after else sa.true()
    rows = connection.execute(select.where(*rules, behind).order_by(*_NEWEST).limit(window.limit + 1)).all()
    page = page_of(rows, count(connection, t.edges, rules), window, lambda row: (row[-1], row[0]))
    return Page(tuple(edge_of(row[:-1]) for row in page.rows), page.total, page.last)


def _worded(connection: Connection, rules: Sequence[Rule], words: Sequence[str], window: Window) -> Page[Edge]:
    """The facts that hold all of the words. No table has their words folded, so every fact that keeps the rules is
    looked at, and only those of the page are read whole."""
    said = EDGE.with_only_columns(*_WORDED, *_ORDER).where(*rules).order_by(*_NEWEST)
    found = [(row[-2], row[-1]) for row in connection.execute(said) if _holds(words, *row[:4])]
    behind = [key for key in found if window.after is None or key < window.after]
    page = page_of(behind, len(found), window, lambda key: key)
    select = EDGE.where(t.edges.c.id.in_([edge_id for _, edge_id in page.rows])).order_by(*_NEWEST)
    return Page(tuple(map(edge_of, connection.execute(select))), page.total, page.last)


def _holds(words: Sequence[str], source: str, relation: str, target: str, description: str) -> bool:
    said = fold(f"{source} {relation.replace('_', ' ')} {target} {relation} {description}")
    return all(word in said for word in words)


def _edge_rules(dataset_id: int, among: EdgeFilter) -> list[Rule]:
    e, seen, links = t.edges, t.edge_sessions.c, t.edge_artifacts
    found: list[sa.Select[Any]] = []
    if among.entity_id is not None:
        mine = e.c.dataset_id == dataset_id
        ends = (linked(e.c.id, mine, end == among.entity_id) for end in (e.c.source_id, e.c.target_id))
        found.append(sa.select(sa.union(*ends).subquery()))
    if among.artifact_id is not None:
        found.append(linked(links.c.edge_id, told_by(links, dataset_id, among.artifact_id)))
    if among.session_id is not None:
        found.append(linked(seen.edge_id, seen.dataset_id == dataset_id, seen.session_id == among.session_id))
    rules = within(e, dataset_id, found)
    if among.relation is not None:
        rules.append(e.c.relation == among.relation)
    if among.live is not None:
        rules.append(e.c.expired_at.is_(None) if among.live else e.c.expired_at.is_not(None))
    if among.as_of is not None:
        rules.append((e.c.valid_at <= among.as_of) & (e.c.invalid_at.is_(None) | (e.c.invalid_at > among.as_of)))
    if among.since is not None:
        rules.append(e.c.created_at > among.since)
    return rules


def whole_edge(connection: Connection, dataset_id: int, edge_id: int, window: Window) -> WholeEdge | None:
    """All of a fact."""
    row = connection.execute(EDGE.where(t.edges.c.id == edge_id, t.edges.c.dataset_id == dataset_id)).one_or_none()
    if row is None:
        return None
    edge = edge_of(row)
    wording = [fold(words) for words in (edge.description, edge.target, edge.source)]
    v = t.edge_versions
    columns = (
        v.c.changed_at,
        v.c.valid_at,
        v.c.invalid_at,
        v.c.expired_at,
        v.c.valid_at_source,
        v.c.invalid_at_source,
        v.c.closed_by,
    )
    before = sa.select(*columns).where(v.c.edge_id == edge_id).order_by(v.c.seq)
    return WholeEdge(
        edge=edge,
        artifacts=supports(connection, t.edge_artifacts, t.edge_artifacts.c.edge_id, edge_id, window, wording),
        sessions=seen_in(connection, t.edge_sessions, t.edge_sessions.c.edge_id, edge_id, window),
        history=tuple(EdgeVersion(*version) for version in connection.execute(before)),
    )
