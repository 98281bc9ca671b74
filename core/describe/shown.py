"""A description as it is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from core.requests import Response


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True, serialize_by_alias=True)


class CoverageShown(_Part):
    """How many of the sampled records of a class have a property."""

    property: str
    name: Annotated[str, Field(description="prefix:local, as text writes it.")]
    instances: Annotated[int, Field(description="Sampled records that have it.")]
    of: Annotated[int, Field(description="Records sampled, at most 100.")]
    example: Annotated[str | None, Field(description="A short value.")] = None
    target: Annotated[str | None, Field(description="The class of the linked records.")] = None


class InstanceShown(_Part):
    """A record of a small class."""

    iri: str
    label: str | None = None
    values: Annotated[Mapping[str, str], Field(description="For each property the first of its literal values.")]


class ClassShown(_Part):
    """A class."""

    iri: str
    name: str
    instances: int
    label: str | None = None
    comment: str | None = None
    properties: Sequence[CoverageShown]
    values: Annotated[Sequence[InstanceShown] | None, Field(description="Its records, where they are 30 at most.")] = (
        None
    )


class UseShown(_Part):
    """A class whose records have a property."""

    class_: Annotated[str, Field(alias="class")]
    instances: int
    of: int


class PropertyShown(_Part):
    """A property."""

    iri: str
    name: str
    statements: Annotated[int, Field(description="How many there are in the graph.")]
    links: Annotated[bool, Field(description="Whether its values are records.")]
    target: str | None = None
    example: str | None = None
    label: str | None = None
    comment: str | None = None
    used_by: Annotated[Sequence[UseShown], Field(description="The classes that use it most, at most 3.")]


class StatementShown(_Part):
    """A statement of the graph's own model."""

    subject: str
    predicate: str
    object: str


class DescribeResponse(Response):
    """The parts of the graph, as JSON and as text for a prompt."""

    classes: Sequence[ClassShown]
    properties: Sequence[PropertyShown]
    statements: Sequence[StatementShown]
    prefixes: Annotated[Mapping[str, str], Field(description="Prefix to namespace, for the names in text.")]
    text: Annotated[str, Field(description="The same, for a prompt.")]
    commit_seq: Annotated[int, Field(description="The commit that was read.")]
    age_ms: Annotated[int, Field(description="Milliseconds since the description was read.")]
    partial: Annotated[bool, Field(description="Not everything could be read in time; ask again in a minute.")]
    unknown: Annotated[Sequence[str] | None, Field(description="Those asked for that the graph does not have.")] = None
