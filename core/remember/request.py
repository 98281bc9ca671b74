"""What remember is asked: its request, with every rule that a request can break by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from core.graph import Kind
from core.images import Image, bare_base64, decoded_image
from core.inferences import Reasoning
from core.requests import (
    MIB,
    SESSION_ID,
    USER_ID,
    DatasetName,
    Instant,
    Label,
    Models,
    ReasoningLevels,
    Request,
    SessionId,
    SessionSource,
    UserId,
)
from core.text import utf8_length

MAX_TEXT = MIB
MAX_FACTS = 500
MAX_MESSAGES = 1000


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("must be a non-empty text, is blank")
    if (size := utf8_length(value)) > MAX_TEXT:
        raise ValueError(f"must be at most {MAX_TEXT} bytes of UTF-8 (1 MiB), has {size}")
    return value


def _lowered(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _kind(value: object) -> object:
    kind = _lowered(value)
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
    """A fact that the caller read from the text."""

    source: str
    target: str
    relation: str
    description: str = ""
    valid_at: str | None = None
    invalid_at: str | None = None


class GivenMessage(Request):
    """One message of a conversation: its text, when it was written, who said it, and an id of yours."""

    text: Annotated[str, AfterValidator(_text)]
    reference_time: Instant = None
    speaker: Label = None
    id: Label = None


class RememberRequest(Request):
    user_id: Annotated[UserId, USER_ID]
    text: Annotated[
        str | None,
        AfterValidator(lambda v: v if v is None else _text(v)),
        WithJsonSchema({"type": "string"}),
        Field(description="What to remember, in plain words: at most 1 MiB."),
    ] = None
    messages: Annotated[
        list[GivenMessage] | None,
        AfterValidator(lambda v: _conversation(v)),
        Field(
            max_length=MAX_MESSAGES,
            description="A conversation instead of a text, in order. Each message is kept with its own time; one whose "
            "id is known already is not remembered again.",
        ),
    ] = None
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
    session_source: Annotated[
        SessionSource | None, Field(description="Where the session_id was read: an MCP server tells, nobody else.")
    ] = None
    entities: Annotated[
        list[GivenEntity] | None,
        Field(max_length=MAX_FACTS, description="Entities you read from the text yourself: no model is asked then."),
    ] = None
    edges: Annotated[
        list[GivenEdge] | None,
        Field(
            max_length=MAX_FACTS,
            description="Facts you read from the text yourself: no model is asked then. Dates: RFC 3339, YYYY-MM-DD, "
            "YYYY-MM or YYYY. lives_in, works_at, married_to, reports_to and has_email hold once at a time: a new one "
            "closes the old one.",
        ),
    ] = None
    models: Models = Field(
        default_factory=dict[str, str], description='A model name for each stage, e.g. {"extract_graph": "…"}.'
    )
    reasoning: ReasoningLevels = Field(
        default_factory=dict[str, Reasoning], description="A reasoning level for each stage."
    )
    wait: Annotated[
        bool, Field(description="false: answer at once with remember_run_id; the call is kept and goes on by itself.")
    ] = True
    idempotency_key: Annotated[
        Label, Field(description="A name of yours for this call: sent again with it, it joins the same run.")
    ] = None
    image: Annotated[
        str | None,
        AfterValidator(lambda v: v if v is None else _image(v)),
        WithJsonSchema({"type": "string"}),
        Field(
            description="An image instead of a text, in base64 or as a data URL: PNG, JPEG, GIF or WebP of at most "
            "3.75 MiB and 8000 pixels a side. Its words are read and kept; nothing is added to the graph."
        ),
    ] = None
    timeseries: Annotated[Any, Field(description="Not available yet.")] = None
    web_search: Annotated[bool, Field(description="Not available yet.")] = False

    @model_validator(mode="before")
    @classmethod
    def _one_thing_to_remember(cls, stated: object) -> object:
        """Before all else: what is missing depends on what is there."""
        given = cast("Mapping[str, object]", stated if isinstance(stated, Mapping) else {})
        if given.get("image") is not None:
            _only_an_image(given)
            return cast("object", stated)
        for field in ("timeseries", "web_search"):
            if given.get(field) not in (None, False):
                raise ValueError(f"{field}: not available yet")
        if given.get("text") is None and given.get("messages") is None:
            raise ValueError("text: is required (or messages, or image)")
        if given.get("messages") is not None:
            _only_a_conversation(given)
        return cast("object", stated)

    @property
    def kind_of_artifact(self) -> Kind:
        """A message is an episode, whatever else."""
        return "episode" if self.messages is not None else self.kind

    @cached_property
    def told_image(self) -> Image:
        """The image of a request that has one."""
        assert self.image is not None
        return decoded_image(self.image)

    def parameters(self) -> dict[str, object]:
        """What the run log keeps of the request: everything but its texts and its image, of which it keeps the size and
        the SHA-256."""
        told = {"user_id", "text", "messages", "entities", "edges", "image"}
        kept: dict[str, object] = self.model_dump(mode="json", exclude=told, exclude_defaults=True)
        if self.image is not None:
            image = self.told_image
            return kept | {"image_bytes": image.size, "image_sha256": image.sha256}
        if self.messages is not None:
            kept["messages"] = len(self.messages)
        texts = [self.text or "", *(message.text for message in self.messages or ())]
        digest = hashlib.sha256("\0".join(texts).encode() if self.messages is not None else texts[0].encode())
        return kept | {"text_bytes": sum(map(utf8_length, texts)), "text_sha256": digest.hexdigest()}

    def kept(self) -> dict[str, object]:
        """All of it as JSON, for whichever process goes on with its run."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def digest(self) -> str:
        """Tells whether two calls say the same. Not in which session: a door may name a new one for each call."""
        own = {"wait", "idempotency_key", "session_id", "session_source"}
        said = self.model_dump_json(exclude=own, exclude_defaults=True)
        return hashlib.sha256(said.encode()).hexdigest()


def _only_an_image(given: Mapping[str, object]) -> None:
    """What a request with an image can't have beside it."""
    for field in ("text", "messages", "kind", "timeseries", "web_search", "entities", "edges"):
        if given.get(field) not in (None, False) and not (field == "kind" and given[field] == ""):
            raise ValueError(f"{field}: can't be given with image")


def _image(stated: str) -> str:
    decoded_image(stated)
    return bare_base64(stated)


def _only_a_conversation(given: Mapping[str, object]) -> None:
    """What a request with messages can't have beside them."""
    for field in ("text", "entities", "edges"):
        if given.get(field) is not None:
            raise ValueError(f"{field}: can't be given with messages")
    if given.get("kind") not in (None, "") and _lowered(given["kind"]) != "episode":
        raise ValueError("kind: messages are of kind episode")


def _conversation(messages: list[GivenMessage] | None) -> list[GivenMessage] | None:
    if messages is None:
        return None
    if not messages:
        raise ValueError("must hold at least one message")
    ids = [message.id for message in messages if message.id]
    if len(set(ids)) < len(ids):
        raise ValueError("must not hold the same id twice")
    if (size := sum(utf8_length(message.text) for message in messages)) > MAX_TEXT:
        raise ValueError(f"must hold at most {MAX_TEXT} bytes of text (1 MiB) together, have {size}")
    return messages
