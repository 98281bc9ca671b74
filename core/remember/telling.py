"""Telling: what one remember call is told, ready to be read and stored."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from core.graph import Artifact
from core.times import utc

if TYPE_CHECKING:
    from core.remember.remember import RememberRequest


@dataclass(frozen=True, slots=True)
class Telling:
    """The text and when it was written. `reference_time` keeps the offset that it was given with."""

    text: str
    reference_time: datetime
    artifact: Artifact

    @classmethod
    def of(cls, request: RememberRequest, text: str, now: datetime) -> Telling:
        told = request.reference_time or now
        told = told if told.tzinfo else utc(told)
        return cls(text, told, Artifact(request.kind, text, request.session_id, utc(told), now))


def parameters(request: RememberRequest) -> dict[str, object]:
    """What the run log keeps of a request: everything but the text, of which it keeps the size and the SHA-256."""
    kept: dict[str, object] = request.model_dump(
        mode="json", exclude={"user_id", "text", "entities", "edges"}, exclude_defaults=True
    )
    encoded = request.text.encode()
    return kept | {"text_bytes": len(encoded), "text_sha256": hashlib.sha256(encoded).hexdigest()}
