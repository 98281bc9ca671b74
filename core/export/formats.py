"""The table of export formats, and a document as the bytes that go over the wire."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from core.export.graphml import as_graphml
from core.export.jsonld import as_jsonld
from core.export.markdown import as_markdown, safe_name
from core.export.native import as_json, as_json_lines
from core.export.neo4j import Files, as_csv, as_cypher
from core.export.rdf import as_nquads, as_turtle
from core.export.rows import Snapshot
from core.rdf.vocabulary import base_of

FormatName = Literal["json", "jsonl", "turtle", "nquads", "jsonld", "graphml", "csv", "cypher", "markdown"]

_PIECE = 128 * 1024  # bytes handed on at once
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # of every file in an archive: the same rows make the same bytes


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write a graph: as one text, or as the files of a folder. `base` is the IRI that RDF begins with."""

    media_type: str
    suffix: str
    text: Callable[[Snapshot, str], Iterator[str]] | None = None
    files: Callable[[Snapshot], Files] | None = None


def _plain(write: Callable[[Snapshot], Iterator[str]]) -> Callable[[Snapshot, str], Iterator[str]]:
    return lambda snapshot, _base: write(snapshot)


FORMATS: dict[FormatName, Format] = {
    "json": Format("application/json", "json", _plain(as_json)),
    "jsonl": Format("application/x-ndjson", "jsonl", _plain(as_json_lines)),
    "turtle": Format("text/turtle; charset=utf-8", "ttl", as_turtle),
    "nquads": Format("application/n-quads", "nq", as_nquads),
    "jsonld": Format("application/ld+json", "jsonld", as_jsonld),
    "graphml": Format("application/graphml+xml", "graphml", _plain(as_graphml)),
    "csv": Format("application/zip", "zip", files=as_csv),
    "cypher": Format("application/x-cypher-query", "cypher", _plain(as_cypher)),
    "markdown": Format("application/zip", "zip", files=as_markdown),
}


def file_name(dataset: str, name: FormatName) -> str:
    """What a download is called."""
    kind = f"-{name}" if FORMATS[name].files else ""
    return f"{safe_name(dataset)}{kind}.{FORMATS[name].suffix}"


def disposition(name: str) -> str:
    """The Content-Disposition of a download, also for a name that is not ASCII."""
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def as_bytes(snapshot: Snapshot, name: FormatName, base_iri: str) -> Iterator[bytes]:
    """The document, or a zip archive of its files, in pieces."""
    format = FORMATS[name]
    base = base_iri or base_of(snapshot.header.dataset)
    if format.text is not None:
        return pieces(format.text(snapshot, base))
    assert format.files is not None
    return _archive(format.files(snapshot))


def pieces(texts: Iterable[str]) -> Iterator[bytes]:
    """The text in UTF-8, in pieces that are worth sending."""
    waiting: list[bytes] = []
    size = 0
    for text in texts:
        waiting.append(text.encode())
        size += len(waiting[-1])
        if size >= _PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def into_folder(snapshot: Snapshot, name: FormatName, folder: Path) -> Iterator[bytes]:
    """Writes the files of the format into a folder; says after each piece that it goes on."""
    files = FORMATS[name].files
    assert files is not None
    for path, texts in files(snapshot):
        with (folder / path).open("wb") as file:
            for piece in pieces(texts):
                file.write(piece)
        yield b""


class _Sink(io.RawIOBase):
    """What was written and not yet taken."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes | bytearray | memoryview, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._waiting += data
        return len(data)

    def take(self, least: int = 0) -> Iterator[bytes]:
        if len(self._waiting) > least:
            yield bytes(self._waiting)
            self._waiting.clear()


def _archive(files: Files) -> Iterator[bytes]:
    """A zip archive of the files. Its table of contents comes last: a part is no archive."""
    sink = _Sink()
    archive = zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED)
    for path, texts in files:
        with archive.open(zipfile.ZipInfo(path, _LONG_AGO), "w", force_zip64=True) as entry:
            for piece in pieces(texts):
                entry.write(piece)
                yield from sink.take(_PIECE)
    archive.close()
    yield from sink.take()
