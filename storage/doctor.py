"""The doctor: what is broken, missing or left over in the tables and in the index, and how it is mended.

Nothing that was told is ever deleted: what goes are links to rows that are gone, and vectors without a row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.doctor import SHOWN, Finding, Report
from core.graph import Dataset
from core.ports import Embedder
from storage import tables as t
from storage.database import Database
from storage.doctor_embeddings import entry_differences, mend_entries
from storage.journal import commit_row
from storage.outbox import VectorOutbox
from storage.owner import is_gone
from storage.retime import CommitOf
from storage.rows import DATASET, dataset_of
from storage.tables import metadata
from storage.texts import INDEXES, all_texts, current_texts, embedding_index, entries_there, is_of_embedding
from storage.vectors import LanceIndex, Place
from storage.write import next_commit

MANY_TRIES = 5
_OUT = t.vector_outbox
Repair = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """How the rows of one dataset and its vectors in one index differ, by the ids of the rows."""

    missing: tuple[int, ...] = ()
    stale: tuple[int, ...] = ()
    """Whose vector stands for an earlier text."""
    orphans: tuple[int, ...] = ()

    def and_still(self, later: Difference) -> Difference:
        """What a second look found again: the first may have met a write half way."""
        return Difference(
            tuple(i for i in self.missing if i in set(later.missing)),
            tuple(i for i in self.stale if i in set(later.stale)),
            tuple(i for i in self.orphans if i in set(later.orphans)),
        )


class Doctor:
    """Looks at one memory while others may be using it."""

    def __init__(self, database: Database, outbox: VectorOutbox, embedder: Embedder | None) -> None:
        self.database = database
        self.outbox = outbox
        self.index: LanceIndex = outbox.index
        self.embedder = embedder

    async def examine(self) -> Report:
        """What is not as it should be."""
        findings = [*await self.database.read(_findings_in_sql), *await self._findings_in_vectors()]
        return Report(tuple(findings), await self._counts())

    async def repair(self) -> Report:
        """Mends what can be mended, then looks again. Done again, it finds nothing to do."""
        before = await self.examine()
        done: list[str] = []
        if any(finding.remedy == "--repair" for finding in before.findings):
            done += await self.database.write(_mend_sql)
            done += await self._mend_vectors()
        await self.outbox.repair()
        return replace(await self.examine(), repaired=tuple(done))

    async def mend_dataset(self, dataset: Dataset) -> list[str]:
        """Queues the vectors that are missing in one dataset and takes out those without a row; what it did."""
        done: list[str] = []
        for index in INDEXES:
            done += await self._mend_index(dataset, index)
        return done

    # Vectors ----------------------------------------------------------------------------------------------------------

    async def _findings_in_vectors(self) -> list[Finding]:
        found: list[Finding] = []
        for dataset in await self.database.read(_datasets):
            whose = _whose(dataset)
            embedder = self.embedder
            if embedder and not dataset.takes(embedder.model, embedder.dim):
                has, set_up = f"{dataset.embedding_model}, {dataset.embedding_dim}", f"{embedder.model}, {embedder.dim}"
                text = f"embedding mismatch: its vectors are by {has} dimensions, the configured embedder is {set_up}"
                found.append(Finding("embedding_mismatch", text, 1, whose, remedy="gligabao reindex"))
            for index in INDEXES:
                difference = await self.differences(dataset, index)
                found += _vector_findings(whose, index, difference)
        found += [finding for one in await entry_differences(self.database, self.index) for finding in one.findings()]
        if unused := await self._unused():
            found.append(Finding("unused_vectors", "vector tables that no dataset uses", len(unused)))
        return found

    async def differences(self, dataset: Dataset, index: str) -> Difference:
        """How the rows and the vectors of one index differ. What waits in the outbox is on its way, and not missing."""
        if dataset.embedding_model is None:
            return Difference()
        first = await self._look(dataset, index)
        return first.and_still(await self._look(dataset, index)) if first != Difference() else first

    async def _look(self, dataset: Dataset, index: str) -> Difference:
        def in_index() -> dict[int, int]:
            return {i: hash(text) for i, text in self.index.texts(dataset.id, index, dataset.generation)}

        held = await asyncio.to_thread(in_index)
        return await self.database.read(lambda connection: _difference(connection, dataset, index, held))

    async def _mend_vectors(self) -> list[str]:
        done: list[str] = []
        for dataset in await self.database.read(_datasets):
            done += await self.mend_dataset(dataset)
        done += await mend_entries(self.database, self.index)
        unused = await self._unused()
        for place in unused:
            await asyncio.to_thread(self.index.drop_table, place)
        return [*done, *_told(len(unused), "removed {} vector tables that no dataset uses")]

    async def _mend_index(self, dataset: Dataset, index: str) -> list[str]:
        difference = await self.differences(dataset, index)
        again = [*difference.missing, *difference.stale]
        queued = await self.database.write(lambda connection: queue(connection, dataset.id, index, again))
        if difference.orphans:
            await asyncio.to_thread(self.index.delete, dataset.id, index, difference.orphans, dataset.generation)
        where = f"of {index} in {_whose(dataset)}"
        return [
            *_told(queued, f"queued {{}} vectors {where}"),
            *_told(len(difference.orphans), f"removed {{}} vectors without a row {where}"),
        ]

    async def _unused(self) -> list[Place]:
        """Tables of datasets that are gone, and of generations before the present one: later ones are being built."""
        there = await asyncio.to_thread(self.index.places)
        generations = await self.database.read(_generations)
        embeddings = await self.database.read(_embedding_places)
        return [
            place
            for place in there
            if (
                place not in embeddings
                if is_of_embedding(place.index_name)
                else place.generation < generations.get(place.dataset_id, 2**31)
            )
        ]

    async def _counts(self) -> dict[str, int]:
        return await self.database.read(_counts)


def _vector_findings(whose: str, index: str, difference: Difference) -> Iterable[Finding]:
    for kind, text, ids in (
        ("vectors_missing", f"rows of {index} without a vector", difference.missing),
        ("vectors_stale", f"vectors of {index} that stand for an earlier text", difference.stale),
        ("vectors_orphaned", f"vectors of {index} without a row", difference.orphans),
    ):
        if ids:
            yield Finding(kind, text, len(ids), whose, ids[:SHOWN])


def _whose(dataset: Dataset) -> str:
    return f"{dataset.user_id} / {dataset.name}"


def _told(count: int, text: str) -> list[str]:
    return [text.format(count)] if count else []


def _datasets(connection: Connection) -> list[Dataset]:
    return [dataset_of(row) for row in connection.execute(DATASET.order_by(t.datasets.c.id))]


def _generations(connection: Connection) -> dict[int, int]:
    """The generation of every dataset, forgotten ones included: they may come back."""
    rows = connection.execute(sa.select(t.datasets.c.id, t.datasets.c.vector_generation))
    return {row.id: row.vector_generation for row in rows}


def _embedding_places(connection: Connection) -> set[Place]:
    """Where the vectors of every embedding are, of forgotten datasets too."""
    c = t.embeddings.c
    rows = connection.execute(sa.select(c.dataset_id, c.id, c.version))
    return {Place(row.dataset_id, embedding_index(row.id, row.version), 0) for row in rows}


def _difference(connection: Connection, dataset: Dataset, index: str, held: dict[int, int]) -> Difference:
    mine = (_OUT.c.dataset_id == dataset.id) & (_OUT.c.index_name == index)
    coming = set(connection.execute(sa.select(_OUT.c.ref_id).where(mine, _OUT.c.op == "upsert")).scalars())
    going = set(connection.execute(sa.select(_OUT.c.ref_id).where(mine, _OUT.c.op == "delete")).scalars())
    left = dict(held)
    missing: list[int] = []
    stale: list[int] = []
    for row_id, text in all_texts(connection, dataset.id, index):
        stands_for = left.pop(row_id, None)
        if row_id not in coming and stands_for != hash(text):
            (missing if stands_for is None else stale).append(row_id)
    return Difference(tuple(missing), tuple(stale), tuple(sorted(left.keys() - coming - going)))


def queue(connection: Connection, dataset_id: int, index: str, ids: Sequence[int]) -> int:
    """Puts these rows into the outbox without a vector, those that do not wait there already; how many."""
    mine = (_OUT.c.dataset_id == dataset_id) & (_OUT.c.index_name == index) & (_OUT.c.op == "upsert")
    waiting = set(connection.execute(sa.select(_OUT.c.ref_id).where(mine)).scalars()) if ids else set[int]()
    head = sa.select(t.datasets.c.head_seq).where(t.datasets.c.id == dataset_id)
    seq = connection.execute(head).scalar_one()
    rows = [
        {"dataset_id": dataset_id, "index_name": index, "ref_id": i, "text": text, "seq": seq}
        | {"op": "upsert", "tries": 0, "created_at": datetime.now(UTC)}
        for i, text in current_texts(connection, dataset_id, index, (i for i in ids if i not in waiting)).items()
    ]
    if rows:
        connection.execute(sa.insert(_OUT), rows)
    return len(rows)


# Rows ---------------------------------------------------------------------------------------------------------------

_SOURCE = sa.select(t.edge_artifacts.c.edge_id).where(t.edge_artifacts.c.edge_id == t.edges.c.id)
_NAMED = sa.select(t.entity_artifacts.c.entity_id).where(t.entity_artifacts.c.entity_id == t.entities.c.id)
_TOUCHED = sa.select(t.edges.c.id).where(
    (t.edges.c.source_id == t.entities.c.id) | (t.edges.c.target_id == t.entities.c.id)
)
_closing = t.edges.alias("closing")

# Facts whose link to their artifact is lost, those of which nobody knows who told them, entities that nothing says
# anything of, and facts that were closed by one that is not there.
_UNLINKED = sa.select(t.edges.c.id).where(~_SOURCE.exists(), t.edges.c.artifact_id.is_not(None))
_SOURCELESS = sa.select(t.edges.c.id).where(~_SOURCE.exists(), t.edges.c.artifact_id.is_(None))
_LONELY = sa.select(t.entities.c.id).where(~_NAMED.exists(), ~_TOUCHED.exists())
_CLOSED_BY_NOTHING = sa.select(t.edges.c.id).where(
    t.edges.c.closed_by.is_not(None),
    ~sa.select(_closing.c.id).where(_closing.c.id == t.edges.c.closed_by).exists(),
)
_FAILING = sa.select(_OUT.c.id).where(_OUT.c.tries >= MANY_TRIES)


def _findings_in_sql(connection: Connection) -> list[Finding]:
    found = [*_broken_file(connection), *_broken_references(connection)]
    for kind, text, select, remedy in (
        ("unlinked_facts", "facts whose link to their artifact is lost", _UNLINKED, "--repair"),
        ("facts_without_source", "facts that no artifact states", _SOURCELESS, "look at them; gligabao forget"),
        ("entities_without_source", "entities without an artifact and a fact", _LONELY, "gligabao forget"),
        ("closed_by_nothing", "facts that were closed by a fact which is not there", _CLOSED_BY_NOTHING, "--repair"),
        ("failing_vectors", f"vectors that could not be written {MANY_TRIES} times or more", _FAILING, "--repair"),
    ):
        found += _finding(kind, text, connection.execute(select).scalars().all(), remedy)
    found += _finding("vectors_of_nothing", "waiting vectors whose row is gone", _waiting_for_nothing(connection))
    found += _finding("dead_leases", "waiting vectors that a dead process had taken", _dead_leases(connection))
    found += _finding("interrupted_runs", "runs whose process is gone", _interrupted(connection))
    return found


def _finding(kind: str, text: str, ids: Sequence[int], remedy: str = "--repair") -> list[Finding]:
    return [Finding(kind, text, len(ids), ids=tuple(ids[:SHOWN]), remedy=remedy)] if ids else []


def _broken_file(connection: Connection) -> list[Finding]:
    if connection.dialect.name != "sqlite":
        return []
    lines = connection.exec_driver_sql("PRAGMA integrity_check(100)").scalars().all()
    if lines == ["ok"]:
        return []
    return [Finding("integrity", "damage to the database file", len(lines), remedy="gligabao restore a backup")]


def _references(connection: Connection) -> Sequence[sa.Row[Any]]:
    """Rows that refer to a row which is not there: PostgreSQL has none, SQLite where another program wrote the file."""
    if connection.dialect.name != "sqlite":
        return []
    return connection.exec_driver_sql("PRAGMA foreign_key_check").all()


def _broken_references(connection: Connection) -> list[Finding]:
    tables = [row[0] for row in _references(connection)]
    return [
        Finding("dangling_references", f"rows of {name} that refer to a row which is not there", tables.count(name))
        for name in sorted(set(tables))
    ]


def _waiting_for_nothing(connection: Connection) -> list[int]:
    gone: list[int] = []
    select = sa.select(_OUT.c.id, _OUT.c.dataset_id, _OUT.c.index_name, _OUT.c.ref_id).where(_OUT.c.op == "upsert")
    waiting = connection.execute(select).all()
    for dataset_id, index in {(item.dataset_id, item.index_name) for item in waiting}:
        mine = [item for item in waiting if (item.dataset_id, item.index_name) == (dataset_id, index)]
        ids = [item.ref_id for item in mine]
        is_of_class = is_of_embedding(index)
        there = entries_there(connection, ids) if is_of_class else current_texts(connection, dataset_id, index, ids)
        gone += [item.id for item in mine if item.ref_id not in there]
    return sorted(gone)


def _dead_leases(connection: Connection) -> list[int]:
    select = sa.select(_OUT.c.id, _OUT.c.owner).where(_OUT.c.owner.is_not(None)).order_by(_OUT.c.id)
    items = connection.execute(select).all()
    dead = {owner for owner in {item.owner for item in items} if is_gone(owner)}
    return [item.id for item in items if item.owner in dead]


def _interrupted(connection: Connection) -> list[int]:
    """Runs that nobody will finish: not those whose job the next process takes up."""
    taken_up = sa.select(t.jobs.c.run_id).where(t.jobs.c.run_id == t.runs.c.id, t.jobs.c.request.is_not(None))
    unfinished = sa.select(t.runs.c.id, t.runs.c.owner).where(
        t.runs.c.status.in_(("queued", "started")), ~taken_up.exists()
    )
    return [row.id for row in connection.execute(unfinished.order_by(t.runs.c.id)) if is_gone(row.owner)]


def _mend_sql(connection: Connection) -> list[str]:
    done: list[str] = []
    changed: set[int] = set()
    """Datasets whose rows are other ones now."""
    references = _references(connection)
    while references:  # a row that goes may have been referred to itself
        for row in references:
            changed |= _dataset_of(connection, row.table, row.rowid)
            _mend_reference(connection, table=row.table, row_id=row.rowid, number=row.fkid)
        done.append(f"removed {len(references)} references to rows that are gone")
        references = _references(connection)
    unlinked = connection.execute(_UNLINKED).scalars().all()
    if unlinked:
        whose = sa.select(t.edges.c.dataset_id).where(t.edges.c.id.in_(_UNLINKED)).distinct()
        changed |= set(connection.execute(whose).scalars())
        link = sa.select(t.edges.c.id, t.edges.c.artifact_id, t.edges.c.dataset_id, t.edges.c.created_seq)
        names = ["edge_id", "artifact_id", "dataset_id", "seq"]
        connection.execute(sa.insert(t.edge_artifacts).from_select(names, link.where(t.edges.c.id.in_(_UNLINKED))))
    done += _told(len(unlinked), "linked {} facts to their artifact again")
    closed = connection.execute(_CLOSED_BY_NOTHING).scalars().all()
    connection.execute(sa.update(t.edges).where(t.edges.c.id.in_(closed)).values(closed_by=None))
    done += _told(len(closed), "removed the closing fact, which is gone, from {} facts")
    _write_down(connection, changed)
    return [*done, *_mend_outbox(connection), *_mend_runs(connection)]


def _dataset_of(connection: Connection, table: str, row_id: int) -> set[int]:
    """The dataset that a row belongs to, where its table says so."""
    if "dataset_id" not in metadata.tables[table].c:
        return set()
    found = connection.exec_driver_sql(f'SELECT dataset_id FROM "{table}" WHERE rowid = ?', (row_id,))
    return set(found.scalars())


def _write_down(connection: Connection, dataset_ids: Iterable[int]) -> None:
    """A commit for each dataset that was mended: who keeps what it held reads it again."""
    for row in connection.execute(DATASET.where(t.datasets.c.id.in_(dataset_ids))).all():
        dataset = dataset_of(row)
        taken = next_commit(connection, dataset.user_id, dataset.name, lambda: datetime.now(UTC))
        assert taken is not None  # read in this transaction
        commit_row(connection, CommitOf(dataset.id, taken[0].head_seq, taken[1]), "repair", {}, None)


def _mend_reference(connection: Connection, *, table: str, row_id: int, number: int) -> None:
    """What the reference says should have happened when the other row went."""
    keys = connection.exec_driver_sql(f'PRAGMA foreign_key_list("{table}")').all()
    column, on_delete = next((row[3], row[6]) for row in keys if row[0] == number)
    assert table in metadata.tables
    change = f'UPDATE "{table}" SET "{column}" = NULL' if on_delete == "SET NULL" else f'DELETE FROM "{table}"'
    connection.exec_driver_sql(f"{change} WHERE rowid = ?", (row_id,))


def _mend_outbox(connection: Connection) -> list[str]:
    gone = _waiting_for_nothing(connection)
    connection.execute(sa.delete(_OUT).where(_OUT.c.id.in_(gone)))
    free = [*_dead_leases(connection), *connection.execute(_FAILING).scalars()]
    again = {"owner": None, "lease_until": None, "tries": 0, "last_error": None}
    connection.execute(sa.update(_OUT).where(_OUT.c.id.in_(free)).values(again))
    return [
        *_told(len(gone), "removed {} waiting vectors whose row is gone"),
        *_told(len(set(free)), "freed {} waiting vectors for another try"),
    ]


def _mend_runs(connection: Connection) -> list[str]:
    runs = _interrupted(connection)
    values = {"status": "failed", "error": "interrupted", "finished_at": datetime.now(UTC)}
    connection.execute(sa.update(t.runs).where(t.runs.c.id.in_(runs)).values(values))
    connection.execute(sa.delete(t.jobs).where(t.jobs.c.run_id.in_(runs)))
    return _told(len(runs), "marked {} runs of dead processes as failed")


def _counts(connection: Connection) -> dict[str, int]:
    counted = {
        "datasets": t.datasets,
        "artifacts": t.artifacts,
        "entities": t.entities,
        "facts": t.edges,
        "triples": t.quads,
        "commits": t.commits,
        "vectors_waiting": t.vector_outbox,
    }
    return {
        name: int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())
        for name, table in counted.items()
    }
