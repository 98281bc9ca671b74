"""What requests about a dataset's graph share. On the wire of these routes the dataset is the parameter `graph`."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from core.requests import USER_ID, DatasetName, Request, RowId, UserId
from core.times import read_moment

MAIN = "main"


def _day(value: object) -> object:
    if isinstance(value, date) or value in (None, ""):
        return value or None
    stated = read_moment(value) if isinstance(value, str) else None
    if stated is None or stated.precision != "day":
        raise ValueError("must be a date such as 2026-03-01")
    return stated.at.date()


Day = Annotated[
    date | None,
    BeforeValidator(_day),
    WithJsonSchema({"type": "string", "format": "date"}),
]


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
