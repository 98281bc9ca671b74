"""Run: the log of one remember call, a stage at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import TracebackType

from core.core import Core
from core.errors import GligabaoError, ModelFailed
from core.inferences import Inference
from core.ports import ModelCall, RunOf, StageRecord
from core.progress import Progress, tell_progress
from core.remember.stages import Stage
from core.trajectory import id_in, recording


@dataclass(slots=True)
class StageScope:
    """One stage while it runs: started, then succeeded, or failed with the error. It never swallows one."""

    run: Run
    record: StageRecord
    began: float = field(default_factory=time.perf_counter)

    def called(
        self,
        inferences: Iterable[Inference],
        *,
        stage: str = "",
        embedding: bool = False,
        said: object = None,
        **extra: object,
    ) -> None:
        """Files model calls under this stage of the run. What a language model `said`, and what else is to be known of
        it, is for a trajectory alone."""
        kind = "embedding" if embedding else "remember"
        calls = [ModelCall(kind, stage or self.record.stage, i) for i in inferences]
        self.record.unrecorded += calls
        for call in calls:
            self.run.core.monitor.called(call)
        if (seen := recording()) and not embedding:
            made = [call.inference for call in calls]
            seen.asked(self.record.stage, made, said, self.last_ids(len(made)), **extra)

    def last_ids(self, count: int = 1) -> list[Callable[[], int | None]]:
        """The ids of the last calls, each to be had once it is written."""
        filed = len(self.record.inference_ids) + len(self.record.unrecorded)
        return [id_in(self.record, position) for position in range(filed - count, filed)]

    async def __aenter__(self) -> StageScope:
        self.run.changed(self.record)
        tell_progress(replace(self.run.progress, stage=self.record.stage))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(failure, ModelFailed):
            self.called(failure.inferences)
        self.record.status = "failed" if failure else "succeeded"
        self.record.error = reason(failure) if failure else self.record.error
        self.record.finished_at = self.run.core.clock()
        self.run.core.monitor.staged(self.record.stage, time.perf_counter() - self.began)
        self.run.changed(self.record)


def reason(failure: BaseException) -> str:
    """The failure in words that may be kept: ours are written for readers, others might hold a text."""
    return failure.message if isinstance(failure, GligabaoError) else type(failure).__name__


# Steps that follow each other faster than this share one write: nobody could have watched them.
SOON = 0.05


@dataclass(slots=True)
class Run:
    """One execution of remember. Its row is written at every step, so that it can be watched."""

    core: Core
    of: RunOf
    began: datetime
    """When the call was accepted: the default reference time of what it tells."""
    resumed: bool = False
    """Whether an earlier process began it, and may have stored parts of it."""
    records: dict[str, StageRecord] = field(default_factory=dict[str, StageRecord])
    """The stages so far, by name."""
    notes: list[str] = field(default_factory=list[str])
    progress: Progress = field(default_factory=Progress)
    """How many of its parts are done."""
    _unwritten: dict[str, StageRecord] = field(default_factory=dict[str, StageRecord])
    _soon: asyncio.TimerHandle | None = None
    _writing: asyncio.Task[None] | None = None
    _ended: bool = False

    def note(self, note: str) -> None:
        """Something that the caller should know, said once however many parts it is true of."""
        if note not in self.notes:
            self.notes.append(note)

    def advance(self, done: int, of: int) -> None:
        """So many of the parts are done now: whoever watches the call is told."""
        self.progress = Progress(done, of)
        tell_progress(self.progress)

    async def recorded(self, entry: StageScope) -> int | None:
        """The id of the stage's last model call, written now; None when it could not be."""
        await self._written()
        await self.core.runs.stages(self.of, [entry.record])
        return entry.record.inference_ids[-1] if entry.record.inference_ids else None

    def stage(self, stage: Stage) -> StageScope:
        """The scope of one stage. A stage that runs again goes on with its record."""
        record = self.records.setdefault(stage.name, StageRecord(stage.name, self.core.clock()))
        record.status, record.error = "started", None
        return StageScope(self, record)

    def changed(self, record: StageRecord) -> None:
        """Notes that a stage started or ended; it is written soon."""
        self._unwritten[record.stage] = record
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(SOON, self._write)

    async def _written(self) -> None:
        """Returns when no write of the log is on its way."""
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        if self._writing is not None:
            await self._writing

    def _write(self) -> None:
        records, self._unwritten, self._soon = list(self._unwritten.values()), {}, None
        self._writing = asyncio.create_task(self.core.runs.stages(self.of, records))

    async def leave(self) -> None:
        """The run goes on in another process: what is known of it so far is written."""
        self._ended = True
        await self._written()
        await self.core.runs.stages(self.of, list(self._unwritten.values()))

    async def finish(
        self, artifact_id: int | None, error: str | None = None, outcome: Mapping[str, object] | None = None
    ) -> None:
        """The end of the run: succeeded with an artifact, or failed with an error. It has one end."""
        if self._ended:
            return
        self._ended = True
        self.core.monitor.ran(self.of.run_id, "failed" if error else "succeeded")
        await self._written()
        unwritten = list(self._unwritten.values())
        await self.core.runs.finish(self.of, unwritten, artifact_id=artifact_id, error=error, outcome=outcome)
