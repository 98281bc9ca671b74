"""What the server and the process that holds the views say to each other. Imports nothing but the standard library."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from storage.rdf.changes import ArtifactRow, Changes, EntityRow, FactRow, QuadRow


@dataclass(frozen=True, slots=True)
class Key:
    """A view: the present one of a dataset or, with `seq`, the one of a past commit as the commit `rewritten` left it
    (0: as it was written)."""

    dataset_id: int
    seq: int | None = None
    rewritten: int = 0


@dataclass(frozen=True, slots=True)
class Bring:
    """Brings a view to the commit of `changes`. Whole ones make it new, and may come in parts: nobody sees the view
    before the last one is there."""

    key: Key
    base: str
    facts: bool
    now: int
    changes: Changes
    is_first: bool = True
    is_last: bool = True

    def __reduce__(self) -> tuple[Any, ...]:
        """As plain tuples, which are written and read in a third of the time of rows."""
        said = (self.key, self.base, self.facts, self.now)
        return _bring_of, (*said, _packed(self.changes), self.is_first, self.is_last)


_KINDS: tuple[tuple[str, Any], ...] = (
    ("entities", EntityRow),
    ("facts", FactRow),
    ("artifacts", ArtifactRow),
    ("quads", QuadRow),
)


def _packed(changes: Changes) -> bytes:
    kinds = [{i: row and tuple(row) for i, row in getattr(changes, name).items()} for name, _ in _KINDS]
    return marshal.dumps((changes.seq, changes.at, changes.whole, *kinds))


def _bring_of(key: Key, base: str, facts: bool, now: int, packed: bytes, is_first: bool, is_last: bool) -> Bring:
    seq, at, whole, *kinds = marshal.loads(packed)
    rows = {
        name: {i: row and kind._make(row) for i, row in plain.items()}
        for (name, kind), plain in zip(_KINDS, kinds, strict=True)
    }
    return Bring(key, base, facts, now, Changes(seq, at, whole=whole, **rows), is_first, is_last)


@dataclass(frozen=True, slots=True)
class Held:
    """What views are there of a dataset?"""

    dataset_id: int


@dataclass(frozen=True, slots=True)
class Run:
    """A query on a view whose commit is within `lowest` and `highest`. `back` leads it, for this query, to an earlier
    commit. `now` is the moment that it stands for, but not before the time of its commit; None: that time."""

    key: Key
    text: str
    facts: bool
    limit: int | None
    offset: int
    counted: int
    entailment: str
    seconds: float
    lowest: int
    highest: int | None = None
    now: int | None = None
    back: Changes | None = None


@dataclass(frozen=True, slots=True)
class Parse:
    """Can the engine read it?"""

    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Timed:
    """A query for a child, and when it has to be done, by time.monotonic."""

    query: Run | Parse
    deadline: float


@dataclass(frozen=True, slots=True)
class Cancel:
    """Nobody waits for that answer any more."""

    number: int


# How many rows are sent and loaded at once: a part keeps server and worker from other work for some ten milliseconds.
PART = 5000
Row = TypeVar("Row")


def parts(changes: Changes) -> list[Changes]:
    """Whole changes, in parts that are sent one by one."""
    seq, at = changes.seq, changes.at
    return [
        *(Changes(seq, at, entities=some, whole=True) for some in _parts(changes.entities)),
        *(Changes(seq, at, facts=some, whole=True) for some in _parts(changes.facts)),
        *(Changes(seq, at, artifacts=some, whole=True) for some in _parts(changes.artifacts)),
        *(Changes(seq, at, quads=some, whole=True) for some in _parts(changes.quads)),
    ] or [changes]


def _parts(rows: Mapping[int, Row]) -> Iterator[dict[int, Row]]:
    items = iter(rows.items())
    while some := dict(islice(items, PART)):
        yield some


Message = Bring | Held | Run | Parse | Cancel

# The first item of every answer, which marshal writes. rows: answering.answer; held: Shelf.held; refused is followed by
# words for the caller, failed by the kind of failure.
ROWS, HELD, DONE, MISSING, REFUSED, TIMEOUT, TOO_LARGE, FAILED = (
    "rows",
    "held",
    "done",
    "missing",
    "refused",
    "timeout",
    "too_large",
    "failed",
)
