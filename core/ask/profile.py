"""The profile of a graph: notes and worked examples that hold for every question of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Protocol

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from core.core import Core
from core.errors import Conflict, InvalidProfile, InvalidRequest
from core.graph import Dataset
from core.graphs.graph_of import graph_of
from core.graphs.requests import GraphRequest
from core.requests import Offset, Response
from core.sparql.gate import checked_for
from core.sparql.similar import similar_in
from core.times import rfc3339

MAX_NOTES = 8_000
MAX_EXAMPLES = 20
MAX_WORDS = 1_000
"""Characters of an example's question, and of its note."""
MAX_SPARQL = 4_000
MAX_SPARQL_TOGETHER = 32_000


class ProfileExample(BaseModel):
    """A question and the query that answers it on this graph."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: Annotated[str, Field(description="As a person asks it, 1 to 1,000 characters.")]
    sparql: Annotated[str, Field(description="A SELECT or an ASK, 1 to 4,000 characters.")]
    note: Annotated[str | None, Field(description="Why it is written so, at most 1,000 characters.")] = None


@dataclass(frozen=True, slots=True)
class Profile:
    """What holds for every question of a graph. `version` counts its writes; 0 where it was never written."""

    notes: str = ""
    examples: Sequence[ProfileExample] = ()
    version: int = 0
    updated_at: datetime | None = None


class ProfileStore(Protocol):
    """Keeps one profile for each dataset."""

    async def read(self, dataset: Dataset) -> Profile:
        """The profile; an empty one where none was written."""
        ...

    async def write(
        self, dataset: Dataset, profile: Profile, expected_version: int | None, clock: Callable[[], datetime]
    ) -> Profile:
        """Stores notes and examples, and counts the version on; the dataset is created if it is not there.

        Raises Conflict where another version than the expected one is stored: then nothing is written.
        """
        ...


def _within_limits(examples: Sequence[ProfileExample]) -> Sequence[ProfileExample]:
    if len(examples) > MAX_EXAMPLES:
        raise ValueError(f"must hold at most {MAX_EXAMPLES} items, has {len(examples)}")
    for number, example in enumerate(examples):
        _check_length(f"[{number}].question", example.question, 1, MAX_WORDS)
        _check_length(f"[{number}].sparql", example.sparql, 1, MAX_SPARQL)
        _check_length(f"[{number}].note", example.note or "", 0, MAX_WORDS)
    together = sum(len(example.sparql) for example in examples)
    if together > MAX_SPARQL_TOGETHER:
        raise ValueError(f"the queries must have at most {MAX_SPARQL_TOGETHER} characters together, have {together}")
    return examples


def _check_length(place: str, text: str, least: int, most: int) -> None:
    if not least <= len(text) <= most:
        raise ValueError(f"{place} must have {least} to {most} characters, has {len(text)}")


class ProfileRequest(GraphRequest):
    """Whose profile."""


class SetProfileRequest(GraphRequest):
    """The whole profile as it shall be. Neither notes nor examples: it is cleared."""

    notes: Annotated[
        str,
        Field(max_length=MAX_NOTES, description="What the data means, in plain words: at most 8,000 characters."),
        BeforeValidator(lambda value: "" if value is None else value),
    ] = ""
    examples: Annotated[
        tuple[ProfileExample, ...],
        Field(description="At most 20, their queries at most 32,000 characters together."),
        AfterValidator(_within_limits),
        BeforeValidator(lambda value: () if value is None else value),
    ] = ()
    expected_version: Annotated[
        Offset | None, Field(description="The version that this one replaces; another one stored is a conflict.")
    ] = None
    dry_run: Annotated[bool, Field(description="Only check it, and answer what would be stored.")] = False


class ProfileResponse(Response):
    """A profile as it is stored; with dry_run, as it would be."""

    notes: str
    examples: Sequence[ProfileExample]
    version: int
    updated_at: Annotated[str | None, Field(description="When this version was written.")] = None
    dry_run: Annotated[bool | None, Field(description="True: nothing was stored.")] = None


async def profile_of(core: Core, dataset: Dataset) -> Profile:
    """The profile of a dataset; version 0 and empty where none was written."""
    return await core.profiles.read(dataset)


async def profile(core: Core, request: ProfileRequest) -> ProfileResponse:
    """Show the notes and worked examples that every question of the graph is answered with, and their version."""
    return _shown(await profile_of(core, await graph_of(core, request)))


async def set_profile(core: Core, request: SetProfileRequest) -> ProfileResponse:
    """Store notes and worked examples that every question of the graph is answered with.

    Each write adds 1 to the version; one that expects another version than the stored one stores nothing.
    """
    dataset = await graph_of(core, request)
    for number, example in enumerate(request.examples):
        await _check_runs(core, dataset, number, example)
    stated = Profile(request.notes, request.examples)
    if not request.dry_run:
        return _shown(await core.profiles.write(dataset, stated, request.expected_version, core.clock))
    stored = await profile_of(core, dataset)
    check_version(stored.version, request.expected_version)
    return _shown(Profile(stated.notes, stated.examples, stored.version + 1), dry_run=True)


def check_version(stored: int, expected: int | None) -> None:
    """Raises Conflict where a write expects another version than the stored one."""
    if expected not in (None, stored):
        raise Conflict(f"the profile is at version {stored}; nothing was stored, read it again")


async def _check_runs(core: Core, dataset: Dataset, number: int, example: ProfileExample) -> None:
    try:
        checked = await checked_for(core, dataset, example.sparql)
        similar_in(checked.text)
        await core.queries.check(checked.text)
    except InvalidRequest as failure:
        wrong = failure.message.removeprefix("query: ")
        raise InvalidProfile(f"examples[{number}].sparql: {wrong}", param="examples") from failure


def _shown(profile: Profile, *, dry_run: bool = False) -> ProfileResponse:
    return ProfileResponse(
        notes=profile.notes,
        examples=profile.examples,
        version=profile.version,
        updated_at=rfc3339(profile.updated_at) if profile.updated_at else None,
        dry_run=dry_run or None,
    )
