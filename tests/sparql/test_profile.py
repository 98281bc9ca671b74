"""The profile of a graph: notes and examples, with a version that two writers can trust."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lbb import models

from core.ask.profile import ProfileRequest, SetProfileRequest, profile, profile_of, set_profile
from core.core import Core
from core.errors import Conflict, GligabaoError, InvalidProfile, InvalidRequest
from gligabao_mcp.errors import invalid
from tests.conftest import Opener
from tests.requirements import requirement
from tests.sparql.catalog import FIRST, load

pytestmark = pytest.mark.anyio

NOTES = "Level 1 services wake someone at night."
EXAMPLE = {"question": "Who is there?", "sparql": "SELECT ?s WHERE { ?s rdfs:label ?l }", "note": "all of them"}


async def read(core: Core) -> dict[str, Any]:
    body = (await profile(core, ProfileRequest(user_id="u1"))).body()
    models.QueryRewriteProfile.model_validate(body)
    return body


async def put(core: Core, **fields: Any) -> dict[str, Any]:
    body = (await set_profile(core, SetProfileRequest(user_id="u1", **fields))).body()
    models.QueryRewriteProfile.model_validate(body)
    return body


@requirement("profile.read", "profile.fields", "profile.version")
async def test_a_profile_is_read_back_with_its_version_also_by_another_process(plain: Core, opened: Opener) -> None:
    dataset = await load(plain, FIRST)
    assert await read(plain) == {"notes": "", "examples": [], "version": 0}
    stored = await put(plain, notes=NOTES, examples=[EXAMPLE])
    assert (stored["notes"], stored["examples"], stored["version"]) == (NOTES, [EXAMPLE], 1)
    assert stored["updated_at"].endswith("Z")
    assert await read(plain) == stored
    assert (await put(plain, notes="Other.", expected_version=1))["version"] == 2
    async with opened() as other:
        kept = await profile_of(other, dataset)
        assert (kept.notes, kept.examples, kept.version) == ("Other.", [], 2)


@requirement("profile.conflict")
async def test_a_write_that_expects_another_version_stores_nothing(plain: Core) -> None:
    await put(plain, notes=NOTES)
    for dry_run in (False, True):
        with pytest.raises(Conflict, match="the profile is at version 1"):
            await put(plain, notes="late", expected_version=0, dry_run=dry_run)
    assert (await read(plain))["notes"] == NOTES


async def test_of_writers_at_once_who_expect_one_version_one_wins(plain: Core, opened: Opener) -> None:
    await put(plain, notes=NOTES)
    async with opened() as other:
        writers = [put(core, notes="mine", expected_version=1) for core in (plain, other) * 3]
        done = await asyncio.gather(*writers, return_exceptions=True)
    assert sorted(type(one).__name__ for one in done) == ["Conflict"] * 5 + ["dict"]
    assert (await read(plain))["version"] == 2


@requirement("profile.dry-run")
async def test_a_dry_run_shows_what_would_be_stored_and_stores_nothing(plain: Core) -> None:
    preview = await put(plain, notes=NOTES, examples=[EXAMPLE], dry_run=True)
    assert (preview["dry_run"], preview["version"], preview["notes"]) == (True, 1, NOTES)
    assert (await read(plain))["version"] == 0


@requirement("profile.cleared")
async def test_without_notes_and_examples_it_is_cleared_and_still_counted(plain: Core) -> None:
    await put(plain, notes=NOTES, examples=[EXAMPLE])
    await put(plain)
    assert {**await read(plain), "updated_at": ""} == {"notes": "", "examples": [], "version": 2, "updated_at": ""}


@requirement("profile.examples-parsed")
@pytest.mark.parametrize(
    "sparql",
    [
        "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "INSERT DATA { <urn:a> <urn:b> <urn:c> }",
        "SELECT ?s WHERE { ?s a",
        "SELECT ?s WHERE { ?s nowhere:p 1 }",
        'SELECT ?s WHERE { OPTIONAL { ?s search:similarTo "tills" } }',
    ],
)
async def test_an_example_that_would_not_run_is_refused(plain: Core, sparql: str) -> None:
    with pytest.raises(InvalidProfile, match=r"^examples\[1\]\.sparql: ") as refused:
        await put(plain, examples=[EXAMPLE, {"question": "q", "sparql": sparql}])
    assert refused.value.param == "examples"
    assert (await read(plain))["version"] == 0


def example(**fields: str) -> dict[str, str]:
    return {"question": "q", "sparql": "ASK {}", **fields}


@requirement("profile.fields", "profile.example-limits")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"notes": "n" * 8_001}, "notes: must have at most 8000 characters"),
        ({"examples": [example()] * 21}, "examples: must hold at most 20 items, has 21"),
        (
            {"examples": [example(question="q" * 1_001)]},
            "examples: [0].question must have 1 to 1000 characters, has 1001",
        ),
        ({"examples": [example(question="")]}, "examples: [0].question must have 1 to 1000 characters, has 0"),
        ({"examples": [example(note="n" * 1_001)]}, "examples: [0].note must have 0 to 1000 characters, has 1001"),
        ({"examples": [example(sparql="A" * 4_001)]}, "examples: [0].sparql must have 1 to 4000 characters, has 4001"),
        (
            {"examples": [example(sparql="A" * 3_600)] * 9},
            "examples: the queries must have at most 32000 characters together, have 32400",
        ),
    ],
)
def test_what_is_over_a_limit_is_refused_by_its_field(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as refused:
        SetProfileRequest(user_id="u1", **fields)
    failure: Any = refused.value
    told: GligabaoError = invalid(failure, SetProfileRequest)
    assert isinstance(told, InvalidRequest)
    assert (told.message, told.param) == (said, said.partition(":")[0])


async def test_each_graph_has_its_own(plain: Core) -> None:
    await load(plain, FIRST, dataset="catalog")
    await put(plain, notes=NOTES)
    await put(plain, notes="of the catalogue", dataset="catalog")
    assert (await read(plain))["notes"] == NOTES
    other = await profile(plain, ProfileRequest(user_id="u2"))
    assert other.version == 0
