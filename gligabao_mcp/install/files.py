"""The file of a configuration: read as it is, replaced whole, with the former one kept beside it."""

from __future__ import annotations

import codecs
import difflib
import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
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
        if not target.exists():
            return Configuration(target, None)
        if not target.is_file():  # a pipe would be waited for, and a device replaced
            raise InvalidRequest(f"{path} is no regular file")
        return Configuration(target, target.read_bytes())
    except (OSError, RuntimeError) as error:
        raise _refused(path, "read", error) from None


def replace(old: Configuration, text: str) -> Path | None:
    """Puts the text in the place of the file in one step, which keeps its mode and owner; where the old file is kept.

    Raises Changed when the file is no longer the one that was read, and InvalidRequest when it can't be written.
    """
    path = old.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        was = None if old.raw is None else path.stat()
        with _beside(path) as fresh:
            _fill(fresh, old.encoded(text), was)
            if read(path).raw != old.raw:
                raise Changed
            backup = None if old.raw is None else _backup(path, old.raw, was)
            os.replace(fresh, path)
    except OSError as error:
        raise _refused(path, "written", error) from None
    return backup


@contextmanager
def _beside(path: Path) -> Generator[Path]:
    """An empty file in the same folder, which is gone at the end unless it was moved away."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        with suppress(OSError):
            os.unlink(name)


def _fill(file: Path, content: bytes, like: os.stat_result | None) -> None:
    """Writes the file, on the disk for certain, with the mode and the owner of another: who runs `sudo` must not take
    a file away from its user."""
    with file.open("wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    if like is None:
        return
    made = file.stat()
    if (made.st_uid, made.st_gid) != (like.st_uid, like.st_gid):
        os.chown(file, like.st_uid, like.st_gid)
    file.chmod(stat.S_IMODE(like.st_mode))


def _backup(path: Path, content: bytes, like: os.stat_result | None) -> Path:
    number = 1
    while True:
        backup = path.with_name(f"{path.name}.bak{number}")
        try:
            backup.touch(PRIVATE, exist_ok=False)
        except FileExistsError:
            number += 1
            continue
        try:
            _fill(backup, content, like)
        except OSError:
            with suppress(OSError):
                backup.unlink()
            raise
        return backup


def _refused(path: Path, done: str, error: Exception) -> InvalidRequest:
    why = (error.strerror if isinstance(error, OSError) else None) or "it is not a usable path"
    return InvalidRequest(f"{path} can't be {done} ({why})")
