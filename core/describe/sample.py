"""Which properties the records of a class have, from at most 100 of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from core.describe.description import Coverage
from core.describe.reading import Reading
from core.describe.schema import TYPE, is_schema
from core.describe.text import quoted
from core.rdf.terms import Row, Term
from core.rdf.vocabulary import XSD

SAMPLED = 100
# Classes that one query samples: each query costs its start, and one of very many parts is slow to plan.
BATCH = 20
# Rows that are read of one query of so many classes.
MAX_ROWS = 20_000


class Sample:
    """The coverage of each sampled class, and a record of each, for the namespaces of records."""

    def __init__(self) -> None:
        self.coverage: dict[str, Sequence[Coverage]] = {}
        self.records: list[str] = []


async def sample(reading: Reading, classes: Mapping[str, int]) -> Sample:
    """The properties of the classes, given with their numbers of instances; the most common first."""
    taken = Sample()
    names = list(classes)
    for start in range(0, len(names), BATCH):
        batch = names[start : start + BATCH]
        sampled = " UNION ".join(_of_class(iri) for iri in batch)
        held = await reading.rows_if_time(_HELD.replace("SAMPLED", sampled), MAX_ROWS)
        linked = await reading.rows_if_time(_LINKED.replace("SAMPLED", sampled), MAX_ROWS) if held else ()
        for iri, rows in _by_class(held).items():
            taken.coverage[iri] = _coverage(rows, min(classes[iri], SAMPLED), _targets(linked, iri))
        taken.records += [row["record"].value for row in held if row["record"].kind == "uri"]
    return taken


def example_of(value: Term | None) -> str | None:
    """A literal as an example: its first 48 characters, with its datatype where it is no plain text."""
    if value is None or value.kind != "literal":
        return None
    shown = quoted(value.value)
    if value.language:
        return f"{shown}@{value.language}"
    kind = value.datatype.removeprefix(XSD)
    return f"{shown}^^xsd:{kind}" if kind and kind != value.datatype else shown


_HELD = f"""SELECT ?c ?p (COUNT(DISTINCT ?s) AS ?n) (MIN(?literal) AS ?example) (MIN(?s) AS ?record) WHERE {{
  SAMPLED ?s ?p ?o . FILTER(?p != <{TYPE}>) BIND(IF(isLiteral(?o) && STR(?o) != "", ?o, ?nothing) AS ?literal)
}} GROUP BY ?c ?p"""

_LINKED = f"""SELECT ?c ?p ?t (COUNT(?s) AS ?n) WHERE {{
  SAMPLED ?s ?p ?o . FILTER(?p != <{TYPE}>) ?o a ?t
}} GROUP BY ?c ?p ?t"""


def _of_class(iri: str) -> str:
    return f"{{ {{ SELECT ?s WHERE {{ ?s a <{iri}> }} LIMIT {SAMPLED} }} BIND(<{iri}> AS ?c) }}"


def _by_class(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["c"].value, []).append(row)
    return found


def _targets(linked: Iterable[Row], iri: str) -> dict[str, str]:
    """For each property of a class the class that most of its linked records are of."""
    best: dict[str, tuple[int, str]] = {}
    for row in linked:
        if row["c"].value == iri and not is_schema(row["t"].value):
            of = row["p"].value
            best[of] = max(best.get(of, (0, "")), (int(row["n"].value), row["t"].value))
    return {of: target for of, (_, target) in best.items()}


def _coverage(rows: Iterable[Row], of: int, targets: Mapping[str, str]) -> Sequence[Coverage]:
    held = [
        Coverage(
            row["p"].value,
            int(row["n"].value),
            of,
            example_of(row.get("example")),
            targets.get(row["p"].value),
        )
        for row in rows
    ]
    return sorted(held, key=lambda one: (-one.instances, one.property))
