"""What the two editors of configuration files have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, cast

Keys: TypeAlias = Sequence[str]
"""The keys from the whole document down to a value."""


class Unreadable(ValueError):
    """The text is not what its format asks for; the message says where."""


class Format(Protocol):
    """Changes one value of a text and leaves every other character as it is.

    Raises Unreadable for a text that can't be read, and where the change can't be made in place.
    """

    def read(self, text: str) -> dict[str, object]: ...

    def put(self, text: str, path: Keys, value: object) -> str: ...

    def drop(self, text: str, path: Keys) -> str: ...

    def snippet(self, path: Keys, value: object) -> str:
        """The value as a person would paste it."""
        ...


def nested(path: Keys, value: object) -> object:
    """The value inside an object for each key of the path."""
    for key in reversed(path):
        value = {key: value}
    return value


def found(document: object, path: Keys) -> object | None:
    """The value at the path; None where there is none."""
    for key in path:
        if not isinstance(document, Mapping) or key not in document:
            return None
        document = cast("Mapping[str, object]", document)[key]
    return document
