"""What evals ask of the outside: a place for traces, goldens, runs and settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from core.evals.golden import Golden, GoldenSuite
from core.evals.results import EvalResults, EvalSettings
from core.evals.trace import EvalTrace
from core.graph import Dataset

Labeled = tuple[EvalTrace, Golden | None]
"""A trace and the golden of its question or query, if there is one."""


class EvalStore(Protocol):
    """Answered questions of datasets, what people said of the answers, and what answers were checked against.

    All of it goes with its dataset. `change` runs inside a transaction, perhaps more than once: it only computes.
    """

    async def add_trace(self, dataset: Dataset, trace: EvalTrace) -> None:
        """Keeps a trace. Of a dataset the newest 10,000 stay, and older ones that somebody labelled."""
        ...

    async def trace(self, dataset: Dataset, trace_id: str) -> EvalTrace | None:
        """The trace of that id."""
        ...

    async def traces(self, dataset: Dataset, limit: int, *, unlabeled: bool = False) -> list[EvalTrace]:
        """The newest traces first; `unlabeled`: of which nobody said anything."""
        ...

    async def unlabeled(self, dataset: Dataset) -> int:
        """How many traces nobody labelled."""
        ...

    async def label(
        self, dataset: Dataset, trace_id: str, golden_id: str, change: Callable[[EvalTrace, Golden | None], Labeled]
    ) -> Labeled:
        """Stores a trace and its golden as `change` returns them; a golden that it returns no more is deleted. Raises
        NotFound for a trace that is not there, and Conflict for a golden more than a dataset may have."""
        ...

    async def suite(self, dataset: Dataset) -> GoldenSuite:
        """All goldens."""
        ...

    async def put_golden(
        self, dataset: Dataset, golden_id: str, change: Callable[[Golden | None], Golden]
    ) -> tuple[Golden, int]:
        """Stores the golden that `change` makes of the one that is there; with the new version of the suite. Raises
        Conflict as `label` does."""
        ...

    async def delete_golden(self, dataset: Dataset, golden_id: str) -> tuple[bool, int]:
        """Whether it was there, and the version of the suite."""
        ...

    async def settings(self, dataset: Dataset) -> EvalSettings:
        """The settings; the defaults where none were stored."""
        ...

    async def set_settings(self, dataset: Dataset, change: Callable[[EvalSettings], EvalSettings]) -> EvalSettings:
        """Stores what `change` makes of the settings."""
        ...

    async def add_results(self, dataset: Dataset, results: EvalResults) -> None:
        """Keeps a run. Of each runner, only the newest 100 of a dataset stay."""
        ...

    async def results(self, dataset: Dataset, runner: str | None, limit: int) -> list[EvalResults]:
        """The newest runs of that app first; None: of the server itself."""
        ...
