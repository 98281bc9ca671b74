"""Telling: what one remember call is told, ready to be read and stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.graph import Artifact, Kind
from core.times import utc


@dataclass(frozen=True, slots=True)
class Telling:
    """The text and when it was written. `reference_time` keeps the offset that it was given with."""

    text: str
    reference_time: datetime
    artifact: Artifact

    @classmethod
    def of(
        cls, text: str, kind: Kind, session_id: str | None, reference_time: datetime | None, now: datetime
    ) -> Telling:
        """A reference time without a zone is UTC; none is the current time."""
        told = reference_time or now
        told = told if told.tzinfo else utc(told)
        return cls(text, told, Artifact(kind, text, session_id, utc(told)))
