"""A native document that was read to its end and found whole, its rows on disk until they are stored."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import TracebackType
from typing import IO, Any, cast

from core.errors import InvalidRequest
from core.export.rows import SECTIONS, WITH_TEXT
from core.imports.checks import REFERENCES, checked, checked_moment
from core.imports.reading import Item, read_document
from core.text import clean
from core.times import rfc3339

_IN_MEMORY = 1024 * 1024  # bytes of a section that need no file
_BATCH = 500
# Clocks differ a little; a system time that is further ahead would hold the dataset's clock there.
_AHEAD = timedelta(days=1)
# The fields that number a commit.
_SEQS = ("seq", "created_seq", "text_seq", "expired_seq", "invalid_set_seq", "removed_seq")

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the rows of a document: how many of each section were added, how many were there already."""

    added: Mapping[str, int]
    merged: Mapping[str, int]
    queued: int
    seq: int


@dataclass(slots=True)
class Document:
    """The rows of a document by section, in its order. `ids` are those it defines, in order; `commits` its highest
    commit number."""

    dataset: str = ""
    exported_at: datetime | None = None
    ids: Mapping[str, list[int]] = field(default_factory=lambda: {"entities": [], "edges": [], "artifacts": []})
    commits: int = 1
    has_text: bool = False
    warnings: tuple[str, ...] = ()
    _files: dict[str, IO[str]] = field(default_factory=dict[str, IO[str]])

    def add(self, section: str, row: Mapping[str, Any]) -> None:
        """Keeps one row."""
        if section not in self._files:
            self._files[section] = cast(
                "IO[str]",
                tempfile.SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8", newline="\n"),  # noqa: SIM115
            )
        self._files[section].write(json.dumps(row) + "\n")

    def rows(self, section: str) -> Iterator[Rows]:
        """The rows of a section, a batch at a time, as often as they are asked for."""
        file = self._files.get(section)
        if file is None:
            return
        file.seek(0)
        batch: Rows = []
        while line := file.readline():
            batch.append(json.loads(line))
            if len(batch) == _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def __enter__(self) -> Document:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()


def check_document(source: IO[bytes], now: datetime) -> Document:
    """Reads a document to its end before anything of it is stored. Raises InvalidRequest that names the line or the
    row; whoever gets the document closes it."""
    reading = _Reading(now)
    try:
        for item in read_document(source):
            reading.take(item)
        reading.finish()
    except BaseException:
        with reading.document:
            raise
    return reading.document


def _cleaned(value: object) -> tuple[object, list[str]]:
    """The value as `clean` leaves it; walked only where its escapes show a NUL or, perhaps, a lone surrogate."""
    escaped = json.dumps(value)
    return clean(value) if "\\u0000" in escaped or "\\ud" in escaped else (value, [])


class _Reading:
    """The document so far."""

    def __init__(self, now: datetime) -> None:
        self.document = Document()
        self._now = now
        self._latest = rfc3339(now + _AHEAD)[:-1]
        self._header: dict[str, Any] = {}
        self._ids: dict[str, set[int]] = {name: set() for name in self.document.ids}
        self._message_ids: set[str] = set()
        self._images: set[str] = set()
        self._awaited: dict[tuple[str, int], str] = {}
        """Ids that were named before their rows came, and where."""
        self._warnings: dict[str, None] = {}

    def take(self, item: Item) -> None:
        value, notes = _cleaned(item.value)
        self._warnings |= {f"{item.place}: {note}": None for note in notes if len(self._warnings) < 20}
        if not item.section:
            self._header[item.place] = value
        elif item.section not in SECTIONS:
            raise InvalidRequest(f"{item.place}: {item.section} can't be imported yet")
        else:
            self._take_row(item.section, item.place, checked(item.section, item.place, value))

    def _take_row(self, section: str, place: str, row: dict[str, Any]) -> None:
        if section in self._ids:
            self._define(section, place, row["id"])
        self._refuse_twice(section, place, row)
        self._refuse_the_future(place, row)
        if section == "artifacts" and row["parent_id"] is not None and row["parent_id"] not in self._ids["artifacts"]:
            raise InvalidRequest(f"{place}: parent_id: must be the id of an earlier artifact")
        for name, other in REFERENCES.get(section, {}).items():
            if (row[name] or 0) and row[name] not in self._ids[other]:
                self._awaited.setdefault((other, row[name]), f"{place}: {name}")
        seqs = (row.get(name) or 1 for name in _SEQS)
        self.document.commits = max(self.document.commits, *seqs)
        self.document.has_text |= section in WITH_TEXT and row.get("text") is not None
        self.document.add(section, row)

    def _define(self, section: str, place: str, row_id: int) -> None:
        if row_id in self._ids[section]:
            raise InvalidRequest(f"{place}: id: {row_id} is there twice")
        self._ids[section].add(row_id)
        self.document.ids[section].append(row_id)
        self._awaited.pop((section, row_id), None)

    def _refuse_twice(self, section: str, place: str, row: Mapping[str, Any]) -> None:
        for of, name, seen in (("artifacts", "message_id", self._message_ids), ("images", "sha256", self._images)):
            if section == of and row[name] is not None:
                if row[name] in seen:
                    raise InvalidRequest(f"{place}: {name}: is there twice")
                seen.add(row[name])

    def _refuse_the_future(self, place: str, row: Mapping[str, Any]) -> None:
        for name in ("created_at", "updated_at", "expired_at", "changed_at", "first_seen_at", "invalid_set_at"):
            if (at := row.get(name)) is not None and at[:-1] > self._latest:
                raise InvalidRequest(f"{place}: {name}: is in the future")

    def finish(self) -> None:
        """Refuses what lacks its header, or names what is not there."""
        for name in ("format", "version"):
            if name not in self._header:
                raise InvalidRequest(f"{name}: is missing; is this an export in the native format?", param=name)
        if self._awaited:
            (section, row_id), place = next(iter(self._awaited.items()))
            raise InvalidRequest(f"{place}: there is no {row_id} among the {section}")
        if self._header.get("exported_at") is not None:
            self.document.exported_at = checked_moment("exported_at", self._header["exported_at"])
            if self.document.exported_at > self._now + _AHEAD:
                raise InvalidRequest("exported_at: is in the future", param="exported_at")
        self.document.dataset = str(self._header.get("dataset") or "")
        self.document.warnings = tuple(self._warnings)
