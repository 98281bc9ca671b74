"""Description: what a graph holds, in counts and samples, for who writes queries over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from core.core import Core
    from core.graph import Dataset

# Seconds that a question waits for the description of the newest commit where it could do with an earlier one.
QUICK = 0.25


class Coverage(NamedTuple):
    """How many of the sampled records of a class have a property. `example` is a short value, with its datatype;
    `target` the class that most linked records are of."""

    property: str
    instances: int
    of: int
    example: str | None = None
    target: str | None = None


class Statement(NamedTuple):
    """One statement of the graph's own model; the object is an IRI or a literal's text."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True)
class ClassPart:
    """A class of records. `coverage` is None where it was not sampled: it is not among the largest."""

    iri: str
    instances: int = 0
    label: str | None = None
    comment: str | None = None
    coverage: Sequence[Coverage] | None = None


@dataclass(frozen=True, slots=True)
class PropertyPart:
    """A property. `links`: most of its values are records."""

    iri: str
    statements: int = 0
    links: bool = False
    label: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """A graph at the commit `seq`: its classes, the largest first, its properties, the most used first, what it states
    about both, and prefixes for its namespaces. `partial`: reading ran out of time or into a bound."""

    seq: int
    built_at: datetime
    classes: Mapping[str, ClassPart] = field(default_factory=dict[str, ClassPart])
    properties: Mapping[str, PropertyPart] = field(default_factory=dict[str, PropertyPart])
    statements: Sequence[Statement] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict[str, str])
    partial: bool = False
    head: int = 0
    """The newest commit when it was read. What was forgotten later is gone from the past too."""

    def age_ms(self, now: datetime) -> int:
        """Milliseconds since it was read."""
        return max(0, round((now - self.built_at).total_seconds() * 1000))


async def describe_graph(
    core: Core, dataset: Dataset, at_seq: int | None = None, *, quick: float = QUICK
) -> Description:
    """The description of a dataset's graph, at a commit or as it is now.

    One that was read is kept for 10 minutes. Where the graph has a newer commit it is read again; what takes longer
    than `quick` seconds goes on in the background, and the older one is given.
    Raises InvalidRequest (param `as_of_commit_seq`) for a commit that is not there, QueryTimeout, QueriesUnavailable.
    """
    return await core.descriptions.get(core, dataset, at_seq, quick)


async def prefixes_for(core: Core, dataset: Dataset) -> Mapping[str, str]:
    """Prefix to namespace: all that a query over the dataset may use without a PREFIX line. Raises what describe_graph
    raises."""
    return (await describe_graph(core, dataset)).prefixes
