"""Telling: what one remember call is told, cut into the parts that are read and stored one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from core.extraction import RawEdge, RawEntity
from core.graph import Artifact, Kind, Message, Span
from core.text import name_key
from core.times import utc
from core.tokens import lengths


@dataclass(frozen=True, slots=True)
class Given:
    """What the caller read from the text, instead of a model."""

    entities: tuple[RawEntity, ...] = ()
    edges: tuple[RawEdge, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """One text or message as it is kept, with what its sender says of it. `place` is its position in the request."""

    text: str
    reference_time: datetime
    speaker: str | None = None
    external_id: str | None = None
    place: int = 0

    @property
    def message(self) -> Message:
        return Message(self.text, self.reference_time, self.speaker or "")


@dataclass(frozen=True, slots=True)
class Telling:
    """The whole of a call. `conversation`: messages, each an artifact of its own, instead of one text."""

    texts: tuple[Told, ...]
    kind: Kind
    session_id: str | None
    session_source: str | None = None
    conversation: bool = False
    given: Given | None = None

    @property
    def said(self) -> str:
        """All of it, with who said what."""
        return "\n".join(f"{told.speaker}: {told.text}" if told.speaker else told.text for told in self.texts)

    def artifact(self, told: Told) -> Artifact:
        """The artifact of a text that is kept whole."""
        return Artifact(
            self.kind,
            told.text,
            self.session_id,
            utc(told.reference_time),
            index="chunks" if self.conversation else None,
            speaker=told.speaker,
            external_id=told.external_id,
            session_source=self.session_source,
        )


@dataclass(frozen=True, slots=True)
class Part:
    """What is read at once and stored in one commit: a text, a chunk of one, or a stretch of a conversation.

    `artifacts` are the ones that it is read from; a chunk's `parent` is the text that it was cut from.
    """

    messages: tuple[Message, ...]
    artifacts: tuple[Artifact, ...]
    parent: Artifact | None = None
    given: Given | None = None
    conversation: bool = False
    places: tuple[int, ...] = ()
    """Which of the told messages these are."""

    @property
    def text(self) -> str:
        return "\n".join(message.text for message in self.messages)


def whole(telling: Telling, told: Told) -> Part:
    """A text that is read whole."""
    return Part((told.message,), (telling.artifact(told),), given=telling.given, places=(told.place,))


def chunks(telling: Telling, told: Told, spans: Sequence[Span]) -> Iterable[Part]:
    """The parts of a text that is too long to be read whole."""
    parent = replace(telling.artifact(told), index=None)
    given = _shared_out([told.text[span.start : span.end] for span in spans], telling.given)
    for span, facts in zip(spans, given, strict=True):
        text = told.text[span.start : span.end]
        artifact = replace(parent, kind="chunk", text=text, span=span, index="chunks", external_id=None)
        message = replace(told.message, text=text)
        yield Part((message,), (artifact,), parent, facts, places=(told.place,))


def stretch(telling: Telling, told: Sequence[Told]) -> Part:
    """Messages that are read together."""
    artifacts = tuple(telling.artifact(message) for message in told)
    places = tuple(message.place for message in told)
    return Part(tuple(message.message for message in told), artifacts, conversation=True, places=places)


def stretches(told: Sequence[Told], size: int) -> Iterable[list[Told]]:
    """The messages in groups of at most `size` tokens; one that is longer is alone."""
    group: list[Told] = []
    room = size
    for message, tokens in zip(told, lengths([message.text for message in told], size), strict=True):
        if group and tokens > room:
            yield group
            group, room = [], size
        group.append(message)
        room -= tokens
    if group:
        yield group


def _shared_out(texts: Sequence[str], given: Given | None) -> list[Given | None]:
    """Facts that the caller read, each with the first chunk that names both its ends, else with the first chunk."""
    if given is None:
        return [None] * len(texts)
    keys = [name_key(text) for text in texts]

    def place(*names: str) -> int:
        wanted = [name_key(name) for name in names]
        return next((i for i, key in enumerate(keys) if all(name in key for name in wanted)), 0)

    entities = [(place(entity.name), entity) for entity in given.entities]
    edges = [(place(edge.source, edge.target), edge) for edge in given.edges]
    return [
        Given(tuple(e for at, e in entities if at == i), tuple(e for at, e in edges if at == i))
        for i in range(len(texts))
    ]
