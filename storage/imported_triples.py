"""The triples of a native document into the tables, their history with them."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.engine import Connection

from core.errors import InvalidRequest
from storage.rdf.changes import QuadRow
from storage.rdf.parsing import Problems, Source, read_quads
from storage.triples import NewRow, insert_new, new_row


def import_triples(
    connection: Connection, dataset_id: int, rows: Sequence[Mapping[str, Any]], before: int, own_nodes: str
) -> int:
    """Adds triples that are not there; how many. Commits are numbered on from `before`; the names of blank nodes begin
    with `own_nodes` then. Raises InvalidRequest for terms that can't be read."""
    new: list[NewRow] = []
    for row, quad in zip(rows, _quads(rows, own_nodes), strict=True):
        removed = row["removed_seq"]
        new.append(new_row(quad, before + row["created_seq"], removed and before + removed))
    return insert_new(connection, dataset_id, new)


def _quads(rows: Sequence[Mapping[str, Any]], own_nodes: str) -> list[QuadRow]:
    """The triples of the rows as a parser reads them, so that nothing else gets in."""
    lines = [" ".join(filter(None, (row[name] for name in QuadRow._fields))) + " .\n" for row in rows]
    quads = list(
        read_quads(Source(io.BytesIO("".join(lines).encode())), "nquads", Problems("triples"), own_nodes=own_nodes)
    )
    if len(quads) != len(rows):
        raise InvalidRequest("triples: each row must be one triple", param="triples")
    return quads
