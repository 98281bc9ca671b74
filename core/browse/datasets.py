"""datasets: the operation, what a user has, by dataset."""

from __future__ import annotations

from typing import Annotated

from core.browse.requests import Paged, next_cursor, window
from core.core import Core
from core.requests import USER_ID, Response, UserId
from core.wire import Time


class DatasetsRequest(Paged):
    user_id: Annotated[UserId, USER_ID]


class DatasetItem(Response):
    """A dataset and how much it holds. `commits` is how many writes it has had."""

    name: str
    artifacts: int
    entities: int
    edges: int
    commits: int
    created_at: Time
    last_write_at: Time | None = None
    embedding_model: str | None = None


class DatasetsResponse(Response):
    """The user's datasets by name."""

    items: list[DatasetItem]
    total: int
    next_cursor: str | None = None


async def datasets(core: Core, request: DatasetsRequest) -> DatasetsResponse:
    """List the datasets of a user: how much each holds, and when it was written last."""
    page = await core.reader.datasets(request.user_id, window(request, "datasets", key=[str]))
    return DatasetsResponse(
        items=[DatasetItem.model_validate(row, from_attributes=True) for row in page.rows],
        total=page.total,
        next_cursor=next_cursor("datasets", page),
    )
