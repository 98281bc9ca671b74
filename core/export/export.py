"""Export: the whole graph of a dataset, in the format that is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from core.core import Core
from core.datasets import DEFAULT_DATASET, find_dataset
from core.errors import UnknownDataset
from core.export.formats import FormatName, as_bytes, into_folder
from core.export.rows import Include, Snapshot
from core.ports import ByteStream
from core.requests import USER_ID, DatasetName, Request, UserId

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`\x7f-\x9f]*")


def _parts(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _absolute(value: str) -> str:
    if value and not _IRI.fullmatch(value):
        raise ValueError("must be an absolute IRI such as https://example.org/memory/")
    return value


Includes = Annotated[
    frozenset[Include],
    BeforeValidator(_parts),
    WithJsonSchema({"type": "string", "description": "text, points, or both with a comma between them"}),
]
BaseIri = Annotated[str, Field(max_length=2048), AfterValidator(_absolute)]


class ExportRequest(Request):
    """Which graph is exported, and how it is written."""

    user_id: Annotated[UserId, USER_ID]
    dataset: Annotated[DatasetName, Field(description="The dataset to export.")] = DEFAULT_DATASET
    format: Annotated[
        FormatName, Field(description="json and jsonl can be imported again; csv and markdown are zip archives.")
    ] = "json"
    include: Annotated[
        Includes, Field(description="What goes along: text (of the artifacts), points (of time series).")
    ] = frozenset()
    base_iri: Annotated[
        BaseIri, Field(description="What the IRIs of RDF begin with. Default: urn:gligabao:<dataset>:")
    ] = ""


async def export(core: Core, request: ExportRequest) -> ByteStream:
    """The graph of a dataset as one document: its state at the last commit, in the order of the ids.

    Raises UnknownDataset before a byte is written. What goes wrong later is raised by the stream, whose document then
    has no end.
    """
    base_iri = request.base_iri or core.config.base_iri
    return await _open(core, request, partial(as_bytes, name=request.format, base_iri=base_iri))


async def export_to_folder(core: Core, request: ExportRequest, folder: Path) -> None:
    """Writes the files of a dataset into a folder. One that fails leaves some of them behind."""
    async with aclosing(await _open(core, request, partial(into_folder, name=request.format, folder=folder))) as stream:
        async for _ in stream:
            pass


async def _open(core: Core, request: ExportRequest, render: Callable[[Snapshot], Iterator[bytes]]) -> ByteStream:
    await find_dataset(core, request.user_id, request.dataset)
    stream = await core.exports.open(request.user_id, request.dataset, request.include, render)
    if stream is None:
        raise UnknownDataset("dataset: was forgotten meanwhile", param="dataset")
    return stream
