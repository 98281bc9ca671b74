"""graphs: which graphs a user has."""

from __future__ import annotations

from bisect import bisect_right
from typing import Annotated, Literal

from pydantic import Field

from core.core import Core
from core.requests import USER_ID, Label, Limit, Request, Response, UserId


class GraphsRequest(Request):
    user_id: Annotated[UserId, USER_ID]
    limit: Limit = 500
    cursor: Annotated[Label, Field(description="The next_cursor of the page before.")] = None


class GraphName(Response):
    graph_id: str


class GraphsResponse(Response):
    """The graphs by name, a page of them. `next_cursor` is there where more follow."""

    object: Literal["list"] = "list"
    data: list[GraphName]
    has_more: bool
    next_cursor: str | None = None


async def graphs(core: Core, request: GraphsRequest) -> GraphsResponse:
    """List the graphs of a user."""
    names = sorted(await core.graph.dataset_names(request.user_id))
    begin = bisect_right(names, request.cursor) if request.cursor else 0
    page = names[begin : begin + request.limit]
    more = begin + request.limit < len(names)
    return GraphsResponse(
        data=[GraphName(graph_id=name) for name in page], has_more=more, next_cursor=page[-1] if more else None
    )
