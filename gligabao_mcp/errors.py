"""The one table of failures: what each is called over HTTP, over MCP and as an exit code."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast, get_args

from core.errors import CANCELLED, Forbidden, GligabaoError, InvalidRequest

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

logger = logging.getLogger(__name__)

INTERNAL = "internal"
# One line that a person reads: of many wrong fields the first are named, the rest counted.
MAX_LINE = 400
MAX_FIELD = 64
MAX_NAMES = 5


@dataclass(frozen=True, slots=True)
class Numbers:
    """What one kind of failure is called by those who want numbers. Over MCP each is an error result with its text and
    code; `mcp_success` marks the one that is not, because a model would send the same text again."""

    status: int
    exit_code: int
    meaning: str
    mcp_success: bool = False
    heals: bool = False
    """The same call may well be answered some seconds later."""


TABLE: Mapping[str, Numbers] = {
    "invalid_request": Numbers(400, 2, "The request breaks a rule; the text names the field."),
    "unauthorized": Numbers(401, 1, "The server asks for a bearer token, and the request shows none that holds."),
    "forbidden": Numbers(403, 1, "The token lacks the scope, or the request names another user than the token's."),
    "origin_refused": Numbers(403, 1, "The Origin header names a page that is not let in (setting allowed_origins)."),
    "not_found": Numbers(404, 1, "The user has no such dataset, or there is no such route."),
    "method_not_allowed": Numbers(405, 2, "The route does not take this method."),
    "confirmation_required": Numbers(
        409, 1, "More than 20 rows would go: send it again with the confirm that the body holds."
    ),
    "conflict": Numbers(409, 1, "Other writers kept changing the same facts; nothing was stored."),
    "too_large": Numbers(413, 2, "The request body is over the limit of its route."),
    "host_refused": Numbers(421, 1, "The Host header is no name of this server (setting allowed_hosts)."),
    "rate_limited": Numbers(
        429, 1, "Too many requests of one caller (setting rate_limit_per_minute); come back.", heals=True
    ),
    "invalid_ask_request": Numbers(400, 2, "A field of a question is outside its limits; `param` names it."),
    "invalid_rewrite_profile": Numbers(400, 2, "A profile is outside its limits, or an example of it is no query."),
    "no_embedding": Numbers(400, 2, "The query searches by meaning, and no class of the graph can be searched so."),
    "query_timeout": Numbers(408, 1, "The query ran to its deadline and was stopped."),
    "query_too_large": Numbers(400, 1, "The query needs more memory than one may have, and was stopped."),
    "idempotency_conflict": Numbers(409, 1, "The idempotency key was used for another request."),
    "read_your_writes_pending": Numbers(429, 1, "What was written is not to be read there yet; come back.", heals=True),
    "rewrite_limit": Numbers(429, 1, "The questions of this UTC day are asked."),
    "rewrite_model_unavailable": Numbers(503, 1, "No model answers questions: none is set, or it failed twice."),
    "queries_unavailable": Numbers(503, 1, "The process that answers queries could not be started.", heals=True),
    "daily_limit": Numbers(429, 1, "The daily spend limit is reached; no paid model call is made until midnight UTC."),
    "model_failed": Numbers(502, 1, "A model call failed or gave nothing usable; nothing was stored."),
    "upstream_overloaded": Numbers(
        502, 1, "The model provider is overloaded for now; send the same again later.", heals=True
    ),
    "vectors_pending": Numbers(502, 1, "The facts are saved; their vectors are written later by themselves.", True),
    "not_configured": Numbers(503, 1, "The operation needs a provider that the server was not given."),
    "storage_busy": Numbers(
        503, 1, "Another process holds the database; nothing was stored, send the same again.", heals=True
    ),
    "storage_gone": Numbers(
        503, 1, "The database file was deleted, moved or replaced while it was in use; nothing was stored."
    ),
    "queue_full": Numbers(
        503, 1, "Too many calls wait for their turn; nothing was stored, send the same again later.", heals=True
    ),
    "shutting_down": Numbers(503, 1, "The server is shutting down; send the same again when it is back.", heals=True),
    "newer_database": Numbers(503, 1, "The database was written by a newer release."),
    INTERNAL: Numbers(500, 70, "Something unforeseen; the log of the server has its trace."),
}


# What web servers write where a client went away before its answer: no client ever reads it.
CLIENT_GONE = 499


def http_status(error: str | None) -> int:
    """The HTTP status of a failure by its code; of none, and of a call that nobody waited for any more."""
    if error is None:
        return 200
    return CLIENT_GONE if error == CANCELLED else TABLE.get(error, TABLE[INTERNAL]).status


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure as the doors show it."""

    code: str
    message: str
    param: str | None = None
    saved: Mapping[str, Any] = field(default_factory=dict[str, Any])
    retry_after: int | None = None
    scope: str = ""
    """What the caller's token lacks."""

    @property
    def numbers(self) -> Numbers:
        return TABLE.get(self.code, TABLE[INTERNAL])

    @property
    def headers(self) -> dict[str, str]:
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        if self.scope:
            headers["WWW-Authenticate"] = f'Bearer error="insufficient_scope", scope="{self.scope}"'
        return headers

    def body(self) -> dict[str, Any]:
        """The JSON object of the failure: `error` as documented, and beside it what was saved, `code` and `param`."""
        named = {} if self.param is None else {"param": self.param}
        return {**self.saved, "error": self.message, "code": self.code, **named}


