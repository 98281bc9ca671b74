"""What the model has read of the graph: only that can it cite."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

_WHOLE = re.compile(r"<([A-Za-z][^<>\s]*)>")
_SHORT = re.compile(r"(?<![\w:<])([A-Za-z][\w-]*):([\w%][\w%.-]*[\w%-]|[\w%])")


class Seen:
    """IRIs that stood in rows and results, and texts that name others in full or by the prefixes of the graph."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._prefixes = prefixes
        self._iris: set[str] = set()
        self._texts: list[str] = []

    def add(self, iris: Iterable[str]) -> None:
        """Records that were read."""
        self._iris.update(iris)

    def read(self, text: str) -> None:
        """A text that was read. It is searched when somebody asks."""
        self._texts.append(text)

    def saw(self, iri: str) -> bool:
        """Whether the IRI was read."""
        if iri not in self._iris:
            while self._texts:
                self._iris.update(named_in(self._texts.pop(), self._prefixes))
        return iri in self._iris

    def whole(self, name: str) -> str:
        """The IRI that a name stands for, be it in full, in angle brackets or with a prefix of the graph."""
        stated = name.strip().removeprefix("<").removesuffix(">")
        prefix, colon, local = stated.partition(":")
        is_short = colon and prefix in self._prefixes and not local.startswith("//")
        return self._prefixes[prefix] + local if is_short else stated


def named_in(text: str, prefixes: Mapping[str, str]) -> Iterator[str]:
    """The IRIs in a text: those in angle brackets, and those with one of the prefixes."""
    for found in _WHOLE.finditer(text):
        yield found[1]
    for found in _SHORT.finditer(text):
        if namespace := prefixes.get(found[1]):
            yield namespace + found[2]
