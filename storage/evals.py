"""Evals in SQL: traces, goldens, settings and runs, each body as JSON as it is shown."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from core.errors import Conflict, NotFound
from core.evals.golden import MAX_GOLDENS, Golden, GoldenSuite
from core.evals.ports import Labeled
from core.evals.results import EvalResults, EvalSettings
from core.evals.trace import EvalTrace
from core.graph import Dataset
from storage import tables as t
from storage.database import Database
from storage.write import insert_or_ignore

TRACES_KEPT = 10_000
RESULTS_KEPT = 100
# The runner of our own runs.
OURS = ""

_TRACES, _GOLDENS, _RESULTS, _SUITES = t.eval_traces, t.goldens, t.eval_results, t.eval_suites


class SqlEvals:
    """core.evals.ports.EvalStore in SQL."""

    def __init__(self, database: Database) -> None:
        self.database = database

    # Traces -----------------------------------------------------------------------------------------------------------

    async def add_trace(self, dataset: Dataset, trace: EvalTrace) -> None:
        def add(connection: Connection) -> None:
            row = {"id": trace.trace_id, "dataset_id": dataset.id, "created_at": trace.ts, **_stored(trace)}
            connection.execute(sa.insert(_TRACES).values(row))
            _drop_old_traces(connection, dataset.id)

        with suppress(IntegrityError):  # the dataset was purged meanwhile: its answers go with it
            await self.database.write(add, relaxed=True)

    async def trace(self, dataset: Dataset, trace_id: str) -> EvalTrace | None:
        return await self.database.read(lambda connection: _trace(connection, dataset.id, trace_id))

    async def traces(self, dataset: Dataset, limit: int, *, unlabeled: bool = False) -> list[EvalTrace]:
        c = _TRACES.c
        newest = sa.select(c.body).where(_mine(_TRACES, dataset)).order_by(c.created_at.desc(), c.id.desc())
        if unlabeled:
            newest = newest.where(~c.labeled)
        bodies = await self.database.read(lambda connection: connection.execute(newest.limit(limit)).scalars().all())
        return [EvalTrace.model_validate(body) for body in bodies]

    async def unlabeled(self, dataset: Dataset) -> int:
        count = sa.select(sa.func.count()).where(_mine(_TRACES, dataset), ~_TRACES.c.labeled)
        return await self.database.read(lambda connection: int(connection.execute(count).scalar_one()))

    async def label(
        self, dataset: Dataset, trace_id: str, golden_id: str, change: Callable[[EvalTrace, Golden | None], Labeled]
    ) -> Labeled:
        def label(connection: Connection) -> Labeled:
            _hold(connection, dataset.id)
            trace = _trace(connection, dataset.id, trace_id)
            if trace is None:
                raise NotFound("trace: there is no such trace", param="trace")
            before = _golden(connection, dataset.id, golden_id)
            changed, golden = change(trace, before)
            mine = (_TRACES.c.id == trace_id) & _mine(_TRACES, dataset)
            connection.execute(sa.update(_TRACES).where(mine).values(_stored(changed)))
            if golden is None and before is not None:
                _delete(connection, dataset.id, golden_id)
            elif golden is not None and golden != before:
                _put(connection, dataset.id, golden, new=before is None)
            return changed, golden

        return await self.database.write(label)

    # Goldens ----------------------------------------------------------------------------------------------------------

    async def suite(self, dataset: Dataset) -> GoldenSuite:
        c = _GOLDENS.c
        all_ = sa.select(c.body).where(_mine(_GOLDENS, dataset)).order_by(c.created_at, c.id)

        def read(connection: Connection) -> GoldenSuite:
            bodies = connection.execute(all_).scalars().all()
            goldens = [Golden.model_validate(body) for body in bodies]
            return GoldenSuite(goldens=goldens, version=_version(connection, dataset.id))

        return await self.database.read(read)

    async def put_golden(
        self, dataset: Dataset, golden_id: str, change: Callable[[Golden | None], Golden]
    ) -> tuple[Golden, int]:
        def put(connection: Connection) -> tuple[Golden, int]:
            _hold(connection, dataset.id)
            before = _golden(connection, dataset.id, golden_id)
            golden = change(before)
            return golden, _put(connection, dataset.id, golden, new=before is None)

        return await self.database.write(put)

    async def delete_golden(self, dataset: Dataset, golden_id: str) -> tuple[bool, int]:
        def delete(connection: Connection) -> tuple[bool, int]:
            _hold(connection, dataset.id)
            deleted = _delete(connection, dataset.id, golden_id)
            return deleted, _version(connection, dataset.id)

        return await self.database.write(delete)

    # Settings and runs ------------------------------------------------------------------------------------------------

    async def settings(self, dataset: Dataset) -> EvalSettings:
        return await self.database.read(lambda connection: _settings(connection, dataset.id))

    async def set_settings(self, dataset: Dataset, change: Callable[[EvalSettings], EvalSettings]) -> EvalSettings:
        def put(connection: Connection) -> EvalSettings:
            _hold(connection, dataset.id)
            settings = change(_settings(connection, dataset.id))
            values = {"settings": settings.body()}
            connection.execute(sa.update(_SUITES).where(_mine(_SUITES, dataset)).values(values))
            return settings

        return await self.database.write(put)

    async def add_results(self, dataset: Dataset, results: EvalResults) -> None:
        runner = results.runner or OURS
        row = {"dataset_id": dataset.id, "runner": runner, "created_at": results.ran_at, "body": results.body()}

        def add(connection: Connection) -> None:
            connection.execute(sa.insert(_RESULTS).values(row))
            series = _mine(_RESULTS, dataset) & (_RESULTS.c.runner == runner)
            older = sa.select(_RESULTS.c.id).where(series).order_by(_RESULTS.c.id.desc()).offset(RESULTS_KEPT).limit(1)
            connection.execute(sa.delete(_RESULTS).where(series, _RESULTS.c.id <= older.scalar_subquery()))

        await self.database.write(add)

    async def results(self, dataset: Dataset, runner: str | None, limit: int) -> list[EvalResults]:
        c = _RESULTS.c
        series = _mine(_RESULTS, dataset) & (c.runner == (runner or OURS))
        newest = sa.select(c.body).where(series).order_by(c.id.desc()).limit(limit)
        bodies = await self.database.read(lambda connection: connection.execute(newest).scalars().all())
        return [EvalResults.model_validate(body) for body in bodies]


def drop_answers_before(connection: Connection, dataset_id: int, moment: datetime) -> None:
    """Removes what was answered until then, which may show what was purged: traces and runs, and the texts of the rows
    that goldens know. The questions and queries of goldens stay."""
    for table in (_TRACES, _RESULTS):
        connection.execute(sa.delete(table).where(_mine(table, dataset_id), table.c.created_at <= moment))
    for body in connection.execute(sa.select(_GOLDENS.c.body).where(_mine(_GOLDENS, dataset_id))).scalars().all():
        golden = Golden.model_validate(body)
        judgments = {
            id_: judgment if judgment.ts > moment else judgment.model_copy(update={"label": "", "iri": None})
            for id_, judgment in golden.judgments.items()
        }
        if judgments != golden.judgments:
            _put(connection, dataset_id, golden.model_copy(update={"judgments": judgments}), new=False)


def _mine(table: sa.Table, dataset: Dataset | int) -> sa.ColumnElement[bool]:
    return table.c.dataset_id == (dataset if isinstance(dataset, int) else dataset.id)


def _stored(trace: EvalTrace) -> dict[str, Any]:
    return {"labeled": trace.labeled, "body": trace.body()}


def _trace(connection: Connection, dataset_id: int, trace_id: str) -> EvalTrace | None:
    select = sa.select(_TRACES.c.body).where(_TRACES.c.id == trace_id, _mine(_TRACES, dataset_id))
    body = connection.execute(select).scalar()
    return None if body is None else EvalTrace.model_validate(body)


def _drop_old_traces(connection: Connection, dataset_id: int) -> None:
    """Of all but the newest, those that nobody labelled. Which are the newest is read from the index alone."""
    c, mine = _TRACES.c, _mine(_TRACES, dataset_id)
    newest_of_the_old = sa.select(c.created_at).where(mine).order_by(c.created_at.desc()).offset(TRACES_KEPT).limit(1)
    old = c.created_at <= newest_of_the_old.scalar_subquery()
    connection.execute(sa.delete(_TRACES).where(mine, old, ~c.labeled))


def _golden(connection: Connection, dataset_id: int, golden_id: str) -> Golden | None:
    select = sa.select(_GOLDENS.c.body).where(_GOLDENS.c.id == golden_id, _mine(_GOLDENS, dataset_id))
    body = connection.execute(select).scalar()
    return None if body is None else Golden.model_validate(body)


def _put(connection: Connection, dataset_id: int, golden: Golden, *, new: bool) -> int:
    """Stores a golden of the suite that is held; the new version of the suite."""
    mine = _mine(_GOLDENS, dataset_id)
    if not new:
        connection.execute(sa.update(_GOLDENS).where(mine, _GOLDENS.c.id == golden.id).values(body=golden.body()))
        return _next_version(connection, dataset_id)
    if int(connection.execute(sa.select(sa.func.count()).where(mine)).scalar_one()) >= MAX_GOLDENS:
        raise Conflict(f"a dataset has at most {MAX_GOLDENS:,} goldens; delete some first")
    row = {"id": golden.id, "dataset_id": dataset_id, "body": golden.body(), "created_at": golden.created_at}
    connection.execute(sa.insert(_GOLDENS).values(row))
    return _next_version(connection, dataset_id)


def _delete(connection: Connection, dataset_id: int, golden_id: str) -> bool:
    """Whether the golden was there."""
    mine = (_GOLDENS.c.id == golden_id) & _mine(_GOLDENS, dataset_id)
    if not connection.execute(sa.delete(_GOLDENS).where(mine)).rowcount:
        return False
    _next_version(connection, dataset_id)
    return True


def _hold(connection: Connection, dataset_id: int) -> None:
    """Keeps others from changing the suite until the transaction ends; makes it where there is none yet."""
    make = insert_or_ignore(connection.dialect.name, _SUITES, "dataset_id")
    connection.execute(make, [{"dataset_id": dataset_id, "version": 0, "settings": {}}])
    connection.execute(sa.select(_SUITES.c.version).where(_mine(_SUITES, dataset_id)).with_for_update())


def _settings(connection: Connection, dataset_id: int) -> EvalSettings:
    stored = connection.execute(sa.select(_SUITES.c.settings).where(_mine(_SUITES, dataset_id))).scalar()
    return EvalSettings.model_validate(stored or {})


def _version(connection: Connection, dataset_id: int) -> int:
    return int(connection.execute(sa.select(_SUITES.c.version).where(_mine(_SUITES, dataset_id))).scalar() or 0)


def _next_version(connection: Connection, dataset_id: int) -> int:
    counted = sa.update(_SUITES).where(_mine(_SUITES, dataset_id)).values(version=_SUITES.c.version + 1)
    return int(connection.execute(counted.returning(_SUITES.c.version)).scalar_one())
