"""Writes of a graph that their callers gave names to."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from core.graphs.requests import GraphRequest
from core.rdf.ports import Loaded, Once
from core.requests import Response


class NamedWrite(GraphRequest):
    """A write that may come twice, because its answer was lost on the way."""

    idempotency_key: Annotated[
        str | None,
        Field(
            max_length=255,
            description="A name that the caller gives to this write (or the header Idempotency-Key): sent again within "
            "a day with the same content, it is answered as the first time and changes nothing.",
        ),
    ] = None

    def once(self, answer: Callable[[Loaded], Response]) -> Once | None:
        """The name of the write with the digest of what it says; None where it has none."""
        if not self.idempotency_key:
            return None
        content = self.model_dump_json(exclude={"idempotency_key"})
        digest = hashlib.sha256(content.encode()).hexdigest()
        return Once(self.idempotency_key, digest, lambda loaded: answer(loaded).body())
