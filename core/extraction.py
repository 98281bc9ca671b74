"""What a model, a rule engine or a caller read from a text, made into facts that can be stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from core.graph import EntityRef, Extraction, Message, StatedEdge, StatedEntity
from core.text import clean, display_name, entity_type, fold, name_key, relation, utf8_length
from core.times import Moment, read_moment, utc, zone_of

CALLER = "caller"

# Nobody is called that; it is a model that repeats itself. PostgreSQL takes keys of up to 2,704 bytes into an index.
LONGEST_NAME = 1000

# How a text's writer is called who gives no name (core/prompts/extract_graph.py).
WRITER = "user"


@dataclass(frozen=True, slots=True)
class RawEntity:
    """An entity as it was written."""

    name: str
    type: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class RawEdge:
    """A fact as it was written, its dates as text."""

    source: str
    target: str
    relation: str
    description: str = ""
    valid_at: str | None = None
    invalid_at: str | None = None
    message: int = 0
    """Which of the messages that were read together states it."""


def read_extraction(
    entities: Iterable[RawEntity], edges: Iterable[RawEdge], *, reference_time: datetime, model_id: str
) -> Extraction:
    """The entities and facts, normalised, each once; what had to be left out is said in `notes`.

    A name that is empty after normalising, or of more than 1,000 bytes, drops its entity or edge. An edge without a
    readable start gets the reference time (never a later start than its stated end). An end before a stated start is
    dropped. Twins, the same in source, target, relation and both times, are one.
    """
    notes: list[str] = []
    stated: dict[EntityRef, StatedEntity] = {}
    for entity in map(_read_entity, entities):
        ref = entity.ref
        if not ref.key:
            notes.append("left out an entity without a name")
        elif _too_long(ref.key, entity.type):
            notes.append(f"left out an entity whose name or type has more than {LONGEST_NAME} bytes")
        elif (known := stated.get(ref)) is None:
            stated[ref] = entity
        elif not known.description and entity.description:
            stated[ref] = replace(known, description=entity.description)
    facts: dict[tuple[object, ...], StatedEdge] = {}
    for raw in edges:
        edge = _read_edge(raw, reference_time, notes)
        triple = (name_key(edge.source), name_key(edge.target), edge.relation)
        if not all(triple):
            notes.append("left out an edge without a source, a target or a relation")
        elif _too_long(*triple):
            notes.append(f"left out an edge with a name or relation of more than {LONGEST_NAME} bytes")
        else:
            facts.setdefault((*triple, edge.valid_at, edge.invalid_at), edge)
    return Extraction(tuple(stated.values()), tuple(facts.values()), model_id, tuple(notes))


def read_messages(
    entities: Sequence[RawEntity], edges: Sequence[RawEdge], messages: Sequence[Message], model_id: str
) -> Extraction:
    """What a stretch of conversation states, each fact under the message that was named for it (an unknown one counts
    as the first), each entity under the messages that name it or state a fact about it."""
    said: list[list[RawEdge]] = [[] for _ in messages]
    for edge in edges:
        said[edge.message if 0 <= edge.message < len(messages) else 0].append(edge)
    named: list[list[RawEntity]] = [[] for _ in messages]
    keys = [
        " ".join([fold(f"{m.speaker}: {m.text}"), *(name_key(name) for e in facts for name in (e.source, e.target))])
        for m, facts in zip(messages, said, strict=True)
    ]
    for entity in entities:
        key = name_key(entity.name)
        for place in [i for i, text in enumerate(keys) if key and key in text] or [0]:
            named[place].append(entity)
    read = [
        read_extraction(named[i], said[i], reference_time=message.reference_time, model_id=model_id)
        for i, message in enumerate(messages)
    ]
    return together([spoken_by(message.speaker, one) for message, one in zip(messages, read, strict=True)])


def together(extractions: Sequence[Extraction]) -> Extraction:
    """What several sources that were read together state: each entity and fact once, with the sources that hold it."""
    stated: dict[tuple[str, str], StatedEntity] = {}
    facts: dict[tuple[object, ...], StatedEdge] = {}
    for source, extraction in enumerate(extractions):
        for entity in extraction.entities:
            known = stated.get(key := (entity.ref.key, entity.type))
            named = (*known.named_in, source) if known else (source,)
            description = (known.description if known else "") or entity.description
            stated[key] = replace(known or entity, description=description, named_in=named)
        for edge in extraction.edges:
            twin = (name_key(edge.source), name_key(edge.target), edge.relation, edge.valid_at, edge.invalid_at)
            first = facts.get(twin)
            facts[twin] = replace(first or edge, said_in=(*first.said_in, source) if first else (source,))
    return Extraction(
        tuple(stated.values()),
        tuple(facts.values()),
        next((e.model_id for e in extractions if e.model_id), ""),
        tuple(note for extraction in extractions for note in extraction.notes),
    )


def spoken_by(speaker: str, extraction: Extraction) -> Extraction:
    """The extraction with its nameless writer called by name: whoever says "I" in a message is its speaker."""
    name, key = display_name(speaker), name_key(speaker)
    if not key:
        return extraction

    def named(stated: str) -> str:
        return name if name_key(stated) == WRITER else stated

    entities = tuple(
        replace(e, name=named(e.name), type="person") if name_key(e.name) == WRITER else e for e in extraction.entities
    )
    edges = tuple(replace(e, source=named(e.source), target=named(e.target)) for e in extraction.edges)
    return replace(extraction, entities=entities, edges=edges)


def only_named_in(text: str, extraction: Extraction) -> Extraction:
    """The extraction without the names that do not occur in the text, and without the facts about them. The writer, who
    is not named, stays."""
    key = fold(text)

    def named(name: str) -> bool:
        return name_key(name) in key or name_key(name) == WRITER

    entities = tuple(e for e in extraction.entities if named(e.name))
    edges = tuple(e for e in extraction.edges if named(e.source) and named(e.target))
    left_out = len(extraction.entities) - len(entities) + len(extraction.edges) - len(edges)
    if not left_out:
        return extraction
    note = f"left out {left_out} entities and facts with names that the text does not hold"
    return replace(extraction, entities=entities, edges=edges, notes=(*extraction.notes, note))


def _too_long(*parts: str) -> bool:
    return any(utf8_length(part) > LONGEST_NAME for part in parts)


def _words(text: str) -> str:
    cleaned, _ = clean(text)
    return str(cleaned).strip()


def _read_entity(raw: RawEntity) -> StatedEntity:
    return StatedEntity(display_name(_words(raw.name)), entity_type(_words(raw.type)), _words(raw.description))


def _read_edge(raw: RawEdge, reference_time: datetime, notes: list[str]) -> StatedEdge:
    zone = zone_of(reference_time)
    start = read_moment(raw.valid_at, zone=zone)
    end = read_moment(raw.invalid_at, end=True, zone=zone)
    for date, moment in ((raw.valid_at, start), (raw.invalid_at, end)):
        if date and date.strip() and moment is None:
            notes.append("left out a date that can't be read")
    told = utc(reference_time)
    inverted = bool(start and end and end.at < start.at)
    if inverted:
        notes.append("dropped the end of an edge that lay before its start")
        end = None
    default = Moment(min(told, end.at)) if end else Moment(told)
    begin = start or default
    return StatedEdge(
        source=display_name(_words(raw.source)),
        target=display_name(_words(raw.target)),
        relation=relation(_words(raw.relation)),
        description=_words(raw.description),
        valid_at=begin.at,
        invalid_at=end.at if end else None,
        valid_at_source="stated" if start else "reference",
        valid_precision=begin.precision,
        invalid_precision=end.precision if end else None,
        inverted=inverted,
    )
