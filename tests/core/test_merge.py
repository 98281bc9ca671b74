"""Merging: a person says that two entities are one; it can be taken apart again."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from core.config import Config
from core.core import Core
from core.engine import NoEngine
from core.errors import Conflict, InvalidRequest, NotFound
from gligabao_mcp.operations import MERGE, parse
from gligabao_mcp.providers.scripted import HashEmbedder
from gligabao_mcp.wiring import Providers, open_core
from storage.outbox import VectorOutbox
from tests.conftest import Tables
from tests.facts import ask, edge, tell_facts
from tests.forgetting import facts_of, forget_it, id_of, merge_them, purge_it, undo_it

pytestmark = pytest.mark.anyio


@pytest.fixture
async def core(config: Config) -> AsyncGenerator[Core]:
    """A memory whose callers read their texts themselves."""
    async with open_core(config, Providers(NoEngine(), HashEmbedder())) as core:
        yield core


async def test_similar_names_stay_apart_until_a_person_merges_them(core: Core) -> None:
    """C010: similarity is no identity; C002: one thing of two types is one once somebody says so."""
    await tell_facts(core, edge("Alice Smith", "lives_in", "Paris"))
    await tell_facts(core, edge("Alicia", "owns", "a boat"))
    assert await facts_of(core, "Alice Smith Alicia") == {"Alice Smith lives_in Paris", "Alicia owns a boat"}
    alice, alicia = await id_of(core, "Alice Smith"), await id_of(core, "Alicia")
    done = await merge_them(core, alice, alicia)
    assert dict(done.counts) == {"entities": 1, "edges": 0, "moved": 1}
    assert await facts_of(core, "Alice Smith") == {"Alice Smith lives_in Paris", "Alice Smith owns a boat"}
    await undo_it(core, done)
    assert await facts_of(core, "Alice Smith Alicia") == {"Alice Smith lives_in Paris", "Alicia owns a boat"}
    assert (await id_of(core, "Alicia")) == alicia


async def test_the_merged_name_means_the_one_that_stays(core: Core, tables: Tables) -> None:
    await tell_facts(core, edge("Robert", "knows", "Ann"))
    await tell_facts(core, edge("Bobby", "knows", "Cem"))
    robert = await id_of(core, "Robert")
    await merge_them(core, robert, await id_of(core, "Bobby"))
    told = await tell_facts(core, edge("bobby", "owns", "a kiln"))
    assert [e.source_id for e in told.edges] == [robert]
    assert tables.rows("SELECT count(*) AS n FROM gb_entities WHERE name_key = 'bobby'") == [{"n": 0}]
    assert await facts_of(core, "Robert") == {"Robert knows Ann", "Robert knows Cem", "Robert owns a kiln"}


async def test_a_fact_that_both_have_is_one_with_the_earlier_start(core: Core) -> None:
    await tell_facts(core, edge("Robert", "works_at", "Acme", valid_at="2022"))
    await tell_facts(core, edge("Bobby", "works_at", "Acme", valid_at="2020"), edge("Bobby", "knows", "Robert"))
    robert, bobby = await id_of(core, "Robert"), await id_of(core, "Bobby")
    dry = await merge_them(core, robert, bobby, dry_run=True)
    assert dict(dry.counts) == {"entities": 1, "edges": 2, "moved": 0} and dry.tombstone_id is None
    done = await merge_them(core, robert, bobby)
    (fact,) = (await ask(core, "Robert", answer=False)).evidence.edges
    assert (fact.source, fact.target, fact.valid_at.year) == ("Robert", "Acme", 2020)
    await undo_it(core, done)
    facts = (await ask(core, "Robert Bobby", answer=False)).evidence.edges
    assert sorted((e.source, e.target, e.valid_at.year) for e in facts if e.relation == "works_at") == [
        ("Bobby", "Acme", 2020),
        ("Robert", "Acme", 2022),
    ]
    assert len(facts) == 3


async def test_words_and_vectors_go_along(core: Core, tables: Tables) -> None:
    await tell_facts(core, edge("Robert", "knows", "Ann"))
    bobs = [{"name": "Bobby", "description": "a potter"}]
    told = await tell_facts(core, edge("Bobby", "knows", "Cem"), entities=bobs)
    robert, bobby = await id_of(core, "Robert"), await id_of(core, "Bobby")
    done = await merge_them(core, robert, bobby)
    assert isinstance(core.vectors, VectorOutbox)
    texts = {text for name in ("entities", "edges") for _, text in core.vectors.index.texts(1, name)}
    assert {"Robert (other): a potter", "Robert knows Cem"} <= texts and "Bobby knows Cem" not in texts
    gone = await forget_it(core, "artifact", told.artifact_id)
    assert tables.rows("SELECT description FROM gb_entities WHERE id = :id", id=robert) == [{"description": ""}]
    with pytest.raises(Conflict, match=f"undo tombstone {gone.tombstone_id} first"):
        await undo_it(core, done)
    await undo_it(core, gone)
    await undo_it(core, done)
    described = tables.rows("SELECT name, description FROM gb_entities WHERE description <> ''")
    assert described == [{"name": "Bobby", "description": "a potter"}]


async def test_entities_of_others_are_none(core: Core) -> None:
    """C011: identity never crosses a user or a dataset."""
    await tell_facts(core, edge("Ines", "runs", "ops"))
    other = await tell_facts(core, edge("Ines", "runs", "sales"), user_id="u2")
    elsewhere = await tell_facts(core, edge("Ines", "runs", "lab"), dataset="lab")
    ines = await id_of(core, "Ines")
    for foreign in (other.edges[0].source_id, elsewhere.edges[0].source_id, 999_999):
        with pytest.raises(NotFound, match="other: there is no such entity in the dataset"):
            await merge_them(core, ines, foreign)
        with pytest.raises(NotFound, match="into: there is no such entity in the dataset"):
            await merge_them(core, foreign, ines)
    assert await facts_of(core, "What does Ines run?") == {"Ines runs ops"}


def test_an_entity_is_not_merged_with_itself() -> None:
    with pytest.raises(InvalidRequest, match="other: must be another entity than into"):
        parse(MERGE, {"user_id": "u1", "into": 1, "other": 1})


async def test_what_a_purged_text_said_does_not_come_back_with_the_undo_of_a_merge(core: Core) -> None:
    """The tombstone of a merge keeps rows that the text had described: their words are purged there too."""

    async def told(who: str, words: str, said: str, text: str) -> int:
        entities = [{"name": who, "type": "person", "description": said}]
        told = await tell_facts(core, edge(who, "lives_in", "Paris", description=words), text=text, entities=entities)
        assert told.artifact_id is not None
        return told.artifact_id

    await told("Bob", "Bob lives in Paris.", "", "a")
    private = await told("Robert", "Robert lives in the quixhouse in Paris.", "hides a quixpassword", "b")
    await told("Robert", "", "", "c")
    merged = await merge_them(core, await id_of(core, "Bob"), await id_of(core, "Robert"))
    await purge_it(core, await forget_it(core, "artifact", private))
    await undo_it(core, merged)
    found = await ask(core, "Robert", answer=False)
    assert "Robert" in {entity.name for entity in found.evidence.entities}
    assert "quix" not in found.model_dump_json()
