"""Field types and answers that forget, undo, purge and merge share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from core.ports import Removal, Tombstone
from core.requests import Response
from core.wire import Time

DRY_RUN = Field(description="true: change nothing, only tell what would go.")
TOMBSTONE_ID = Field(description="The tombstone that forget or merge answered with.")
Counts = Annotated[Mapping[str, int], Field(description="Rows by kind.")]


class TombstoneItem(Response):
    """What was forgotten or merged: what, how much, when, and until when it can be undone."""

    tombstone_id: int
    action: str
    scope: str
    id: str | None = None
    dataset: str | None = None
    counts: Counts
    created_at: Time
    undo_until: Time | None = None
    undone_at: Time | None = None
    purged_at: Time | None = None

    @classmethod
    def of(cls, tombstone: Tombstone) -> TombstoneItem:
        open_still = tombstone.undone_at is None and tombstone.purged_at is None
        return cls(
            tombstone_id=tombstone.id,
            action=tombstone.action,
            scope=tombstone.scope,
            id=tombstone.target,
            dataset=tombstone.dataset,
            counts=tombstone.counts,
            created_at=tombstone.created_at,
            undo_until=tombstone.undo_until if open_still else None,
            undone_at=tombstone.undone_at,
            purged_at=tombstone.purged_at,
        )


def rows_in(removal: Removal) -> int:
    """How many rows of the graph go."""
    return sum(removal.counts.get(kind, 0) for kind in ("artifacts", "entities", "edges", "triples"))
