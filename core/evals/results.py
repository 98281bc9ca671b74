"""EvalResults: what a run of the goldens found, golden by golden."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from core.evals.trace import QueryType, Reply, RouteKind
from core.requests import Response
from core.wire import Time


class QueryCheck(Response):
    """The rows of the answer's query against those of the golden's, both read at the same commit."""

    same: int
    missing: Annotated[int, Field(description="Rows that only the golden's query has.")]
    extra: Annotated[int, Field(description="Rows that only the answer's query has.")]

    @property
    def passed(self) -> bool:
        """Whether both hold the same rows."""
        return not self.missing and not self.extra


class RouteCheck(Response):
    """The router's pick against the route of the golden. It scores the router and changes no verdict."""

    expected: RouteKind
    router: RouteKind
    probability: float
    right: bool


class VerdictDetail(Response):
    """How one golden was met."""

    verdict: Literal["pass", "fail", "error", "skipped"]
    via: Literal["ask", "query", "app"]
    message: str | None = None
    sparql: Annotated[str | None, Field(description="The query of the answer.")] = None
    route: RouteKind | None = None
    reply: Reply | None = None
    expected_type: QueryType | None = None
    query_type: QueryType | None = None
    query_check: QueryCheck | None = None
    route_check: RouteCheck | None = None
    item_count: int | None = None
    relevant_returned: int | None = None
    relevant_missing: int | None = None
    wrong_returned: int | None = None
    unknown_returned: int | None = None
    precision: float | None = None
    recall: float | None = None
    cost_micro_usd: int | None = None


class EvalResults(Response):
    """One run. `score` is the share of the checked goldens that passed; 1 where there are none."""

    ran_at: Time
    ran_by: Literal["manual"] = "manual"
    runner: Annotated[str | None, Field(description="The app whose answers these are; absent for our own.")] = None
    served_at_seq: int
    goldens_version: int
    elapsed_ms: int
    total: int
    passed: int
    failed: int
    errors: int
    skipped: int
    score: float
    regression: Annotated[bool, Field(description="The score is below the threshold of the settings.")]
    precision: float | None = None
    recall: float | None = None
    route_checked: int | None = None
    route_right: int | None = None
    cost_micro_usd: int | None = None
    verdicts: dict[str, VerdictDetail]
    v: int = 2


class EvalSettings(Response):
    """How goldens are run: only on demand, whatever the mode says."""

    mode: Literal["off", "advisory"] = "advisory"
    threshold: float = 0.9
    max_goldens: int = 200
    v: int = 1
