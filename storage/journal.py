"""The journal: what each commit did, and which rows it touched, so that what is made of the rows can follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from storage import tables as t
from storage.retime import CommitOf

CommitKind = Literal[
    "remember", "correct", "forget", "undo", "merge", "reextract", "import", "load", "update", "repair"
]
# Commits of these kinds leave the past as it is. Others may rewrite it: what is forgotten is gone from it.
_APPENDING: tuple[CommitKind, ...] = ("remember", "correct", "load", "update")
Touched = Mapping[str, list[int]]


def touched(
    *, entities: Iterable[int] = (), edges: Iterable[int] = (), artifacts: Iterable[int] = ()
) -> dict[str, list[int]]:
    """The ids of the rows that a commit added, changed or took away, as its row keeps them: all of which what the RDF
    view shows may be another now. Loaded triples are found by their own rows."""
    return {"entities": sorted(set(entities)), "edges": sorted(set(edges)), "artifacts": sorted(set(artifacts))}


def commit_row(
    connection: Connection, commit: CommitOf, kind: CommitKind, counts: Mapping[str, int], rows: Touched | None
) -> None:
    """Writes a commit without an artifact: one that nobody told. `rows` None: it may have changed any."""
    row: dict[str, Any] = {
        "dataset_id": commit.dataset_id,
        "seq": commit.seq,
        "kind": kind,
        "counts": dict(counts),
        "touched": rows,
        "created_at": commit.at,
    }
    connection.execute(sa.insert(t.commits), [row])


def rewritten_after(connection: Connection, dataset_id: int, seq: int) -> int:
    """A number that grows whenever what is read of that commit may be another: with later commits that rewrite the
    past, and with purges of later merges, which are no commits."""
    c, gone = t.commits.c, t.tombstones.c
    may_rewrite = c.kind.is_(None) | c.kind.not_in(_APPENDING)
    later = sa.select(sa.func.max(c.seq)).where(c.dataset_id == dataset_id, c.seq > seq, may_rewrite)
    purged = sa.select(sa.func.count()).where(
        gone.dataset_id == dataset_id, gone.seq > seq, gone.action == "merge", gone.purged_at.is_not(None)
    )
    return (connection.execute(later).scalar() or 0) + connection.execute(purged).scalar_one()
