"""Entities as they are shown: lists by page, and all of one."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.browse.stored import Alias, EdgeFilter, EntityFilter, Page, WholeEntity, Window
from core.graph import Entity
from core.text import name_key, without_accents
from storage import tables as t
from storage.browse_edges import edge_page
from storage.pages import Rule, holds, linked, newest_by_id, page_of, seen_in, supports, told_by, within
from storage.rows import ENTITY, entity_of


def entity_page(connection: Connection, dataset_id: int, among: EntityFilter, window: Window) -> Page[Entity]:
    """Entities, newest first."""
    e = t.entities
    rules: list[Rule] = [*_found_by(dataset_id, among), *holds(connection, among.words, e.c.name_key, e.c.desc_key)]
    if among.type is not None:
        rules.append(e.c.type == among.type)
    if among.since is not None:
        rules.append(e.c.created_at > among.since)
    rows, total = newest_by_id(connection, ENTITY, e, rules, window)
    return page_of([entity_of(row) for row in rows], total, window, lambda entity: (entity.id,))


def _found_by(dataset_id: int, among: EntityFilter) -> list[Rule]:
    """The rules that an index answers."""
    e, former, seen, links = t.entities.c, t.aliases.c, t.entity_sessions.c, t.entity_artifacts
    found: list[sa.Select[Any]] = []
    if among.name_key is not None:
        own = linked(e.id, e.dataset_id == dataset_id, e.name_key == among.name_key)
        other = linked(former.entity_id, former.dataset_id == dataset_id, former.name_key == among.name_key)
        found.append(sa.select(sa.union(own, other).subquery()))
    if among.session_id is not None:
        found.append(linked(seen.entity_id, seen.dataset_id == dataset_id, seen.session_id == among.session_id))
    if among.artifact_id is not None:
        found.append(linked(links.c.entity_id, told_by(links, dataset_id, among.artifact_id)))
    return within(t.entities, dataset_id, found)


def entity_names(connection: Connection, dataset_id: int, beginning: str, limit: int) -> Page[str]:
    """Names that begin so, whatever their case and accents, each once; of those named last first."""
    e = t.entities.c
    start = without_accents(name_key(beginning))
    # The database can't take accents off: of keys that may have some, each is looked at here.
    may = sa.func.substr(e.name_key, 1, len(start)) == start
    rows = connection.execute(
        sa.select(e.name, e.name_key)
        .where(e.dataset_id == dataset_id, may | _is_not_ascii(connection, e.name_key))
        .order_by(e.updated_at.desc(), e.id.desc())
    )
    names = dict.fromkeys(name for name, key in rows if without_accents(key).startswith(start))
    return Page(tuple(names)[:limit], len(names))


def _is_not_ascii(connection: Connection, key: sa.Column[str]) -> Rule:
    """Whether a key has letters of more than one byte."""
    if connection.dialect.name == "sqlite":
        return sa.func.length(sa.cast(key, sa.LargeBinary)) != sa.func.length(key)
    return sa.func.octet_length(key) != sa.func.char_length(key)


def whole_entity(connection: Connection, dataset_id: int, entity_id: int, window: Window) -> WholeEntity | None:
    """All of an entity."""
    e, former = t.entities, t.aliases
    row = connection.execute(ENTITY.add_columns(e.c.name_key).where(e.c.id == entity_id, e.c.dataset_id == dataset_id))
    found = row.one_or_none()
    if found is None:
        return None
    entity, key = entity_of(found[:-1]), found[-1]
    others = ENTITY.where(e.c.dataset_id == dataset_id, e.c.name_key == key, e.c.id != entity_id).order_by(e.c.id)
    columns = (former.c.former_id, former.c.name, former.c.type, former.c.created_at)
    aliases = sa.select(*columns).where(former.c.entity_id == entity_id).order_by(former.c.former_id)
    return WholeEntity(
        entity=entity,
        edges=edge_page(connection, dataset_id, EdgeFilter(entity_id=entity_id), window),
        aliases=tuple(Alias(*alias) for alias in connection.execute(aliases)),
        same_name=tuple(map(entity_of, connection.execute(others))),
        artifacts=supports(connection, t.entity_artifacts, t.entity_artifacts.c.entity_id, entity_id, window, [key]),
        sessions=seen_in(connection, t.entity_sessions, t.entity_sessions.c.entity_id, entity_id, window),
    )
