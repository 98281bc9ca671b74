"""The gate: which queries run, and with which prefixes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

MAX_QUERY = 20_000


@dataclass(frozen=True, slots=True)
class Checked:
    """A query that only reads, whole with its PREFIX lines. `facts`: it names the vocabulary of fact nodes."""

    text: str
    form: Literal["SELECT", "ASK"]
    facts: bool = False


def checked(text: str, prefixes: Mapping[str, str]) -> Checked:
    """The query, with a PREFIX line for each prefix of `prefixes` that it uses and does not declare.

    Raises InvalidRequest (param `query`) for every form but SELECT and ASK, for SERVICE and FROM, for a prefix that is
    nowhere declared, and for more than 20,000 characters.
    """
    raise NotImplementedError


def without_prefixes(text: str) -> str:
    """The query in one line without its PREFIX and BASE lines and comments, for a person to read."""
    raise NotImplementedError
