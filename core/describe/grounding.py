"""Grounding: what a model is told of a graph before it asks it anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass

from core.ask.profile import Profile, profile_of
from core.core import Core
from core.describe.description import Description, describe_graph
from core.describe.matching import matching
from core.describe.prefixes import ShortNames
from core.describe.remembered import remembered_lines
from core.describe.text import (
    CLASSES_TITLE,
    class_lines,
    prefix_lines,
    property_line,
    rest,
    section,
    statement_lines,
)
from core.embeddings.ports import Embedding
from core.graph import Dataset
from core.graphs.graph_of import base_iri_of

# What every question is told: so many classes with so many properties each, and the names of further ones.
CLASSES, PROPERTIES = 25, 20
NAMED_CLASSES, NAMED_PROPERTIES, STATEMENTS = 100, 100, 150
# What one question is told besides: the classes and properties that it names, with all their properties.
FOCUS_CLASSES, FOCUS_PROPERTIES = 8, 20


@dataclass(frozen=True, slots=True)
class Grounding:
    """What a model is told of a graph: `overview`, the same for every question, then `focus`, the part for this one.
    `classes` and `properties` count what the graph has, `embeddings` the classes searchable by meaning. `cached`: the
    description was kept. `prefixes`: all that a query may use without a PREFIX line. The profile is for the model that
    answers alone; `profile_version` is None where there is none."""

    overview: str
    focus: str
    commit_seq: int
    classes: int
    properties: int
    embeddings: int
    age_ms: int
    cached: bool
    focus_classes: int
    focus_properties: int
    prefixes: Mapping[str, str]
    profile: Profile

    @property
    def text(self) -> str:
        """The whole description, without the profile."""
        return "\n".join(part for part in (self.overview, self.focus) if part)

    @property
    def profile_version(self) -> int | None:
        """The version of the profile; None where it is empty."""
        return self.profile.version if self.profile.notes or self.profile.examples else None


async def grounding(core: Core, dataset: Dataset, question: str, at_seq: int | None = None) -> Grounding:
    """What a model is told of the dataset's graph for this question. Raises what describe_graph raises."""
    asked_at = core.clock()
    description = await describe_graph(core, dataset, at_seq)
    focus = _focus(description, question)
    description = await core.descriptions.sampled(core, dataset, at_seq, description, focus.classes)
    embeddings = await core.embeddings.all(dataset)
    return Grounding(
        overview=_overview(description, embeddings, base_iri_of(core, dataset)),
        focus=_focus_text(description, focus),
        commit_seq=description.seq,
        classes=len(description.classes),
        properties=len(description.properties),
        embeddings=len(embeddings),
        age_ms=description.age_ms(core.clock()),
        cached=description.built_at < asked_at,
        focus_classes=len(focus.classes),
        focus_properties=len(focus.properties),
        prefixes=description.prefixes,
        profile=await profile_of(core, dataset),
    )


def _overview(description: Description, embeddings: Sequence[Embedding], base: str) -> str:
    short = ShortNames(description.prefixes)
    searchable = [_embedding_line(one, short) for one in embeddings]
    classes, properties = list(description.classes.values()), list(description.properties.values())
    detailed, further = classes[:CLASSES], classes[CLASSES:]
    in_detail = {one.property for part in detailed for one in (part.coverage or ())[:PROPERTIES]}
    others = [part for part in properties if part.iri not in in_detail]
    named = [f"{short(part.iri)} {part.instances:,}" for part in further[:NAMED_CLASSES]]
    named_properties = [property_line(part, short) for part in others[:NAMED_PROPERTIES]]
    body = [
        *section(
            CLASSES_TITLE,
            [line for part in detailed for line in class_lines(part, short, PROPERTIES)],
        ),
        *section("Further classes, with their records:", [*named, *rest(len(further) - len(named))]),
        *section("Further properties:", [*named_properties, *rest(len(others) - len(named_properties))]),
        *section("Statements:", statement_lines(description.statements[:STATEMENTS], short)),
        *section("Classes searchable by meaning:", searchable),
        *remembered_lines(description, base, short),
    ]
    head = f"The graph: {_count(classes, 'class', 'classes')}, {_count(properties, 'property', 'properties')}."
    return "\n".join([head, "", *section("Prefixes:", prefix_lines(sorted(short.used.items()))), *body]).rstrip() + "\n"


def _count(things: Sized, one: str, several: str) -> str:
    return f"{len(things):,} {one if len(things) == 1 else several}"


def _embedding_line(embedding: Embedding, short: ShortNames) -> str:
    fields = ", ".join(field.name for field in embedding.recipe.fields)
    return f'{short(embedding.recipe.class_iri)} by its {fields} (search:embedding "{embedding.name}")'


@dataclass(frozen=True, slots=True)
class _Focus:
    """The classes and properties that a question names and the overview leaves out or cuts short."""

    classes: Sequence[str]
    properties: Sequence[str]


def _focus(description: Description, question: str) -> _Focus:
    shown = list(description.classes.values())[:CLASSES]
    whole = {part.iri for part in shown if len(part.coverage or ()) <= PROPERTIES}
    told = {one.property for part in shown for one in (part.coverage or ())[:PROPERTIES]}
    classes = [iri for iri in matching(question, description.classes.values()) if iri not in whole]
    properties = [iri for iri in matching(question, description.properties.values()) if iri not in told]
    listed = list(description.properties)[:NAMED_PROPERTIES]
    return _Focus(classes[:FOCUS_CLASSES], [iri for iri in properties if iri not in listed][:FOCUS_PROPERTIES])


def _focus_text(description: Description, focus: _Focus) -> str:
    short = ShortNames(description.prefixes)
    classes = [description.classes[iri] for iri in focus.classes]
    lines = [
        *section("Classes that the question names:", [line for part in classes for line in class_lines(part, short)]),
        *section(
            "Properties that the question names:",
            [property_line(description.properties[iri], short) for iri in focus.properties],
        ),
    ]
    prefixes = section("Prefixes of these:", prefix_lines(sorted(short.used.items())))
    return "\n".join([*prefixes, *lines]).rstrip() + "\n" if lines else ""
