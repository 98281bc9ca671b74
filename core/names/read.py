"""How the names of a graph are read: by class, people and organizations first."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from core.describe.description import Description
from core.describe.matching import words_of
from core.describe.prefixes import local_name
from core.describe.reading import Reading, values_of
from core.describe.schema import SUBCLASS, TYPE, is_schema
from core.errors import QueryTimeout, QueryTooLarge
from core.names.index import Name, NameIndex
from core.names.kinds import Kind, kind_of
from core.names.properties import LABELS, is_name
from core.rdf.terms import Row
from core.rdf.vocabulary import RDFS

# Rows of one query, and records of the classes that one query reads together.
PAGE = 50_000
# Of a class of more records only labels are read, and of all classes where there are so many names already.
MANY_RECORDS, MANY_NAMES = 200_000, 1_000_000
# Characters of the longest name: what is longer is a text.
LONGEST = 200
CLASSES_TOGETHER = 50
# The class of a record that has none.
NO_CLASS = f"{RDFS}Resource"

Reason = Literal["read_failed", "time_budget", "name_bound", "instance_bound"]


class Gap(NamedTuple):
    """A class that was not read in full, and why."""

    class_: str
    reason: Reason


@dataclass(slots=True)
class ReadNames:
    """The names of a graph: all up to the commit `seq`, but for the gaps."""

    seq: int
    superclasses: Mapping[str, Sequence[str]]
    index: NameIndex = field(default_factory=NameIndex)
    gaps: list[Gap] = field(default_factory=list[Gap])
    classes_read: int = 0
    plain: frozenset[str] = frozenset()
    """The words of the classes' names: alone they name no record."""
    kinds: dict[str, Kind] = field(default_factory=dict[str, Kind])

    def kind(self, class_: str) -> Kind:
        """The kind of a class's records."""
        known = self.kinds.get(class_)
        if known is None:
            known = self.kinds[class_] = kind_of(class_, self.superclasses)
        return known

    def replace(self, iris: Iterable[str], names: Iterable[Name]) -> None:
        """Puts names in the place of those that were read of these records."""
        for iri in iris:
            self.index.remove(iri)
        for name in names:
            self.index.add(name)

    def name(self, row: Row) -> Name:
        """The name that a row tells: record `s`, class `c`, name `n`."""
        class_ = row["c"].value if "c" in row else NO_CLASS
        return Name(row["s"].value, row["n"].value, class_, self.kind(class_))


@dataclass(frozen=True, slots=True)
class _Group:
    """Classes that are read together. `bound`: why only their labels are."""

    classes: Sequence[str]
    properties: Sequence[str]
    bound: Reason | None


async def read_names(reading: Reading, description: Description) -> ReadNames:
    """The names of the graph that is described, read in `reading`. A class that can't be read is a gap."""
    read = ReadNames(description.seq, superclasses_of(description), plain=class_words(description))
    for group in _groups(description, read):
        await _read_group(reading, group, read)
    await _read_untyped(reading, description, read)
    read.seq = min(read.seq, reading.seq)
    return read


async def read_again(reading: Reading, iris: Sequence[str], read: ReadNames) -> Sequence[Name]:
    """The names that these records have now, those of the first kind first."""
    rows = await reading.rows(_OF_RECORDS.replace("RECORDS", values_of(iris)), PAGE)
    named = [row for row in rows if is_name(row["p"].value)]
    schema = {row["s"].value for row in named if "c" in row and is_schema(row["c"].value)}
    names = [read.name(row) for row in named if row["s"].value not in schema]
    return sorted(names, key=lambda name: name.kind)


def superclasses_of(description: Description) -> dict[str, list[str]]:
    """Of each class those that it is stated to be a subclass of."""
    above: dict[str, list[str]] = {}
    for one in description.statements:
        if one.predicate == SUBCLASS:
            above.setdefault(one.subject, []).append(one.object)
    return above


def class_words(description: Description) -> frozenset[str]:
    """The words of the classes' names and labels."""
    return frozenset(
        word for part in description.classes.values() for word in words_of(f"{local_name(part.iri)} {part.label or ''}")
    )


