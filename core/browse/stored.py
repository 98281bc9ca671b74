"""What is stored, as it is shown: rows of lists, whole rows, and what a list can be limited to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from core.graph import ArtifactKind, Edge, Entity, TimeSource

T = TypeVar("T")
Key = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list is read: `limit` rows, those behind the row with the key `after`."""

    limit: int
    after: Key | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows of a list, how many it has in all, and the key of the last one here if more come behind it."""

    rows: tuple[T, ...]
    total: int
    last: Key | None = None


@dataclass(frozen=True, slots=True)
class StoredDataset:
    """A dataset and how much it holds. `commits` is the number of writes so far."""

    name: str
    artifacts: int
    entities: int
    edges: int
    commits: int
    created_at: datetime
    last_write_at: datetime | None
    embedding_model: str | None


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session and how much came of it; the times are those of its first and last write."""

    session_id: str
    artifacts: int
    entities: int
    edges: int
    first_at: datetime
    last_at: datetime


# Artifacts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ArtifactFilter:
    """Which artifacts are listed; `words` are folded, and all of them occur in the text."""

    session_id: str | None = None
    kind: ArtifactKind | None = None
    parent_id: int | None = None
    run_id: int | None = None
    words: tuple[str, ...] = ()
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredArtifact:
    """An artifact with a glimpse of its text. `message_id` is the id that its sender knows it by."""

    id: int
    kind: ArtifactKind
    parent_id: int | None
    session_id: str | None
    session_source: str | None
    speaker: str | None
    message_id: str | None
    valid_at: datetime
    created_at: datetime
    characters: int
    excerpt: str


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk of an artifact: its place in the text (code points, the end exclusive) and its summary."""

    id: int
    index: int
    start_offset: int
    end_offset: int
    tokens: int
    overlap_tokens: int
    summary_id: int | None = None
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class StoredImage:
    """What is known of an image, its bytes left out."""

    sha256: str
    media_type: str
    width: int
    height: int
    bytes: int
    theme: str
    title: str
    blocks: Any
    language: str | None


@dataclass(frozen=True, slots=True)
class WholeArtifact:
    """All of an artifact; its entities and facts are those of its chunks too, the newest ones of them."""

    id: int
    kind: ArtifactKind
    parent_id: int | None
    session_id: str | None
    session_source: str | None
    speaker: str | None
    message_id: str | None
    valid_at: datetime
    created_at: datetime
    text: str
    run_id: int | None
    chunk_index: int | None
    start_offset: int | None
    end_offset: int | None
    tokens: int | None
    overlap_tokens: int | None
    model_id: str | None
    inference_id: int | None
    chunks: tuple[StoredChunk, ...]
    image: StoredImage | None
    entities: Page[Entity]
    edges: Page[Edge]


# Entities -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EntityFilter:
    """Which entities are listed; `name_key` is the key of a name or of a former one."""

    name_key: str | None = None
    type: str | None = None
    words: tuple[str, ...] = ()
    session_id: str | None = None
    artifact_id: int | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Alias:
    """The name and type of an entity that was merged into another one, and the id that it had."""

    former_id: int
    name: str
    type: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Support:
    """An artifact that names an entity or states a fact, with the passage that does. `states_end`: it also says when
    the fact ended."""

    id: int
    kind: ArtifactKind
    parent_id: int | None
    valid_at: datetime
    session_id: str | None
    excerpt: str
    states_end: bool = False


@dataclass(frozen=True, slots=True)
class WholeEntity:
    """All of an entity. `same_name`: entities of another type under the same name, which may be the same thing."""

    entity: Entity
    edges: Page[Edge]
    aliases: tuple[Alias, ...]
    same_name: tuple[Entity, ...]
    artifacts: Page[Support]
    sessions: Page[str]


# Edges ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EdgeFilter:
    """Which facts are listed. `live`: whether newer knowledge has superseded them; `as_of`: true in the world then;
    `since`: learned after that time."""

    entity_id: int | None = None
    relation: str | None = None
    artifact_id: int | None = None
    session_id: str | None = None
    live: bool | None = None
    as_of: datetime | None = None
    since: datetime | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EdgeVersion:
    """The times that a fact had until it was changed, at `until`."""

    until: datetime
    valid_at: datetime
    invalid_at: datetime | None
    expired_at: datetime | None
    valid_at_source: TimeSource | None
    invalid_at_source: TimeSource | None
    closed_by: int | None


@dataclass(frozen=True, slots=True)
class WholeEdge:
    """All of a fact: what supports it, and which times it had before, oldest first."""

    edge: Edge
    artifacts: Page[Support]
    sessions: Page[str]
    history: tuple[EdgeVersion, ...]
