"""artifacts and artifact: the operations, the texts and images that were remembered."""

from __future__ import annotations

from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, WithJsonSchema

from core.browse.edges import EdgeList, edge_list
from core.browse.entities import EntityList, entity_list
from core.browse.requests import InDataset, MaybeId, Paged, Words, folded, next_cursor, unset, window
from core.browse.stored import ArtifactFilter, Page, StoredArtifact, WholeArtifact, Window
from core.core import Core
from core.datasets import find_dataset
from core.errors import NotFound
from core.graph import ArtifactKind
from core.requests import Label, ReadTime, Response, RowId
from core.times import utc
from core.wire import Time

KINDS: tuple[str, ...] = get_args(ArtifactKind)
FACTS_SHOWN = 100


class ArtifactsRequest(Paged, InDataset):
    session_id: Annotated[Label, Field(description="Only those of this session.")] = None
    kind: Annotated[
        ArtifactKind | None,
        BeforeValidator(unset),
        WithJsonSchema({"type": "string", "enum": list(KINDS)}),
        Field(description=f"Only those of this kind: {', '.join(KINDS)}."),
    ] = None
    parent_id: Annotated[
        MaybeId, Field(description="Only the chunks of this artifact, or the summary of this chunk.")
    ] = None
    run_id: Annotated[MaybeId, Field(description="Only those that this remember run stored.")] = None
    words: Annotated[
        Words,
        Field(description="Only texts that hold all of these words or parts of words; of a long text, its chunks."),
    ] = None
    since: Annotated[ReadTime, Field(description="Only those stored after this time (RFC 3339 or a date).")] = None


class ArtifactItem(Response):
    """An artifact and a glimpse of its text: its first 200 characters, or those around the first of the words that were
    looked for. `message_id` is the id that its sender gave it."""

    id: int
    kind: ArtifactKind
    parent_id: int | None = None
    session_id: str | None = None
    session_source: str | None = None
    speaker: str | None = None
    message_id: str | None = None
    valid_at: Time
    created_at: Time
    characters: int
    excerpt: str


class ArtifactList(Response):
    """Artifacts, newest first."""

    items: list[ArtifactItem]
    total: int
    next_cursor: str | None = None


class ArtifactChunk(Response):
    """A chunk of a text. Offsets are code points of the text, the end exclusive; `overlap_tokens` of its tokens belong
    to the chunk before it too."""

    id: int
    index: int
    start_offset: int
    end_offset: int
    tokens: int
    overlap_tokens: int
    summary_id: int | None = None
    summary: str | None = None


class ArtifactImage(Response):
    """What is known of an image."""

    sha256: str
    media_type: str
    width: int
    height: int
    bytes: int
    theme: str
    title: str
    blocks: Any
    language: str | None = None


class ArtifactRequest(InDataset):
    artifact_id: Annotated[RowId, Field(description="The artifact.")]


class ArtifactResponse(Response):
    """An artifact with its whole text, as it was told. `entities` and `edges` are the newest hundred that it, or a
    chunk of it, names and states; their `next_cursor` goes on in the lists of those, limited to this artifact."""

    id: int
    kind: ArtifactKind
    parent_id: int | None = None
    session_id: str | None = None
    session_source: str | None = None
    speaker: str | None = None
    message_id: str | None = None
    valid_at: Time
    created_at: Time
    text: str
    remember_run_id: int | None = None
    chunk_index: int | None = None
    start_offset: int | None = None
    end_offset: int | None = None
    tokens: int | None = None
    overlap_tokens: int | None = None
    model_id: str | None = None
    inference_id: int | None = None
    chunks: list[ArtifactChunk] | None = None
    image: ArtifactImage | None = None
    entities: EntityList
    edges: EdgeList

    @classmethod
    def of(cls, whole: WholeArtifact) -> ArtifactResponse:
        made: dict[str, Any] = {
            "remember_run_id": whole.run_id,
            "chunks": [ArtifactChunk.model_validate(chunk, from_attributes=True) for chunk in whole.chunks] or None,
            "image": whole.image and ArtifactImage.model_validate(whole.image, from_attributes=True),
            "entities": entity_list(whole.entities),
            "edges": edge_list(whole.edges),
        }
        return cls(**{name: getattr(whole, name) for name in cls.model_fields if name not in made}, **made)


async def artifacts(core: Core, request: ArtifactsRequest) -> ArtifactList:
    """List what was remembered, newest first: texts, messages, images, and the chunks and summaries of long texts."""
    part = window(request, "artifacts", key=[int])
    dataset = await find_dataset(core, request.user_id, request.dataset)
    if dataset is None:
        return artifact_list(Page((), 0))
    among = ArtifactFilter(
        session_id=request.session_id,
        kind=request.kind,
        parent_id=request.parent_id,
        run_id=request.run_id,
        words=folded(request.words),
        since=request.since and utc(request.since),
    )
    return artifact_list(await core.reader.artifacts(dataset, among, part))


def artifact_list(page: Page[StoredArtifact]) -> ArtifactList:
    """A page of artifacts as it is shown."""
    return ArtifactList(
        items=[ArtifactItem.model_validate(row, from_attributes=True) for row in page.rows],
        total=page.total,
        next_cursor=next_cursor("artifacts", page),
    )


async def artifact(core: Core, request: ArtifactRequest, *, most: int = FACTS_SHOWN) -> ArtifactResponse:
    """Show an artifact: its whole text as it was told, its chunks, and the entities and facts that came of it."""
    dataset = await find_dataset(core, request.user_id, request.dataset)
    whole = dataset and await core.reader.artifact(dataset, request.artifact_id, Window(most))
    if not whole:
        raise NotFound("artifact_id: not found", param="artifact_id")
    return ArtifactResponse.of(whole)