_SHORT = f"FILTER(isLiteral(?n) && STRLEN(STR(?n)) <= {LONGEST})"
_OF_CLASSES = f"""SELECT ?s ?c ?p ?n WHERE {{
  VALUES ?c {{ CLASSES }} ?s <{TYPE}> ?c . VALUES ?p {{ PROPERTIES }} ?s ?p ?n . {_SHORT} }}"""
_UNTYPED = f"""SELECT ?s ?p ?n WHERE {{
  VALUES ?p {{ PROPERTIES }} ?s ?p ?n . {_SHORT} FILTER NOT EXISTS {{ ?s <{TYPE}> ?c }} }}"""
_OF_RECORDS = f"""SELECT ?s ?c ?p ?n WHERE {{
  VALUES ?s {{ RECORDS }} ?s ?p ?n . {_SHORT} OPTIONAL {{ ?s <{TYPE}> ?c }} }}"""


def _groups(description: Description, read: ReadNames) -> Iterator[_Group]:
    """The classes with records, the first kind first, those of few records together."""
    properties = [iri for iri in description.properties if is_name(iri)]
    for classes in _together(description, read):
        yield _Group(classes, properties, _bound(classes, description, read))


def _together(description: Description, read: ReadNames) -> Iterator[Sequence[str]]:
    records = {iri: part.instances for iri, part in description.classes.items() if part.instances}
    together: list[str] = []
    for iri in sorted(records, key=lambda iri: (read.kind(iri), records[iri])):
        many = sum(records[one] for one in (*together, iri)) > min(PAGE, MANY_RECORDS)
        if together and (many or len(together) == CLASSES_TOGETHER or read.kind(iri) != read.kind(together[0])):
            yield together
            together = []
        together.append(iri)
    if together:
        yield together


def _bound(classes: Sequence[str], description: Description, read: ReadNames) -> Reason | None:
    """Why only the labels of these classes are read; None where all names are."""
    if len(read.index) >= MANY_NAMES:
        return "name_bound"
    return "instance_bound" if description.classes[classes[-1]].instances > MANY_RECORDS else None


async def _read_group(reading: Reading, group: _Group, read: ReadNames) -> None:
    """Takes in the names of a group; each class by itself where together they are too large for a query."""
    labels = [iri for iri in group.properties if iri in LABELS]
    properties = labels if group.bound else group.properties
    text = _OF_CLASSES.replace("CLASSES", values_of(group.classes)).replace("PROPERTIES", values_of(properties))
    failed = await _read_pages(reading, text, read) if properties else None
    if failed == "read_failed" and len(group.classes) > 1:
        for iri in group.classes:
            await _read_group(reading, replace(group, classes=[iri]), read)
        return
    gap = failed or (group.bound if len(labels) < len(group.properties) else None)
    read.gaps += [Gap(iri, gap) for iri in group.classes if gap]
    read.classes_read += 0 if failed else len(group.classes)


async def _read_untyped(reading: Reading, description: Description, read: ReadNames) -> None:
    properties = [iri for iri in description.properties if is_name(iri)]
    if properties:
        text = _UNTYPED.replace("PROPERTIES", values_of(properties))
        model = {*description.classes, *description.properties}
        gap = await _read_pages(reading, text, read, model)
        read.gaps += [Gap(NO_CLASS, gap)] if gap else []


async def _read_pages(
    reading: Reading, text: str, read: ReadNames, but: Collection[str] = ()
) -> Literal["read_failed", "time_budget"] | None:
    """Takes in the names of a query, page by page; why it could not be read whole."""
    offset, at_seq = 0, None
    try:
        while True:
            rows = await reading.rows(f"{text} LIMIT {PAGE} OFFSET {offset}", PAGE, at_seq)
            at_seq = reading.last  # further pages are of the same commit: in another, rows may stand on another page
            # In a thread: of fifty thousand names it takes a second.
            await asyncio.to_thread(_take, rows, read, but)
            if len(rows) < PAGE:
                return None
            offset += PAGE
    except QueryTimeout:
        return "time_budget"
    except QueryTooLarge:
        return "read_failed"


def _take(rows: Iterable[Row], read: ReadNames, but: Collection[str]) -> None:
    for row in rows:
        if row["s"].kind == "uri" and row["s"].value not in but:
            read.index.add(read.name(row))
