"""What the requests that show what is stored have in common: whose, which dataset, which page of a list."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from core.browse.stored import Key, Page, Window
from core.errors import InvalidRequest
from core.requests import MAX_ID, USER_ID, DatasetName, Label, Limit, Request, RowId, UserId
from core.text import clean, fold

SHOWN = 50
MAX_CURSOR = 1000

_ID: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": MAX_ID}


def unset(value: object) -> object:
    """An empty value of a query string is not given."""
    return None if value == "" else value


MaybeId = Annotated[RowId | None, BeforeValidator(unset), WithJsonSchema(_ID)]
MaybeFlag = Annotated[bool | None, BeforeValidator(unset), WithJsonSchema({"type": "boolean"})]
Words = Annotated[Label, AfterValidator(lambda v: v and " ".join(v.split()))]


class InDataset(Request):
    user_id: Annotated[UserId, USER_ID]
    dataset: Annotated[
        DatasetName | None,
        BeforeValidator(unset),
        WithJsonSchema({"type": "string"}),
        Field(description="The dataset that it is in. Default: main."),
    ] = None


class Paged(Request):
    """The part of a list that is asked for. What is written meanwhile moves nothing that is still to come."""

    limit: Limit = SHOWN
    cursor: Annotated[
        Annotated[str, Field(max_length=MAX_CURSOR)] | None,
        BeforeValidator(unset),
        WithJsonSchema({"type": "string", "maxLength": MAX_CURSOR}),
        Field(description="next_cursor of the page before: goes on behind it."),
    ] = None


def folded(words: str | None) -> tuple[str, ...]:
    """The words as they are looked for."""
    return tuple(dict.fromkeys(fold(words or "").split()))


def window(request: Paged, listing: str, *, key: Sequence[type]) -> Window:
    """The part of the list that the request asks for; `key` are the types of the list's keys."""
    return Window(request.limit, _key(request.cursor, listing, key) if request.cursor else None)


def next_cursor(listing: str, page: Page[Any]) -> str | None:
    """The cursor of the page behind this one; None where it is the last."""
    if page.last is None:
        return None
    key = json.dumps([listing, *page.last], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(key.encode()).decode()


def _key(cursor: str, listing: str, key: Sequence[type]) -> Key:
    try:
        read: object = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        read = None
    parts = cast("list[object]", read) if isinstance(read, list) else []
    fits = [type(part) for part in parts] == [str, *key] and parts[0] == listing
    if not fits or not all(map(_is_storable, parts)):
        raise InvalidRequest("cursor: is no next_cursor of this list", param="cursor")
    return cast("Key", tuple(parts[1:]))


def _is_storable(part: object) -> bool:
    return 0 <= part <= MAX_ID if isinstance(part, int) else clean(part)[0] == part
