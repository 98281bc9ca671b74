"""Text as it may be stored, and names and relations as they are compared (the identity key)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import cast

DEFAULT_TYPE = "other"

_SURROGATE = re.compile("[\ud800-\udfff]")
# Zero-width marks, the soft hyphen and everything that only steers the direction of writing. The two separators among
# them (U+2028, U+2029) are white space.
_INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_QUOTES = "`\"'“”‘’«»„"


def clean(value: object) -> tuple[object, list[str]]:
    """The same value with every string in it storable as UTF-8 anywhere, and what had to be changed, in words.

    U+0000 is removed (PostgreSQL refuses it), a lone surrogate becomes U+FFFD. Lists and dicts are walked.
    """
    notes: dict[str, int] = {}
    cleaned = _clean(value, notes)
    return cleaned, [text.format(n, "" if n == 1 else "s") for text, n in notes.items()]


def _clean(value: object, notes: dict[str, int]) -> object:
    if isinstance(value, str):
        return _clean_string(value, notes)
    if isinstance(value, list):
        return [_clean(item, notes) for item in cast("list[object]", value)]
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {_clean(key, notes): _clean(item, notes) for key, item in items}
    return value


def _clean_string(text: str, notes: dict[str, int]) -> str:
    if "\x00" in text:
        note = "removed {} NUL character{}"
        notes[note] = notes.get(note, 0) + text.count("\x00")
        text = text.replace("\x00", "")
    text, replaced = _SURROGATE.subn("\ufffd", text)
    if replaced:
        note = "replaced {} lone surrogate{}"
        notes[note] = notes.get(note, 0) + replaced
    return text


def one_line(text: str, most: int = 200) -> str:
    """The text on one line, cut where it is longer than `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def fold(text: str) -> str:
    """The text as it is searched: NFC(casefold(NFD(text))), white space collapsed, invisible marks removed."""
    folded = unicodedata.normalize("NFD", text).casefold()
    # Composed last: an invisible mark between a letter and its accent must not keep them apart.
    return " ".join(unicodedata.normalize("NFC", _INVISIBLE.sub("", folded)).split())


def name_key(name: str) -> str:
    """The identity of a name: folded, one leading @ or # removed. Names with equal keys are one name; an empty key is
    no name at all."""
    key = fold(name)
    return key[1:].lstrip() if key[:1] in ("@", "#") else key


def without_accents(folded: str) -> str:
    """A folded text with each letter bare of its accents: how a name is found by somebody who types none."""
    if folded.isascii():
        return folded
    letters = unicodedata.normalize("NFD", folded)
    return unicodedata.normalize("NFC", "".join(letter for letter in letters if not unicodedata.combining(letter)))


def display_name(name: str) -> str:
    """A name as it is shown: trimmed, on one line, without the quotes or backticks that only surround it."""
    shown = " ".join(name.split())
    while len(shown) > 1 and shown[0] in _QUOTES and shown[-1] in _QUOTES:
        shown = shown[1:-1].strip()
    return shown


def entity_type(stated: str) -> str:
    """An entity type, lowercased; empty becomes `other`."""
    return " ".join(stated.lower().split()) or DEFAULT_TYPE


def relation(stated: str) -> str:
    """A relation, lowercased, its spaces replaced by `_`."""
    return "_".join(stated.lower().split())


def has_control(text: str) -> bool:
    """Whether the text holds a control character (Unicode category Cc)."""
    return any(unicodedata.category(char) == "Cc" for char in text)


def has_surrogate(text: str) -> bool:
    """Whether the text holds half a character, which no UTF-8 can tell: bytes of another encoding, or cut JSON."""
    return _SURROGATE.search(text) is not None


def utf8_length(text: str) -> int:
    """The number of bytes of the text in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))
