"""The record of what was executed: remember runs, their stages, and every model call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from core.errors import GligabaoError
from core.inferences import Inference
from core.ports import ModelCall, RunOf, StageRecord
from storage import tables as t
from storage.database import Database
from storage.owner import is_gone
from storage.write import insert_or_ignore

T = TypeVar("T")

log = logging.getLogger(__name__)


class SqlRuns:
    """core.ports.RunLog in SQL, each write a short transaction of its own. A write that fails is logged, never raised:
    the record must not cost anyone a memory."""

    def __init__(self, database: Database, owner: str) -> None:
        self.database = database
        self.owner = owner
        self._registered: set[str] = set()
        """Models that have their row."""

    async def start(self, run: RunOf, parameters: Mapping[str, object], first: StageRecord) -> int | None:
        row = {
            "user_id": run.user_id,
            "dataset": run.dataset,
            "session_id": run.session_id,
            "kind": "text",
            "status": "started",
            "parameters": dict(parameters),
            "created_at": datetime.now(UTC),
            "owner": self.owner,
        }

        def write(connection: Connection) -> int:
            run_id = int(connection.execute(_INSERT_RUN, row).scalar_one())
            self._save(connection, replace(run, run_id=run_id), [first])
            return run_id

        return await self._write(write)

    async def stages(self, run: RunOf, records: Sequence[StageRecord]) -> None:
        if run.run_id is not None:
            ids = await self._write(lambda connection: self._save(connection, run, records))
            _recorded(records, ids)

    async def finish(
        self, run: RunOf, records: Sequence[StageRecord], *, artifact_id: int | None, error: str | None
    ) -> None:
        values = {
            "row": run.run_id,
            "status": "failed" if error else "succeeded",
            "error": error,
            "artifact_id": artifact_id,
            "finished_at": datetime.now(UTC),
        }

        def write(connection: Connection) -> list[list[int]]:
            connection.execute(_END_RUN, values)
            return self._save(connection, run, records)

        if run.run_id is not None:
            _recorded(records, await self._write(write))

    async def inference(self, call: ModelCall, run: RunOf) -> int | None:
        ids = await self._write(lambda connection: self._insert_inferences(connection, [call], run))
        return ids[0] if ids else None

    async def counts(self) -> dict[str, int]:
        counted = sa.select(t.runs.c.status, sa.func.count()).group_by(t.runs.c.status)
        return await self.database.read(lambda connection: {s: int(n) for s, n in connection.execute(counted)})

    async def fail_interrupted(self) -> None:
        """Marks the runs of processes that are gone as failed: nobody will finish them."""
        started = sa.select(t.runs.c.owner).where(t.runs.c.status == "started").distinct()
        owners = await self.database.read(lambda connection: list(connection.execute(started).scalars()))
        gone = [owner for owner in owners if owner != self.owner and is_gone(owner)]
        if gone:
            theirs = (t.runs.c.status == "started") & t.runs.c.owner.in_(gone)
            values = {"status": "failed", "error": "interrupted", "finished_at": datetime.now(UTC)}
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
            connection.execute(_upsert_stages(connection.dialect.name), rows)
        return ids

    def _insert_inferences(self, connection: Connection, calls: Sequence[ModelCall], run: RunOf) -> list[int]:
        if not calls:
            return []
        self._register(connection, [call.inference for call in calls if not call.inference.error])
        rows = [_inference_row(call, run) for call in calls]
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
def _upsert_stages(dialect_name: str) -> Any:
    insert = (postgresql if dialect_name == "postgresql" else sqlite).insert(t.run_stages)
    changing = ("status", "finished_at", "error", "inference_ids")
    return insert.on_conflict_do_update(
        index_elements=["run_id", "stage"], set_={name: insert.excluded[name] for name in changing}
    )


_INSERT_RUN = sa.insert(t.runs).returning(t.runs.c.id)
_END_RUN = sa.update(t.runs).where(t.runs.c.id == sa.bindparam("row"))
_INSERT_INFERENCES = sa.insert(t.inferences).returning(t.inferences.c.id, sort_by_parameter_order=True)


def _inference_row(call: ModelCall, run: RunOf) -> dict[str, object]:
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
        "cost_usd": inference.cost_usd,
        "latency_ms": inference.latency_ms,
        "stop_reason": inference.stop_reason,
        "request_id": inference.request_id,
        "prompt_hash": inference.prompt_hash,
        "error": inference.error or None,
    }
