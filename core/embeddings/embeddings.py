"""Embeddings: classes whose records can be searched by meaning."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.core import Core
from core.embeddings.declare import Name, no_embedder
from core.embeddings.keep import Pass, catch_up
from core.embeddings.ports import Embedding
from core.embeddings.status import EmbeddingStatus, UsageShown, status_of
from core.errors import InvalidRequest, NotFound
from core.graph import Dataset
from core.graphs.graph_of import graph_of
from core.graphs.requests import GraphRequest
from core.requests import Response


class EmbeddingsRequest(GraphRequest):
    """Which embeddings are shown."""

    name: Annotated[Name | None, Field(description="Only this one, by itself.")] = None


class EmbeddingList(Response):
    """The embeddings of a graph."""

    embeddings: list[EmbeddingStatus]
    model_id: str | None = None
    dim: int | None = None

    def body(self) -> dict[str, Any]:
        """The JSON object of the response, as clients read it."""
        return self.model_dump(mode="json", exclude_none=True, by_alias=True)


class RefreshEmbeddingRequest(GraphRequest):
    """Which embedding."""

    name: Name


class RefreshStep(BaseModel):
    """What a look at the records of the class did, at all of them or at those that commits changed: `scanned` counts
    them, `reused` those whose text was the same."""

    model_config = ConfigDict(frozen=True)

    action: Literal["backfill", "incremental", "idle"]
    name: str
    version: int
    scanned: int
    embedded: int
    reused: int
    removed: int
    more: bool
    usage: UsageShown


class RefreshEmbeddingResponse(Response):
    """How the embedding stands, and what was done."""

    embedding: EmbeddingStatus
    steps: list[RefreshStep]

    def body(self) -> dict[str, Any]:
        """The JSON object of the response, as clients read it."""
        return self.model_dump(mode="json", exclude_none=True, by_alias=True)


class DeleteEmbeddingRequest(GraphRequest):
    """Which embedding, said twice."""

    name: Name
    confirm: Annotated[str, Field(description="Its name once more.")]


class DeleteEmbeddingResponse(Response):
    """It is gone."""

    ok: bool
    name: str


async def embeddings(core: Core, request: EmbeddingsRequest) -> EmbeddingList | EmbeddingStatus:
    """Show which classes can be searched by meaning, and how far their entries follow the graph."""
    dataset = await graph_of(core, request)
    if request.name is not None:
        return status_of(await _named(core, dataset, request.name), dataset)
    found = await core.embeddings.all(dataset)
    first = found[0] if found else None
    return EmbeddingList(
        embeddings=[status_of(one, dataset) for one in found],
        model_id=first and first.model,
        dim=first and first.dim,
    )


async def refresh_embedding(core: Core, request: RefreshEmbeddingRequest) -> RefreshEmbeddingResponse:
    """Embed what changed in the records of a class now, instead of in the background."""
    dataset = await graph_of(core, request)
    embedding = await _named(core, dataset, request.name)
    if core.embedder is None:
        raise no_embedder()
    done = await catch_up(core, core.embedder, dataset, embedding)
    after = await _named(core, dataset, request.name)
    steps = [_step(embedding, after, done)] if done else []
    return RefreshEmbeddingResponse(embedding=status_of(after, dataset), steps=steps)


async def delete_embedding(core: Core, request: DeleteEmbeddingRequest) -> DeleteEmbeddingResponse:
    """Delete an embedding with its vectors. The records stay."""
    if request.confirm != request.name:
        raise InvalidRequest("confirm: must be the name of the embedding", param="confirm")
    dataset = await graph_of(core, request)
    await core.embeddings.delete(await _named(core, dataset, request.name))
    return DeleteEmbeddingResponse(ok=True, name=request.name)


async def _named(core: Core, dataset: Dataset, name: str) -> Embedding:
    found = await core.embeddings.all(dataset)
    for one in found:
        if one.name == name:
            return one
    there = ", ".join(one.name for one in found) or "none"
    raise NotFound(f"name: not found; the embeddings of this graph are {there}", param="name")


def _step(before: Embedding, after: Embedding, done: Pass) -> RefreshStep:
    changed = done.spent.texts + done.removed
    return RefreshStep(
        action="backfill" if before.seq is None else "incremental" if changed else "idle",
        name=after.name,
        version=after.version,
        scanned=done.scanned,
        embedded=done.spent.texts,
        reused=done.scanned - done.spent.texts,
        removed=done.removed,
        more=False,
        usage=UsageShown.of(done.spent),
    )
