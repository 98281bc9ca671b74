"""Run: the log of one remember call, a stage at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from types import TracebackType

from core.core import Core
from core.errors import GligabaoError, ModelFailed
from core.inferences import Inference
from core.ports import ModelCall, RunOf, StageRecord
from core.remember.stages import Stage


@dataclass(slots=True)
class StageScope:
    """One stage while it runs: started, then succeeded, or failed with the error. It never swallows one."""

    run: Run
    record: StageRecord

    def called(self, inferences: Iterable[Inference], *, stage: str = "", embedding: bool = False) -> None:
        """Files model calls under this stage of the run."""
        kind = "embedding" if embedding else "remember"
        self.record.unrecorded += [ModelCall(kind, stage or self.record.stage, i) for i in inferences]

    async def __aenter__(self) -> StageScope:
        await self.run.changed(self.record)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(failure, ModelFailed):
            self.called(failure.inferences)
        self.record.status = "failed" if failure else "succeeded"
        self.record.error = reason(failure) if failure else self.record.error
        self.record.finished_at = self.run.core.clock()
        await self.run.changed(self.record)


def reason(failure: BaseException) -> str:
    """The failure in words that may be kept: ours are written for readers, others might hold a text."""
    return failure.message if isinstance(failure, GligabaoError) else type(failure).__name__


# Steps that follow each other faster than this share one write: nobody could have watched them.
SOON = 0.05


@dataclass(slots=True)
class Run:
    """One execution of remember. Its row is written when it starts and at every step, so that it can be watched."""

    core: Core
    of: RunOf
    parameters: Mapping[str, object]
    notes: list[str] = field(default_factory=list[str])
    _records: dict[str, StageRecord] = field(default_factory=dict[str, StageRecord])
    _unwritten: dict[str, StageRecord] = field(default_factory=dict[str, StageRecord])
    _soon: asyncio.TimerHandle | None = None
    _writing: asyncio.Task[None] | None = None

    @classmethod
    @asynccontextmanager
    async def of_call(cls, core: Core, of: RunOf, parameters: Mapping[str, object]) -> AsyncGenerator[Run]:
        """The run of one call; leaving it by an exception fails the run."""
        run = cls(core, of, parameters)
        try:
            yield run
        except BaseException as failure:
            await run.finish(None, reason(failure))
            raise

    def stage(self, stage: Stage) -> StageScope:
        """The scope of one stage. A stage that runs again goes on with its record."""
        record = self._records.setdefault(stage.name, StageRecord(stage.name, self.core.clock()))
        record.status, record.error = "started", None
        return StageScope(self, record)

    async def changed(self, record: StageRecord) -> None:
        """Notes that a stage started or ended. With the first one the run begins; the others are written soon."""
        if len(self._records) == 1 and self.of.run_id is None:
            self.of = replace(self.of, run_id=await self.core.runs.start(self.of, self.parameters, record))
            return
        self._unwritten[record.stage] = record
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(SOON, self._write)

    def _write(self) -> None:
        records, self._unwritten, self._soon = list(self._unwritten.values()), {}, None
        self._writing = asyncio.create_task(self.core.runs.stages(self.of, records))

    async def finish(self, artifact_id: int | None, error: str | None = None) -> None:
        """The end of the run: succeeded with an artifact, or failed with an error."""
        if self._soon is not None:
            self._soon.cancel()
        if self._writing is not None:
            await self._writing
        unwritten = list(self._unwritten.values())
        await self.core.runs.finish(self.of, unwritten, artifact_id=artifact_id, error=error)
