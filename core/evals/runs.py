"""Run: goldens met one by one within a time, and the results kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from core.core import Core
from core.errors import GligabaoError
from core.evals.golden import Golden, GoldenSuite
from core.evals.results import EvalResults, EvalSettings, VerdictDetail
from core.graph import Dataset

Via = Literal["ask", "query", "app"]
Meeting = Callable[[], Awaitable[VerdictDetail]]


class NoMore(Exception):
    """Whatever else is met would end the same way, for this reason."""

    def __init__(self, why: GligabaoError) -> None:
        super().__init__(why.message)
        self.why = why.message


@dataclass(slots=True)
class Run:
    """One run of goldens; `runner` is the app whose answers are checked, None for our own."""

    core: Core
    dataset: Dataset
    suite: GoldenSuite
    settings: EvalSettings
    runner: str | None
    began: datetime
    verdicts: dict[str, VerdictDetail] = field(default_factory=dict[str, VerdictDetail])
    _started: float = field(default_factory=time.perf_counter)

    @classmethod
    async def begun(cls, core: Core, dataset: Dataset, runner: str | None) -> Run:
        suite, settings = await core.evals.suite(dataset), await core.evals.settings(dataset)
        return cls(core, dataset, suite, settings, runner, core.clock())

    def skip(self, golden_id: str, via: Via, why: str) -> None:
        """Tells of a golden that was not met."""
        self.verdicts[golden_id] = VerdictDetail(verdict="skipped", via=via, message=why)

    async def meet(self, meetings: Sequence[tuple[str, Via, Meeting]], seconds: float, at_once: int) -> None:
        """Meets the goldens, some at once; those that are not met in that time, or after one that says that no more
        can be, are skipped."""
        waiting = iter(meetings)
        work = [asyncio.create_task(self._meet_each(waiting)) for _ in range(at_once)]
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*work)
        except TimeoutError:
            pass
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
        for golden_id, via, _ in meetings:
            if golden_id not in self.verdicts:
                self.skip(golden_id, via, f"not met within {seconds:.0f} seconds")

    async def _meet_each(self, waiting: Iterator[tuple[str, Via, Meeting]]) -> None:
        for golden_id, via, meeting in waiting:
            try:
                self.verdicts[golden_id] = await meeting()
            except NoMore as stopped:  # nobody begins another; those that are being met have their verdicts
                self.skip(golden_id, via, stopped.why)
                for other_id, other_via, _ in waiting:
                    self.skip(other_id, other_via, stopped.why)

    async def ended(self) -> EvalResults:
        """The results, kept."""
        found = list(self.verdicts.values())
        passed, failed, errors = (_count(found, verdict) for verdict in ("pass", "fail", "error"))
        met = passed + failed + errors
        score = passed / met if met else 1.0
        routes = [detail.route_check for detail in found if detail.route_check]
        costs = [detail.cost_micro_usd for detail in found if detail.cost_micro_usd is not None]
        results = EvalResults(
            ran_at=self.began,
            runner=self.runner,
            served_at_seq=self.dataset.head_seq,
            goldens_version=self.suite.version,
            elapsed_ms=round(1000 * (time.perf_counter() - self._started)),
            total=len(found),
            passed=passed,
            failed=failed,
            errors=errors,
            skipped=len(found) - met,
            score=score,
            regression=score < self.settings.threshold,
            precision=_mean(detail.precision for detail in found),
            recall=_mean(detail.recall for detail in found),
            route_checked=len(routes) or None,
            route_right=sum(check.right for check in routes) if routes else None,
            cost_micro_usd=sum(costs) if costs else None,
            verdicts=self.verdicts,
        )
        await self.core.evals.add_results(self.dataset, results)
        return results


def via_of(golden: Golden) -> Via:
    """How we meet a golden ourselves."""
    return "ask" if golden.surface == "ask" else "query"


def _count(found: Sequence[VerdictDetail], verdict: str) -> int:
    return sum(detail.verdict == verdict for detail in found)


def _mean(values: Iterable[float | None]) -> float | None:
    stated = [value for value in values if value is not None]
    return sum(stated) / len(stated) if stated else None
