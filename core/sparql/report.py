"""What the search by meaning inside a query did, as the response tells it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.embeddings.status import UsageShown

Plan = Literal["nearest", "filter_first", "search_first"]


class SearchTimings(BaseModel):
    """Milliseconds of its parts: embedding the words, the vector index, the checks in the graph."""

    model_config = ConfigDict(frozen=True)

    total_ms: int
    embed_ms: int
    index_ms: int
    check_ms: int
    resolve_ms: int
    filter_ms: int = 0
    rerank_ms: int = 0


class SearchReport(BaseModel):
    """The hits are bound into the query as a table; its other patterns filter and join."""

    model_config = ConfigDict(frozen=True)

    plan: Plan
    top: Annotated[int, Field(description="How many records it was asked for.")]
    hits: Annotated[int, Field(description="How many it found and bound.")]
    complete: Annotated[bool, Field(description="False where more may be there than were found.")]
    candidates: Annotated[int, Field(description="Records whose similarity was worked out.")]
    entries_considered: int
    clusters_probed: int = 0
    rounds: Annotated[int, Field(description="How often the search was widened, the first time included.")]
    embeddings: list[str]
    model_id: str
    lag_commits: int
    embedded_through_seq: int | None = None
    usage: UsageShown
    timings: SearchTimings
