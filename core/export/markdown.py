"""A folder of Markdown notes, as Obsidian reads it: one note for each entity, its facts as links with their dates."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence

from core.export.neo4j import Files
from core.export.rows import EdgeRow, EntityRow, Snapshot

# What Windows refuses in a name, and what would end a [[link]].
_UNSAFE = re.compile(r'[<>:"/\\|?*#^\[\]\x00-\x1f\x7f-\x9f\u2028\u2029]+')
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
_MAX_BYTES = 160  # of a name in UTF-8; a file system takes 255, with what comes behind it
_YAML_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|#])")


def as_markdown(snapshot: Snapshot) -> Files:
    """One note for each entity, in the order of their ids."""
    names = _note_names(snapshot)
    told = _Facts(snapshot.edges_by("source_id"), "source_id")
    heard = _Facts(snapshot.edges_by("target_id"), "target_id")
    for batch in snapshot.rows("entities"):
        for entity in batch:
            note = _note(entity, told.of(entity.id), heard.of(entity.id), names)
            yield f"{names[entity.id]}.md", iter((note,))


def _note_names(snapshot: Snapshot) -> dict[int, str]:
    """The file name of each entity: its own name as far as files may have it; of two that would be one file, the second
    gets its type behind it, and the third a number."""
    taken: set[str] = set()
    names: dict[int, str] = {}
    for batch in snapshot.rows("entities"):
        for entity in batch:
            plain = safe_name(entity.name)
            typed = safe_name(entity.name, f" ({entity.type})")
            name = next(n for n in _choices(plain, typed) if _as_file(n) not in taken)
            taken.add(_as_file(name))
            names[entity.id] = name
    return names


def _choices(plain: str, typed: str) -> Iterator[str]:
    yield plain
    yield typed
    number = 2
    while True:
        yield f"{typed} {number}"
        number += 1


def _as_file(name: str) -> str:
    """The name as file systems compare it that know no letter case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def safe_name(name: str, ending: str = "") -> str:
    """A file name that Windows, macOS, Linux and a link all take."""
    ending = _cut(_UNSAFE.sub("-", ending), _MAX_BYTES // 2)
    shown = _cut(_UNSAFE.sub("-", unicodedata.normalize("NFC", name)).strip(" ."), _MAX_BYTES - len(ending.encode()))
    shown = f"{shown.strip(' .') or '-'}{ending}".rstrip(" .")
    return f"_{shown}" if _DEVICE.fullmatch(shown) else shown


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")


class _Facts:
    """The facts of one entity after the other, while the entities come in the order of their ids."""

    def __init__(self, batches: Iterator[Sequence[EdgeRow]], end: str) -> None:
        self._rows = (row for batch in batches for row in batch)
        self._end = end
        self._next = next(self._rows, None)

    def of(self, entity_id: int) -> list[EdgeRow]:
        found: list[EdgeRow] = []
        while self._next is not None and getattr(self._next, self._end) == entity_id:
            found.append(self._next)
            self._next = next(self._rows, None)
        return sorted(found, key=lambda row: row.id)


def _note(entity: EntityRow, told: list[EdgeRow], heard: list[EdgeRow], names: dict[int, str]) -> str:
    lines = [
        "---",
        f"id: {entity.id}",
        f"name: {_yaml(entity.name)}",
        f"type: {_yaml(entity.type)}",
        f"created_at: {entity.created_at}",
        f"updated_at: {entity.updated_at}",
        "---",
        "",
        f"# {_plain(entity.name)}",
    ]
    if entity.description:
        lines += ["", _plain(entity.description)]
    if told:
        lines += ["", "## Facts", ""]
        lines += [f"- {_plain(_words(row))} [[{names[row.target_id]}]]{_when(row)}" for row in told]
    if heard := [row for row in heard if row.source_id != row.target_id]:
        lines += ["", "## Said of it", ""]
        lines += [f"- [[{names[row.source_id]}]] {_plain(_words(row))}{_when(row)}" for row in heard]
    return "\n".join(lines) + "\n"


def _words(row: EdgeRow) -> str:
    return row.relation.replace("_", " ")


def _when(row: EdgeRow) -> str:
    since = f"since {_date(row.valid_at)}"
    until = f", until {_date(row.invalid_at)}" if row.invalid_at else ""
    superseded = ", superseded" if row.expired_at else ""
    said = f": {_plain(row.description)}" if row.description else ""
    return f" ({since}{until}{superseded}){said}"


def _date(moment: str) -> str:
    return moment.removesuffix("T00:00:00Z")


def _yaml(text: str) -> str:
    """A double-quoted string of YAML, which takes the escapes of JSON."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _YAML_ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _plain(text: str) -> str:
    """The text on one line, its signs of Markdown shown as they are."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
