"""delete_graph: a graph forgotten as a whole."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from core.core import Core
from core.errors import InvalidRequest
from core.graphs.requests import GraphRequest
from core.ports import Order
from core.requests import Response


class DeleteGraphRequest(GraphRequest):
    confirm: Annotated[str, Field(description="The name of the graph once more.")]


class DeleteGraphResponse(Response):
    """What was deleted: rows of its tables. `tombstone_id` is what undo takes, until its time is over."""

    ok: bool
    graph_id: str
    deleted_objects: int
    deleted_bytes: int
    deleted_feedback_objects: int
    tombstone_id: int | None = None


async def delete_graph(core: Core, request: DeleteGraphRequest) -> DeleteGraphResponse:
    """Delete a graph with all that is in it. Its name is free at once; undo brings it back while nobody took that."""
    if request.confirm != request.dataset:
        raise InvalidRequest("confirm: must be the name of the graph", param="confirm")
    order = Order(
        user_id=request.user_id,
        dataset=request.dataset,
        scope="dataset",
        target=None,
        clock=core.clock,
        undo_for=timedelta(days=core.config.undo_days),
        allow=lambda _removal: None,
    )
    removal = await core.forgetting.forget(order)
    return DeleteGraphResponse(
        ok=True,
        graph_id=request.dataset,
        deleted_objects=sum(count for kind, count in removal.counts.items() if kind != "datasets"),
        deleted_bytes=0,  # what can be undone takes its place still
        deleted_feedback_objects=0,
        tombstone_id=removal.tombstone.id if removal.tombstone else None,
    )
