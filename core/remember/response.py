"""What remember answers: the rows of what was told, in their stored state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from core.graph import Artifact, Kind
from core.images import KnownImage, Role, Theme
from core.ports import RunOf
from core.remember.embed import Indexed
from core.remember.pipeline import Remembered
from core.requests import Response
from core.wire import EdgeItem, EntityItem, Time


class SummaryItem(Response):
    """The summary of a chunk, an artifact of its own, and the call that wrote it."""

    artifact_id: int
    text: str
    model: str | None = None
    reasoning: str | None = None
    inference_id: int | None = None


class ChunkItem(Response):
    """A chunk of a long text. Offsets are code points of the text, the end exclusive; `overlap_tokens` of its tokens
    belong to the chunk before it too."""

    artifact_id: int
    index: int
    tokens: int
    overlap_tokens: int
    start_offset: int
    end_offset: int
    entities: list[EntityItem]
    edges: list[EdgeItem]
    summary: SummaryItem | None = None


class MessageItem(Response):
    """A message of a conversation: its artifact, and the ids of the rows that it names and states. `known` ones were
    there before and were not remembered again."""

    artifact_id: int
    id: str | None = None
    known: bool | None = None
    entity_ids: list[int] | None = None
    edge_ids: list[int] | None = None


class _Facts(Response):
    """The rows of what was told, and the vectors that were written for them."""

    entities: list[EntityItem]
    edges: list[EdgeItem]
    invalidated_edges: list[int]
    embedded_entities: int | None = None
    embedded_edges: int | None = None
    embedded_chunks: int | None = None
    embedded_summaries: int | None = None
    vectors_pending: int | None = None
    warnings: list[str] | None = None


class RememberResponse(_Facts):
    """What was remembered of a text. Optional fields are left out when they have nothing to say; `chunks` are those of
    a text that was too long to be read at once, and `artifact_id` the whole of it."""

    remember_run_id: int | None = None
    artifact_id: int
    kind: Kind
    session_id: str | None = None
    valid_at: Time
    created_at: Time
    reference_time_source: Literal["request", "server"]
    chunks: list[ChunkItem] | None = None


class ConversationResponse(_Facts):
    """What was remembered of a conversation: its messages in order, and the facts of all of them."""

    remember_run_id: int | None = None
    kind: Kind
    session_id: str | None = None
    messages: list[MessageItem]


class BlockItem(Response):
    """A piece of text that stands in an image, word for word."""

    text: str
    role: Role


class ImageResponse(Response):
    """What was read from an image: its theme, title and blocks of text in reading order. `deduplicated`: the dataset
    held it already, and this is what was read then; `valid_at` and `created_at` are of that time."""

    remember_run_id: int | None = None
    artifact_id: int
    kind: Literal["image"] = "image"
    sha256: str
    media_type: str
    width: int
    height: int
    theme: Theme
    title: str
    blocks: list[BlockItem]
    session_id: str | None = None
    valid_at: Time
    created_at: Time
    deduplicated: bool
    warnings: list[str] | None = None


def image_response(known: KnownImage, of: RunOf, warnings: Sequence[str] = ()) -> ImageResponse:
    """The response of a run that told this image."""
    image, reading = known.read.image, known.read.reading
    return ImageResponse(
        remember_run_id=of.run_id,
        artifact_id=known.artifact_id,
        sha256=image.sha256,
        media_type=image.media_type,
        width=image.width,
        height=image.height,
        theme=reading.theme,
        title=reading.title,
        blocks=[BlockItem(text=block.text, role=block.role) for block in reading.blocks],
        session_id=of.session_id,
        valid_at=known.valid_at,
        created_at=known.created_at,
        deduplicated=known.run_id != of.run_id,
        warnings=_each_once(warnings),
    )


class Accepted(Response):
    """The call is kept and goes on by itself, also after a crash: GET /v1/gb/remember-runs/{remember_run_id} says how
    it went. `note` tells a caller that waited for its answer how to get it."""

    remember_run_id: int
    state: Literal["queued", "running"]
    session_id: str | None = None
    note: str | None = None


Remembering = RememberResponse | ConversationResponse | ImageResponse


@dataclass(frozen=True, slots=True)
class Terms:
    """What a response says besides the rows that were stored. `dated`: the request had a reference time of its own;
    `messages` is how many it held, `known` those of them that the dataset had before, by their place."""

    run_id: int | None
    kind: Kind
    session_id: str | None
    dated: bool
    messages: int | None = None
    known: Mapping[int, MessageItem] = field(default_factory=dict[int, MessageItem])
    warnings: tuple[str, ...] = ()
    vectors: Mapping[str, int] = field(default_factory=dict[str, int])

    def outcome(self, done: Sequence[Remembered]) -> dict[str, Any]:
        """What neither the request's parameters nor the rows of `done` say of the response, as JSON."""
        known = {str(place): [item.artifact_id, item.id] for place, item in self.known.items()}
        listed = {entity.id for one in done for entity in one.entities}
        endpoints = sorted({entity.id for one in done for entity in one.stored.endpoints} - listed)
        said = {"warnings": list(self.warnings), "vectors": dict(self.vectors), "known": known, "endpoints": endpoints}
        return {name: value for name, value in said.items() if value}


