"""The values of the graph: what is stored, what a text states, and one whole write as a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Literal, NamedTuple

from core.images import ReadImage
from core.text import name_key
from core.times import Precision

TimeSource = Literal["stated", "reference", "reconciled"]
Kind = Literal["knowledge", "episode"]
ArtifactKind = Literal["knowledge", "episode", "chunk", "chunk_summary", "image", "correction"]
ArtifactIndex = Literal["chunks", "summaries"]


@dataclass(frozen=True, slots=True)
class Dataset:
    """The isolation boundary: one user's graph of one name. `head_seq` numbers its last write."""

    id: int
    user_id: str
    name: str
    head_seq: int
    embedding_model: str | None = None
    embedding_dim: int | None = None
    generation: int = 0
    """Which tables of the vector index are its own now."""

    def takes(self, model: str, dim: int) -> bool:
        """Whether its indexes hold, or may come to hold, vectors of that model: those of two models never mix."""
        return self.embedding_model is None or (self.embedding_model, self.embedding_dim) == (model, dim)


@dataclass(frozen=True, slots=True)
class Entity:
    """A stored node."""

    id: int
    name: str
    type: str
    description: str
    model_id: str | None
    created_at: datetime
    updated_at: datetime

    @property
    def as_text(self) -> str:
        """The text that is embedded for it."""
        return entity_text(self.name, self.type, self.description)


@dataclass(frozen=True, slots=True)
class Edge:
    """A stored fact, with its four times (core/temporal.py)."""

    id: int
    source_id: int
    target_id: int
    source: str
    target: str
    relation: str
    description: str
    artifact_id: int | None
    model_id: str | None
    valid_at: datetime
    invalid_at: datetime | None
    created_at: datetime
    expired_at: datetime | None
    valid_at_source: TimeSource = "stated"
    invalid_at_source: TimeSource | None = None
    closed_by: int | None = None

    @property
    def live(self) -> bool:
        """Not superseded by newer knowledge."""
        return self.expired_at is None

    def holds_at(self, moment: datetime) -> bool:
        """Whether the fact was true in the world at that moment; intervals are half open."""
        return self.valid_at <= moment and (self.invalid_at is None or self.invalid_at > moment)

    @property
    def as_text(self) -> str:
        """The text that is embedded for it."""
        return edge_text(self.source, self.relation, self.target, self.description)


def entity_text(name: str, type_: str, description: str) -> str:
    """The text that stands for an entity in the index: `Name (type): description`."""
    return f"{name} ({type_}): {description}" if description else f"{name} ({type_})"


def edge_text(source: str, relation: str, target: str, description: str) -> str:
    """The text that stands for a fact in the index: its description, else its three parts as words."""
    return description.strip() or f"{source} {relation.replace('_', ' ')} {target}"


@dataclass(frozen=True, slots=True)
class Message:
    """A text as it is read, and when it was written: `reference_time` keeps the offset it was given with."""

    text: str
    reference_time: datetime
    speaker: str = ""


class EntityRef(NamedTuple):
    """How a text names an entity: by key, and by type where the text lists it (None: whatever type is stored)."""

    key: str
    type: str | None


@dataclass(frozen=True, slots=True)
class StatedEntity:
    """An entity as a text names it, normalised."""

    name: str
    type: str
    description: str = ""
    named_in: tuple[int, ...] = (0,)
    """Which of the sources that were read together name it."""

    @property
    def ref(self) -> EntityRef:
        return EntityRef(name_key(self.name), self.type)


@dataclass(frozen=True, slots=True)
class StatedEdge:
    """A fact as a text states it, normalised, its times resolved. An `inverted` one had its end before its start: the
    end was dropped, and it never closes another fact."""

    source: str
    target: str
    relation: str
    description: str
    valid_at: datetime
    invalid_at: datetime | None = None
    valid_at_source: TimeSource = "stated"
    valid_precision: Precision = "instant"
    invalid_precision: Precision | None = None
    inverted: bool = False
    said_in: tuple[int, ...] = (0,)
    """Which of the sources that were read together state it, the first one first."""

    @property
    def as_text(self) -> str:
        return edge_text(self.source, self.relation, self.target, self.description)


