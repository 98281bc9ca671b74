"""What requests about a dataset's graph share. On the wire of these routes the dataset is the parameter `graph`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from core.requests import USER_ID, DatasetName, Request, RowId, UserId

MAIN = "main"


class GraphRequest(Request):
    """A request about the graph of one dataset."""

    user_id: Annotated[UserId, USER_ID]
    dataset: Annotated[DatasetName, Field(description="The dataset. Default: main.")] = MAIN


class GraphRead(GraphRequest):
    """A read of it. What is written is visible at once: both consistencies read the newest commit, and a floor is
    refused only where it is above it."""

    consistency: Annotated[
        Literal["eventual", "strong"], Field(description="eventual and strong both read the newest commit.")
    ] = "eventual"
    min_indexed_seq: Annotated[RowId | None, Field(description="The lowest commit that the read may be of.")] = None
