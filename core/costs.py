"""costs: the operation, what model calls took and cost, summed."""

from __future__ import annotations

from typing import Annotated, Any, cast

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema

from core.core import Core
from core.errors import UnknownDatabase
from core.ports import COST_KEYS, CostFilter, CostKey, CostSum
from core.requests import Label, ReadTime, Request, Response
from core.times import utc


def _keys(value: str) -> str:
    wrong = [key for key in _split(value) if key not in COST_KEYS]
    if wrong:
        raise ValueError(f"must name some of {', '.join(COST_KEYS)}, separated by commas")
    return value


def _split(value: str) -> list[str]:
    return list(dict.fromkeys(key.strip() for key in value.split(",") if key.strip()))


def check_database(core: Core, db: str) -> None:
    """Raises UnknownDatabase unless it is the name of the database that is open."""
    if db != core.database:
        raise UnknownDatabase("db: not found; the only database is the one that is open", param="db")


class CostsRequest(Request):
    # `from` is what the query string says, and no name that Python allows.
    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)

    db: Annotated[str, Field(description="The name of the open database.")]
    by: Annotated[
        str,
        AfterValidator(_keys),
        Field(description=f"How to group, some of {', '.join(COST_KEYS)}, separated by commas. Default: not at all."),
    ] = ""
    since: Annotated[
        ReadTime,
        WithJsonSchema({"type": "string"}),
        Field(alias="from", description="Only calls at this time or later (RFC 3339 or a date)."),
    ] = None
    until: Annotated[
        ReadTime,
        WithJsonSchema({"type": "string"}),
        Field(alias="to", description="Only calls before this time (RFC 3339 or a date)."),
    ] = None
    user_id: Annotated[Label, Field(description="Only calls for this user.")] = None
    dataset: Annotated[Label, Field(description="Only calls for datasets of this name.")] = None


class Sums(Response):
    """Model calls, the tokens they took and what they cost. `input_tokens` counts all prompt tokens, the cached and
    newly cached ones included; `output_tokens` includes thinking."""

    calls: int
    input_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    output_tokens: int
    thinking_tokens: int
    cost_usd: float


class CostRow(Sums):
    """The sums of one group, named by the keys that were asked for. A day is one of UTC."""

    day: str | None = None
    stage: str | None = None
    model: str | None = None
    user: str | None = None
    type: str | None = None


class CostsResponse(Response):
    """The groups in the order of their keys, and the sum of all."""

    db: str
    by: list[CostKey]
    rows: list[CostRow]
    total: Sums


async def costs(core: Core, request: CostsRequest) -> CostsResponse:
    """Sum model calls, their tokens and what they cost, by day, stage, model, user or type."""
    check_database(core, request.db)
    by = cast("list[CostKey]", _split(request.by))
    among = CostFilter(
        since=request.since and utc(request.since),
        until=request.until and utc(request.until),
        user_id=request.user_id,
        dataset=request.dataset,
    )
    groups = await core.costs.sums(by, among) if by else []
    (total,) = await core.costs.sums([], among)
    rows = [CostRow(**dict(zip(by, group.keys, strict=True)), **_sums(group)) for group in groups]
    return CostsResponse(db=request.db, by=by, rows=rows, total=Sums(**_sums(total)))


def _sums(group: CostSum) -> dict[str, Any]:
    return {name: getattr(group, name) for name in Sums.model_fields}
