"""The record of what was executed: remember runs, their stages, and every model call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from core.errors import GligabaoError
from core.inferences import Inference
from core.ports import ModelCall, RunFilter, RunOf, RunRecord, StageRecord
from core.prices import PriceTable
from storage import tables as t
from storage.database import Database
from storage.jobs import INTERRUPTED
from storage.owner import is_gone
from storage.write import insert_or_ignore

T = TypeVar("T")

log = logging.getLogger(__name__)


class SqlRuns:
    """core.ports.RunLog in SQL, each write a short transaction of its own. A write that fails is logged, never raised:
    the record must not cost anyone a memory."""

    def __init__(self, database: Database, owner: str, prices: PriceTable | None = None) -> None:
        self.database = database
        self.owner = owner
        self.prices = prices or PriceTable()
        self._registered: set[str] = set()
        """Models that have their row."""

    async def stages(self, run: RunOf, records: Sequence[StageRecord]) -> None:
        if run.run_id is not None:
            ids = await self._write(lambda connection: self._save(connection, run, records))
            _recorded(records, ids)

    async def finish(
        self,
        run: RunOf,
        records: Sequence[StageRecord],
        *,
        artifact_id: int | None,
        error: str | None,
        outcome: Mapping[str, object] | None = None,
    ) -> None:
        me = {"row": run.run_id, "me": self.owner}
        values = {
            "status": "failed" if error else "succeeded",
            "error": error,
            "artifact_id": artifact_id,
            "outcome": outcome,
            "finished_at": datetime.now(UTC),
        }

        def write(connection: Connection) -> list[list[int]]:
            connection.execute(_END_RUN, me | values)
            connection.execute(_END_JOB, me)
            return self._save(connection, run, records)

        if run.run_id is not None:
            _recorded(records, await self._write(write))

    async def inference(self, call: ModelCall, run: RunOf) -> int | None:
        ids = await self._write(lambda connection: self._insert_inferences(connection, [call], run))
        return ids[0] if ids else None

    async def run(self, run_id: int, user_id: str | None = None) -> RunRecord | None:
        wanted = (t.runs.c.id == run_id) & _among(RunFilter(user_id))
        found = await self.database.read(lambda connection: _records(connection, _RUN.where(wanted)))
        return found[0] if found else None

    async def runs(self, among: RunFilter, limit: int, offset: int = 0) -> list[RunRecord]:
        newest = _RUN.where(_among(among)).order_by(t.runs.c.id.desc()).limit(limit).offset(offset)
        return await self.database.read(lambda connection: _records(connection, newest))

    async def count(self, among: RunFilter) -> int:
        counted = sa.select(sa.func.count()).select_from(_WITH_JOBS).where(_among(among))
        return await self.database.read(lambda connection: int(connection.execute(counted).scalar_one()))

    async def counts(self) -> dict[str, int]:
        counted = sa.select(t.runs.c.status, sa.func.count()).group_by(t.runs.c.status)
        return await self.database.read(lambda connection: {s: int(n) for s, n in connection.execute(counted)})

    async def waiting(self) -> int:
        waits = sa.select(sa.func.count()).select_from(t.jobs).where(sa.not_(t.jobs.c.running))
        return await self.database.read(lambda connection: int(connection.execute(waits).scalar_one()))

    async def fail_interrupted(self) -> None:
        """Marks the runs of processes that are gone, and that have no job, as failed: nobody will finish them."""
        unfinished = (t.runs.c.status == "started") & ~sa.exists().where(t.jobs.c.run_id == t.runs.c.id)
        started = sa.select(t.runs.c.owner).where(unfinished).distinct()
        owners = await self.database.read(lambda connection: list(connection.execute(started).scalars()))
        gone = [owner for owner in owners if owner != self.owner and is_gone(owner)]
        if gone:
            theirs = unfinished & t.runs.c.owner.in_(gone)
            values = {"status": "failed", "error": INTERRUPTED, "finished_at": datetime.now(UTC)}
            await self._write(lambda connection: connection.execute(sa.update(t.runs).where(theirs).values(values)))

    async def _write(self, work: Callable[[Connection], T]) -> T | None:
        try:
            return await self.database.write(work, relaxed=True)
        except (SQLAlchemyError, GligabaoError) as failure:
            self._registered.clear()
            log.warning("the run log could not be written: %s", type(failure).__name__)
            return None

    def _save(self, connection: Connection, run: RunOf, records: Sequence[StageRecord]) -> list[list[int]]:
        """Writes the stages; for each, the ids of the calls that had no row yet."""
        ids = [self._insert_inferences(connection, list(record.unrecorded), run) for record in records]
        rows = [_stage_row(run, record, new) for record, new in zip(records, ids, strict=True)]
        if rows:
            connection.execute(_upsert_stages(connection.dialect.name, self.owner), rows)
        return ids

    def _insert_inferences(self, connection: Connection, calls: Sequence[ModelCall], run: RunOf) -> list[int]:
        if not calls:
            return []
        self._register(connection, [call.inference for call in calls if not call.inference.error])
        rows = [_inference_row(call, run, self.prices) for call in calls]
        return [int(i) for i in connection.execute(_INSERT_INFERENCES, rows).scalars()]

    def _register(self, connection: Connection, inferences: Sequence[Inference]) -> None:
        """Rows for models that answered for the first time."""
        new = {i.model: i.provider for i in inferences if i.model and i.model not in self._registered}
        if new:
            now = datetime.now(UTC)
            rows = [{"name": name, "provider": provider, "first_seen_at": now} for name, provider in new.items()]
            connection.execute(insert_or_ignore(connection.dialect.name, t.models, "name"), rows)
            self._registered.update(new)


def _recorded(records: Sequence[StageRecord], ids: list[list[int]] | None) -> None:
    """Once they are committed, the calls have their ids. A stage may have made further ones meanwhile."""
    for record, new in zip(records, ids or (), strict=False):
        record.inference_ids += new
        del record.unrecorded[: len(new)]


def _stage_row(run: RunOf, record: StageRecord, new_ids: list[int]) -> dict[str, object]:
    return {
        "run_id": run.run_id,
        "stage": record.stage,
        "status": record.status,
        "started_at": record.started_at,
        "finished_at": record.finished_at,
        "error": record.error,
        "inference_ids": [*record.inference_ids, *new_ids],
    }


@cache
def _upsert_stages(dialect_name: str, owner: str) -> Any:
    """Writes stages of runs that are the owner's: one that was taken over has another story by now."""
    insert = (postgresql if dialect_name == "postgresql" else sqlite).insert(t.run_stages)
    changing = ("status", "finished_at", "error", "inference_ids")
    return insert.on_conflict_do_update(
        index_elements=["run_id", "stage"],
        set_={name: insert.excluded[name] for name in changing},
        where=sa.exists().where(t.runs.c.id == t.run_stages.c.run_id, t.runs.c.owner == owner),
    )


