"""The operations on answers that become test cases: traces, labels, goldens and runs."""

from __future__ import annotations

from typing import Any

from core.evals.golden import GoldenSuite
from core.evals.goldens import (
    CreateGoldenRequest,
    GoldenDeleted,
    GoldenRequest,
    GoldenResponse,
    GoldensRequest,
    accept_golden,
    create_golden,
    delete_golden,
    goldens,
)
from core.evals.label import LabelRequest, LabelResponse, label
from core.evals.results import EvalSettings
from core.evals.run import RunRequest, RunResponse, run_goldens
from core.evals.run_answers import RunAnswersRequest, run_answers
from core.evals.summary import (
    EvalsRequest,
    EvalsSummary,
    Judge,
    JudgeRequest,
    ResultsRequest,
    ResultsResponse,
    SetSettingsRequest,
    judge,
    results,
    set_settings,
    settings,
    summary,
)
from core.evals.trace import EvalTrace
from core.evals.traces import TraceRequest, TracesRequest, TracesResponse, trace, traces
from core.requests import KIB, MIB
from gligabao_mcp.operation import Operation


def _read(name: str, title: str, handler: Any, request: Any, response: Any, path: str) -> Operation[Any, Any]:
    return Operation(
        name=name,
        title=title,
        handler=handler,
        request=request,
        response=response,
        path=path,
        method="GET",
        of_graph=True,
        reads_only=True,
    )


EVALS_LABEL = Operation(
    name="evals_label",
    title="Label an answer",
    handler=label,
    request=LabelRequest,
    response=LabelResponse,
    path="/v1/evals/label",
    of_graph=True,
    max_bytes=256 * KIB,
    reads_only=False,
)

EVALS_CREATE_GOLDEN = Operation(
    name="evals_create_golden",
    title="Create golden",
    handler=create_golden,
    request=CreateGoldenRequest,
    response=GoldenResponse,
    path="/v1/evals/goldens",
    of_graph=True,
    reads_only=False,
)

EVALS_ACCEPT_GOLDEN = Operation(
    name="evals_accept_golden",
    title="Accept golden",
    handler=accept_golden,
    request=GoldenRequest,
    response=GoldenResponse,
    path="/v1/evals/goldens/accept",
    of_graph=True,
    reads_only=False,
)

EVALS_DELETE_GOLDEN = Operation(
    name="evals_delete_golden",
    title="Delete golden",
    handler=delete_golden,
    request=GoldenRequest,
    response=GoldenDeleted,
    path="/v1/evals/goldens",
    method="DELETE",
    of_graph=True,
    reads_only=False,
    destroys=True,
)

EVALS_RUN = Operation(
    name="evals_run",
    title="Run the goldens",
    handler=run_goldens,
    request=RunRequest,
    response=RunResponse,
    path="/v1/evals/run",
    of_graph=True,
    reads_only=False,
    ends_with_caller=True,
)

EVALS_RUN_ANSWERS = Operation(
    name="evals_run_answers",
    title="Check answers",
    handler=run_answers,
    request=RunAnswersRequest,
    response=RunResponse,
    path="/v1/evals/run/answers",
    of_graph=True,
    max_bytes=8 * MIB,
    reads_only=False,
    ends_with_caller=True,
)

EVALS_SET_SETTINGS = Operation(
    name="evals_set_settings",
    title="Set evals settings",
    handler=set_settings,
    request=SetSettingsRequest,
    response=EvalSettings,
    path="/v1/evals/settings",
    method="PUT",
    of_graph=True,
    reads_only=False,
)

EVALS_JUDGE = Operation(
    name="evals_judge",
    title="Judge traces",
    handler=judge,
    request=JudgeRequest,
    response=Judge,
    path="/v1/evals/judge",
    of_graph=True,
    reads_only=False,
)

EVALS_OPERATIONS: tuple[Operation[Any, Any], ...] = (
    _read("evals_summary", "Evals", summary, EvalsRequest, EvalsSummary, "/v1/evals"),
    _read("evals_traces", "Traces", traces, TracesRequest, TracesResponse, "/v1/evals/traces"),
    _read("evals_trace", "Trace", trace, TraceRequest, EvalTrace, "/v1/evals/trace"),
    EVALS_LABEL,
    _read("evals_goldens", "Goldens", goldens, GoldensRequest, GoldenSuite, "/v1/evals/goldens"),
    EVALS_CREATE_GOLDEN,
    EVALS_ACCEPT_GOLDEN,
    EVALS_DELETE_GOLDEN,
    EVALS_RUN,
    EVALS_RUN_ANSWERS,
    _read("evals_results", "Results", results, ResultsRequest, ResultsResponse, "/v1/evals/results"),
    _read("evals_settings", "Evals settings", settings, EvalsRequest, EvalSettings, "/v1/evals/settings"),
    EVALS_SET_SETTINGS,
    EVALS_JUDGE,
)
