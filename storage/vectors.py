"""LanceDB: one table per dataset and index, keyed by row id. Everything here is synchronous and runs in a thread."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any, NamedTuple, cast

from core.ports import Hit
from storage.heap import give_back_large_blocks

log = logging.getLogger(__name__)

# The library writes a warning per query to stderr otherwise, and an MCP host shows stderr to its user.
os.environ.setdefault("LANCE_LOG", "error")
# Arrow's own allocator keeps what is freed: 50 MB after a hundred calls (benchmarks/memory.py).
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

# Each upsert leaves a fragment and a version, and both make the next one slower.
OPTIMIZE_EVERY = 64
# Older versions go: long enough for any search that still reads one, short enough that a busy hour leaves no thousands.
RETENTION = timedelta(minutes=1)
# Of one process. Left alone the library takes up to 7 GB, and keeps the manifest of each version that it has seen.
INDEX_CACHE_BYTES, METADATA_CACHE_BYTES = 64 << 20, 4 << 20
_COLUMNS = ("ref_id", "text", "seq", "vector")
ALL_TABLES = 1_000_000


@dataclass(frozen=True, slots=True)
class VectorRow:
    """One vector to be written. `text` is what it stands for, `seq` the commit it came with."""

    ref_id: int
    text: str
    seq: int
    vector: bytes


class LanceIndex:
    """The vector tables under one folder or URI. The library is imported when it is first needed."""

    def __init__(self, uri: str, storage_options: dict[str, str] | None = None) -> None:
        self.uri = uri
        self._options = storage_options
        self._tables: dict[str, Any] = {}
        self._writes: dict[str, int] = {}
        self._lock = threading.RLock()
        self._connection: Any = None

    def upsert(
        self, dataset_id: int, index: str, rows: Sequence[VectorRow], generation: int = 0, model: str = ""
    ) -> None:
        """Writes the rows; one that is there already is replaced. The last of two with one id wins. A table that is not
        there yet remembers which `model` it was begun with."""
        pa = _arrow()
        newest = {row.ref_id: row for row in rows}
        ordered = [newest[i] for i in sorted(newest)]
        dim = len(ordered[0].vector) // 4
        name = table_name(dataset_id, index, generation)
        with self._lock:
            table = self._table(name, dim, model)
            batch = pa.table(
                {
                    "id": [f"{_SINGULAR.get(index, 'record')}-{row.ref_id}" for row in ordered],
                    "ref_id": [row.ref_id for row in ordered],
                    "text": [row.text for row in ordered],
                    "seq": [row.seq for row in ordered],
                    "vector": _vectors(ordered, dim),
                },
                schema=_schema(dim),
            )
            table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(batch)
            self._writes[name] = self._writes.get(name, 0) + 1
            if self._writes[name] % OPTIMIZE_EVERY == 0:
                _compact(table, RETENTION)

    def delete(self, dataset_id: int, index: str, ref_ids: Sequence[int], generation: int = 0) -> None:
        """Takes the rows of these ids out; one that is not there is no matter."""
        name = table_name(dataset_id, index, generation)
        with self._lock:
            table = self._table(name, None)
            if table is not None and ref_ids:
                table.delete(f"ref_id IN ({', '.join(map(str, ref_ids))})")
                self._writes[name] = self._writes.get(name, 0) + 1

    def scrub(self, dataset_id: int) -> None:
        """Leaves nothing in the files of what was deleted from the dataset's tables. Every row is written anew: a
        compaction alone keeps deleted rows where they are few."""
        with self._lock:
            for place in (place for place in self.places() if place.dataset_id == dataset_id):
                table = self._table(table_name(*place), None)
                table.update(values_sql={"seq": "seq"})
                _compact(table, timedelta(milliseconds=1))

    def drop(self, dataset_id: int) -> None:
        """Removes every table of the dataset, and none of another."""
        for place in self.places():
            if place.dataset_id == dataset_id:
                self.drop_table(place)

    def search(
        self,
        dataset_id: int,
        index: str,
        vectors: Sequence[bytes],
        limit: int,
        generation: int = 0,
        among: Sequence[int] | None = None,
    ) -> list[list[Hit]]:
        """For each vector the nearest rows by cosine, most similar first; none where the table is not there. `among`:
        only rows of these ids.

        One request for all of them: a request of its own for each is seven times slower.
        """
        np: Any = import_module("numpy")
        table = self._table(table_name(dataset_id, index, generation), None)
        near: list[list[Hit]] = [[] for _ in vectors]
        if table is None or not vectors or among == []:
            return near
        query = np.stack([np.frombuffer(vector, dtype="<f4") for vector in vectors])
        request = table.search(query).distance_type("cosine").select(["ref_id", "_distance"])
        if among is not None:
            request = request.where(f"ref_id IN ({', '.join(map(str, among))})", prefilter=True)
        for row in cast("list[dict[str, Any]]", request.limit(limit).to_list()):
            hits = near[int(row.get("query_index", 0))]
            hits.append(Hit(int(row["ref_id"]), 1.0 - float(row["_distance"])))
        return [sorted(hits, key=lambda hit: -hit.similarity) for hits in near]

    def vector(self, dataset_id: int, index: str, ref_id: int) -> bytes | None:
        """The vector of one row; None where it is not there."""
        np: Any = import_module("numpy")
        table = self._table(table_name(dataset_id, index), None)
        if table is None:
            return None
        found: list[Any] = table.search().where(f"ref_id = {ref_id}").select(["vector"]).limit(1).to_list()
        return np.asarray(found[0]["vector"], dtype="<f4").tobytes() if found else None

    def warm(self) -> None:
        """Imports the library and opens the folder."""
        self._connect()

    def ids(self, dataset_id: int, index: str, generation: int = 0) -> set[int]:
        """The ids of all rows of the table."""
        return {i for rows in self.rows(dataset_id, index, generation, ["ref_id"]) for i in rows["ref_id"].to_pylist()}

    def texts(self, dataset_id: int, index: str, generation: int = 0) -> Iterator[tuple[int, str]]:
        """Every row's id and the text that its vector stands for."""
        for rows in self.rows(dataset_id, index, generation, ["ref_id", "text"]):
            yield from zip(rows["ref_id"].to_pylist(), rows["text"].to_pylist(), strict=True)

    def rows(
        self, dataset_id: int, index: str, generation: int = 0, columns: Sequence[str] = _COLUMNS
    ) -> Iterator[Any]:
        """The rows of the table as it is now, in Arrow record batches; none where it is not there."""
        table = self._table(table_name(dataset_id, index, generation), None)
        if table is not None:
            yield from table.search().select(list(columns)).limit(None).to_batches()

    def begun_with(self, dataset_id: int, index: str, generation: int) -> tuple[str, int] | None:
        """The model that the table was begun with, and the size of its vectors; None where there is none."""
        table = self._table(table_name(dataset_id, index, generation), None)
        if table is None:
            return None
        metadata = cast("dict[bytes, bytes]", table.schema.metadata or {})
        return metadata.get(_MODEL, b"").decode(), int(table.schema.field("vector").type.list_size)

    def places(self) -> list[Place]:
        """Which tables are there."""
        names = cast("list[str]", self._connect().list_tables(limit=ALL_TABLES).tables)
        return [place for place in map(place_of, names) if place]

    def drop_table(self, place: Place) -> None:
        """Removes the table, if it is there."""
        name = table_name(*place)
        with self._lock:
            self._tables.pop(name, None)
            self._writes.pop(name, None)
            with suppress(ValueError, FileNotFoundError):
                self._connect().drop_table(name)

    def tidy(self, older_than: timedelta = RETENTION) -> None:
        """Compacts every table that was written, and prunes its versions older than that."""
        with self._lock:
            for name in self._writes:
                _compact(self._tables[name], older_than)
            self._writes.clear()

    def versions(self, dataset_id: int, index: str) -> int:
        """How many versions the table keeps."""
        table = self._table(table_name(dataset_id, index), None)
        return 0 if table is None else len(table.list_versions())

    def _table(self, name: str, dim: int | None, model: str = "") -> Any:
        """The open table; with `dim` it is created if needed."""
        with self._lock:
            if name not in self._tables:
                table = self._open(name, dim, model)
                if table is None:
                    return None
                self._tables[name] = table
            return self._tables[name]

    def _open(self, name: str, dim: int | None, model: str) -> Any:
        connection = self._connect()
        try:
            return connection.open_table(name)
        except (ValueError, FileNotFoundError):
            if dim is None:
                return None
        return connection.create_table(name, schema=_schema(dim, model), exist_ok=True)

    def _connect(self) -> Any:
        with self._lock:
            if self._connection is None:
                give_back_large_blocks()
                lancedb = import_module("lancedb")
                # Without the interval a second process never sees new rows.
                self._connection = lancedb.connect(
                    self.uri,
                    read_consistency_interval=timedelta(0),
                    storage_options=self._options,
                    session=lancedb.Session(INDEX_CACHE_BYTES, METADATA_CACHE_BYTES),
                )
            return self._connection


