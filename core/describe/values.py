"""The records of small classes, such as stages and statuses, with their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.describe.reading import Reading
from core.describe.schema import LABELS, TYPE

# A class of at most so many records is listed.
SMALL_CLASS = 30
# Characters of a value, and values of a class that are read.
MAX_VALUE, MAX_VALUES = 200, 3_000


class Instance(NamedTuple):
    """A record with its label and, for each property, one of its literal values."""

    iri: str
    label: str | None
    values: Mapping[str, str]


async def read_values(reading: Reading, classes: Sequence[str]) -> dict[str, list[Instance]]:
    """The records of these small classes, by class, in the order of their labels."""
    if not classes:
        return {}
    parts = " UNION ".join(
        f"{{ {{ SELECT ?s WHERE {{ ?s <{TYPE}> <{iri}> }} LIMIT {SMALL_CLASS} }} BIND(<{iri}> AS ?c) "
        "OPTIONAL { ?s ?p ?o FILTER(isLiteral(?o)) } }"
        for iri in classes
    )
    rows = await reading.rows_if_time(f"SELECT ?c ?s ?p ?o WHERE {{ {parts} }} ORDER BY ?o", MAX_VALUES * len(classes))
    found: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows:
        values = found.setdefault(row["c"].value, {}).setdefault(row["s"].value, {})
        if "p" in row and "o" in row:
            values.setdefault(row["p"].value, row["o"].value[:MAX_VALUE])
    return {iri: _instances(records) for iri, records in found.items()}


def _instances(records: Mapping[str, dict[str, str]]) -> list[Instance]:
    found: list[Instance] = []
    for iri, values in records.items():
        label = next((values.pop(one) for one in LABELS if one in values), None)
        found.append(Instance(iri, label, values))
    return sorted(found, key=lambda one: (one.label or "", one.iri))