# Nobody ends a run twice, nor one that another process took over.
_OF_ANOTHER = sa.exists().where(t.jobs.c.run_id == sa.bindparam("row"), t.jobs.c.owner != sa.bindparam("me"))
_END_RUN = (
    sa.update(t.runs)
    .where(t.runs.c.id == sa.bindparam("row"), t.runs.c.status == "started", ~_OF_ANOTHER)
    .values({name: sa.bindparam(name) for name in ("status", "error", "artifact_id", "outcome", "finished_at")})
)
_END_JOB = sa.delete(t.jobs).where(t.jobs.c.run_id == sa.bindparam("row"), t.jobs.c.owner == sa.bindparam("me"))
_INSERT_INFERENCES = sa.insert(t.inferences).returning(t.inferences.c.id, sort_by_parameter_order=True)


def _inference_row(call: ModelCall, run: RunOf, prices: PriceTable) -> dict[str, object]:
    inference = call.inference
    usage = inference.usage
    return {
        "created_at": datetime.now(UTC),
        "user_id": run.user_id,
        "dataset": run.dataset,
        "session_id": run.session_id,
        "run_id": run.run_id,
        "type": call.type,
        "stage": call.stage,
        "provider": inference.provider,
        "model": inference.model,
        "requested_model": inference.requested_model,
        "reasoning": inference.reasoning,
        "input_tokens": usage.input,
        "cached_input_tokens": usage.cached,
        "cache_write_tokens": usage.cache_write,
        "output_tokens": usage.output,
        "thinking_tokens": usage.thinking,
        "cost_usd": prices.cost(inference.model, usage),
        "latency_ms": inference.latency_ms,
        "stop_reason": inference.stop_reason,
        "request_id": inference.request_id,
        "prompt_hash": inference.prompt_hash,
        "error": inference.error or None,
    }


# What was executed, read back ---------------------------------------------------------------------------------------

_WITH_JOBS = t.runs.outerjoin(t.jobs, t.jobs.c.run_id == t.runs.c.id)
_QUEUED = (t.runs.c.status == "started") & t.jobs.c.run_id.is_not(None) & sa.not_(t.jobs.c.running)
_RUN = sa.select(t.runs, sa.func.coalesce(_QUEUED, sa.false()).label("queued")).select_from(_WITH_JOBS)


def _among(among: RunFilter) -> sa.ColumnElement[bool]:
    wanted: list[sa.ColumnElement[bool]] = [sa.true()]
    if among.user_id is not None:
        wanted.append(t.runs.c.user_id == among.user_id)
    if among.dataset is not None:
        wanted.append(t.runs.c.dataset == among.dataset)
    if among.status in ("queued", "running"):
        queued = sa.func.coalesce(_QUEUED, sa.false())
        wanted += [t.runs.c.status == "started", queued if among.status == "queued" else sa.not_(queued)]
    elif among.status is not None:
        wanted.append(t.runs.c.status == among.status)
    return sa.and_(*wanted)


def _records(connection: Connection, select: sa.Select[*tuple[Any, ...]]) -> list[RunRecord]:
    rows = connection.execute(select).all()
    stages: dict[int, list[StageRecord]] = {}
    s = t.run_stages
    for row in connection.execute(sa.select(s).where(s.c.run_id.in_([row.id for row in rows]))):
        record = StageRecord(
            row.stage, row.started_at, row.status, row.finished_at, row.error, [int(i) for i in row.inference_ids]
        )
        stages.setdefault(int(row.run_id), []).append(record)
    return [_record(row, tuple(stages.get(int(row.id), ()))) for row in rows]


def _record(row: sa.Row[Any], stages: tuple[StageRecord, ...]) -> RunRecord:
    return RunRecord(
        id=int(row.id),
        user_id=row.user_id,
        dataset=row.dataset,
        session_id=row.session_id,
        kind=row.kind,
        status=row.status,
        queued=bool(row.queued),
        parameters=row.parameters,
        artifact_id=row.artifact_id,
        error=row.error,
        created_at=row.created_at,
        finished_at=row.finished_at,
        outcome=row.outcome or {},
        stages=stages,
    )
