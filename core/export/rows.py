"""The document of an export as values: one row type for each section, its fields in the order in which they are shown.

Times are RFC 3339 text with `Z`. `seq` numbers the commit that a row belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, overload

FORMAT = "gligabao-graph"
VERSION = 1

Include = Literal["text", "points"]
# What has a section or a field in the document, but nothing that fills it yet.
EMPTY_SECTIONS = ("series",)


class ModelRow(NamedTuple):
    """Who wrote rows: `id` is what their model_id says."""

    id: str
    name: str
    provider: str | None


class EntityRow(NamedTuple):
    id: int
    name: str
    type: str
    description: str
    model_id: str | None
    created_at: str
    updated_at: str
    created_seq: int
    text_seq: int


class EdgeRow(NamedTuple):
    """A fact. `closed_by` is the fact that ended it, where that one is there."""

    id: int
    source_id: int
    target_id: int
    relation: str
    description: str
    valid_at: str
    invalid_at: str | None
    created_at: str
    expired_at: str | None
    artifact_id: int | None
    model_id: str | None
    valid_at_source: str
    invalid_at_source: str | None
    valid_precision: str
    invalid_precision: str | None
    invalid_set_at: str | None
    closed_by: int | None
    created_seq: int
    invalid_set_seq: int | None
    expired_seq: int | None

    def is_true_at(self, moment: str) -> bool:
        """Whether the fact was true in the world at that moment, and is not superseded."""
        # Without the Z, RFC 3339 times sort as text, with a fraction or without.
        now = moment[:-1]
        ended = self.invalid_at is not None and self.invalid_at[:-1] <= now
        return self.expired_at is None and self.valid_at[:-1] <= now and not ended


class ArtifactRow(NamedTuple):
    """A source. `text`, the vector index it belongs into and whether words are looked for in it come with its text."""

    id: int
    kind: str
    parent_id: int | None
    session_id: str | None
    session_source: str | None
    valid_at: str
    created_at: str
    chunk_index: int | None
    start_offset: int | None
    end_offset: int | None
    tokens: int | None
    overlap_tokens: int | None
    model_id: str | None
    speaker: str | None
    message_id: str | None
    seq: int
    vector_index: str | None = None
    searched: bool | None = None
    text: str | None = None


class EntityArtifactRow(NamedTuple):
    entity_id: int
    artifact_id: int
    seq: int


class EdgeArtifactRow(NamedTuple):
    edge_id: int
    artifact_id: int
    states_end: bool
    seq: int


class EntitySessionRow(NamedTuple):
    entity_id: int
    session_id: str
    first_seen_at: str


class EdgeSessionRow(NamedTuple):
    edge_id: int
    session_id: str
    first_seen_at: str


class AliasRow(NamedTuple):
    """The name of an entity that was merged into another; `former_id` is the id that it had."""

    former_id: int
    name: str
    type: str
    entity_id: int
    created_at: str


class EntityVersionRow(NamedTuple):
    """What an entity said before the commit `seq`."""

    entity_id: int
    seq: int
    changed_at: str
    name: str
    type: str
    description: str


class EdgeVersionRow(NamedTuple):
    """The times of a fact before the commit `seq`."""

    edge_id: int
    seq: int
    changed_at: str
    valid_at: str
    invalid_at: str | None
    expired_at: str | None
    valid_at_source: str | None
    invalid_at_source: str | None
    closed_by: int | None


class ImageRow(NamedTuple):
    """What is known of an image; what was read from it, and its bytes in base64, come with its text."""

    artifact_id: int
    sha256: str
    media_type: str
    width: int
    height: int
    bytes: int
    theme: str | None = None
    title: str | None = None
    blocks: Any = None
    language: str | None = None
    content: str | None = None


class TripleRow(NamedTuple):
    """A triple that was loaded, its terms as N-Triples writes them; `graph` is empty for the default graph. It was
    there until the commit `removed_seq`."""

    subject: str
    predicate: str
    object: str
    graph: str
    created_seq: int
    removed_seq: int | None


class CommitRow(NamedTuple):
    """One write. Its artifact is null where nobody told anything (a forget, say), 0 where it is gone."""

    seq: int
    created_at: str
    session_id: str | None
    artifact_id: int | None
    counts: Any


Row = (
    ModelRow
    | EntityRow
    | EdgeRow
    | ArtifactRow
    | EntityArtifactRow
    | EdgeArtifactRow
    | EntitySessionRow
    | EdgeSessionRow
    | AliasRow
    | EntityVersionRow
    | EdgeVersionRow
    | ImageRow
    | TripleRow
    | CommitRow
)

# Every section in the order of the document.
SECTIONS: Mapping[str, type[Row]] = {
    "models": ModelRow,
    "entities": EntityRow,
    "edges": EdgeRow,
    "artifacts": ArtifactRow,
    "entity_artifacts": EntityArtifactRow,
    "edge_artifacts": EdgeArtifactRow,
    "entity_sessions": EntitySessionRow,
    "edge_sessions": EdgeSessionRow,
    "aliases": AliasRow,
    "entity_versions": EntityVersionRow,
    "edge_versions": EdgeVersionRow,
    "images": ImageRow,
    "triples": TripleRow,
    "commits": CommitRow,
}
# Sections that are only there with rows: releases that do not know them read documents without.
OPTIONAL_SECTIONS = ("triples",)
# The fields that are only there with the texts.
WITH_TEXT: Mapping[str, tuple[str, ...]] = {
    "artifacts": ("vector_index", "searched", "text"),
    "images": ("theme", "title", "blocks", "language", "content"),
}

End = Literal["source_id", "target_id"]


@dataclass(frozen=True, slots=True)
class Header:
    """Whose rows they are. `exported_at` is the time of the dataset's last commit, so that two exports of the same
    state are equal."""

    dataset: str
    exported_at: str


class Snapshot(Protocol):
    """One dataset as it was when the export began. Rows come in the order of their ids, a batch at a time."""

    @property
    def header(self) -> Header: ...

    @property
    def include(self) -> frozenset[Include]:
        """What was asked for beyond the facts."""
        ...

    @overload
    def rows(self, section: Literal["entities"]) -> Iterator[Sequence[EntityRow]]: ...
    @overload
    def rows(self, section: Literal["edges"]) -> Iterator[Sequence[EdgeRow]]: ...
    @overload
    def rows(self, section: Literal["artifacts"]) -> Iterator[Sequence[ArtifactRow]]: ...
    @overload
    def rows(self, section: Literal["entity_artifacts"]) -> Iterator[Sequence[EntityArtifactRow]]: ...
    @overload
    def rows(self, section: Literal["edge_artifacts"]) -> Iterator[Sequence[EdgeArtifactRow]]: ...
    @overload
    def rows(self, section: Literal["triples"]) -> Iterator[Sequence[TripleRow]]: ...
    @overload
    def rows(self, section: str) -> Iterator[Sequence[Row]]: ...

    def edges_by(self, end: End) -> Iterator[Sequence[EdgeRow]]:
        """The facts in the order of the entities at that end."""
        ...