@dataclass(frozen=True)
class Extraction:
    """What a text states. `model_id` is who read it: a model as its API names it, a rule engine, or `caller`."""

    entities: tuple[StatedEntity, ...]
    edges: tuple[StatedEdge, ...]
    model_id: str
    notes: tuple[str, ...] = ()

    def ref(self, name: str) -> EntityRef:
        """How the endpoint `name` of a stated edge is looked up: the entity that the text lists, else by name alone."""
        key = name_key(name)
        return self._listed.get(key) or EntityRef(key, None)

    @cached_property
    def _listed(self) -> dict[str, EntityRef]:
        """The entities that the text lists, by key; of several of a name the first."""
        return {ref.key: ref for ref in reversed([entity.ref for entity in self.entities])}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What resolving says of one new fact, by the ids of stored ones."""

    duplicate_of: int | None = None
    contradicts: tuple[int, ...] = ()
    outdates: tuple[int, ...] = ()
    """Facts of the same extraction, by position, that this one contradicts: said earlier in the same conversation."""
    restates: int | None = None
    """A stored fact that the caller corrects: this one stands in its place."""
    ends: int | None = None
    """A stored fact that the caller corrects: it is that one, and says when it ended."""


NOTHING = Verdict()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored live fact that a new one might repeat or contradict, and how it was found."""

    edge: Edge
    found_by: Literal["name", "similar", "name+similar"]


@dataclass(frozen=True, slots=True)
class Known:
    """What the store knows about the names of a text, read in one snapshot at commit `seq`."""

    seq: int
    entities: Mapping[EntityRef, Entity] = field(default_factory=dict[EntityRef, Entity])
    candidates: tuple[Candidate, ...] = ()
    same: Mapping[int, tuple[Edge, ...]] = field(default_factory=dict[int, tuple[Edge, ...]])
    """For the index of a new fact: every stored fact of the same source, target and relation, closed ones too."""


@dataclass(frozen=True, slots=True)
class Span:
    """The place of a chunk in its parent's text: code points, the end exclusive, so that text[start:end] is the chunk.
    `overlap_tokens` of its tokens belong to the chunk before it too."""

    index: int
    start: int
    end: int
    tokens: int
    overlap_tokens: int


@dataclass(frozen=True, slots=True)
class Artifact:
    """A source to be stored. `valid_at` is its reference time.

    Its parent is another artifact of the same change, by position, or a stored one, by id. `index` names the vector
    index that its text is embedded into. `model_id` and `inference_id` tell who wrote a text that nobody told us.
    """

    kind: ArtifactKind
    text: str
    session_id: str | None
    valid_at: datetime
    parent: int | None = None
    parent_id: int | None = None
    span: Span | None = None
    index: ArtifactIndex | None = None
    model_id: str | None = None
    inference_id: int | None = None
    reasoning: str | None = None
    """The level that the call which wrote it ran with."""
    speaker: str | None = None
    external_id: str | None = None
    session_source: str | None = None
    image: ReadImage | None = None
    """Of an image: itself, and what was read from it. The store raises Stale for one that the dataset holds."""

    @property
    def as_text(self) -> str:
        """The text that is embedded for it: what was said, with who said it."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of one text, by the texts they stand for; `bytes` are little-endian float32."""

    model: str
    dim: int
    of: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class GraphChange:
    """One whole write: intents, not rows.

    `sources` are the positions of the artifacts that were read: what the extraction says it found in source i is linked
    to artifact `sources[i]`. `verdicts[i]` belongs to `extraction.edges[i]`; `read_seq` is the commit that the verdicts
    were decided on (None: the dataset was not there). `vectors` None means that nothing is embedded; `embed_later`
    leaves texts in the outbox without a vector, for an embedder that fits the dataset.
    """

    user_id: str
    dataset: str
    artifacts: Sequence[Artifact]
    sources: Sequence[int]
    extraction: Extraction
    verdicts: Sequence[Verdict]
    read_seq: int | None
    clock: Callable[[], datetime]
    """Read once the change has its turn to be written: that moment is its system time."""
    run_id: int | None = None
    vectors: Vectors | None = None
    embed_later: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """One artifact that was read, and the rows that it names and states, by id."""

    artifact_id: int
    entities: tuple[int, ...]
    edges: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """What one write left behind: rows in their stored state."""

    dataset: Dataset
    seq: int
    created_at: datetime
    artifact_ids: tuple[int, ...]
    """One for each artifact of the change, in its order."""
    sources: tuple[Source, ...]
    """The artifacts that were read, in order."""
    entities: tuple[Entity, ...]
    """One for each entity of the extraction, in its order."""
    endpoints: tuple[Entity, ...]
    """Further entities that only an edge names."""
    edges: tuple[Edge, ...]
    """The facts of the text, unique, in its order; a repeat is the stored fact."""
    invalidated: tuple[int, ...]
    queued: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many vectors wait in the outbox, by index."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One write and the artifacts that it holds, in order: a text; a chunk, with its parent before the first one and
    its summary behind it; or the messages of a conversation."""

    artifacts: tuple[Artifact, ...]
    stored: Stored
