"""Import: a document that export wrote, into an empty dataset as it was, or into one that has content already."""

from __future__ import annotations

import asyncio
from typing import IO, Annotated

from pydantic import Field, TypeAdapter, ValidationError

from core.core import Core
from core.datasets import DEFAULT_DATASET
from core.errors import InvalidRequest
from core.imports.document import check_document
from core.observing import observed
from core.requests import USER_ID, DatasetName, Label, Request, Response, UserId


class ImportRequest(Request):
    """Where a document is imported to."""

    user_id: Annotated[UserId, USER_ID]
    dataset: Annotated[
        Label, Field(description="The dataset to import into. Default: the one that the document names.")
    ] = None


class ImportResponse(Response):
    """What became of the rows of the document, by section: those that are new, and those that were there already."""

    dataset: str
    added: dict[str, int]
    merged: dict[str, int]
    pending_vectors: int
    """Texts that wait for their vectors; the server embeds them in the background."""
    warnings: list[str] | None = None


async def import_document(core: Core, request: ImportRequest, file: IO[bytes]) -> ImportResponse:
    """Takes in a document of the native format, JSON or JSON Lines, whole or not at all.

    Into a dataset without content it brings everything back as it was exported, history included. Into one with
    content entities are merged by name and type, and facts by the rules of repeats; contradictions are not looked for.
    Raises InvalidRequest, which names the line or the row, for a document that is broken: nothing is stored then.
    """
    with observed(core, "import", request) as seen:
        with await asyncio.to_thread(check_document, file, core.clock()) as document:
            name = request.dataset or _own_name(document.dataset)
            imported = await core.imports.load(request.user_id, name, document, core.clock)
        seen.body = imported.added
    return ImportResponse(
        dataset=name,
        added=dict(imported.added),
        merged=dict(imported.merged),
        pending_vectors=imported.queued,
        warnings=list(document.warnings) or None,
    )


_NAME: TypeAdapter[str] = TypeAdapter(DatasetName)


def _own_name(stated: str) -> str:
    try:
        return _NAME.validate_python(stated or DEFAULT_DATASET)
    except ValidationError:
        raise InvalidRequest("dataset: the document names one that can't be; give another", param="dataset") from None
