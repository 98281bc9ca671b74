"""update: single triples into a dataset, and out of it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.core import Core
from core.graphs.once import NamedWrite
from core.rdf.ports import Loaded
from core.requests import Response


class UpdateRequest(NamedWrite):
    update: Annotated[
        str, Field(description="INSERT DATA and DELETE DATA with their PREFIX lines, separated by semicolons.")
    ]


class UpdateResponse(Response):
    """What changed. `commit_seq` is missing where nothing did."""

    commit_seq: int | None = None
    added: int
    removed: int

    @classmethod
    def of(cls, loaded: Loaded) -> UpdateResponse:
        return cls(commit_seq=loaded.seq, added=loaded.added, removed=loaded.removed)


async def update(core: Core, request: UpdateRequest) -> UpdateResponse:
    """Add triples to a graph with INSERT DATA, and take loaded ones away with DELETE DATA: all of a request in one
    commit.

    What was remembered is not changed by it; forget and correct do that.
    """
    loaded = await core.triples.update(
        request.user_id, request.dataset, request.update, core.clock, request.once(UpdateResponse.of)
    )
    return UpdateResponse.of(loaded) if isinstance(loaded, Loaded) else UpdateResponse.model_validate(loaded.response)
