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
from core.inferences import Inference, InferenceType
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

    async def start(self, user_id: str, dataset: str, parameters: Mapping[str, object]) -> int | None:
        row = {
            "user_id": user_id,
            "dataset": dataset,
            "session_id": parameters.get("session_id"),
            "kind": "text",
            "status": "started",
            "parameters": dict(parameters),
            "created_at": datetime.now(UTC),
            "owner": self.owner,
        }
        return await self._write(lambda connection: int(connection.execute(_INSERT_RUN, row).scalar_one()))

    async def stages(self, run: RunOf, records: Sequence[StageRecord]) -> None:
        await self._write(lambda connection: _save(connection, run, records))

    async def finish(
        self, run: RunOf, records: Sequence[StageRecord], *, artifact_id: int | None, error: str | None
    ) -> None:
        values = {
            "status": "failed" if error else "succeeded",
            "error": error,
            "artifact_id": artifact_id,
            "finished_at": datetime.now(UTC),
        }

        def write(connection: Connection) -> None:
            _save(connection, run, records)
            connection.execute(_END_RUN, values | {"row": run.run_id})

        await self._write(write)

    async def inference(self, call: ModelCall, run: RunOf) -> int | None:
        return await self._write(lambda connection: _insert_inference(connection, call, run))

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
            log.warning("the run log could not be written: %s", type(failure).__name__)
            return None


def _save(connection: Connection, run: RunOf, records: Sequence[StageRecord]) -> None:
    if run.run_id is None or not records:
        return
    for record in records:
        record.inference_ids += [_insert_inference(connection, call, run) for call in record.unrecorded]
        record.unrecorded.clear()
    rows = [
        {
            "run_id": run.run_id,
            "stage": record.stage,
            "status": record.status,
            "started_at": record.started_at,
            "finished_at": record.finished_at,
            "error": record.error,
            "inference_ids": record.inference_ids,
        }
        for record in records
    ]
    connection.execute(_upsert_stages(connection.dialect.name), rows)


@cache
def _upsert_stages(dialect_name: str) -> Any:
    insert = (postgresql if dialect_name == "postgresql" else sqlite).insert(t.run_stages)
    changing = ("status", "finished_at", "error", "inference_ids")
    return insert.on_conflict_do_update(
        index_elements=["run_id", "stage"], set_={name: insert.excluded[name] for name in changing}
    )


def _insert_inference(connection: Connection, call: ModelCall, run: RunOf) -> int:
    now = datetime.now(UTC)
    inference = call.inference
    if inference.model and not inference.error:
        model = {"name": inference.model, "provider": inference.provider, "first_seen_at": now}
        connection.execute(insert_or_ignore(connection.dialect.name, t.models, "name"), [model])
    whose = {"user_id": run.user_id, "dataset": run.dataset, "session_id": run.session_id, "run_id": run.run_id}
    row = _inference_row(inference, call.type, call.stage) | whose | {"created_at": now}
    return int(connection.execute(_INSERT_INFERENCE, row).scalar_one())


_INSERT_RUN = sa.insert(t.runs).returning(t.runs.c.id)
_END_RUN = sa.update(t.runs).where(t.runs.c.id == sa.bindparam("row"))
_INSERT_INFERENCE = sa.insert(t.inferences).returning(t.inferences.c.id)


def _inference_row(inference: Inference, type_: InferenceType, stage: str) -> dict[str, object]:
    usage = inference.usage
    return {
        "type": type_,
        "stage": stage,
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
