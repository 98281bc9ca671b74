"""How a description is read: a few queries, each over the whole graph at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from core.describe.description import ClassPart, Description, PropertyPart, Statement
from core.describe.prefixes import known_prefixes, namespace_of
from core.describe.reading import Reading, values_of
from core.describe.sample import Sample, sample
from core.describe.schema import (
    BOUND_STATEMENTS,
    CLASS_KINDS,
    CLASS_STATEMENTS,
    COMMENTS,
    LABEL,
    LABELS,
    PROPERTY_KINDS,
    PROPERTY_STATEMENTS,
    PROPERTY_TRAITS,
    TYPE,
    is_schema,
)
from core.rdf.terms import Row, Term

# So many classes are described with their properties, the largest first; the others on demand.
SAMPLED_CLASSES = 40
MAX_CLASSES = 5_000
MAX_PROPERTIES = 5_000
MAX_STATEMENTS = 10_000
# Classes and properties whose labels and comments one query reads, and of how many they are read at all.
LABELLED = 500
MAX_LABELLED = 2_000
MAX_COMMENT = 300


async def read_description(reading: Reading, base: str, now: datetime) -> Description:
    """The description of the graph that is read. Raises QueryTimeout where not even its classes and properties could be
    counted in time; what else is left out for want of time makes it partial."""
    classes = _counted(await reading.rows(_CLASSES, MAX_CLASSES), "c")
    properties = await reading.rows(_PROPERTIES, MAX_PROPERTIES)
    model = _model(await reading.rows_if_time(_MODEL, MAX_STATEMENTS))
    records = {iri: count for iri, count in classes.items() if not is_schema(iri)}
    largest = dict(list(records.items())[:SAMPLED_CLASSES])
    sampled = await sample(reading, largest)
    every_class = records | dict.fromkeys((iri for iri in model.classes if iri not in records), 0)
    used = _counted(properties, "p")
    every_property = used | dict.fromkeys((iri for iri in model.properties if iri not in used), 0)
    links = {row["p"].value for row in properties if 2 * int(row["links"].value) > int(row["n"].value)}
    words = await _labels(reading, [*every_class, *every_property])
    return Description(
        seq=reading.seq,
        built_at=now,
        classes=_classes(every_class, words, sampled),
        properties=_properties(every_property, words, links),
        statements=model.statements,
        prefixes=known_prefixes(base, _namespaces(every_class, every_property, sampled.records)),
        partial=reading.partial,
    )


_CLASSES = (
    f"SELECT ?c (COUNT(?s) AS ?n) WHERE {{ ?s <{TYPE}> ?c . FILTER(isIRI(?c)) }} GROUP BY ?c ORDER BY DESC(?n) ?c"
)

_PROPERTIES = """SELECT ?p (COUNT(?s) AS ?n) (SUM(IF(isLiteral(?o), 0, 1)) AS ?links)
WHERE { ?s ?p ?o } GROUP BY ?p ORDER BY DESC(?n) ?p"""

_MODEL = f"""SELECT ?s ?p ?o WHERE {{
  {{ VALUES ?p {{ {values_of([*CLASS_STATEMENTS, *PROPERTY_STATEMENTS, *BOUND_STATEMENTS])} }} ?s ?p ?o }}
  UNION {{ VALUES ?o {{ {values_of([*CLASS_KINDS, *PROPERTY_KINDS])} }} ?s <{TYPE}> ?o . BIND(<{TYPE}> AS ?p) }}
  FILTER(isIRI(?s) && isIRI(?o))
}} ORDER BY ?s ?p ?o"""


def _counted(rows: Iterable[Row], name: str) -> dict[str, int]:
    return {row[name].value: int(row["n"].value) for row in rows}


@dataclass(slots=True)
class _Model:
    """The classes and properties that the graph declares or relates, and what it states about them."""

    classes: dict[str, None] = field(default_factory=dict[str, None])
    properties: dict[str, None] = field(default_factory=dict[str, None])
    statements: list[Statement] = field(default_factory=list[Statement])

    def add(self, subject: str, predicate: str, object_: str) -> None:
        """Takes in one statement; that something is a class or a property without more is told by its being listed."""
        if is_schema(subject):
            return
        if predicate in CLASS_STATEMENTS or object_ in CLASS_KINDS:
            self.classes[subject] = None
        else:
            self.properties[subject] = None
        if predicate in (*CLASS_STATEMENTS, *BOUND_STATEMENTS) and not is_schema(object_):
            self.classes[object_] = None
        if predicate in PROPERTY_STATEMENTS:
            self.properties[object_] = None
        if predicate != TYPE or object_ in PROPERTY_TRAITS:
            self.statements.append(Statement(subject, predicate, object_))


def _model(rows: Iterable[Row]) -> _Model:
    model = _Model()
    for row in rows:
        model.add(row["s"].value, row["p"].value, row["o"].value)
    return model


@dataclass(slots=True)
class _Words:
    """Labels and comments by IRI."""

    labels: dict[str, str] = field(default_factory=dict[str, str])
    comments: dict[str, str] = field(default_factory=dict[str, str])


async def _labels(reading: Reading, iris: Sequence[str]) -> _Words:
    words = _Words()
    of = [iri for iri in iris if not is_schema(iri)][:MAX_LABELLED]
    for start in range(0, len(of), LABELLED):
        text = f"""SELECT ?s ?p ?o WHERE {{ VALUES ?s {{ {values_of(of[start : start + LABELLED])} }}
          VALUES ?p {{ {values_of([*LABELS, *COMMENTS])} }} ?s ?p ?o . FILTER(isLiteral(?o)) }}"""
        rows = await reading.rows_if_time(text, 20 * LABELLED)
        for row in sorted(rows, key=lambda row: _preference(row["o"])):
            found = words.labels if row["p"].value in LABELS else words.comments
            found.setdefault(row["s"].value, row["o"].value[:MAX_COMMENT])
    return words


def _preference(text: Term) -> tuple[bool, str, str]:
    """Texts without a language and English ones first."""
    return text.language not in ("", "en"), text.language, text.value


def _classes(counts: Mapping[str, int], words: _Words, sampled: Sample) -> dict[str, ClassPart]:
    return {
        iri: ClassPart(iri, count, words.labels.get(iri), words.comments.get(iri), sampled.coverage.get(iri))
        for iri, count in counts.items()
    }


def _properties(counts: Mapping[str, int], words: _Words, links: set[str]) -> dict[str, PropertyPart]:
    return {
        iri: PropertyPart(iri, count, iri in links, words.labels.get(iri), words.comments.get(iri))
        for iri, count in counts.items()
        if iri in (LABEL, *COMMENTS) or not is_schema(iri)
    }


def _namespaces(classes: Iterable[str], properties: Iterable[str], records: Iterable[str]) -> Iterable[str]:
    """Every namespace once, those of classes and properties before those of records."""
    return dict.fromkeys(namespace_of(iri) for iri in (*classes, *properties, *records))
