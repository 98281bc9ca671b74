"""Rows as the doors show them: the fields, names and time format that the product documents promise."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import PlainSerializer, WithJsonSchema

from core.graph import Edge, Entity
from core.requests import Response
from core.times import rfc3339

Time = Annotated[
    datetime,
    PlainSerializer(rfc3339, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class EntityItem(Response):
    """An entity: `id` is its row."""

    id: int
    name: str
    type: str
    description: str | None = None

    @classmethod
    def of(cls, entity: Entity) -> EntityItem:
        return cls(id=entity.id, name=entity.name, type=entity.type, description=entity.description or None)


class EdgeItem(Response):
    """A fact, its two ends by id and name, and its four times (null ones are omitted)."""

    id: int
    source_id: int
    target_id: int
    source: str
    target: str
    relation: str
    description: str | None = None
    artifact_id: int | None = None
    valid_at: Time
    invalid_at: Time | None = None
    created_at: Time
    expired_at: Time | None = None

    @classmethod
    def of(cls, edge: Edge, *, described: bool) -> EdgeItem:
        return cls(
            id=edge.id,
            source_id=edge.source_id,
            target_id=edge.target_id,
            source=edge.source,
            target=edge.target,
            relation=edge.relation,
            description=(edge.description or None) if described else None,
            artifact_id=edge.artifact_id,
            valid_at=edge.valid_at,
            invalid_at=edge.invalid_at,
            created_at=edge.created_at,
            expired_at=edge.expired_at,
        )
