"""describe: the parts of a graph that a question needs, for an agent that writes its own queries."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import Field

from core.core import Core
from core.describe.choice import Choice, choose
from core.describe.description import ClassPart, Coverage, Description, PropertyPart, Statement, describe_graph
from core.describe.prefixes import ShortNames
from core.describe.reading import Reading, values_of
from core.describe.remembered import remembered_lines
from core.describe.schema import TYPE
from core.describe.shown import (
    ClassShown,
    CoverageShown,
    DescribeResponse,
    InstanceShown,
    PropertyShown,
    StatementShown,
    UseShown,
)
from core.describe.text import (
    CLASSES_TITLE,
    class_lines,
    prefix_lines,
    property_line,
    section,
    statement_lines,
    value_lines,
)
from core.describe.values import SMALL_CLASS, Instance, read_values
from core.graph import Dataset
from core.graphs.graph_of import base_iri_of, graph_of
from core.graphs.requests import GraphRead

MAX_QUESTION, MAX_CLASSES, MAX_PROPERTIES, MAX_IRI = 4_000, 20, 50, 2_000
STATEMENTS = 200
USED_BY = 3
NOTHING = "The graph has no class or property of this."
# Seconds: that a description of the newest commit is waited for, where there is an earlier one, and for each of the
# further queries. With the first reading of a description it is 25 at most.
FRESH, QUERY = 3.0, 2.5

Iri = Annotated[str, Field(min_length=1, max_length=MAX_IRI)]


class DescribeRequest(GraphRead):
    """What to describe: the largest classes where nothing is named."""

    question: Annotated[
        str,
        Field(
            max_length=MAX_QUESTION,
            description="The classes and properties whose names, labels or comments match its words. At most 4,000 "
            "characters.",
        ),
    ] = ""
    classes: Annotated[tuple[Iri, ...], Field(max_length=MAX_CLASSES, description="IRIs of classes, at most 20.")] = ()
    properties: Annotated[
        tuple[Iri, ...], Field(max_length=MAX_PROPERTIES, description="IRIs of properties, at most 50.")
    ] = ()


async def describe(core: Core, request: DescribeRequest) -> DescribeResponse:
    """Describe the classes and properties that a question needs: how many records have each property, an example, and
    the records of small classes. Its text is made for a prompt."""
    dataset = await graph_of(core, request)
    return await describe_parts(
        core,
        dataset,
        question=request.question,
        classes=request.classes,
        properties=request.properties,
        explained=True,
    )


async def describe_parts(
    core: Core,
    dataset: Dataset,
    *,
    question: str = "",
    classes: Sequence[str] = (),
    properties: Sequence[str] = (),
    at_seq: int | None = None,
    explained: bool = False,
) -> DescribeResponse:
    """The same, of a dataset, at a commit or as it is now. Classes and properties may also be given as `prefix:local`.
    `explained`: the text also tells how what was remembered is found. Raises what describe_graph raises."""
    description = await describe_graph(core, dataset, at_seq, quick=FRESH)
    chosen = choose(description, question, classes, properties)
    reading = Reading(core.queries, dataset, at_seq, QUERY)
    users = await _users(reading, description, chosen.properties)
    description = await core.descriptions.sampled(core, dataset, at_seq, description, [*chosen.classes, *users])
    small = [iri for iri in chosen.classes if 0 < description.classes[iri].instances <= SMALL_CLASS]
    values = await read_values(reading, small)
    short = ShortNames(description.prefixes)
    parts = [_class(description.classes[iri], values.get(iri), short) for iri in chosen.classes]
    of_properties = [_property(description.properties[iri], description, short) for iri in chosen.properties]
    statements = _about(description, {*chosen.classes, *chosen.properties})
    lines = _lines(description, chosen, values, statements, short) or [NOTHING, ""]
    lines += remembered_lines(description, base_iri_of(core, dataset), short) if explained else []
    return DescribeResponse(
        classes=parts,
        properties=of_properties,
        statements=[StatementShown(**one._asdict()) for one in statements],
        prefixes=dict(sorted(short.used.items())),
        text="\n".join([*section("Prefixes:", prefix_lines(sorted(short.used.items()))), *lines]).rstrip() + "\n",
        commit_seq=description.seq,
        age_ms=description.age_ms(core.clock()),
        partial=description.partial or reading.partial,
        unknown=chosen.unknown or None,
    )


async def _users(reading: Reading, description: Description, properties: Iterable[str]) -> list[str]:
    """The classes that use those of the properties most that no sample has."""
    sampled = {one.property for part in description.classes.values() for one in part.coverage or ()}
    rare = [iri for iri in properties if iri not in sampled and description.properties[iri].statements]
    if not rare:
        return []
    text = f"""SELECT ?p ?c (COUNT(?s) AS ?n) WHERE {{ VALUES ?p {{ {values_of(rare)} }} ?s ?p ?o . ?s <{TYPE}> ?c }}
        GROUP BY ?p ?c ORDER BY DESC(?n) LIMIT {USED_BY * len(rare)}"""
    return [row["c"].value for row in await reading.rows_if_time(text, USED_BY * len(rare))]


def _class(part: ClassPart, records: Sequence[Instance] | None, short: ShortNames) -> ClassShown:
    return ClassShown(
        iri=part.iri,
        name=short(part.iri),
        instances=part.instances,
        label=part.label,
        comment=part.comment,
        properties=[CoverageShown(**one._asdict(), name=short(one.property)) for one in part.coverage or ()],
        values=None if records is None else [InstanceShown(**one._asdict()) for one in records],
    )


def _property(part: PropertyPart, description: Description, short: ShortNames) -> PropertyShown:
    uses = _uses(part.iri, description)
    most = uses[0][1] if uses else None
    return PropertyShown(
        iri=part.iri,
        name=short(part.iri),
        statements=part.statements,
        links=part.links,
        target=most.target if most else None,
        example=most.example if most else None,
        label=part.label,
        comment=part.comment,
        used_by=[UseShown(class_=iri, instances=one.instances, of=one.of) for iri, one in uses[:USED_BY]],
    )


def _uses(iri: str, description: Description) -> list[tuple[str, Coverage]]:
    """The sampled classes that have a property, those of most records first."""
    found = [
        (part.iri, one) for part in description.classes.values() for one in part.coverage or () if one.property == iri
    ]
    return sorted(found, key=lambda use: -use[1].instances)


def _about(description: Description, iris: Container[str]) -> Sequence[Statement]:
    return [one for one in description.statements if one.subject in iris or one.object in iris][:STATEMENTS]


def _lines(
    description: Description,
    chosen: Choice,
    values: Mapping[str, Sequence[Instance]],
    statements: Iterable[Statement],
    short: ShortNames,
) -> list[str]:
    classes: list[str] = []
    for iri in chosen.classes:
        classes += [*class_lines(description.classes[iri], short), *value_lines(values.get(iri, ()), short)]
    properties = [
        property_line(description.properties[iri], short, _uses(iri, description)[:USED_BY])
        for iri in chosen.properties
    ]
    return [
        *section(CLASSES_TITLE, classes),
        *section("Properties:", properties),
        *section("Statements:", statement_lines(statements, short)),
    ]
