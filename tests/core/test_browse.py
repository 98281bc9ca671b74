"""Seeing what is stored: lists by page and by filter, and all of one row, on both databases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.browse.artifacts import ArtifactRequest, ArtifactsRequest, artifact, artifacts
from core.browse.browse import BrowseRequest, browse
from core.browse.datasets import DatasetsRequest, datasets
from core.browse.edges import EdgeRequest, EdgesRequest, edge, edges
from core.browse.entities import EntitiesRequest, EntityRequest, entities, entity
from core.browse.excerpt import EXCERPT, excerpt
from core.browse.sessions import SessionRequest, SessionsRequest, session, sessions
from core.core import Core
from core.errors import InvalidRequest, NotFound, UnknownDataset
from core.fitting import tokens_of
from core.forget.merge import MergeRequest, merge
from core.remember.remember import remember
from core.remember.request import RememberRequest
from core.remember.response import ImageResponse
from core.text import fold
from gligabao_mcp.providers.scripted import ScriptedModel
from tests.conftest import Opener
from tests.drawn import as_base64, drawn
from tests.facts import ask, graph, tell, tell_facts, verdict, verdicts
from tests.facts import edge as stated

pytestmark = pytest.mark.anyio

WORKS = stated("Alice", "works_at", "Acme", description="Alice works at Acme.", valid_at="2025-01-31")
LIVES = stated("Alice", "lives_in", "Berlin", valid_at="2025-02-01")
MOVED = stated("Alice", "lives_in", "Paris", valid_at="2026-03-01")


@pytest.fixture
def model() -> ScriptedModel:
    """A model that finds no new fact to repeat or contradict a stored one, unless it is told to."""
    return ScriptedModel(always={"results": []})


def artifacts_of(user_id: str = "u1", **more: Any) -> ArtifactsRequest:
    return ArtifactsRequest(user_id=user_id, **more)


def entities_of(user_id: str = "u1", **more: Any) -> EntitiesRequest:
    return EntitiesRequest(user_id=user_id, **more)


def edges_of(user_id: str = "u1", **more: Any) -> EdgesRequest:
    return EdgesRequest(user_id=user_id, **more)


async def named(core: Core, **more: Any) -> list[str]:
    return [item.name for item in (await entities(core, entities_of(**more))).items]


async def facts(core: Core, **more: Any) -> list[str]:
    return [f"{item.relation} {item.target}" for item in (await edges(core, edges_of(**more))).items]


async def texts(core: Core, **more: Any) -> list[str]:
    return [item.excerpt for item in (await artifacts(core, artifacts_of(**more))).items]


# Datasets and sessions ------------------------------------------------------------------------------------------------


async def test_a_user_sees_own_datasets_with_their_counts(core: Core) -> None:
    await tell_facts(core, WORKS, LIVES, dataset="work")
    await tell_facts(core, WORKS)
    await tell_facts(core, MOVED)
    await tell_facts(core, WORKS, user_id="u2", dataset="theirs")
    shown = await datasets(core, DatasetsRequest(user_id="u1"))
    assert shown.total == 2
    main, work = shown.items
    assert (main.name, main.artifacts, main.entities, main.edges, main.commits) == ("main", 2, 3, 2, 2)
    assert (work.name, work.artifacts, work.entities, work.edges, work.commits) == ("work", 1, 3, 2, 1)
    assert main.embedding_model == "hash-1"
    assert main.last_write_at is not None and main.created_at <= main.last_write_at


async def test_sessions_are_listed_with_their_counts_those_that_began_last_first(core: Core) -> None:
    """semantics.md 2: a repeat counts for the session that repeats it too."""
    await tell_facts(core, WORKS, session_id="first")
    await tell_facts(core, WORKS, LIVES, session_id="second")
    await tell_facts(core, MOVED, session_id="first")
    await tell_facts(core, MOVED)
    shown = await sessions(core, SessionsRequest(user_id="u1"))
    assert [(s.session_id, s.artifacts, s.entities, s.edges) for s in shown.items] == [
        ("second", 1, 3, 2),
        ("first", 2, 3, 2),
    ]
    assert shown.total == 2
    second, first = shown.items
    assert first.first_at < second.first_at == second.last_at < first.last_at


async def test_a_session_shows_its_artifacts_by_page(core: Core) -> None:
    for n in range(3):
        await tell_facts(core, WORKS, session_id="s/1 é", text=f"Told {n}.")
    request = SessionRequest(user_id="u1", session_id="s/1 é", limit=2)
    shown = await session(core, request)
    assert (shown.session_id, shown.entities, shown.edges) == ("s/1 é", 2, 1)
    assert ([a.excerpt for a in shown.artifacts.items], shown.artifacts.total) == (["Told 2.", "Told 1."], 3)
    rest = await session(core, request.model_copy(update={"cursor": shown.artifacts.next_cursor}))
    assert ([a.excerpt for a in rest.artifacts.items], rest.artifacts.next_cursor) == (["Told 0."], None)
    with pytest.raises(NotFound, match="session_id: not found"):
        await session(core, SessionRequest(user_id="u1", session_id="s"))


# Artifacts ------------------------------------------------------------------------------------------------------------

CODE = '`add_episode()` in `core.py` calls `resolve()`:\n```python\nx = {"a": [1,2]}\n```\r\n\tend\u00a0😀 e\u0301'


async def test_an_artifact_is_read_back_as_it_was_told(core: Core) -> None:
    """C047: code survives to the byte."""
    told = await tell_facts(core, WORKS, text=CODE, session_id="s1", kind="episode")
    shown = await artifact(core, ArtifactRequest(user_id="u1", artifact_id=told.artifact_id))
    assert shown.text == CODE
    assert (shown.kind, shown.session_id, shown.remember_run_id) == ("episode", "s1", told.remember_run_id)
    assert [e.name for e in shown.entities.items] == ["Acme", "Alice"]
    assert [(e.relation, e.description) for e in shown.edges.items] == [("works_at", "Alice works at Acme.")]
    assert shown.chunks is None and shown.image is None


async def test_artifacts_are_listed_newest_first_and_by_filter(core: Core) -> None:
    first = await tell_facts(core, WORKS, text="First.", session_id="s1")
    middle = core.clock()
    await tell_facts(core, LIVES, text="Second.", kind="episode")
    assert await texts(core) == ["Second.", "First."]
    assert await texts(core, session_id="s1") == ["First."]
    assert await texts(core, kind="episode") == ["Second."]
    assert await texts(core, run_id=first.remember_run_id) == ["First."]
    assert await texts(core, since=middle) == ["Second."]
    assert await texts(core, parent_id=first.artifact_id) == []
    assert (await artifacts(core, artifacts_of(limit=1))).total == 2


async def test_words_find_texts_whatever_their_case_and_show_the_place(core: Core) -> None:
    long = "a " * 300 + "Straße nach HUẾ, 100% sicher. " + "z " * 300
    await tell_facts(core, WORKS, text=long)
    await tell_facts(core, WORKS, text="Nothing of the kind.")
    found = (await artifacts(core, artifacts_of(words="huế STRASSE"))).items
    assert len(found) == 1
    assert "Straße nach HUẾ" in found[0].excerpt
    assert (len(found[0].excerpt), found[0].characters) == (EXCERPT, len(long))
    assert await texts(core, words="huế nowhere") == []
    assert len(await texts(core, words="100%")) == 1
    assert await texts(core, words="10_%") == await texts(core, words="h%") == await texts(core, words="[h]*") == []


@pytest.mark.parametrize("phrase", ["strasse", "ıstanbul", "é"])
def test_an_excerpt_holds_what_was_found_though_folding_changes_lengths(phrase: str) -> None:
    text = "ﬃß" * 400 + " Straße, ISTANBUL ıstanbul, e\u0301 " + "ß" * 400
    shown = excerpt(text, [phrase])
    assert len(shown) == EXCERPT and phrase in fold(shown)


async def test_a_long_text_shows_its_chunks_and_their_facts(opened: Opener, model: ScriptedModel) -> None:
    long = "".join(f"Ivo met {n} friends at the old harbour in Split and they talked about boats. " for n in range(6))
    async with opened(chunk_size=64) as core:
        for n in range(3):
            read = graph("Ivo:person", f"Place{n}:place", edges=[stated("Ivo", "visited", f"Place{n}")])
            model.replies(read, {"summary": f"Summary {n}."}, *([verdicts()] if n else []))
        told = await tell(core, long, session_id="s1")
        assert told.chunks is not None
        parent = await artifact(core, ArtifactRequest(user_id="u1", artifact_id=told.artifact_id))
        assert parent.text == long and parent.chunks is not None
        assert [(c.id, c.summary) for c in parent.chunks] == [
            (chunk.artifact_id, f"Summary {n}.") for n, chunk in enumerate(told.chunks)
        ]
        assert [e.target for e in parent.edges.items] == [f"Place{n}" for n in reversed(range(len(told.chunks)))]
        assert parent.entities.total == len(told.chunks) + 1
        chunk = await artifact(core, ArtifactRequest(user_id="u1", artifact_id=told.chunks[1].artifact_id))
        assert (chunk.parent_id, chunk.chunk_index) == (told.artifact_id, 1)
        assert chunk.text == long[chunk.start_offset : chunk.end_offset]
        assert [e.target for e in chunk.edges.items] == ["Place1"]
        listed = (await artifacts(core, artifacts_of(parent_id=told.artifact_id))).items
        assert {item.kind for item in listed} == {"chunk"} and len(listed) == len(told.chunks)
        assert {item.kind for item in (await artifacts(core, artifacts_of(words="harbour"))).items} == {"chunk"}
        assert (await facts(core, artifact_id=told.artifact_id))[-1] == "visited Place0"
        assert await named(core, artifact_id=told.chunks[0].artifact_id) == ["Place0", "Ivo"]


async def test_an_image_shows_what_was_read_from_it(core: Core, model: ScriptedModel) -> None:
    block = {"text": "Q1 sales were good", "role": "caption"}
    model.replies({"theme": "plot", "title": "Revenue", "blocks": [block], "language": "en"}, graph())
    told = await remember(core, RememberRequest(user_id="u1", image=as_base64(drawn(size=(32, 16)))))
    assert isinstance(told, ImageResponse)
    shown = await artifact(core, ArtifactRequest(user_id="u1", artifact_id=told.artifact_id))
    assert shown.kind == "image" and shown.image is not None and "Q1 sales were good" in shown.text
    assert (shown.image.media_type, shown.image.width, shown.image.height) == ("image/png", 32, 16)
    assert (shown.image.theme, shown.image.title, shown.image.language) == ("plot", "Revenue", "en")
    assert await texts(core, kind="image", words="SALES") == [shown.text]


async def test_messages_are_found_by_their_words_and_carry_who_said_them(core: Core, model: ScriptedModel) -> None:
    model.replies(graph())
    said = [{"text": "Nice weather today!", "speaker": "Mara", "id": "m1"}, {"text": "Yes.", "speaker": "Ivo"}]
    await remember(core, RememberRequest.model_validate({"user_id": "u1", "messages": said}))
    for words in ("weather", "mara", "mara weather"):
        (found,) = (await artifacts(core, artifacts_of(words=words))).items
        assert (found.speaker, found.message_id, found.excerpt) == ("Mara", "m1", "Nice weather today!")


# Entities -------------------------------------------------------------------------------------------------------------


async def test_entities_are_listed_newest_first_and_by_filter(core: Core) -> None:
    told = await tell_facts(core, WORKS, session_id="s1")
    middle = core.clock()
    await tell_facts(core, LIVES, entities=[{"name": "Berlin", "type": "place", "description": "Capital, 100% GERMAN"}])
    assert await named(core) == ["Berlin", "Acme", "Alice"]
    assert await named(core, name="ALICE") == ["Alice"]
    assert await named(core, type="Place") == ["Berlin"]
    assert await named(core, words="german CAP") == ["Berlin"]
    assert await named(core, session_id="s1") == await named(core, artifact_id=told.artifact_id) == ["Acme", "Alice"]
    assert await named(core, since=middle) == ["Berlin"]
    assert await named(core, words="b%n") == await named(core, name="%") == await named(core, words="_") == []


async def test_an_entity_shows_its_facts_and_what_names_it(core: Core) -> None:
    await tell_facts(core, WORKS, session_id="s1", text="Alice is at Acme.")
    await tell_facts(core, LIVES, session_id="s2", text="In Berlin lives Alice.")
    (alice,) = (await entities(core, entities_of(name="alice"))).items
    shown = await entity(core, EntityRequest(user_id="u1", entity_id=alice.id))
    assert (shown.name, shown.type, shown.model_id) == ("Alice", "other", "caller")
    assert [e.relation for e in shown.edges.items] == ["lives_in", "works_at"]
    assert [(a.excerpt, a.session_id) for a in shown.artifacts.items] == [
        ("In Berlin lives Alice.", "s2"),
        ("Alice is at Acme.", "s1"),
    ]
    assert (shown.sessions.items, shown.sessions.total) == (["s2", "s1"], 2)
    assert shown.aliases == shown.same_name == []


async def test_the_same_name_under_another_type_is_a_suggestion_to_merge(core: Core) -> None:
    """C002: reported, never done by itself; once merged it is an alias."""
    await tell_facts(core, WORKS, entities=[{"name": "LoomDB", "type": "concept"}])
    await tell_facts(core, WORKS, entities=[{"name": "loomdb", "type": "technology"}])
    other, one = (await entities(core, entities_of(name="LoomDB"))).items
    shown = await entity(core, EntityRequest(user_id="u1", entity_id=one.id))
    assert [(e.id, e.name, e.type) for e in shown.same_name] == [(other.id, "loomdb", "technology")]
    await merge(core, MergeRequest(user_id="u1", into=one.id, other=other.id))
    merged = await entity(core, EntityRequest(user_id="u1", entity_id=one.id))
    assert merged.same_name == []
    assert [(a.former_id, a.name, a.type) for a in merged.aliases] == [(other.id, "loomdb", "technology")]


async def test_an_entity_that_was_merged_is_found_by_its_former_name(core: Core) -> None:
    await tell_facts(core, WORKS, stated("Bob", "knows", "Robert"))
    (bob,), (robert,) = [(await entities(core, entities_of(name=name))).items for name in ("Bob", "Robert")]
    await merge(core, MergeRequest(user_id="u1", into=robert.id, other=bob.id))
    assert await named(core, name="bob") == ["Robert"]


# Facts ----------------------------------------------------------------------------------------------------------------


async def test_facts_are_listed_by_filter(core: Core, model: ScriptedModel) -> None:
    told = await tell_facts(core, WORKS, LIVES, session_id="s1")
    middle = core.clock()
    model.replies(verdicts(verdict(contradicts=[told.edges[1].id])))
    await tell_facts(core, MOVED, stated("Bob", "knows", "Zoë", description="Met 100% by CHANCE."))
    everything = ["knows Zoë", "lives_in Paris", "lives_in Berlin", "works_at Acme"]
    assert await facts(core) == everything
    (alice,) = (await entities(core, entities_of(name="Alice"))).items
    (paris,) = (await entities(core, entities_of(name="Paris"))).items
    assert await facts(core, entity_id=alice.id) == everything[1:]
    assert await facts(core, entity_id=paris.id) == ["lives_in Paris"]
    assert await facts(core, relation="Lives in") == ["lives_in Paris", "lives_in Berlin"]
    assert await facts(core, artifact_id=told.artifact_id) == everything[2:]
    assert await facts(core, session_id="s1") == everything[2:]
    assert await facts(core, live=True) == ["knows Zoë", "lives_in Paris", "works_at Acme"]
    assert await facts(core, live=False) == ["lives_in Berlin"]
    assert await facts(core, as_of="2025-06-01", relation="lives_in") == ["lives_in Berlin"]
    assert await facts(core, words="chance ZOË") == await facts(core, words="100%") == ["knows Zoë"]
    assert await facts(core, words="lives alice par") == ["lives_in Paris"]
    assert await facts(core, words="lives_in%") == []
    assert await facts(core, since=middle) == everything[:2]


async def test_facts_learned_since_a_time_can_be_asked_for(core: Core) -> None:
    """C068: also in a question."""
    await tell_facts(core, WORKS)
    middle = core.clock()
    await tell_facts(core, LIVES)
    found = await ask(core, "Alice?", answer=False, since=middle)
    assert [e.relation for e in found.evidence.edges] == ["lives_in"]
    later = await ask(core, "Alice?", answer=False, since=middle, known_at=core.clock(), as_of="2026-01-01")
    assert [e.relation for e in later.evidence.edges] == ["lives_in"]
    none = await ask(core, "Alice?", answer=False, since=core.clock(), retrieval="hybrid")
    assert none.evidence.edges == []


async def test_a_fact_shows_all_that_supports_it_and_what_it_was_before(core: Core, model: ScriptedModel) -> None:
    first = await tell_facts(core, LIVES, session_id="s1", text="Years ago, Alice moved to Berlin.")
    again = await tell_facts(core, LIVES, session_id="s2", text="x" * 300 + " Alice of BERLIN " + "y" * 300)
    model.replies(verdicts(verdict(contradicts=[first.edges[0].id])))
    moved = await tell_facts(core, MOVED)
    (edge_id,) = moved.invalidated_edges
    shown = await edge(core, EdgeRequest(user_id="u1", edge_id=edge_id))
    assert (shown.source, shown.relation, shown.target, shown.model_id) == ("Alice", "lives_in", "Berlin", "caller")
    assert (shown.valid_at_source, shown.invalid_at_source) == ("stated", "reconciled")
    assert shown.closed_by == moved.edges[0].id
    later, earlier = shown.artifacts.items
    assert (earlier.id, earlier.session_id, earlier.excerpt) == (
        first.artifact_id,
        "s1",
        "Years ago, Alice moved to Berlin.",
    )
    assert later.id == again.artifact_id and "BERLIN" in later.excerpt and later.states_end is False
    assert (shown.sessions.items, shown.artifacts.total) == (["s2", "s1"], 2)
    (before,) = shown.history
    assert (before.valid_at, before.invalid_at, before.expired_at) == (shown.valid_at, None, None)
    assert before.until == shown.expired_at


# Whose it is, and pages -----------------------------------------------------------------------------------------------


async def show(core: Core, field: str, row_id: int, user_id: str) -> object:
    """All of a row, as that user sees it."""
    if field == "artifact_id":
        return await artifact(core, ArtifactRequest(user_id=user_id, artifact_id=row_id))
    if field == "edge_id":
        return await edge(core, EdgeRequest(user_id=user_id, edge_id=row_id))
    return await entity(core, EntityRequest(user_id=user_id, entity_id=row_id))


@pytest.mark.parametrize("whose", ["u2", "u%", "u_", "u"])
async def test_what_is_of_others_is_answered_as_what_is_not_there(core: Core, whose: str) -> None:
    """C055 and C059: by id as a missing one, in a list as nothing; names of users are no patterns."""
    told = await tell_facts(core, WORKS, session_id="s1")
    await tell_facts(core, LIVES, user_id="u3")
    fact = told.edges[0]
    rows = {"artifact_id": told.artifact_id, "edge_id": fact.id, "entity_id": fact.source_id}
    for field, row_id in rows.items():
        for wanted in (row_id, 999_999):
            with pytest.raises(NotFound) as failure:
                await show(core, field, wanted, whose)
            assert str(failure.value) == f"{field}: not found"
    await tell_facts(core, WORKS, user_id=whose)
    assert (await artifacts(core, artifacts_of(whose, session_id="s1"))).total == 0
    assert (await entities(core, entities_of(whose, session_id="s1"))).total == 0
    assert (await edges(core, edges_of(whose, session_id="s1"))).total == 0
    assert await texts(core, user_id=whose, parent_id=told.artifact_id) == []
    assert await facts(core, user_id=whose, artifact_id=told.artifact_id) == []
    assert await facts(core, user_id=whose, entity_id=fact.source_id) == []
    assert await named(core, user_id=whose, artifact_id=told.artifact_id) == []
    assert (await datasets(core, DatasetsRequest(user_id=whose))).total == 1


async def test_a_dataset_that_is_not_there_is_no_empty_list(core: Core) -> None:
    """C058: reads and writes mean the same dataset."""
    assert (await edges(core, edges_of())).total == 0, "nobody has told anything yet"
    await tell_facts(core, WORKS, dataset="lab")
    assert (await edges(core, edges_of(dataset="lab"))).total == 1
    for listing in (
        edges(core, edges_of(dataset="lba")),
        entities(core, entities_of(dataset="la%")),
        artifacts(core, artifacts_of(dataset="LAB")),
        sessions(core, SessionsRequest(user_id="u1", dataset="main")),
        artifact(core, ArtifactRequest(user_id="u1", artifact_id=1, dataset="main")),
    ):
        with pytest.raises(UnknownDataset, match="dataset: not found; the datasets of this user are lab"):
            await listing


async def test_many_datasets_are_not_all_named_in_an_error(core: Core) -> None:
    for number in range(13):
        await tell_facts(core, WORKS, dataset=f"d{number:02}")
    with pytest.raises(UnknownDataset) as failure:
        await edges(core, edges_of(dataset="lost"))
    named = ", ".join(f"d{number:02}" for number in range(10))
    assert failure.value.message == f"dataset: not found; the datasets of this user are {named}, 3 more"


async def test_pages_show_everything_once_while_new_rows_come_in(core: Core) -> None:
    for n in range(7):
        await tell_facts(core, stated(f"A{n}", "knows", f"B{n}"), session_id=f"s{n}", dataset=f"d{n}", text=f"t{n}")
        await tell_facts(core, stated(f"A{n}", "knows", f"B{n}"), session_id=f"s{n}", text=f"t{n}")
    pages: dict[str, tuple[Callable[..., Awaitable[Any]], Any]] = {
        "excerpt": (artifacts, artifacts_of(limit=3)),
        "name": (entities, entities_of(limit=3)),
        "source": (edges, edges_of(limit=3)),
        "session_id": (sessions, SessionsRequest(user_id="u1", limit=3)),
    }
    seen: dict[str, list[str]] = {}
    for field, (listing, request) in pages.items():
        seen[field] = [
            getattr(item, field) for item in (await listing(core, request.model_copy(update={"limit": 500}))).items
        ]
        found: list[str] = []
        cursor = None
        while True:
            page = await listing(core, request.model_copy(update={"cursor": cursor}))
            found += [getattr(item, field) for item in page.items]
            assert page.total >= len(seen[field])
            cursor = page.next_cursor
            if cursor is None:
                break
            news = f"new {field} {len(found)}"
            await tell_facts(core, stated(news, "knows", "B0"), session_id=news, text=news)
            await tell_facts(core, stated("A1", "knows", "B1"), session_id="s1", text="again")
        assert found == seen[field] and len(found) >= 7
    names: list[str] = []
    cursor = None
    while True:
        shown = await datasets(core, DatasetsRequest(user_id="u1", limit=3, cursor=cursor))
        names += [item.name for item in shown.items]
        if (cursor := shown.next_cursor) is None:
            break
    assert names == [*(f"d{n}" for n in range(7)), "main"]


async def test_words_page_through_facts_too(core: Core) -> None:
    await tell_facts(core, *(stated("Ivo", "visited", f"Place{n}") for n in range(5)), WORKS)
    first = await edges(core, edges_of(words="ivo", limit=3))
    rest = await edges(core, edges_of(words="ivo", limit=3, cursor=first.next_cursor))
    assert (first.total, rest.total, rest.next_cursor) == (5, 5, None)
    assert [e.target for e in (*first.items, *rest.items)] == [f"Place{n}" for n in reversed(range(5))]


async def test_the_facts_of_an_entity_go_on_in_the_list_of_facts(core: Core) -> None:
    await tell_facts(core, *(stated("Ivo", "visited", f"Place{n}") for n in range(101)))
    (ivo,) = (await entities(core, entities_of(name="Ivo"))).items
    shown = await entity(core, EntityRequest(user_id="u1", entity_id=ivo.id))
    assert (len(shown.edges.items), shown.edges.total) == (100, 101)
    rest = await edges(core, edges_of(entity_id=ivo.id, cursor=shown.edges.next_cursor))
    assert [e.target for e in rest.items] == ["Place0"]


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "💥",
        "AAAA",
        "W10=",
        "WyJlZGdlcyJd",
        "WyJlZGdlcyIsMV0=",
        "WyJlZGdlcyIsdHJ1ZSwxXQ==",
        "W1tbW1tbW1tb",
        "A" * 900,
    ],
)
async def test_a_broken_cursor_is_refused(core: Core, cursor: str) -> None:
    await tell_facts(core, WORKS, LIVES)
    with pytest.raises(InvalidRequest, match="cursor: "):
        await edges(core, edges_of(cursor=cursor))


async def test_the_cursor_of_another_list_is_refused(core: Core) -> None:
    await tell_facts(core, WORKS, LIVES)
    page = await entities(core, entities_of(limit=1))
    with pytest.raises(InvalidRequest, match="cursor: "):
        await artifacts(core, artifacts_of(cursor=page.next_cursor))


async def test_what_was_told_in_the_future_of_a_filter_is_left_out(core: Core) -> None:
    await tell_facts(core, WORKS)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    assert (
        await facts(core, since=tomorrow)
        == await named(core, since=tomorrow)
        == await texts(core, since=tomorrow)
        == []
    )


# For a model: no longer than a result may be --------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [500, 1_000, 2_000])
async def test_a_session_shows_its_artifacts_page_by_page_however_long_they_are(core: Core, limit: int) -> None:
    short, long = "Bo owns a kiln.", "\u6f22\U0001f389" * 120
    told = [await tell_facts(core, WORKS, text=text, session_id="s1") for text in (*[short] * 8, *[long] * 8)]
    small = replace(core, config=core.config.model_copy(update={"tool_result_tokens": limit}))
    shown: list[int] = []
    cursor: str | None = None
    while not shown or cursor:
        request = BrowseRequest(user_id="u1", what="sessions", id="s1", cursor=cursor)
        row = (await browse(small, request)).body()["row"]
        assert tokens_of(row) <= limit
        shown += [item["id"] for item in row["artifacts"]["items"]]
        assert row["artifacts"]["items"], "the newest are long, the others short: some fit in any case"
        cursor = row["artifacts"].get("next_cursor")
    assert shown == [one.artifact_id for one in reversed(told)]


async def test_a_row_comes_with_as_many_rows_around_it_as_fit(core: Core) -> None:
    told = [stated("Bo", "owns", f"Kiln {i}", description="so " * (3 if i < 60 else 300)) for i in range(90)]
    bo = (await tell_facts(core, *told)).edges[0].source_id
    row = (await browse(core, BrowseRequest(user_id="u1", what="entities", id=str(bo)))).body()["row"]
    assert len(row["edges"]["items"]) > 5, "those learned last are the long ones"
    assert row["edges"]["next_cursor"]
