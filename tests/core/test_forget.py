"""Forgetting: gone at once with what nothing else supports; back with undo; gone for good with purge."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from core.config import Config
from core.core import Core
from core.engine import NoEngine, PromptedEngine
from core.errors import ConfirmationRequired, Conflict, GligabaoError, InvalidRequest, NotFound, UnknownDataset
from core.forget.undo import TombstonesRequest, tombstones
from core.remember.remember import remember
from core.remember.request import RememberRequest
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core
from storage.forget import SqlForgetting
from storage.outbox import VectorOutbox
from tests.conftest import Tables
from tests.facts import ask, edge, graph, tell, tell_facts
from tests.forgetting import facts_of, forget_it, id_of, purge_it, undo_it
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


@pytest.fixture
async def core(config: Config) -> AsyncGenerator[Core]:
    """A memory whose callers read their texts themselves."""
    async with open_core(config, Providers(NoEngine(), HashEmbedder())) as core:
        yield core


async def vectors(core: Core, user_id: str = "u1", dataset: str = "main") -> dict[str, set[int]]:
    """The rows that the index has vectors of."""
    found = await core.graph.dataset(user_id, dataset)
    assert found is not None and isinstance(core.vectors, VectorOutbox)
    await core.vectors.catch_up(found)
    return {name: core.vectors.index.ids(found.id, name) for name in ("entities", "edges")}


# What goes, and what stays --------------------------------------------------------------------------------------------


@requirement("store.shared-entity-survives")
async def test_the_document_goes_and_so_does_what_it_alone_supports(core: Core) -> None:
    """C065: facts with other support stay, and so do their entities; the reply counts."""
    await tell_facts(core, edge("Bo", "owns", "a kiln"), text="Bo owns a kiln.")
    second = await tell_facts(core, edge("Bo", "owns", "a kiln"), edge("Bo", "owns", "a loom"), text="Both.")
    gone = await forget_it(core, "artifact", second.artifact_id)
    assert await facts_of(core, "Bo") == {"Bo owns a kiln"}
    assert dict(gone.counts) == {"artifacts": 1, "entities": 1, "edges": 1, "reopened": 0, "vectors": 2}
    assert (gone.scope, gone.id, gone.dataset, gone.dry_run, gone.purged) == ("artifact", 2, "main", False, False)
    await undo_it(core, gone)
    assert await facts_of(core, "Bo") == {"Bo owns a kiln", "Bo owns a loom"}


async def test_the_same_text_twice_keeps_its_facts_and_vectors_when_one_goes(core: Core) -> None:
    """C064: a shared row goes with its last link only."""
    first = await tell_facts(core, edge("Bo", "owns", "a kiln"), text="Bo owns a kiln.")
    second = await tell_facts(core, edge("Bo", "owns", "a kiln"), text="Bo owns a kiln.")
    before = await vectors(core)
    await forget_it(core, "artifact", first.artifact_id)
    assert await facts_of(core, "kiln") == {"Bo owns a kiln"}
    assert await vectors(core) == before
    await forget_it(core, "artifact", second.artifact_id)
    assert await facts_of(core, "kiln") == set()


async def test_what_is_forgotten_is_not_found_by_meaning_either(core: Core) -> None:
    """C061: the vectors go with the rows."""
    told = await tell_facts(core, edge("Tilo Brandt", "lives_in", "Ulm"), text="Tilo Brandt lives in Ulm.")
    await forget_it(core, "artifact", told.artifact_id)
    asked = await ask(core, "Tilo Brandt", answer=False, retrieval="hybrid")
    assert (asked.evidence.edges, asked.evidence.entities) == ([], [])
    assert await vectors(core) == {"entities": set(), "edges": set()}


async def test_an_index_that_is_repaired_does_not_bring_the_forgotten_back(core: Core) -> None:
    """C062: of two texts the first is forgotten; what is built anew holds the second only."""
    first = await tell_facts(core, edge("Ann", "knows", "Ben"))
    await tell_facts(core, edge("Cem", "knows", "Dia"))
    await forget_it(core, "artifact", first.artifact_id)
    assert isinstance(core.vectors, VectorOutbox)
    await core.vectors.repair()
    assert await facts_of(core, "Ann Ben Cem Dia") == {"Cem knows Dia"}
    assert {name: len(ids) for name, ids in (await vectors(core)).items()} == {"entities": 2, "edges": 1}


async def test_the_past_does_not_know_it_either(core: Core) -> None:
    told = await tell_facts(core, edge("Ann", "knows", "Ben"))
    gone = await forget_it(core, "artifact", told.artifact_id)
    assert await facts_of(core, "Ann", known_at=told.created_at) == set()
    await undo_it(core, gone)
    assert await facts_of(core, "Ann", known_at=told.created_at) == {"Ann knows Ben"}


async def test_a_session_goes_and_what_another_one_said_too_stays(core: Core, tables: Tables) -> None:
    """C068."""
    await tell_facts(core, edge("Ann", "knows", "Ben"), edge("Ann", "knows", "Cem"), session_id="s1")
    await tell_facts(core, edge("Ann", "knows", "Ben"), session_id="s2")
    gone = await forget_it(core, "session", "s1")
    assert await facts_of(core, "Ann") == {"Ann knows Ben"}
    assert {row["session_id"] for row in tables.rows("SELECT session_id FROM gb_edge_sessions")} == {"s2"}
    await undo_it(core, gone)
    assert await facts_of(core, "Ann") == {"Ann knows Ben", "Ann knows Cem"}
    assert tables.count("gb_edge_sessions") == 3


async def test_one_call_is_undone_by_its_run(core: Core) -> None:
    await tell_facts(core, edge("Ann", "knows", "Ben"), edge("Ann", "lives_in", "Paris", valid_at="2020"))
    call = await tell_facts(core, edge("Ann", "knows", "Ben"), edge("Ann", "lives_in", "Oslo", valid_at="2022"))
    gone = await forget_it(core, "run", call.remember_run_id)
    assert gone.counts["reopened"] == 1
    assert await facts_of(core, "Ann") == {"Ann knows Ben", "Ann lives_in Paris"}


async def test_an_entity_goes_with_its_facts_and_a_fact_goes_alone(core: Core) -> None:
    told = await tell_facts(core, edge("Ann", "knows", "Ben"), edge("Ben", "knows", "Cem"), edge("Cem", "knows", "Dia"))
    entity = await forget_it(core, "entity", await id_of(core, "Ben"))
    assert await facts_of(core, "Ann Ben Cem Dia") == {"Cem knows Dia"}
    fact = await forget_it(core, "edge", told.edges[2].id)
    assert await facts_of(core, "Ann Ben Cem Dia") == set()
    await undo_it(core, entity)
    await undo_it(core, fact)
    assert len(await facts_of(core, "Ann Ben Cem Dia")) == 3


# Ends and starts that it had set --------------------------------------------------------------------------------------


async def test_what_the_forgotten_text_alone_had_ended_holds_again(core: Core) -> None:
    await tell_facts(core, edge("Ann", "lives_in", "Paris", valid_at="2020"))
    move = await tell_facts(core, edge("Ann", "lives_in", "Oslo", valid_at="2022"))
    gone = await forget_it(core, "artifact", move.artifact_id)
    assert gone.counts["reopened"] == 1
    assert await facts_of(core, "Ann") == {"Ann lives_in Paris"}
    back = await undo_it(core, gone)
    assert back.counts["closed"] == 1
    assert await facts_of(core, "Ann") == {"Ann lives_in Paris until 2022", "Ann lives_in Oslo"}


async def test_a_fact_between_two_others_leaves_no_gap_whatever_the_order(core: Core) -> None:
    """Paris, Oslo, Rome: without Oslo, Paris ends where Rome begins; each undo, in any order, puts things right."""
    await tell_facts(core, edge("Ann", "lives_in", "Paris", valid_at="2020"))
    oslo = await tell_facts(core, edge("Ann", "lives_in", "Oslo", valid_at="2022"))
    rome = await tell_facts(core, edge("Ann", "lives_in", "Rome", valid_at="2024"))
    without_oslo = await forget_it(core, "artifact", oslo.artifact_id)
    assert await facts_of(core, "Ann") == {"Ann lives_in Paris until 2024", "Ann lives_in Rome"}
    without_rome = await forget_it(core, "artifact", rome.artifact_id)
    assert await facts_of(core, "Ann") == {"Ann lives_in Paris"}
    await undo_it(core, without_oslo)
    assert await facts_of(core, "Ann") == {"Ann lives_in Paris until 2022", "Ann lives_in Oslo"}
    again = await forget_it(core, "artifact", oslo.artifact_id)
    await undo_it(core, without_rome)
    assert await facts_of(core, "Ann") == {"Ann lives_in Paris until 2024", "Ann lives_in Rome"}
    await undo_it(core, again)
    everything = {"Ann lives_in Paris until 2022", "Ann lives_in Oslo until 2024", "Ann lives_in Rome"}
    assert await facts_of(core, "Ann") == everything


async def test_an_end_that_another_text_states_too_stays(core: Core) -> None:
    await tell_facts(core, edge("Ann", "works_at", "Acme", valid_at="2020-01-01"))
    end = edge("Ann", "works_at", "Acme", valid_at="2020-01-01", invalid_at="2023-05-31")
    one, two = await tell_facts(core, end), await tell_facts(core, end)
    await forget_it(core, "artifact", one.artifact_id)
    assert await facts_of(core, "Ann") == {"Ann works_at Acme until 2023"}
    await forget_it(core, "artifact", two.artifact_id)
    assert await facts_of(core, "Ann") == {"Ann works_at Acme"}


async def test_a_start_that_it_had_moved_goes_back(core: Core) -> None:
    told = await tell_facts(core, edge("Ann", "works_at", "Acme"), reference_time="2024-06-01T00:00:00Z")
    earlier = await tell_facts(core, edge("Ann", "works_at", "Acme", valid_at="2019"))
    assert earlier.edges[0].valid_at.year == 2019
    gone = await forget_it(core, "artifact", earlier.artifact_id)
    (fact,) = (await ask(core, "Ann", answer=False)).evidence.edges
    assert fact.valid_at == told.edges[0].valid_at
    await undo_it(core, gone)
    (fact,) = (await ask(core, "Ann", answer=False)).evidence.edges
    assert fact.valid_at.year == 2019


# Words ----------------------------------------------------------------------------------------------------------------


async def test_words_go_with_the_text_they_came_from(core: Core, tables: Tables) -> None:
    """A fact that stays, because another text supports it, keeps no wording that only the forgotten one has."""
    said = edge("Ann", "works_at", "Acme", description="Ann secretly works at Acme.")
    first = await tell_facts(
        core, said, text="Ann secretly works at Acme.", entities=[{"name": "Ann", "description": "a spy"}]
    )
    await tell_facts(core, edge("Ann", "works_at", "Acme"), text="Ann works there.")
    gone = await forget_it(core, "artifact", first.artifact_id)
    assert tables.rows("SELECT description, artifact_id FROM gb_edges") == [{"description": "", "artifact_id": None}]
    assert {row["description"] for row in tables.rows("SELECT description FROM gb_entities")} == {""}
    assert isinstance(core.vectors, VectorOutbox)
    assert sorted(text for _, text in core.vectors.index.texts(1, "edges")) == ["Ann works at Acme"]
    await undo_it(core, gone)
    assert tables.rows("SELECT description, artifact_id FROM gb_edges") == [
        {"description": "Ann secretly works at Acme.", "artifact_id": first.artifact_id}
    ]
    assert {row["description"] for row in tables.rows("SELECT description FROM gb_entities")} == {"", "a spy"}


async def test_words_that_another_text_holds_too_stay(core: Core, tables: Tables) -> None:
    said = edge("Ann", "works_at", "Acme", description="Ann works at Acme.")
    first = await tell_facts(core, said, text="Ann works at Acme.")
    await tell_facts(core, said, text="As I said, ANN works at Acme.")
    await forget_it(core, "artifact", first.artifact_id)
    assert tables.rows("SELECT description FROM gb_edges") == [{"description": "Ann works at Acme."}]


async def test_a_description_goes_back_to_the_one_before_in_the_past_too(core: Core, tables: Tables) -> None:
    def described(words: str) -> dict[str, Any]:
        return {"entities": [{"name": "Ann", "type": "person", "description": words}]}

    await tell_facts(core, edge("Ann", "knows", "Ben"), **described("an engineer"))
    second = await tell_facts(core, edge("Ann", "knows", "Cem"), **described("in debt"))
    await tell_facts(core, edge("Ann", "knows", "Dia"), **described("a painter"))
    gone = await forget_it(core, "artifact", second.artifact_id)
    assert [row["description"] for row in tables.rows("SELECT description FROM gb_entity_versions")] == ["an engineer"]
    await undo_it(core, gone)
    versions = tables.rows("SELECT description FROM gb_entity_versions ORDER BY seq")
    assert [row["description"] for row in versions] == ["an engineer", "in debt"]


# Asking before, and once more -----------------------------------------------------------------------------------------


def many(count: int) -> list[dict[str, object]]:
    return [edge("Ann", "knows", f"friend {i}") for i in range(count)]


async def test_a_dry_run_tells_and_changes_nothing(core: Core, tables: Tables) -> None:
    told = await tell_facts(core, *many(3))
    dry = await forget_it(core, "artifact", told.artifact_id, dry_run=True)
    assert dict(dry.counts) == {"artifacts": 1, "entities": 4, "edges": 3, "vectors": 7}
    assert (dry.dry_run, dry.tombstone_id, dry.confirm) == (True, None, None)
    assert len(await facts_of(core, "Ann")) == 3 and tables.count("gb_tombstones") == 0


async def test_more_than_twenty_rows_go_only_for_who_says_so_twice(core: Core) -> None:
    told = await tell_facts(core, *many(15))
    with pytest.raises(ConfirmationRequired) as refused:
        await forget_it(core, "artifact", told.artifact_id)
    saved = refused.value.saved
    assert saved["counts"] == {"artifacts": 1, "entities": 16, "edges": 15}
    assert len(await facts_of(core, "Ann")) == 15
    dry = await forget_it(core, "artifact", told.artifact_id, dry_run=True)
    assert dry.confirm == saved["confirm"]
    await tell_facts(core, edge("Cem", "knows", "Dia"))
    with pytest.raises(ConfirmationRequired):  # it was said of another state
        await forget_it(core, "artifact", told.artifact_id, confirm=dry.confirm)
    now = await forget_it(core, "artifact", told.artifact_id, dry_run=True)
    await forget_it(core, "artifact", told.artifact_id, confirm=now.confirm)
    assert await facts_of(core, "Ann Cem") == {"Cem knows Dia"}


async def test_ids_of_others_are_no_ids(core: Core) -> None:
    """C055, C011: every look-up is by user, dataset and id; a foreign id answers exactly as a missing one."""
    told = await tell_facts(core, edge("Ann", "knows", "Ben"), user_id="u2", session_id="s1")
    await tell_facts(core, edge("Cem", "knows", "Dia"))
    gone = await forget_it(core, "edge", (await tell_facts(core, edge("A", "knows", "B"))).edges[0].id)
    ids = {"artifact": told.artifact_id, "entity": 1, "edge": 1, "run": told.remember_run_id, "session": "s1"}
    for scope, id in ids.items():
        missing = "s9" if scope == "session" else 999_999
        texts: list[str] = []
        for target in (id, missing):
            with pytest.raises(NotFound) as failure:
                await forget_it(core, scope, target)
            texts.append(str(failure.value))
        assert texts == [f"id: there is no such {scope} in the dataset"] * 2
    for verb in (undo_it, purge_it):
        with pytest.raises(NotFound):
            await verb(core, gone, user_id="u2")
    assert await facts_of(core, "Ann", user_id="u2") == {"Ann knows Ben"}


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({"scope": "artifact"}, "id: is required"),
        ({"scope": "edge", "id": "seven"}, "id: must be the number"),
        ({"scope": "edge", "id": True}, "id: must be a string"),
        ({"scope": "edge", "id": 1.5}, "id: must be a string"),
        ({"scope": "edge", "id": [1]}, "id: must be a string"),
        ({"scope": "session", "id": ""}, "id: is required"),
        ({"scope": "session", "id": "s" * 129}, "id: must be at most 128 bytes of UTF-8, has 129"),
        ({"scope": "session", "id": "a\nb"}, "id: must not hold control characters"),
        ({"scope": "dataset", "id": 1}, "id: can't be given"),
        ({"scope": "user", "dataset": "main"}, "dataset: can't be given with scope user"),
        ({"scope": "artifact", "id": 1, "everything": True}, "unknown field everything"),
        ({"scope": "world"}, "scope: must be one of"),
    ],
)
def test_a_request_that_names_no_one_thing_is_refused(request_: dict[str, object], says: str) -> None:
    from gligabao_mcp.operations import FORGET, parse

    with pytest.raises(InvalidRequest, match=says):
        parse(FORGET, {"user_id": "u1", **request_})


async def test_a_chunk_is_forgotten_with_its_text(config: Config, model: ScriptedModel) -> None:
    """The text of the whole would still say it."""
    small = config.model_copy(update={"chunk_size": 64})
    async with open_core(small, Providers(PromptedEngine(model), HashEmbedder())) as core:
        text = " ".join(f"Ann knows person number {i} of the village." for i in range(20))
        model.replies(*[{"summary": "Ann knows people."}] * 20)
        told = await tell(core, text, edges=[edge("Ann", "knows", "Ben")], entities=[])
        assert told.chunks
        with pytest.raises(InvalidRequest, match=f"id: is a chunk of artifact {told.artifact_id}"):
            await forget_it(core, "artifact", told.chunks[0].artifact_id)
        dry = await forget_it(core, "artifact", told.artifact_id, dry_run=True)
        gone = await forget_it(core, "artifact", told.artifact_id, confirm=dry.confirm)
        assert isinstance(core.vectors, VectorOutbox)
        assert core.vectors.index.ids(1, "chunks") == set() == core.vectors.index.ids(1, "summaries")
        await undo_it(core, gone)
        assert core.vectors.index.ids(1, "chunks") == {chunk.artifact_id for chunk in told.chunks}


async def test_a_message_that_is_forgotten_can_be_told_again(config: Config, model: ScriptedModel) -> None:
    model.replies(graph("Ann:person"), graph("Ann:person"))
    said = {"user_id": "u1", "messages": [{"text": "Ann is here.", "id": "m1"}]}
    async with open_core(config, Providers(PromptedEngine(model), HashEmbedder())) as core:
        first = (await remember(core, RememberRequest.model_validate(said))).body()["messages"][0]
        gone = await forget_it(core, "artifact", first["artifact_id"])
        again = (await remember(core, RememberRequest.model_validate(said))).body()["messages"][0]
        assert again["artifact_id"] != first["artifact_id"] and "known" not in again
        await undo_it(core, gone)
        third = (await remember(core, RememberRequest.model_validate(said))).body()["messages"][0]
        assert (third["artifact_id"], third["known"]) == (again["artifact_id"], True)


# Undo -----------------------------------------------------------------------------------------------------------------


async def test_undo_gives_back_the_same_rows_under_the_same_ids(core: Core, tables: Tables) -> None:
    told = await tell_facts(core, edge("Ann", "knows", "Ben", description="Since school."), session_id="s1")
    names = ("artifacts", "entities", "edges", "entity_artifacts", "edge_artifacts", "entity_sessions", "edge_sessions")
    before = {name: tables.rows(f"SELECT * FROM gb_{name} ORDER BY 1, 2") for name in names}
    indexed = await vectors(core)
    gone = await forget_it(core, "artifact", told.artifact_id)
    assert all(tables.count(f"gb_{name}") == 0 for name in names)
    await undo_it(core, gone)
    assert {name: tables.rows(f"SELECT * FROM gb_{name} ORDER BY 1, 2") for name in names} == before
    assert await vectors(core) == indexed
    with pytest.raises(Conflict, match="undone already"):
        await undo_it(core, gone)


async def test_what_is_told_again_before_the_undo_is_not_doubled(core: Core, tables: Tables) -> None:
    first = await tell_facts(core, edge("Ann", "knows", "Ben"), edge("Ann", "knows", "Cem"))
    gone = await forget_it(core, "artifact", first.artifact_id)
    again = await tell_facts(core, edge("Ann", "knows", "Ben"))
    await undo_it(core, gone)
    assert await facts_of(core, "Ann") == {"Ann knows Ben", "Ann knows Cem"}
    assert tables.count("gb_entities") == 3
    links = tables.rows("SELECT artifact_id FROM gb_edge_artifacts WHERE edge_id = :id", id=again.edges[0].id)
    assert {row["artifact_id"] for row in links} == {first.artifact_id, again.artifact_id}


async def test_a_fact_comes_back_after_the_text_it_rests_on(core: Core) -> None:
    told = await tell_facts(core, edge("Ann", "knows", "Ben"))
    fact = await forget_it(core, "edge", told.edges[0].id)
    text = await forget_it(core, "artifact", told.artifact_id)
    with pytest.raises(Conflict, match=f"undo tombstone {text.tombstone_id} first"):
        await undo_it(core, fact)
    await undo_it(core, text)
    assert await facts_of(core, "Ann") == set(), "the fact was forgotten as such"
    await undo_it(core, fact)
    assert await facts_of(core, "Ann") == {"Ann knows Ben"}


async def test_texts_that_share_facts_come_back_in_any_order(core: Core) -> None:
    told = [await tell_facts(core, edge("Ann", "knows", "Ben")) for _ in range(2)]
    gone = [await forget_it(core, "artifact", one.artifact_id) for one in told]
    assert await facts_of(core, "Ann") == set()
    await undo_it(core, gone[0])
    assert await facts_of(core, "Ann") == {"Ann knows Ben"}
    await undo_it(core, gone[1])
    assert await facts_of(core, "Ann") == {"Ann knows Ben"}


async def test_the_time_to_undo_ends_and_then_it_is_purged(core: Core) -> None:
    told = await tell_facts(core, edge("Ann", "knows", "Ben"))
    gone = await forget_it(core, "artifact", told.artifact_id)
    assert gone.undo_until is not None
    late = replace(core, clock=lambda: core.clock() + timedelta(days=31))
    with pytest.raises(Conflict, match="its time is over"):
        await undo_it(late, gone)
    assert isinstance(core.forgetting, SqlForgetting)
    await core.forgetting.purging.purge_expired(late.clock)
    (listed,) = (await tombstones(core, TombstonesRequest(user_id="u1"))).tombstones
    assert listed.purged_at is not None and listed.undo_until is None


async def test_what_can_be_undone_is_listed_page_by_page(core: Core) -> None:
    for name in ("Ann", "Ben", "Cem"):
        await forget_it(core, "artifact", (await tell_facts(core, edge(name, "knows", "Dia"))).artifact_id)
    first = await tombstones(core, TombstonesRequest(user_id="u1", limit=2))
    rest = await tombstones(core, TombstonesRequest(user_id="u1", limit=2, before=first.next))
    assert [one.tombstone_id for one in (*first.tombstones, *rest.tombstones)] == [3, 2, 1]
    assert rest.next is None
    assert (await tombstones(core, TombstonesRequest(user_id="u2"))).tombstones == []


# Datasets and users ---------------------------------------------------------------------------------------------------


async def test_a_dataset_goes_its_name_is_free_and_it_comes_back(core: Core) -> None:
    await tell_facts(core, edge("Ann", "knows", "Ben"), dataset="lab")
    gone = await forget_it(core, "dataset", dataset="lab")
    with pytest.raises(UnknownDataset):
        await facts_of(core, "Ann", dataset="lab")
    await tell_facts(core, edge("Cem", "knows", "Dia"), dataset="lab")
    assert await facts_of(core, "Ann Cem", dataset="lab") == {"Cem knows Dia"}
    with pytest.raises(Conflict, match="there is a new dataset 'lab'"):
        await undo_it(core, gone)
    await forget_it(core, "dataset", dataset="lab")
    await undo_it(core, gone)
    assert await facts_of(core, "Ann Cem", dataset="lab") == {"Ann knows Ben"}


async def test_a_users_wipe_reaches_nobody_else(core: Core, tables: Tables, tmp_path: Path) -> None:
    """C056, C059: names are no patterns, and no index of another is touched."""
    for user in ("u1", "u%", "u_"):
        await tell_facts(core, edge("Ann", "knows", user), user_id=user)
        await tell_facts(core, edge("Cem", "knows", user), user_id=user, dataset="lab")
    others = [await vectors(core, user, name) for user in ("u1", "u_") for name in ("main", "lab")]
    gone = await forget_it(core, "user", user_id="u%", purge=True)
    assert gone.purged and gone.counts["datasets"] == 2
    assert [await core.graph.dataset("u%", name) for name in ("main", "lab")] == [None, None]
    for user in ("u1", "u_"):
        assert await facts_of(core, "Ann", user_id=user) == {f"Ann knows {user}"}
    assert [await vectors(core, user, name) for user in ("u1", "u_") for name in ("main", "lab")] == others
    assert tables.count("gb_datasets") == 4
    assert tables.rows("SELECT count(*) AS n FROM gb_remember_runs WHERE user_id = 'u%'") == [{"n": 0}]
    tables_left = {folder.name.split("-")[1] for folder in (tmp_path / "vectors").iterdir()}
    assert tables_left == {str(row["id"]) for row in tables.rows("SELECT id FROM gb_datasets")}


# For good -------------------------------------------------------------------------------------------------------------


def files_with(word: str, folder: Path) -> list[str]:
    return [str(file) for file in folder.rglob("*") if file.is_file() and word.encode() in file.read_bytes()]


async def test_a_purge_leaves_nothing_but_that_there_was_something(core: Core, tables: Tables, tmp_path: Path) -> None:
    await tell_facts(core, edge("Cem", "knows", "Dia"))
    said = edge("Ann", "owes", "Ben", description="Ann owes Ben zzyzx dollars.")
    told = await tell_facts(core, said, text="Ann owes Ben zzyzx dollars.")
    gone = await forget_it(core, "artifact", told.artifact_id)
    purged = (await purge_it(core, gone)).tombstone
    assert purged.purged_at is not None and dict(purged.counts)["edges"] == 1
    assert tables.rows("SELECT content FROM gb_tombstones") == [{"content": None}]
    (run,) = tables.rows("SELECT parameters FROM gb_remember_runs WHERE id = :id", id=told.remember_run_id)
    assert run["parameters"] in ({}, "{}")
    assert files_with("zzyzx", tmp_path) == []
    with pytest.raises(Conflict, match="was purged"):
        await undo_it(core, gone)
    assert await facts_of(core, "Ann Cem") == {"Cem knows Dia"}


async def test_what_another_text_supports_comes_back_though_one_was_purged(core: Core) -> None:
    told = [await tell_facts(core, edge("Ann", "knows", "Ben")) for _ in range(2)]
    gone = [await forget_it(core, "artifact", one.artifact_id) for one in told]
    await purge_it(core, gone[1])
    await undo_it(core, gone[0])
    assert await facts_of(core, "Ann") == {"Ann knows Ben"}


async def test_a_fact_that_was_purged_as_such_never_comes_back(core: Core) -> None:
    told = [await tell_facts(core, edge("Ann", "knows", "Ben")) for _ in range(2)]
    text = await forget_it(core, "artifact", told[0].artifact_id)
    fact = await forget_it(core, "edge", told[0].edges[0].id, purge=True)
    assert fact.purged and fact.undo_until is None
    await undo_it(core, text)
    assert await facts_of(core, "Ann") == set()


async def test_a_text_that_failed_once_is_remembered_the_next_time(config: Config, model: ScriptedModel) -> None:
    """C067: no bad reply is kept anywhere."""
    async with open_core(config, Providers(PromptedEngine(model), HashEmbedder())) as core:
        model.replies("no json", "still none")
        with pytest.raises(GligabaoError):
            await tell(core, "Ann is here.")
        model.replies(graph("Ann:person"))
        assert [e.name for e in (await tell(core, "Ann is here.")).entities] == ["Ann"]
