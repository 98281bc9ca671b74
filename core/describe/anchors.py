"""Anchors: the records that a user picked, read for the model before it starts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.core import Core
from core.describe.prefixes import ShortNames
from core.describe.reading import Reading
from core.describe.schema import LABEL, TYPE
from core.errors import InvalidRequest, QueryTimeout, QueryTooLarge
from core.graph import Dataset
from core.names.properties import LABELS, is_name
from core.rdf.terms import Row
from core.text import one_line

# Linked records of each link that are told; links and types of each anchor.
LINKED = 3
MAX_LINKS, MAX_TYPES = 20, 10
SECONDS = 5.0

NOT_THERE = "The graph has no statements about this IRI."
NO_IRI = "This is no IRI."
NOT_READ = "Reading it ran out of time."

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:%[0-9A-Fa-f]{2}|[^\x00-\x20<>\"{}|^`\\%])*")


class Linked(NamedTuple):
    """A record at the other end of a link."""

    iri: str
    label: str | None


@dataclass(frozen=True, slots=True)
class Link:
    """The links of a record over one property: `count` of them, and at most three of the records. `outgoing`: from the
    anchor to them."""

    property: str
    outgoing: bool
    count: int
    records: Sequence[Linked] = ()


@dataclass(frozen=True, slots=True)
class Anchor:
    """What was read about an IRI. `found`: the graph has statements about it; `note` says why there is nothing."""

    iri: str
    found: bool
    label: str | None = None
    types: Sequence[str] = ()
    note: str | None = None
    links: Sequence[Link] = ()

    def lines(self, short: ShortNames) -> list[str]:
        """The anchor for a prompt."""
        if not self.found:
            return [f"<{self.iri}>: {self.note}"]
        types = ", ".join(short(one) for one in self.types)
        shown = f"<{self.iri}>" + (f" a {types}" if types else "") + _labelled(self.label)
        return [shown, *(_link_line(link, short) for link in self.links)]


async def read_anchors(core: Core, dataset: Dataset, iris: Sequence[str], at_seq: int | None = None) -> list[Anchor]:
    """What the graph has about each IRI, in their order. An IRI that could not be read has a note."""
    return list(await asyncio.gather(*(_read(core, dataset, iri, at_seq) for iri in iris)))


async def _read(core: Core, dataset: Dataset, iri: str, at_seq: int | None) -> Anchor:
    if not _IRI.fullmatch(iri):
        return Anchor(iri, found=False, note=NO_IRI)
    if dataset.head_seq == 0:
        return Anchor(iri, found=False, note=NOT_THERE)
    reading = Reading(core.queries, dataset, at_seq, SECONDS)
    try:
        stated = await reading.rows(_STATED.replace("ANCHOR", f"<{iri}>"), 2_000)
        if not stated:
            return Anchor(iri, found=False, note=NOT_THERE)
        links = _links(stated)
        linked = await reading.rows(_linked(iri, links), 10 * (MAX_LINKS + MAX_TYPES))
    except (QueryTimeout, QueryTooLarge):
        return Anchor(iri, found=False, note=NOT_READ)
    except InvalidRequest as failure:
        if failure.param == "as_of_commit_seq":
            raise
        return Anchor(iri, found=False, note=NO_IRI)
    types = [row["o"].value for row in linked if row["p"].value == TYPE and row["d"].value == "out"]
    told = [Link(one.property, one.outgoing, one.count, _records(one, linked)) for one in links]
    return Anchor(iri, True, _label(stated), list(dict.fromkeys(types))[:MAX_TYPES], links=told)


# How many statements there are over each property, in both directions, and one of their values.
_STATED = """SELECT ?d ?p (COUNT(?o) AS ?n) (SUM(IF(isIRI(?o), 1, 0)) AS ?links) (MIN(?literal) AS ?one) WHERE {
  { ANCHOR ?p ?o BIND("out" AS ?d) } UNION { ?o ?p ANCHOR BIND("in" AS ?d) }
  BIND(IF(isLiteral(?o), ?o, ?nothing) AS ?literal) } GROUP BY ?d ?p"""


def _links(stated: Iterable[Row]) -> list[Link]:
    """The links of an anchor, its own before those that lead to it."""
    found = [
        Link(row["p"].value, row["d"].value == "out", int(row["links"].value))
        for row in stated
        if int(row["links"].value) and row["p"].value != TYPE
    ]
    return sorted(found, key=lambda link: (not link.outgoing, link.property))[:MAX_LINKS]


def _linked(iri: str, links: Iterable[Link]) -> str:
    parts = [_some(f"<{iri}> <{TYPE}> ?o", TYPE, "out", MAX_TYPES)]
    for link in links:
        pattern = f"<{iri}> <{link.property}> ?o" if link.outgoing else f"?o <{link.property}> <{iri}>"
        parts.append(_some(pattern, link.property, "out" if link.outgoing else "in", LINKED))
    return f"SELECT ?d ?p ?o ?label WHERE {{ {' UNION '.join(parts)} OPTIONAL {{ ?o <{LABEL}> ?label }} }}"


def _some(pattern: str, property_: str, way: str, most: int) -> str:
    return (
        f'{{ SELECT ("{way}" AS ?d) (<{property_}> AS ?p) ?o '
        f"WHERE {{ {pattern} FILTER(isIRI(?o)) }} ORDER BY ?o LIMIT {most} }}"
    )


def _records(link: Link, linked: Iterable[Row]) -> Sequence[Linked]:
    way = "out" if link.outgoing else "in"
    found: dict[str, Linked] = {}
    for row in linked:
        if row["p"].value == link.property and row["d"].value == way:
            label = row.get("label")
            found.setdefault(row["o"].value, Linked(row["o"].value, label.value if label else None))
    return list(found.values())


def _label(stated: Iterable[Row]) -> str | None:
    names = {
        row["p"].value: row["one"].value
        for row in stated
        if row["d"].value == "out" and "one" in row and is_name(row["p"].value)
    }
    best = [*(iri for iri in LABELS if iri in names), *sorted(names)]
    return names[best[0]] if best else None


def _link_line(link: Link, short: ShortNames) -> str:
    records = ", ".join(f"<{one.iri}>" + _labelled(one.label) for one in link.records)
    more = f" and {link.count - len(link.records)} more" if link.count > len(link.records) else ""
    arrow = "->" if link.outgoing else "<-"
    return f"  {short(link.property)} {arrow} {records}{more}"


def _labelled(label: str | None) -> str:
    return f' "{one_line(label)}"' if label else ""
