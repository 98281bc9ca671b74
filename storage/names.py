"""Which stored entity does a name mean: one of that name, else one that another of that name was merged into."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.graph import Entity, EntityRef
from core.text import name_key
from storage import tables as t
from storage.rows import ENTITY, entity_of

_KEYS = sa.bindparam("keys", expanding=True, type_=sa.String)
_NAMED = ENTITY.where(t.entities.c.dataset_id == sa.bindparam("dataset"), t.entities.c.name_key.in_(_KEYS)).order_by(
    t.entities.c.id
)
_KNOWN_AS = (
    ENTITY.add_columns(t.aliases.c.name_key, t.aliases.c.type.label("alias_type"))
    .join(t.aliases, t.aliases.c.entity_id == t.entities.c.id)
    .where(t.aliases.c.dataset_id == sa.bindparam("dataset"), t.aliases.c.name_key.in_(_KEYS))
    .order_by(t.aliases.c.former_id)
)


def named(connection: Connection, dataset_id: int, keys: Iterable[str]) -> dict[EntityRef, Entity]:
    """The stored entities of these names, by name and type, and by name alone (the first of that name)."""
    values = {"dataset": dataset_id, "keys": list(keys)}
    known: dict[EntityRef, Entity] = {}
    if not values["keys"]:
        return known
    for row in connection.execute(_NAMED, values):
        entity = entity_of(row)
        key = name_key(entity.name)
        known[EntityRef(key, entity.type)] = entity
        known.setdefault(EntityRef(key, None), entity)
    for *row, key, type_ in connection.execute(_KNOWN_AS, values):
        known.setdefault(EntityRef(key, type_), entity_of(row))
        known.setdefault(EntityRef(key, None), entity_of(row))
    return known
