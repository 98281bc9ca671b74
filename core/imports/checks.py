"""What a row of a native document must look like: a model for each section, made from the row types of the export."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model

from core.errors import InvalidRequest
from core.export.rows import SECTIONS
from core.graph import ArtifactIndex, ArtifactKind, TimeSource
from core.requests import MAX_NAME, SessionSource
from core.text import display_name, entity_type, has_control, name_key, relation, utf8_length
from core.times import Precision, read_moment, rfc3339

# The largest id and number of a commit: far from what a database can count to.
MAX_ID = 2**53


def _name(stated: str) -> str:
    shown = display_name(stated)
    if not name_key(shown):
        raise ValueError("must be a name")
    return shown


def _relation(stated: str) -> str:
    if not relation(stated):
        raise ValueError("must be a relation")
    return relation(stated)


def _label(stated: str) -> str:
    if not stated or utf8_length(stated) > MAX_NAME or has_control(stated):
        raise ValueError(f"must be 1 to {MAX_NAME} bytes without control characters")
    return stated


def _bytes(stated: str) -> str:
    try:
        return base64.b64encode(base64.b64decode(stated, validate=True)).decode()
    except ValueError:
        raise ValueError("must be base64") from None


def _start(stated: str) -> str:
    return _moment(stated, end=False)


def _end(stated: str) -> str:
    return _moment(stated, end=True)


def _moment(stated: str, *, end: bool) -> str:
    read = read_moment(stated, end=end)
    if read is None:
        raise ValueError("must be an RFC 3339 time such as 2026-03-01T10:00:00Z")
    return rfc3339(read.at)


Stamp = Annotated[str, AfterValidator(_start)]
Id = Annotated[int, Field(ge=1, le=MAX_ID)]
Label = Annotated[str, AfterValidator(_label)]

# What a field holds, by its name; other fields hold what the row type of the export says.
_KINDS: Mapping[str, Any] = {
    "relation": Annotated[str, AfterValidator(_relation)],
    "type": Annotated[str, AfterValidator(entity_type)],
    "session_id": Label,
    "session_source": SessionSource,
    "message_id": Label,
    "speaker": Label,
    "model_id": Label,
    "provider": Label,
    "invalid_at": Annotated[str, AfterValidator(_end)],
    "valid_at_source": TimeSource,
    "invalid_at_source": TimeSource,
    "valid_precision": Precision,
    "invalid_precision": Precision,
    "kind": ArtifactKind,
    "vector_index": ArtifactIndex,
}
# Of one section alone.
_OWN_KINDS: Mapping[tuple[str, str], Any] = {
    ("entities", "name"): Annotated[str, AfterValidator(_name)],
    ("aliases", "name"): Annotated[str, AfterValidator(_name)],
    ("models", "id"): Label,
    ("models", "name"): Label,
    ("commits", "artifact_id"): Annotated[int, Field(ge=0, le=MAX_ID)],
    ("images", "sha256"): Annotated[str, Field(pattern="^[0-9a-f]{64}$")],
    ("images", "content"): Annotated[str, AfterValidator(_bytes)],
    ("commits", "counts"): dict[str, int],
}
# What a row may leave out that somebody wrote by hand. A time that is left out is that of the export.
_DEFAULTS: Mapping[str, Any] = {
    "description": "",
    "type": "other",
    "valid_at_source": "stated",
    "valid_precision": "instant",
    "states_end": False,
    "counts": {},
}
_COMMIT_FIELDS = ("seq", "created_seq", "text_seq")


@cache
def row_model(section: str) -> type[BaseModel]:
    """The model of the rows of a section."""
    fields: dict[str, Any] = {}
    for name, hint in get_type_hints(SECTIONS[section]).items():
        kind, optional = _kind(section, name, hint), _is_optional(hint)
        if optional or name.endswith("_at"):
            fields[name] = (kind | None, None)
        elif name in _COMMIT_FIELDS and section != "commits":
            fields[name] = (kind, 1)
        else:
            fields[name] = (kind, _DEFAULTS.get(name, ...))
    return create_model(section, __config__=ConfigDict(extra="forbid", strict=True), **fields)


def _kind(section: str, name: str, hint: Any) -> Any:
    stated = _OWN_KINDS.get((section, name)) or _KINDS.get(name)
    if stated is not None:
        return stated
    if name.endswith("_at"):
        return Stamp
    plain = next(part for part in (get_args(hint) or (hint,)) if part is not NoneType) if _is_optional(hint) else hint
    if plain is not int:
        return plain
    is_id = name == "id" or name.endswith(("_id", "seq")) or name == "closed_by"
    return Id if is_id else Annotated[int, Field(ge=0, le=MAX_ID)]


def _is_optional(hint: Any) -> bool:
    return hint is Any or (get_origin(hint) is UnionType and NoneType in get_args(hint))


def checked(section: str, place: str, value: object) -> dict[str, Any]:
    """The row, normalised. Raises InvalidRequest with the place and the field."""
    try:
        return dict(row_model(section).model_validate(value))
    except ValidationError as error:
        detail = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(map(str, detail["loc"]))
        wrong = detail["msg"].removeprefix("Value error, ")
        wrong = wrong[:1].lower() + wrong[1:]
        raise InvalidRequest(f"{place}: {field}: {wrong}" if field else f"{place}: {wrong}") from None


def checked_moment(name: str, value: object) -> datetime:
    """A time of the header."""
    read = read_moment(value) if isinstance(value, str) else None
    if read is None:
        raise InvalidRequest(f"{name}: must be an RFC 3339 time such as 2026-03-01T10:00:00Z", param=name)
    return read.at.astimezone(UTC)


Reference = Literal["entities", "edges", "artifacts"]
# Which fields name a row of another section.
REFERENCES: Mapping[str, Mapping[str, Reference]] = {
    "edges": {
        "source_id": "entities",
        "target_id": "entities",
        "artifact_id": "artifacts",
        "closed_by": "edges",
    },
    "artifacts": {"parent_id": "artifacts"},
    "entity_artifacts": {"entity_id": "entities", "artifact_id": "artifacts"},
    "edge_artifacts": {"edge_id": "edges", "artifact_id": "artifacts"},
    "entity_sessions": {"entity_id": "entities"},
    "edge_sessions": {"edge_id": "edges"},
    "aliases": {"entity_id": "entities"},
    "entity_versions": {"entity_id": "entities"},
    "edge_versions": {"edge_id": "edges", "closed_by": "edges"},
    "images": {"artifact_id": "artifacts"},
    "commits": {"artifact_id": "artifacts"},
}