def respond(done: Sequence[Remembered], terms: Terms) -> Remembering:
    """The response to what was remembered; of a text at least its first part."""
    common: dict[str, Any] = {
        "remember_run_id": terms.run_id,
        "kind": terms.kind,
        "session_id": terms.session_id,
        "entities": entities_of(done),
        "edges": edges_of(done),
        "invalidated_edges": invalidated_by(done),
        "warnings": _each_once(terms.warnings),
        **terms.vectors,
    }
    if terms.messages is not None:
        stored = iter(messages_of(done))
        items = [terms.known.get(place) or next(stored, None) for place in range(terms.messages)]
        return ConversationResponse(messages=[item for item in items if item], **common)
    first = done[0]
    return RememberResponse(
        artifact_id=first.stored.artifact_ids[0],
        valid_at=first.commit.artifacts[0].valid_at,
        created_at=first.stored.created_at,
        reference_time_source="request" if terms.dated else "server",
        chunks=chunks_of(done),
        **common,
    )


def _each_once(warnings: Sequence[str]) -> list[str] | None:
    """Each warning once, with how often it was given: a list of 500 facts can break one rule 500 times."""
    return [text if times == 1 else f"{text} ({times} times)" for text, times in Counter(warnings).items()] or None


def entities_of(done: Iterable[Remembered]) -> list[EntityItem]:
    """What the texts say of their entities, each once, with the ids of their rows; the first words said of one stay."""
    items: dict[int, EntityItem] = {}
    for entity in (entity for one in done for entity in one.entities):
        known = items.get(entity.id)
        if known is None or not known.description:
            items[entity.id] = EntityItem.of(entity)
    return list(items.values())


def edges_of(done: Iterable[Remembered]) -> list[EdgeItem]:
    """The facts of the texts, each once, in their last state."""
    edges = {edge.id: edge for one in done for edge in one.stored.edges}
    return [EdgeItem.of(edge, described=True) for edge in edges.values()]


def invalidated_by(done: Iterable[Remembered]) -> list[int]:
    """The ids of the facts that were closed, in ascending order."""
    return sorted({edge_id for one in done for edge_id in one.stored.invalidated})


def chunks_of(done: Sequence[Remembered]) -> list[ChunkItem] | None:
    """The chunks in order; None for what was not chunked."""
    return [item for one in done if (item := _chunk(one))] or None


def _chunk(one: Remembered) -> ChunkItem | None:
    artifacts = list(zip(one.commit.artifacts, one.stored.artifact_ids, strict=True))
    chunk = next(((artifact.span, i) for artifact, i in artifacts if artifact.span), None)
    if chunk is None:
        return None
    span, artifact_id = chunk
    summary = next((_summary(artifact, i) for artifact, i in artifacts if artifact.kind == "chunk_summary"), None)
    return ChunkItem(
        artifact_id=artifact_id,
        index=span.index,
        tokens=span.tokens,
        overlap_tokens=span.overlap_tokens,
        start_offset=span.start,
        end_offset=span.end,
        entities=entities_of([one]),
        edges=edges_of([one]),
        summary=summary,
    )


def _summary(artifact: Artifact, artifact_id: int) -> SummaryItem:
    return SummaryItem(
        artifact_id=artifact_id,
        text=artifact.text,
        model=artifact.model_id,
        reasoning=artifact.reasoning,
        inference_id=artifact.inference_id,
    )


def messages_of(done: Iterable[Remembered]) -> list[MessageItem]:
    """The messages that were stored, in order; a long one, that was chunked, with the rows of all its chunks."""
    named: dict[int, tuple[str | None, list[int], list[int]]] = {}
    for one in done:
        sources = {source.artifact_id: source for source in one.stored.sources}
        for artifact, artifact_id in zip(one.commit.artifacts, one.stored.artifact_ids, strict=True):
            if artifact.kind == "episode":
                named[artifact_id] = (artifact.external_id, [], [])
            if (source := sources.get(artifact_id)) is not None:
                parent = one.stored.artifact_ids[0] if artifact.parent == 0 else artifact.parent_id
                _, entities, edges = named[artifact_id if parent is None else parent]
                entities += source.entities
                edges += source.edges
    return [
        MessageItem(artifact_id=i, id=name, entity_ids=list(dict.fromkeys(es)), edge_ids=list(dict.fromkeys(fs)))
        for i, (name, es, fs) in named.items()
    ]


def vector_counts(done: Sequence[Remembered], indexed: Indexed) -> dict[str, int]:
    """How many vectors of this call are in the indexes as it answers; nothing where nothing was embedded."""
    if not any(one.stored.queued for one in done):
        return {}
    if indexed.pending:
        return {"vectors_pending": indexed.pending}

    def written(index: str) -> int:
        return sum(one.stored.queued.get(index, 0) for one in done)

    counts = {"embedded_entities": written("entities"), "embedded_edges": written("edges")}
    more = {"embedded_chunks": written("chunks"), "embedded_summaries": written("summaries")}
    return counts | {name: count for name, count in more.items() if count}
