"""What is embedded of the records of a class: which fields, and the text that they make."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MAX_TEXT = 8_000
"""Characters of one record's text: what is beyond is left out."""


@dataclass(frozen=True, slots=True)
class RecipeField:
    """A property of the record, or a link and a property of what it leads to. `path` holds their IRIs."""

    name: str
    path: tuple[str, ...]
    max: int
    """Values that are kept of one record."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The class and the fields of its records' texts, in their order. `title` is the path of what names a hit."""

    class_iri: str
    fields: tuple[RecipeField, ...]
    title: tuple[str, ...] = ()

    def text_of(self, values: Mapping[int, Sequence[str]]) -> str:
        """The text of a record by the values of its fields, each field a line; empty where there are none."""
        lines = [
            f"{field.name}: {', '.join(sorted(set(values[number]))[: field.max])}"
            for number, field in enumerate(self.fields)
            if values.get(number)
        ]
        return "\n".join(lines)[:MAX_TEXT]


def digest_of(text: str) -> str:
    """The SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