_NAME = re.compile(r"dataset-(\d+)-([a-z]+|embedding-\d+-\d+)(?:-g(\d+))?")
_MODEL = b"gligabao.embedding_model"
# Without a declared key two processes that insert the same new id at once both do. Declared with the schema, for to set
# it afterwards is a change that two processes cannot make at once.
_PRIMARY_KEY = {"lance-schema:unenforced-primary-key": "true"}
_SINGULAR = {"entities": "entity", "edges": "edge", "chunks": "chunk", "summaries": "summary"}


class Place(NamedTuple):
    """Which vectors a table holds."""

    dataset_id: int
    index_name: str
    generation: int


def table_name(dataset_id: int, index: str, generation: int = 0) -> str:
    """The name of the table of one dataset and index; those that reindex built later say so."""
    return f"dataset-{dataset_id}-{index}" + (f"-g{generation}" if generation else "")


def place_of(name: str) -> Place | None:
    """What `table_name` made the name of, if it did."""
    read = _NAME.fullmatch(name)
    return Place(int(read[1]), read[2], int(read[3] or 0)) if read else None


def _compact(table: Any, older_than: timedelta) -> None:
    """Fewer fragments and versions. It may lose against another process that writes the table at this moment: then the
    rows are there all the same, and the next time does it."""
    try:
        table.optimize(cleanup_older_than=older_than)
    except (OSError, RuntimeError) as failure:
        log.warning("the vector index could not be compacted: %s", type(failure).__name__)


def _arrow() -> Any:
    return import_module("pyarrow")


def _schema(dim: int, model: str = "") -> Any:
    pa = _arrow()
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False, metadata=_PRIMARY_KEY),
            pa.field("ref_id", pa.int64()),
            pa.field("text", pa.string()),
            pa.field("seq", pa.int64()),
            pa.field("vector", pa.list_(pa.float32(), dim)),
        ],
        metadata={_MODEL: model.encode()} if model else None,
    )


def _vectors(rows: Sequence[VectorRow], dim: int) -> Any:
    pa = _arrow()
    values = pa.Array.from_buffers(
        pa.float32(), dim * len(rows), [None, pa.py_buffer(b"".join(r.vector for r in rows))]
    )
    return pa.FixedSizeListArray.from_arrays(values, dim)
