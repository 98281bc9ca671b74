"""The queue of remember in SQL: whose turn it is in each dataset, which process has it, and what a dead one left."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from core.errors import Conflict, GligabaoError, QueueFull, StorageBusy, TakenOver
from core.ports import Entered, Job, NewJob, RunOf
from storage import tables as t
from storage.database import Database
from storage.owner import is_gone

T = TypeVar("T")

log = logging.getLogger(__name__)

# A process renews the leases of its runs several times in this time; one that does not counts as gone.
LEASE = timedelta(seconds=30)
# What another process wrote at the same moment is seen the next time.
TRIES = 3

INTERRUPTED = "interrupted"
QUEUE_FULL = "queue full"


class SqlJobs:
    """core.ports.Jobs on SQLAlchemy. `owner` names this process; at most `size` runs wait or go in the database."""

    def __init__(self, database: Database, owner: str, size: int) -> None:
        self.database = database
        self.owner = owner
        self.size = size

    async def enqueue(self, job: NewJob) -> Entered:
        try:
            entered = await self._entered(job)
        except SQLAlchemyError as failure:
            if job.request is not None:
                raise
            log.warning("the run log could not be written: %s", type(failure).__name__)
            return Entered(None, turn=True)
        if entered is None:
            raise QueueFull("too many calls wait for their turn; nothing was stored, send it again in a few seconds")
        return entered

    async def _entered(self, job: NewJob) -> Entered | None:
        for _ in range(TRIES - 1):
            with suppress(IntegrityError):  # another process was as fast: now it is seen
                return await self._enter_once(job)
        return await self._enter_once(job)

    async def _enter_once(self, job: NewJob) -> Entered | None:
        relaxed = job.request is None  # a durable one is on disk before anybody is told
        return await self.database.write(lambda connection: self._enter(connection, job), relaxed=relaxed)

    async def take(self, run: RunOf) -> bool:
        ahead = {"row": run.run_id, "whose": run.user_id, "whose_dataset": run.dataset, "me": self.owner}
        first = await self._read(lambda connection: _first(connection, ahead | {"now": datetime.now(UTC)}))
        if first is None:
            raise TakenOver("another process ended this run; nothing was stored, send the same call again")
        return first and await self._write(lambda connection: _take(connection, ahead))

    async def keep(self, run_id: int, request: Mapping[str, object]) -> bool:
        values = {"row": run_id, "me": self.owner, "kept": dict(request)}
        return await self._write(lambda connection: connection.execute(_KEEP, values).rowcount == 1, relaxed=False)

    async def renew(self, run_ids: Sequence[int]) -> None:
        if run_ids:
            values = {"rows": list(run_ids), "me": self.owner, "until": datetime.now(UTC) + LEASE}
            await self._write(lambda connection: connection.execute(_RENEW, values))

    async def release(self, run_id: int) -> None:
        values = {"row": run_id, "me": self.owner, "now": datetime.now(UTC)}
        await self._write(lambda connection: connection.execute(_RELEASE, values))

    async def take_over(self, ours: Collection[int], *, reads: bool) -> list[Job]:
        dead = _dead(await self._read(_jobs), ours)
        if not dead:
            return []
        return await self._write(lambda connection: self._bury(connection, dead, reads))

    # In a transaction -------------------------------------------------------------------------------------------------

    def _enter(self, connection: Connection, job: NewJob) -> Entered | None:
        """How the call entered the queue; None where it is full."""
        if job.key and (known := self._joined(connection, job)):
            return known
        counted = connection.execute(_COUNT, {"whose": job.of.user_id, "whose_dataset": job.of.dataset}).one()
        full, turn = counted.all >= self.size, not counted.before
        run_id = int(connection.execute(_INSERT_RUN, self._run_row(job, full=full)).scalar_one())
        if full:
            return None
        connection.execute(_INSERT_JOB, self._job_row(job, run_id, turn=turn))
        return Entered(run_id, turn)

    def _joined(self, connection: Connection, job: NewJob) -> Entered | None:
        """The run that the key names; one that failed loses it."""
        r = t.runs.c
        mine = (r.user_id == job.of.user_id) & (r.dataset == job.of.dataset) & (r.idempotency_key == job.key)
        known = connection.execute(sa.select(r.id, r.status, r.request_sha256).where(mine)).one_or_none()
        if known is None:
            return None
        if known.status == "failed":
            connection.execute(sa.update(t.runs).where(r.id == known.id).values(idempotency_key=None))
            return None
        if known.request_sha256 != job.digest:
            raise Conflict("idempotency_key: was given to another request before", param="idempotency_key")
        return Entered(known.id, turn=False, joined=True)

    def _run_row(self, job: NewJob, *, full: bool) -> dict[str, Any]:
        return {
            "user_id": job.of.user_id,
            "dataset": job.of.dataset,
            "session_id": job.of.session_id,
            "kind": job.kind,
            "status": "failed" if full else "started",
            "error": QUEUE_FULL if full else None,
            "parameters": dict(job.parameters),
            "created_at": job.created_at,
            "finished_at": job.created_at if full else None,
            "owner": self.owner,
            "idempotency_key": None if full else job.key,
            "request_sha256": job.digest,
        }

    def _job_row(self, job: NewJob, run_id: int, *, turn: bool) -> dict[str, Any]:
        return {
            "run_id": run_id,
            "user_id": job.of.user_id,
            "dataset": job.of.dataset,
            "request": job.request,
            "running": turn,
            "owner": self.owner,
            "lease_until": datetime.now(UTC) + LEASE,
            "created_at": job.created_at,
        }

    def _bury(self, connection: Connection, dead: Iterable[Row[Any]], reads: bool) -> list[Job]:
        """Fails or takes over each of the dead, unless another process was faster."""
        taken = [self._inherit(connection, row, reads) if row.durable else _interrupt(connection, row) for row in dead]
        return [job for job in taken if job]

    def _inherit(self, connection: Connection, row: Row[Any], reads: bool) -> Job | None:
        """The job as ours. One that needs an engine which is not there waits, and holds nobody up."""
        select = sa.select(t.jobs.c.request, t.runs.c.session_id).join(t.runs, t.runs.c.id == t.jobs.c.run_id)
        found = connection.execute(select.where(t.jobs.c.run_id == row.run_id)).one_or_none()
        if found is None:
            return None
        if not reads and not _was_read(found.request):
            _change_dead(connection, row, running=False, lease_until=datetime.now(UTC))
            return None
        lease = datetime.now(UTC) + LEASE
        if not _change_dead(connection, row, running=False, owner=self.owner, lease_until=lease):
            return None
        connection.execute(sa.update(t.runs).where(t.runs.c.id == row.run_id).values(owner=self.owner))
        of = RunOf(row.user_id, row.dataset, found.session_id, row.run_id)
        return Job(of, row.created_at, found.request)

    # Failures ---------------------------------------------------------------------------------------------------------

    async def _read(self, work: Callable[[Connection], T]) -> T:
        try:
            return await self.database.read(work)
        except SQLAlchemyError as failure:
            raise _out_of_order(failure) from failure

    async def _write(self, work: Callable[[Connection], T], *, relaxed: bool = True) -> T:
        try:
            return await self.database.write(work, relaxed=relaxed)
        except SQLAlchemyError as failure:
            raise _out_of_order(failure) from failure


def _out_of_order(failure: SQLAlchemyError) -> GligabaoError:
    return StorageBusy(f"the queue of remember could not be read or written ({type(failure).__name__})")


def _jobs(connection: Connection) -> list[Row[Any]]:
    found: Any = connection.execute(_JOBS).all()
    return list(found)


def _dead(jobs: Iterable[Row[Any]], ours: Collection[int]) -> list[Row[Any]]:
    """The jobs whose owner is gone, or does not renew its lease any more."""
    now, gone = datetime.now(UTC), dict[str, bool]()

    def left(owner: str) -> bool:
        if owner not in gone:
            gone[owner] = is_gone(owner)
        return gone[owner]

    return [job for job in jobs if job.run_id not in ours and (job.lease_until < now or left(job.owner))]


def _was_read(request: Mapping[str, Any]) -> bool:
    """Whether the caller read the text itself, so that it needs no engine."""
    return request.get("entities") is not None or request.get("edges") is not None


def _as_found(row: Row[Any]) -> sa.ColumnElement[bool]:
    """The job, as long as nobody changed whose it is since it was found dead."""
    j = t.jobs.c
    return (j.run_id == row.run_id) & (j.owner == row.owner) & (j.lease_until == row.lease_until)


def _change_dead(connection: Connection, row: Row[Any], **values: object) -> bool:
    return connection.execute(sa.update(t.jobs).where(_as_found(row)).values(**values)).rowcount == 1


def _interrupt(connection: Connection, row: Row[Any]) -> None:
    """Fails a run that nobody can go on with; it keeps the artifact that it had stored."""
    if connection.execute(sa.delete(t.jobs).where(_as_found(row))).rowcount == 1:
        whole = (t.artifacts.c.run_id == row.run_id) & t.artifacts.c.parent_id.is_(None)
        stored = sa.select(sa.func.min(t.artifacts.c.id)).where(whole).scalar_subquery()
        values = {"status": "failed", "error": INTERRUPTED, "artifact_id": stored, "finished_at": datetime.now(UTC)}
        unfinished = (t.runs.c.id == row.run_id) & (t.runs.c.status == "started")
        connection.execute(sa.update(t.runs).where(unfinished).values(values))


def _first(connection: Connection, ahead: dict[str, Any]) -> bool | None:
    """Whether the turn is free; None where the job is not ours any more. A read, so that waiting disturbs nobody."""
    found = connection.execute(_MINE_AND_AHEAD, ahead).one_or_none()
    return None if found is None else not found.ahead


def _take(connection: Connection, ahead: dict[str, Any]) -> bool:
    now = datetime.now(UTC)
    try:
        with connection.begin_nested():
            return connection.execute(_TAKE, ahead | {"now": now, "until": now + LEASE}).rowcount == 1
    except IntegrityError:
        return False  # another process was faster


_J = t.jobs.c
_OTHER = t.jobs.alias("other")
_NOW = sa.bindparam("now", type_=t.Time)
_UNTIL = sa.bindparam("until", type_=t.Time)
_MINE = (_J.run_id == sa.bindparam("row")) & (_J.owner == sa.bindparam("me"))
_IN_DATASET = (_J.user_id == sa.bindparam("whose")) & (_J.dataset == sa.bindparam("whose_dataset"))
# Nobody waits for a job that is let go of: whoever can go on with it takes it over first.
_AHEAD = (
    sa.exists()
    .select_from(_OTHER)
    .where(
        _OTHER.c.user_id == sa.bindparam("whose"),
        _OTHER.c.dataset == sa.bindparam("whose_dataset"),
        _OTHER.c.run_id != sa.bindparam("row"),
        _OTHER.c.running | (_OTHER.c.run_id < sa.bindparam("row")),
        _OTHER.c.lease_until >= _NOW,
    )
)
_COUNT = sa.select(
    sa.func.count().label("all"), sa.func.sum(sa.case((_IN_DATASET, 1), else_=0)).label("before")
).select_from(t.jobs)
_INSERT_RUN = sa.insert(t.runs).returning(t.runs.c.id)
_INSERT_JOB = sa.insert(t.jobs)
_MINE_AND_AHEAD = sa.select(_AHEAD.label("ahead")).select_from(t.jobs).where(_MINE)
_TAKE = sa.update(t.jobs).where(_MINE, ~_AHEAD).values(running=True, lease_until=_UNTIL)
_RENEW = (
    sa.update(t.jobs)
    .where(_J.run_id.in_(sa.bindparam("rows", expanding=True)), _J.owner == sa.bindparam("me"))
    .values(lease_until=_UNTIL)
)
_KEEP = sa.update(t.jobs).where(_MINE).values(request=sa.bindparam("kept"))
_RELEASE = sa.update(t.jobs).where(_MINE).values(running=False, lease_until=_NOW)
_JOBS = sa.select(
    _J.run_id,
    _J.user_id,
    _J.dataset,
    _J.owner,
    _J.lease_until,
    _J.created_at,
    _J.request.is_not(None).label("durable"),
).order_by(_J.run_id)
