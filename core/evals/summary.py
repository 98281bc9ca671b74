"""evals_summary, evals_results, evals_settings and evals_set_settings: the operations that show how answers have done,
and how they are checked. And evals_judge, which nobody serves."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from core.core import Core
from core.errors import NotConfigured
from core.evals.golden import MAX_GOLDENS
from core.evals.results import EvalResults, EvalSettings
from core.evals.run_answers import Runner
from core.evals.writable import written_graph
from core.graphs.graph_of import graph_of
from core.graphs.requests import GraphRequest
from core.requests import Response, Whole
from core.wire import Time

# Runs whose scores the summary shows, and runs that are kept of each runner.
SHOWN_RUNS = 50
MAX_RESULTS = 100


class EvalsRequest(GraphRequest):
    """Whose evals."""


class ResultsRequest(GraphRequest):
    limit: Annotated[Whole, Field(ge=1, le=MAX_RESULTS, description="How many at most, 1 to 100.")] = 20
    runner: Annotated[Runner | None, Field(description="The app whose runs are meant. Default: our own.")] = None


class ResultsResponse(Response):
    """Runs, newest first."""

    results: list[EvalResults]


class SetSettingsRequest(GraphRequest):
    mode: Annotated[
        Literal["off", "advisory"] | None, Field(description="Kept for clients: goldens are only run on demand.")
    ] = None
    threshold: Annotated[
        float | None, Field(ge=0, le=1, description="A run with a lower score is told as a regression.")
    ] = None
    max_goldens: Annotated[
        Whole | None, Field(ge=0, le=MAX_GOLDENS, description="Goldens that a run meets at most, 0 to 2,000.")
    ] = None
    v: Annotated[Whole | None, Field(ge=1, le=1, description="The version of the settings: 1.")] = None


class JudgeRequest(GraphRequest):
    trace: Annotated[str | None, Field(max_length=64, description="The trace to be judged.")] = None
    limit: Annotated[Whole | None, Field(ge=1, le=MAX_RESULTS, description="How many traces.")] = None


class Judge(Response):
    """Whether a model labels rows by itself: none does."""

    available: bool = False
    provider: str = "off"


class ScorePoint(Response):
    """How one run did."""

    ran_at: Time
    served_at_seq: int
    score: float
    passed: int
    failed: int
    regression: bool
    precision: float | None = None
    recall: float | None = None


class EvalsSummary(Response):
    """The state of the evals of a dataset."""

    goldens: int
    goldens_from_traces: int
    goldens_manual: int
    judged_results: int
    suite_version: int
    unlabeled_traces: Annotated[int, Field(description="Traces of which nobody said anything yet.")]
    review_traces: int = 0
    history: Annotated[list[ScorePoint], Field(description="Our own runs, oldest first.")]
    latest: EvalResults | None = None
    settings: EvalSettings
    judge: Judge = Judge()


async def summary(core: Core, request: EvalsRequest) -> EvalsSummary:
    """Tell how many goldens and unlabelled traces there are, and how the runs have scored."""
    dataset = await graph_of(core, request)
    suite = await core.evals.suite(dataset)
    runs = await core.evals.results(dataset, None, SHOWN_RUNS)
    from_traces = sum(golden.origin == "trace" for golden in suite.goldens)
    return EvalsSummary(
        goldens=len(suite.goldens),
        goldens_from_traces=from_traces,
        goldens_manual=len(suite.goldens) - from_traces,
        judged_results=sum(len(golden.judgments) for golden in suite.goldens),
        suite_version=suite.version,
        unlabeled_traces=await core.evals.unlabeled(dataset),
        history=[ScorePoint.model_validate(run, from_attributes=True) for run in reversed(runs)],
        latest=runs[0] if runs else None,
        settings=await core.evals.settings(dataset),
    )


async def results(core: Core, request: ResultsRequest) -> ResultsResponse:
    """List what runs found, newest first: our own, or those of one app."""
    dataset = await graph_of(core, request)
    return ResultsResponse(results=await core.evals.results(dataset, request.runner, request.limit))


async def settings(core: Core, request: EvalsRequest) -> EvalSettings:
    """Show how goldens are run."""
    return await core.evals.settings(await graph_of(core, request))


async def set_settings(core: Core, request: SetSettingsRequest) -> EvalSettings:
    """Change how goldens are run; what is left out stays."""
    dataset = await written_graph(core, request)
    given = request.model_dump(include={"mode", "threshold", "max_goldens"}, exclude_none=True)
    return await core.evals.set_settings(dataset, lambda before: before.model_copy(update=given))


async def judge(_core: Core, _request: JudgeRequest) -> Judge:
    """Not served: no model labels answers. People and agents do, with a label."""
    raise NotConfigured("no model judges answers here; label them yourself")