def failure(error: BaseException) -> Failure:
    """The failure to show. What nobody foresaw is logged with its trace and shown as "internal error"."""
    if not isinstance(error, GligabaoError):
        log_unforeseen(error)
        return Failure(INTERNAL, "internal error")
    return Failure(
        code=error.code,
        message=error.message,
        param=error.param,
        saved=error.saved,
        retry_after=error.retry_after,
        scope=error.scope if isinstance(error, Forbidden) else "",
    )


def log_unforeseen(error: BaseException) -> None:
    """Logs the types and the trace of an error and of what caused it, never its text: that may quote a request."""
    lines: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        lines += [f"{type(cause).__module__}.{type(cause).__qualname__}\n", *traceback.format_tb(cause.__traceback__)]
        cause = cause.__cause__ or cause.__context__
    logger.error("internal error: %s", "".join(lines).rstrip())


def invalid(error: ValidationError, model: type[BaseModel], named: Sequence[str] = ()) -> InvalidRequest:
    """A validation error in one line, "field: what is wrong", that never repeats what was sent. `named` are the fields
    that are told of where one is unknown, by default all of the model."""
    details = error.errors(include_url=False)
    unknown = [_shown(str(detail["loc"][0])) for detail in details if _is_unknown(detail)]
    found = [_described(detail, model) for detail in details if not _is_unknown(detail)]
    lines = [f"{name}: {wrong}" if name else wrong for name, wrong in found]
    if unknown:
        lines.append(_unknown(unknown, named or _names(model)))
    return InvalidRequest(_joined(lines), param=[*(name for name, _ in found), *unknown][0] or None)


def _names(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _unknown(names: Sequence[str], known: Sequence[str]) -> str:
    few = [*names[:MAX_NAMES], *([f"{len(names) - MAX_NAMES} more"] if len(names) > MAX_NAMES else [])]
    meant = [near[0] for name in names[:MAX_NAMES] if (near := get_close_matches(name, known, 1))]
    hint = f" (did you mean {', '.join(meant)}?)" if meant else ""
    return f"unknown field {', '.join(few)}; the fields are {', '.join(known)}{hint}"


def _is_unknown(detail: ErrorDetails) -> bool:
    return detail["type"] == "extra_forbidden" and len(detail["loc"]) == 1


def _joined(lines: Sequence[str]) -> str:
    for count in range(len(lines), 0, -1):
        rest = len(lines) - count
        text = "; ".join(lines[:count]) + (f" (and {rest} more)" if rest else "")
        if len(text) <= MAX_LINE:
            return text
    return lines[0] + (f" (and {len(lines) - 1} more)" if len(lines) > 1 else "")


def _described(detail: ErrorDetails, model: type[BaseModel]) -> tuple[str, str]:
    name, wrong = _place(detail["loc"]), _wrong(detail)
    if detail["type"] == "extra_forbidden":
        wrong += f"; the fields are {', '.join(_fields_at(model, detail['loc']))}"
    if not name:
        # A rule over the whole request says itself which field it means.
        stated, colon, rest = wrong.partition(": ")
        return (stated, rest) if colon and stated in model.model_fields else ("", wrong)
    return name, wrong


def _fields_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """The fields of the object that the last part of the place is a field of."""
    for part in loc[:-1]:
        if isinstance(part, str) and part in model.model_fields:
            model = _model_in(model.model_fields[part].annotation) or model
    return _names(model)


def _model_in(annotation: object) -> type[BaseModel] | None:
    if hasattr(annotation, "model_fields"):
        return cast("type[BaseModel]", annotation)
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)


def _wrong(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    if "error" in context:
        return str(context["error"])
    of_text = detail["type"] == "too_long" and isinstance(detail["input"], str)
    known = _WRONG.get("string_too_long" if of_text else detail["type"])
    return known.format_map(context) if known else "is not a valid value"


def _place(loc: tuple[int | str, ...]) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{_shown(part)}" for part in loc)
    return place.removeprefix(".")


def _shown(name: str) -> str:
    """A field's name that a stranger wrote, fit for one line of text."""
    return "".join(char if char.isprintable() else "\ufffd" for char in name[:MAX_FIELD])


_WRONG = {
    "missing": "is required",
    "extra_forbidden": "is not known here",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "finite_number": "must be a number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "literal_error": "must be one of {expected}",
    "too_long": "must hold at most {max_length} items, has {actual_length}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "path_type": "must be a path",
}
