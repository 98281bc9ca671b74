"""Field types that several requests share, with the limits and the error texts that the product documents promise."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from core.inferences import MODEL_STAGES, REASONING_LEVELS, REASONING_STAGES, Reasoning
from core.text import has_control, has_surrogate, utf8_length
from core.times import read_instant, read_moment

KIB = 1024
MIB = 1024 * KIB
MAX_NAME = 128
MAX_ID = 2**63 - 1
MAX_LIMIT = 500
# Where the id of a session was read. connection and process are guesses; minted: made for the call.
SessionSource = Literal["argument", "header", "meta", "connection", "environment", "process", "minted"]


class Request(BaseModel):
    """A request body: unknown fields are refused."""

    # Validators are built at their first use: a process of a few calls needs those of a few models.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Response(BaseModel):
    """A response body: what is unset is left out."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    def body(self) -> dict[str, Any]:
        """The JSON object of the response; fields that are null are omitted."""
        return self.model_dump(mode="json", exclude_none=True)


def _label(value: str) -> str:
    if utf8_length(value) > MAX_NAME:
        raise ValueError(f"must be at most {MAX_NAME} bytes of UTF-8, has {utf8_length(value)}")
    if has_control(value):
        raise ValueError("must not hold control characters")
    if has_surrogate(value):
        raise ValueError("must be UTF-8")
    return value


def row_id(stated: int | str) -> int | None:
    """The id of a row, that a caller may have written as a string; None for what is none."""
    text = str(stated).strip()
    return int(text) if text.isascii() and text.isdigit() and 0 < int(text[:20]) < 2**63 and len(text) < 20 else None


def _whole(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a whole number")
    return value


def _named(value: str) -> str:
    if not value:
        raise ValueError(f"must be 1 to {MAX_NAME} bytes of UTF-8, is empty")
    return _label(value)


def _unset(value: object) -> object:
    return None if value == "" else value


def _spoken(value: str) -> str:
    if not value.strip():
        raise ValueError("must be a non-empty text, is blank")
    return value


def _instant(value: object) -> object:
    if isinstance(value, datetime) or value is None:
        return value
    stated = read_instant(value) if isinstance(value, str) else None
    if stated is None:
        raise ValueError(f"must be an RFC 3339 time such as 2026-03-01T10:00:00Z{_lacking(value)}")
    return stated


def _lacking(value: object) -> str:
    """What a date alone lacks. No time of day is put in for it: "an hour ago" would be told of another day."""
    dated = isinstance(value, str) and read_moment(value)
    return ": a date needs its time of day and zone" if dated else ""


def _moment(value: object) -> object:
    if isinstance(value, datetime) or value is None:
        return value
    stated = read_moment(value) if isinstance(value, str) else None
    if stated is None:
        raise ValueError("must be an RFC 3339 time or a date such as 2026-03-01")
    return stated.at


def _level(value: object) -> object:
    level = value.strip().lower() if isinstance(value, str) else value
    if level == "":
        return "none"
    if level not in REASONING_LEVELS:
        raise ValueError(f"must be one of {', '.join(REASONING_LEVELS)}")
    return level


def _stages(value: Mapping[str, object], allowed: tuple[str, ...]) -> None:
    for stage in value:
        if stage not in allowed:
            raise ValueError(f"knows no stage of that name; the stages are {', '.join(allowed)}")


def _models(value: object) -> object:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError("must be an object from a stage to a model name")
    chosen = cast("Mapping[str, object]", value)
    _stages(chosen, MODEL_STAGES)
    for stage, name in chosen.items():
        if not isinstance(name, str):
            raise ValueError(f"{stage} must be a string")
        if utf8_length(name) > MAX_NAME or has_control(name) or any(char.isspace() for char in name):
            raise ValueError(
                f"{stage} must be a model name of at most {MAX_NAME} bytes without white space or control characters"
            )
    return chosen


def _reasoning(value: object) -> object:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError("must be an object from a stage to a level")
    chosen = cast("Mapping[str, object]", value)
    _stages(chosen, REASONING_STAGES)
    return {stage: _level(level) for stage, level in chosen.items()}


_STRING = {"type": "string"}

# Whole numbers: "5" is one too, as query strings and models write it; true is none, though Python counts it as 1.
Whole = Annotated[int, BeforeValidator(_whole)]
RowId = Annotated[int, Field(ge=1, le=MAX_ID), BeforeValidator(_whole)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT, description="How many at most, 1 to 500."), BeforeValidator(_whole)]
Offset = Annotated[int, Field(ge=0, le=MAX_ID), BeforeValidator(_whole)]
UserId = Annotated[str, AfterValidator(_named)]
DatasetName = Annotated[str, AfterValidator(_named)]
# A name that the caller chooses, of at most 128 bytes; empty is not given.
Label = Annotated[
    str | None, BeforeValidator(_unset), AfterValidator(lambda v: v and _label(v)), WithJsonSchema(_STRING)
]
SessionId = Label
# The id of a row or a session: models write the one as a number and as a string.
RowOrSession = Annotated[Label, BeforeValidator(lambda v: str(v) if type(v) is int else v)]
Spoken = Annotated[str, AfterValidator(_spoken)]
Instant = Annotated[
    datetime | None,
    BeforeValidator(_instant),
    BeforeValidator(_unset),  # the last one is asked first
    WithJsonSchema(_STRING | {"format": "date-time"}),
]
ReadTime = Annotated[datetime | None, BeforeValidator(_moment), BeforeValidator(_unset), WithJsonSchema(_STRING)]
Level = Annotated[
    Reasoning,
    BeforeValidator(lambda v: "none" if v is None else _level(v)),
    WithJsonSchema({"type": "string", "enum": list(REASONING_LEVELS)}),
]
Models = Annotated[
    dict[str, str],
    BeforeValidator(_models),
    WithJsonSchema(
        {"type": "object", "additionalProperties": False, "properties": dict.fromkeys(MODEL_STAGES, _STRING)}
    ),
]
ReasoningLevels = Annotated[
    dict[str, Reasoning],
    BeforeValidator(_reasoning),
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {stage: {"type": "string", "enum": list(REASONING_LEVELS)} for stage in REASONING_STAGES},
        }
    ),
]

USER_ID = Field(description="The user who owns the memory: 1 to 128 bytes.")
SESSION_ID = Field(
    default=None, description="The conversation this belongs to, a string you choose (at most 128 bytes)."
)
