"""The file of a configuration: read as it is, replaced whole, with the former one kept beside it."""

from __future__ import annotations

import codecs
import difflib
import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core.errors import InvalidRequest

PRIVATE = 0o600


class Changed(Exception):
    """Somebody else wrote the file between our reading and our writing."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a file holds."""

    path: Path
    raw: bytes | None
    """None: there is no such file."""

    @property
    def text(self) -> str:
        """UTF-8, without a byte order mark; raises InvalidRequest that names the line which is not."""
        raw = (self.raw or b"").removeprefix(codecs.BOM_UTF8)
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise InvalidRequest(f"{self.path}: line {line}: is not UTF-8; nothing was written") from None

    def encoded(self, text: str) -> bytes:
        """The text as this file would hold it."""
        mark = codecs.BOM_UTF8 if (self.raw or b"").startswith(codecs.BOM_UTF8) else b""
        return mark + text.encode()

    def diff(self, text: str) -> str:
        """What would change, as a unified diff; empty where nothing would."""
        before, after = self.text.splitlines(keepends=True), text.splitlines(keepends=True)
        name = str(self.path)
        rows = difflib.unified_diff(before, after, name if self.raw is not None else os.devnull, name)
        return "".join(row if row.endswith("\n") else f"{row}\n" for row in rows)


def read(path: Path) -> Configuration:
    """The file behind the path, also where that is a link; raises InvalidRequest for one that can't be read."""
    try:
        target = path.resolve()
        return Configuration(target, target.read_bytes() if target.exists() else None)
    except (OSError, RuntimeError) as error:
        raise _refused(path, "read", error) from None


def replace(old: Configuration, text: str) -> Path | None:
    """Puts the text in the place of the file in one step, which keeps its mode; where the old file is kept.

    Raises Changed when the file is no longer the one that was read, and InvalidRequest when it can't be written.
    """
    path, new = old.path, old.encoded(text)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(path.stat().st_mode) if old.raw is not None else PRIVATE
        fresh = _beside(path, new, mode)
        try:
            if read(path).raw != old.raw:
                raise Changed
            backup = None if old.raw is None else _backup(path, old.raw, mode)
            os.replace(fresh, path)
        except BaseException:
            with suppress(OSError):
                fresh.unlink()
            raise
    except OSError as error:
        raise _refused(path, "written", error) from None
    return backup


def _beside(path: Path, content: bytes, mode: int) -> Path:
    """A file with the content in the same folder, on the disk for certain."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    os.chmod(name, mode)
    return Path(name)


def _backup(path: Path, content: bytes, mode: int) -> Path:
    number = 1
    while True:
        backup = path.with_name(f"{path.name}.bak{number}")
        try:
            descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        except FileExistsError:
            number += 1
            continue
        with open(descriptor, "wb") as file:
            file.write(content)
        return backup


def _refused(path: Path, done: str, error: Exception) -> InvalidRequest:
    why = (error.strerror if isinstance(error, OSError) else None) or "it is not a usable path"
    return InvalidRequest(f"{path} can't be {done} ({why})")
