"""For Neo4j: CSV files with the headers of its importer, and Cypher statements."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any

from core.export.rows import Snapshot

NODES = ("id:ID", "name", "type", "description", "model_id", "created_at:datetime", "updated_at:datetime", ":LABEL")
FACTS = (
    ":START_ID",
    ":END_ID",
    ":TYPE",
    "id:long",
    "description",
    "valid_at:datetime",
    "invalid_at:datetime",
    "created_at:datetime",
    "expired_at:datetime",
    "artifact_id:long",
    "model_id",
)
_PER_STATEMENT = 500

Files = Iterator[tuple[str, Iterator[str]]]
"""Paths inside a folder, each with its text in parts."""


def as_csv(snapshot: Snapshot) -> Files:
    """Two files, every value as it is stored: nothing is put before one that a spreadsheet takes for a formula."""
    yield "nodes.csv", _nodes(snapshot)
    yield "facts.csv", _facts(snapshot)


def _nodes(snapshot: Snapshot) -> Iterator[str]:
    yield _table([NODES])
    for batch in snapshot.rows("entities"):
        # A semicolon parts two labels.
        yield _table([*row[:7], row.type.replace(";", ",")] for row in batch)


def _facts(snapshot: Snapshot) -> Iterator[str]:
    yield _table([FACTS])
    for batch in snapshot.rows("edges"):
        yield _table(
            (
                row.source_id,
                row.target_id,
                row.relation,
                row.id,
                row.description,
                row.valid_at,
                row.invalid_at,
                row.created_at,
                row.expired_at,
                row.artifact_id,
                row.model_id,
            )
            for row in batch
        )


def _table(rows: Any) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def as_cypher(snapshot: Snapshot) -> Iterator[str]:
    """Statements that cypher-shell loads, also twice. Names are data, never part of a statement: every fact is a
    relationship of type FACT, and its relation a property."""
    dataset = _cypher(snapshot.header.dataset)
    yield ("CREATE CONSTRAINT gligabao_entity IF NOT EXISTS FOR (e:Entity) REQUIRE (e.dataset, e.id) IS UNIQUE;\n")
    for batch in snapshot.rows("entities"):
        yield from _statements(
            [row[:7] for row in batch],
            ("id", "name", "type", "description", "model_id", "created_at", "updated_at"),
            f"MERGE (e:Entity {{dataset: {dataset}, id: row.id}})\n"
            "SET e.name = row.name, e.type = row.type, e.description = row.description, e.model_id = row.model_id, "
            "e.created_at = datetime(row.created_at), e.updated_at = datetime(row.updated_at);\n",
        )
    for batch in snapshot.rows("edges"):
        yield from _statements(
            [row[:11] for row in batch],
            (
                "id",
                "source_id",
                "target_id",
                "relation",
                "description",
                "valid_at",
                "invalid_at",
                "created_at",
                "expired_at",
                "artifact_id",
                "model_id",
            ),
            f"MATCH (a:Entity {{dataset: {dataset}, id: row.source_id}}), "
            f"(b:Entity {{dataset: {dataset}, id: row.target_id}})\n"
            "MERGE (a)-[f:FACT {id: row.id}]->(b)\n"
            "SET f.relation = row.relation, f.description = row.description, f.artifact_id = row.artifact_id, "
            "f.model_id = row.model_id, f.valid_at = datetime(row.valid_at), f.invalid_at = datetime(row.invalid_at), "
            "f.created_at = datetime(row.created_at), f.expired_at = datetime(row.expired_at);\n",
        )
    yield "// end\n"


def _statements(rows: Sequence[Sequence[object]], names: Sequence[str], then: str) -> Iterator[str]:
    for start in range(0, len(rows), _PER_STATEMENT):
        maps = ",\n".join(
            "{" + ", ".join(f"{name}: {_cypher(value)}" for name, value in zip(names, row, strict=True)) + "}"
            for row in rows[start : start + _PER_STATEMENT]
        )
        yield f"UNWIND [\n{maps}\n] AS row\n{then}"


def _cypher(value: object) -> str:
    """The value as a Cypher literal."""
    if value is None:
        return "null"
    if not isinstance(value, str):
        return str(value)
    text = (
        value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    # Some servers read \\uXXXX as a character before they read the string: a quote could be smuggled in. So a backslash
    # never stands before a u.
    return "'" + text.replace("\\\\u", "\\\\' + 'u") + "'"
