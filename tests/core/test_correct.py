"""Correcting a fact on the caller's word, with the correction as its source."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from core.config import Config
from core.core import Core
from core.engine import NoEngine
from core.errors import InvalidRequest, NotFound
from gligabao_mcp.operations import CORRECT, parse
from gligabao_mcp.providers.scripted import HashEmbedder
from gligabao_mcp.wiring import Providers, open_core
from tests.conftest import Tables
from tests.facts import edge, tell_facts
from tests.forgetting import correct_it, facts_of, forget_it

pytestmark = pytest.mark.anyio


@pytest.fixture
async def core(config: Config) -> AsyncGenerator[Core]:
    """A memory whose callers read their texts themselves."""
    async with open_core(config, Providers(NoEngine(), HashEmbedder())) as core:
        yield core


async def test_a_fact_is_ended_at_a_date_and_the_past_knows_it_as_it_was(core: Core, tables: Tables) -> None:
    told = await tell_facts(core, edge("Ann", "works_at", "Acme", valid_at="2020"))
    done = await correct_it(core, told.edges[0].id, invalid_at="2023-05-31", reason="Ann left in May.")
    assert done.edge.id == told.edges[0].id and done.edge.expired_at is None
    assert done.invalidated_edges == [told.edges[0].id]
    assert await facts_of(core, "Ann") == {"Ann works_at Acme until 2023"}
    assert await facts_of(core, "Ann", known_at=told.created_at) == {"Ann works_at Acme"}
    (artifact,) = tables.rows("SELECT kind, text FROM gb_artifacts WHERE id = :id", id=done.artifact_id)
    assert artifact == {"kind": "correction", "text": "Ann left in May."}
    await forget_it(core, "artifact", done.artifact_id)
    assert await facts_of(core, "Ann") == {"Ann works_at Acme"}


async def test_a_wrong_end_is_corrected_too(core: Core) -> None:
    told = await tell_facts(core, edge("Ann", "works_at", "Acme", valid_at="2020", invalid_at="2022"))
    later = await correct_it(core, told.edges[0].id, invalid_at="2024")
    assert await facts_of(core, "Ann") == {"Ann works_at Acme until 2024"}
    await forget_it(core, "artifact", later.artifact_id)
    assert await facts_of(core, "Ann") == {"Ann works_at Acme until 2022"}


async def test_a_restated_fact_never_was_and_the_new_one_is_the_callers(core: Core, tables: Tables) -> None:
    told = await tell_facts(core, edge("Ann", "works_at", "Acme", valid_at="2020"))
    done = await correct_it(core, told.edges[0].id, restate={"target": "Globex"}, session_id="s1")
    assert (done.corrected_edge_id, done.invalidated_edges) == (told.edges[0].id, [told.edges[0].id])
    assert (done.edge.target, done.edge.valid_at, done.session_id) == ("Globex", told.edges[0].valid_at, "s1")
    assert await facts_of(core, "Ann") == {"Ann works_at Acme until 2020", "Ann works_at Globex"}
    (row,) = tables.rows("SELECT model_id FROM gb_edges WHERE id = :id", id=done.edge.id)
    assert row["model_id"] == "caller"
    (artifact,) = tables.rows("SELECT text FROM gb_artifacts WHERE kind = 'correction'")
    assert artifact["text"].startswith("Correction: not that Ann works at Acme, but that Ann works at Globex")
    assert tables.count("gb_vector_outbox") == 0
    await forget_it(core, "artifact", done.artifact_id)
    assert await facts_of(core, "Ann") == {"Ann works_at Acme"}


@pytest.mark.parametrize("start", ["2019-01-01", "2021-01-01"])
async def test_the_same_fact_with_another_start(core: Core, start: str) -> None:
    """The database holds one open fact of a kind; the old one makes room for it. What it had ended, ends with it."""
    await tell_facts(core, edge("Ann", "works_at", "Acme", valid_at="2018"))
    told = await tell_facts(core, edge("Ann", "works_at", "Globex", valid_at="2020"))
    done = await correct_it(core, told.edges[0].id, restate={"valid_at": start})
    assert done.edge.valid_at.year == int(start[:4]) and done.edge.id != told.edges[0].id
    year = start[:4]
    assert await facts_of(core, "Ann") == {
        f"Ann works_at Acme until {year}",
        "Ann works_at Globex until 2020",
        "Ann works_at Globex",
    }
    await forget_it(core, "artifact", done.artifact_id)
    assert await facts_of(core, "Ann") == {"Ann works_at Acme until 2020", "Ann works_at Globex"}


async def test_what_is_restated_as_a_known_fact_joins_it(core: Core) -> None:
    told = await tell_facts(core, edge("Ann", "knows", "Ben"), edge("Ann", "knows", "Bem"))
    wrong = next(e for e in told.edges if e.target == "Bem")
    right = next(e for e in told.edges if e.target == "Ben")
    done = await correct_it(core, wrong.id, restate={"target": "Ben"})
    assert done.edge.id == right.id and done.invalidated_edges == [wrong.id]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({}, "invalid_at: give it or restate"),
        ({"invalid_at": "2023", "restate": {"target": "x"}}, "invalid_at: give it or restate"),
        ({"invalid_at": "one day"}, "invalid_at: holds a date that can't be read"),
        ({"restate": {"valid_at": "one day"}}, "restate: holds a date that can't be read"),
        ({"restate": {"colour": "red"}}, "restate.colour"),
        ({"restate": {}, "why": "x"}, "unknown field why"),
    ],
)
def test_a_correction_says_one_thing(more: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        parse(CORRECT, {"user_id": "u1", "edge_id": 1, **more})


async def test_a_correction_that_says_nothing_is_refused(core: Core) -> None:
    told = await tell_facts(core, edge("Ann", "works_at", "Acme", valid_at="2020"))
    with pytest.raises(InvalidRequest, match="restate: must say something else"):
        await correct_it(core, told.edges[0].id, restate={"target": "Acme"})
    with pytest.raises(InvalidRequest, match="invalid_at: the end lies before the start"):
        await correct_it(core, told.edges[0].id, invalid_at="2019")
    with pytest.raises(NotFound, match="edge_id: there is no such edge in the dataset"):
        await correct_it(core, 999, invalid_at="2023")


async def test_facts_of_others_are_none(core: Core) -> None:
    """C055."""
    told = await tell_facts(core, edge("Ann", "knows", "Ben"), user_id="u2")
    await tell_facts(core, edge("Cem", "knows", "Dia"))
    with pytest.raises(NotFound, match="edge_id: there is no such edge in the dataset"):
        await correct_it(core, told.edges[0].id, invalid_at="2023")
