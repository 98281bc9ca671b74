"""remember: the operation, its request and its response."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from core.core import Core
from core.errors import InvalidRequest, VectorsPending
from core.extraction import RawEdge, RawEntity
from core.graph import Kind, Stored
from core.inferences import Choice, Reasoning
from core.noise import is_noise
from core.ports import RunOf
from core.remember import pipeline
from core.remember.embed import Indexed
from core.remember.run import Run
from core.remember.telling import Telling
from core.requests import (
    MIB,
    SESSION_ID,
    USER_ID,
    DatasetName,
    Instant,
    Models,
    ReasoningLevels,
    Request,
    Response,
    SessionId,
    UserId,
)
from core.secrets import mask
from core.text import clean, utf8_length
from core.tokens import count_tokens, fits
from core.wire import EdgeItem, EntityItem, Time

MAX_TEXT = MIB
MAX_FACTS = 500


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("must be a non-empty text, is blank")
    if (size := utf8_length(value)) > MAX_TEXT:
        raise ValueError(f"must be at most {MAX_TEXT} bytes of UTF-8 (1 MiB), has {size}")
    return value


def _kind(value: object) -> object:
    kind = value.strip().lower() if isinstance(value, str) else value
    if kind in (None, ""):
        return "knowledge"
    if kind not in ("knowledge", "episode"):
        raise ValueError("must be knowledge or episode")
    return kind


class GivenEntity(Request):
    """An entity that the caller read from the text."""

    name: str
    type: str = ""
    description: str = ""


class GivenEdge(Request):
    """A fact that the caller read from the text. Dates: RFC 3339, YYYY-MM-DD, YYYY-MM or YYYY."""

    source: str
    target: str
    relation: str
    description: str = ""
    valid_at: str | None = None
    invalid_at: str | None = None


class RememberRequest(Request):
    user_id: Annotated[UserId, USER_ID]
    text: Annotated[
        str,
        AfterValidator(_text),
        Field(description="What to remember, in plain words: at most 1024 tokens, longer texts in parts."),
    ]
    dataset: Annotated[DatasetName, Field(description="Where to store it; created if it is not there.")] = "main"
    kind: Annotated[
        Kind,
        BeforeValidator(_kind),
        WithJsonSchema({"type": "string", "enum": ["knowledge", "episode"]}),
        Field(description="episode for a message or event anchored in time, else knowledge."),
    ] = "knowledge"
    reference_time: Annotated[
        Instant,
        Field(description="RFC 3339: when the text was written; 'yesterday' is resolved against it. Default: now."),
    ] = None
    session_id: Annotated[SessionId, SESSION_ID] = None
    entities: Annotated[
        list[GivenEntity] | None,
        Field(max_length=MAX_FACTS, description="Entities you read from the text yourself: no model is asked then."),
    ] = None
    edges: Annotated[
        list[GivenEdge] | None,
        Field(
            max_length=MAX_FACTS,
            description="Facts you read from the text yourself: no model is asked then. lives_in, works_at, "
            "married_to, reports_to and has_email hold once at a time: a new one closes the old one.",
        ),
    ] = None
    models: Models = Field(
        default_factory=dict[str, str], description='A model name for each stage, e.g. {"extract_graph": "…"}.'
    )
    reasoning: ReasoningLevels = Field(
        default_factory=dict[str, Reasoning], description="A reasoning level for each stage."
    )
    image: Annotated[Any, Field(description="Not available yet.")] = None
    timeseries: Annotated[Any, Field(description="Not available yet.")] = None
    web_search: Annotated[bool, Field(description="Not available yet.")] = False

    @model_validator(mode="before")
    @classmethod
    def _only_what_is_there(cls, stated: object) -> object:
        """Before all else: a request with an image has no text, and its text is not what is missing."""
        for field in ("image", "timeseries", "web_search"):
            fields = cast("Mapping[str, object]", stated if isinstance(stated, Mapping) else {})
            if fields.get(field) not in (None, False):
                raise ValueError(f"{field}: not available yet")
        return cast("object", stated)


class RememberResponse(Response):
    """What was remembered. Optional fields are left out when they have nothing to say."""

    remember_run_id: int | None = None
    artifact_id: int
    kind: Kind
    session_id: str | None = None
    valid_at: Time
    created_at: Time
    reference_time_source: Literal["request", "server"]
    entities: list[EntityItem]
    edges: list[EdgeItem]
    invalidated_edges: list[int]
    embedded_entities: int | None = None
    embedded_edges: int | None = None
    vectors_pending: int | None = None
    warnings: list[str] | None = None


async def remember(core: Core, request: RememberRequest) -> RememberResponse:
    """Remember a text: keep it, add the facts that it states to the knowledge graph with the time they became true, and
    close the stored facts that they contradict.

    Everything is stored in one transaction, or nothing is. Remembering the same text again adds no second fact.
    """
    text, notes = _text_to_keep(core, request)
    given = _given(core, request)
    if given is None:
        core.engine.require()
    told = Telling.of(text, request.kind, request.session_id, request.reference_time, core.clock())

    async def work() -> RememberResponse:
        of = RunOf(request.user_id, request.dataset, request.session_id)
        async with Run.of_call(core, of, _parameters(request)) as run:
            run.notes += notes
            remembered = await pipeline.execute(core, told, given, _choices(request), run)
            await run.finish(remembered.stored.artifact_id)
        return _response(request, told, remembered, run)

    return await core.turns.run(request.user_id, request.dataset, work)


def _given(core: Core, request: RememberRequest) -> pipeline.Given | None:
    if request.entities is None and request.edges is None:
        return None

    def kept(words: str) -> str:
        return mask(words)[0] if core.config.mask_secrets else words

    return pipeline.Given(
        tuple(RawEntity(kept(e.name), e.type, kept(e.description)) for e in request.entities or ()),
        tuple(
            RawEdge(kept(e.source), kept(e.target), e.relation, kept(e.description), e.valid_at, e.invalid_at)
            for e in request.edges or ()
        ),
    )


def _text_to_keep(core: Core, request: RememberRequest) -> tuple[str, list[str]]:
    """The text that is kept and read, and what the caller should know about it."""
    cleaned, notes = clean(request.text)
    text = str(cleaned)
    if request.reference_time is not None and request.reference_time.tzinfo is None:
        notes.append("reference_time has no zone and was read as UTC")
    if core.config.mask_secrets:
        text, masked = mask(text)
        notes += [f"masked {masked} secret{'s' if masked > 1 else ''}"] if masked else []
    if not is_noise(text) and not fits(text, core.config.chunk_size):
        raise InvalidRequest(
            f"text: not available yet: texts of more than {core.config.chunk_size} tokens (this one has "
            f"{count_tokens(text)}); send it in shorter parts",
            param="text",
        )
    return text, notes


def _parameters(request: RememberRequest) -> dict[str, object]:
    """What the run log keeps of a request: everything but the text, of which it keeps the size and the SHA-256."""
    kept: dict[str, object] = request.model_dump(
        mode="json", exclude={"user_id", "text", "entities", "edges"}, exclude_defaults=True
    )
    encoded = request.text.encode()
    return kept | {"text_bytes": len(encoded), "text_sha256": hashlib.sha256(encoded).hexdigest()}


def _choices(request: RememberRequest) -> dict[str, Choice]:
    return {
        stage: Choice(request.models.get(stage, ""), request.reasoning.get(stage, "none"))
        for stage in ("extract_graph", "resolve_edges")
    }


def _response(request: RememberRequest, told: Telling, remembered: pipeline.Remembered, run: Run) -> RememberResponse:
    stored, indexed = remembered.stored, remembered.indexed
    response = RememberResponse(
        remember_run_id=run.of.run_id,
        artifact_id=stored.artifact_id,
        kind=request.kind,
        session_id=request.session_id,
        valid_at=told.artifact.valid_at,
        created_at=stored.created_at,
        reference_time_source="request" if request.reference_time else "server",
        entities=_entities(remembered),
        edges=[EdgeItem.of(edge, described=True) for edge in stored.edges],
        invalidated_edges=list(stored.invalidated),
        warnings=run.notes or None,
        **_vector_counts(stored, indexed),
    )
    if indexed.failed:
        raise VectorsPending(
            f"the facts are stored, but {indexed.failed}; they are written again by themselves", saved=response.body()
        )
    return response


def _entities(remembered: pipeline.Remembered) -> list[EntityItem]:
    """What the text says of its entities, with the ids of their rows."""
    pairs = zip(remembered.extraction.entities, remembered.stored.entities, strict=True)
    return [
        EntityItem(id=row.id, name=row.name, type=row.type, description=stated.description or None)
        for stated, row in pairs
    ]


def _vector_counts(stored: Stored, indexed: Indexed) -> dict[str, int]:
    """How many vectors of this text are in the indexes as it answers; nothing where nothing was embedded."""
    if not stored.queued:
        return {}
    if indexed.pending:
        return {"vectors_pending": indexed.pending}
    return {
        "embedded_entities": len(stored.entities) + len(stored.endpoints),
        "embedded_edges": len(stored.edges),
    }
