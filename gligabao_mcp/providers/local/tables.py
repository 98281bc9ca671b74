"""Tables written as text: a set of words, and rows of cells."""

from __future__ import annotations

from collections.abc import Iterator


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


def rows(table: str) -> Iterator[list[str]]:
    """The lines of a table, each cut into its cells at ` | `."""
    return ([cell.strip() for cell in line.split(" | ")] for line in table.strip().splitlines())
