"""The rows that the RDF view is made of, and what a commit changes in them. Sent to the process that holds the view, so
it imports nothing but the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(moment: datetime) -> int:
    """Since 1970, UTC."""
    return (moment - _EPOCH) // _MICROSECOND


class EntityRow(NamedTuple):
    """An entity as the view shows it."""

    name: str
    type: str
    description: str
    aliases: tuple[str, ...] = ()
    """The names of those that were merged into it, in order."""


class FactRow(NamedTuple):
    """A fact with its four times, in microseconds since 1970 (UTC), and where it came from."""

    source_id: int
    relation: str
    target_id: int
    valid_at: int
    invalid_at: int | None
    created_at: int
    expired_at: int | None
    description: str = ""
    artifact_id: int | None = None
    """The artifact that it was first read from."""
    artifacts: tuple[int, ...] = ()
    """All that state it."""
    sessions: tuple[str, ...] = ()


class ArtifactRow(NamedTuple):
    """A source of facts: its beginning, not its text."""

    kind: str
    valid_at: int
    created_at: int
    session_id: str | None
    speaker: str | None
    parent_id: int | None
    beginning: str


class QuadRow(NamedTuple):
    """A loaded triple, its terms as N-Triples writes them; `graph` is empty for the default graph."""

    subject: str
    predicate: str
    object: str
    graph: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows as they are at the commit `seq`, by id; None is a row that is not there at that commit. `whole`: these are
    all rows there are, nothing of what the view held counts any more. `at` is the time of the commit (microseconds)."""

    seq: int
    at: int
    entities: Mapping[int, EntityRow | None] = field(default_factory=dict[int, EntityRow | None])
    facts: Mapping[int, FactRow | None] = field(default_factory=dict[int, FactRow | None])
    artifacts: Mapping[int, ArtifactRow | None] = field(default_factory=dict[int, ArtifactRow | None])
    quads: Mapping[int, QuadRow | None] = field(default_factory=dict[int, QuadRow | None])
    whole: bool = False
