"""LanceDB: one table per dataset and index, keyed by row id. Everything here is synchronous and runs in a thread."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any, cast

from core.ports import Hit

log = logging.getLogger(__name__)

# The library writes a warning per query to stderr otherwise, and an MCP host shows stderr to its user.
os.environ.setdefault("LANCE_LOG", "error")

# Each upsert leaves a fragment and a version, and both make the next one slower.
OPTIMIZE_EVERY = 64
# Older versions go: long enough for any search that still reads one, short enough that a busy hour leaves no thousands.
RETENTION = timedelta(minutes=1)


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

    def upsert(self, dataset_id: int, index: str, rows: Sequence[VectorRow]) -> None:
        """Writes the rows; one that is there already is replaced. The last of two with one id wins."""
        pa = _arrow()
        newest = {row.ref_id: row for row in rows}
        ordered = [newest[i] for i in sorted(newest)]
        dim = len(ordered[0].vector) // 4
        name = table_name(dataset_id, index)
        with self._lock:
            table = self._table(name, dim)
            batch = pa.table(
                {
                    "id": [f"{_SINGULAR[index]}-{row.ref_id}" for row in ordered],
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

    def search(self, dataset_id: int, index: str, vectors: Sequence[bytes], limit: int) -> list[list[Hit]]:
        """For each vector the nearest rows by cosine, most similar first; none where the table is not there.

        One request for all of them: a request of its own for each is seven times slower.
        """
        np: Any = import_module("numpy")
        table = self._table(table_name(dataset_id, index), None)
        near: list[list[Hit]] = [[] for _ in vectors]
        if table is None or not vectors:
            return near
        query = np.stack([np.frombuffer(vector, dtype="<f4") for vector in vectors])
        request = table.search(query).distance_type("cosine").select(["ref_id", "_distance"])
        for row in cast("list[dict[str, Any]]", request.limit(limit).to_list()):
            hits = near[int(row.get("query_index", 0))]
            hits.append(Hit(int(row["ref_id"]), 1.0 - float(row["_distance"])))
        return [sorted(hits, key=lambda hit: -hit.similarity) for hits in near]

    def warm(self) -> None:
        """Imports the library and opens the folder."""
        self._connect()

    def ids(self, dataset_id: int, index: str) -> set[int]:
        """The ids of all rows of the table."""
        table = self._table(table_name(dataset_id, index), None)
        return (
            set()
            if table is None
            else set(table.search().select(["ref_id"]).limit(None).to_arrow()["ref_id"].to_pylist())
        )

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

    def _table(self, name: str, dim: int | None) -> Any:
        """The open table; with `dim` it is created if needed."""
        with self._lock:
            if name not in self._tables:
                table = self._open(name, dim)
                if table is None:
                    return None
                self._tables[name] = table
            return self._tables[name]

    def _open(self, name: str, dim: int | None) -> Any:
        connection = self._connect()
        try:
            return connection.open_table(name)
        except (ValueError, FileNotFoundError):
            if dim is None:
                return None
        return connection.create_table(name, schema=_schema(dim), exist_ok=True)

    def _connect(self) -> Any:
        with self._lock:
            if self._connection is None:
                lancedb = import_module("lancedb")
                # Without the interval a second process never sees new rows.
                self._connection = lancedb.connect(
                    self.uri, read_consistency_interval=timedelta(0), storage_options=self._options
                )
            return self._connection


# Without a declared key two processes that insert the same new id at once both do. Declared with the schema, for to set
# it afterwards is a change that two processes cannot make at once.
_PRIMARY_KEY = {"lance-schema:unenforced-primary-key": "true"}
_SINGULAR = {"entities": "entity", "edges": "edge"}


def table_name(dataset_id: int, index: str) -> str:
    """The name of the table of one dataset and index."""
    return f"dataset-{dataset_id}-{index}"


def _compact(table: Any, older_than: timedelta) -> None:
    """Fewer fragments and versions. It may lose against another process that writes the table at this moment: then the
    rows are there all the same, and the next time does it."""
    try:
        table.optimize(cleanup_older_than=older_than)
    except (OSError, RuntimeError) as failure:
        log.warning("the vector index could not be compacted: %s", type(failure).__name__)


def _arrow() -> Any:
    return import_module("pyarrow")


def _schema(dim: int) -> Any:
    pa = _arrow()
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False, metadata=_PRIMARY_KEY),
            pa.field("ref_id", pa.int64()),
            pa.field("text", pa.string()),
            pa.field("seq", pa.int64()),
            pa.field("vector", pa.list_(pa.float32(), dim)),
        ]
    )


def _vectors(rows: Sequence[VectorRow], dim: int) -> Any:
    pa = _arrow()
    values = pa.Array.from_buffers(
        pa.float32(), dim * len(rows), [None, pa.py_buffer(b"".join(r.vector for r in rows))]
    )
    return pa.FixedSizeListArray.from_arrays(values, dim)
