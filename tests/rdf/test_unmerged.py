"""The past across merges: each commit is read as it was, without what was forgotten, and without what was purged."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from core.config import Config
from core.core import Core
from core.engine import NoEngine
from core.errors import Conflict
from core.rdf.gate import checked
from core.rdf.ports import GraphQuery
from core.rdf.vocabulary import WELL_KNOWN, base_of, prefixes_of
from gligabao_mcp.wiring import Providers, open_core
from storage.rdf import queries
from storage.rdf.changes import Changes, EntityRow
from tests.conftest import Tables
from tests.facts import edge, tell
from tests.forgetting import correct_it, forget_it, merge_them, purge_it, undo_it
from tests.rdf.history import History

pytestmark = pytest.mark.anyio

ROBERT = EntityRow("Robert", "person", "tall")
BOB = EntityRow("Bob", "person", "")


@pytest.fixture
async def ruled(config: Config) -> AsyncGenerator[Core]:
    """A memory that compares facts by rule."""
    async with open_core(config, Providers(NoEngine())) as core:
        yield core


async def told_of_both(core: Core) -> None:
    """Three texts: one of Bob, two of Robert, the second with who he is. Each lives in Paris."""
    places = {"name": "Paris", "type": "place"}
    for name, description in (("Bob", ""), ("Robert", ""), ("Robert", "tall")):
        entities = [{"name": name, "type": "person", "description": description}, places]
        edges = [edge(name, "lives_in", "Paris", valid_at="2020-01-01")]
        await tell(core, f"{name} {description}", entities=entities, edges=edges if not description else [])
    await tell(core, "Tall Robert knows Bob.", edges=[edge("Robert", "knows", "Bob")])


def people(rows: Changes) -> set[EntityRow | None]:
    return {row for row in rows.entities.values() if row and row.type == "person"}


def triples(rows: Changes) -> list[tuple[str, str, str]]:
    def name(i: int) -> str:
        entity = rows.entities[i]
        assert entity is not None
        return entity.name

    return sorted((name(f.source_id), f.relation, name(f.target_id)) for f in rows.facts.values() if f)


def id_of(rows: Changes, name: str) -> int:
    return next(i for i, row in rows.entities.items() if row and row.name == name)


async def test_before_a_merge_both_are_there_with_their_facts(ruled: Core) -> None:
    history = History(ruled, 0)
    await told_of_both(ruled)
    before = await history.whole()
    bob, robert = id_of(before, "Bob"), id_of(before, "Robert")
    await merge_them(ruled, into=bob, other=robert)
    now = await history.whole()
    assert people(now) == {BOB._replace(description="tall", aliases=("Robert",))}
    assert triples(now) == [("Bob", "lives_in", "Paris")]
    await correct_it(ruled, next(iter(now.facts)), invalid_at="2024-06-01")
    assert await history.whole(now.seq) == now
    assert await history.whole(before.seq) == before
    assert people(before) == {BOB, ROBERT}
    assert triples(before) == [
        ("Bob", "lives_in", "Paris"),
        ("Robert", "knows", "Bob"),
        ("Robert", "lives_in", "Paris"),
    ]
    assert people(await history.whole(2)) == {BOB, ROBERT._replace(description="")}


async def test_a_chain_of_merges_is_read_link_by_link_also_while_a_part_of_it_was_undone(ruled: Core) -> None:
    history = History(ruled, 0)
    await told_of_both(ruled)
    await tell(ruled, "Bobby lives in Paris.", edges=[edge("Bobby", "lives_in", "Paris")])
    kept = [await history.whole()]
    bob, robert, bobby = (id_of(kept[0], name) for name in ("Bob", "Robert", "Bobby"))
    first = await merge_them(ruled, into=bob, other=robert)
    kept.append(await history.whole())
    second = await merge_them(ruled, into=bobby, other=bob)
    kept.append(await history.whole())
    assert {row.aliases for row in kept[-1].entities.values() if row} == {(), ("Bob", "Robert")}
    for gone in (second, first):
        await undo_it(ruled, gone)
        kept.append(await history.whole())
    await merge_them(ruled, into=robert, other=bobby)
    kept.append(await history.whole())
    for then in kept:
        assert await history.whole(then.seq) == then


async def test_what_was_forgotten_after_a_merge_is_not_told_by_its_past(ruled: Core) -> None:
    history = History(ruled, 0)
    await told_of_both(ruled)
    before = await history.whole()
    bob, robert = id_of(before, "Bob"), id_of(before, "Robert")
    await merge_them(ruled, into=bob, other=robert)
    described = await forget_it(ruled, "artifact", 3)
    assert people(await history.whole(before.seq)) == {BOB, ROBERT._replace(description="")}
    stated = await forget_it(ruled, "artifact", 2)
    assert ("Robert", "lives_in", "Paris") not in triples(await history.whole(before.seq))
    knows = await forget_it(ruled, "artifact", 4)
    past = await history.whole(before.seq)
    assert people(past) == {BOB}, "nothing that is left named Robert"
    assert triples(past) == [("Bob", "lives_in", "Paris")]
    for gone in (knows, stated, described):
        await undo_it(ruled, gone)
    assert await history.whole(before.seq) == before
    await forget_it(ruled, "entity", bob)
    assert not people(await history.whole(before.seq)), "who was forgotten under one name is under the other too"


async def test_a_text_that_named_both_takes_the_description_with_it(ruled: Core) -> None:
    history = History(ruled, 0)
    both = [{"name": name, "type": "person", "description": text} for name, text in (("Bob", ""), ("Robert", "tall"))]
    await tell(ruled, "Bob met tall Robert.", entities=both)
    await told_of_both(ruled)
    before = await history.whole()
    await merge_them(ruled, into=id_of(before, "Bob"), other=id_of(before, "Robert"))
    for text in (1, 4):
        await forget_it(ruled, "artifact", text)
    assert people(await history.whole()) == {BOB._replace(aliases=("Robert",))}
    assert people(await history.whole(before.seq)) == {BOB, ROBERT._replace(description="")}


async def test_once_a_merge_is_purged_its_past_has_what_is_left(ruled: Core, tables: Tables) -> None:
    history = History(ruled, 0)
    await told_of_both(ruled)
    before = await history.whole()
    bob, robert = id_of(before, "Bob"), id_of(before, "Robert")
    merged = await merge_them(ruled, into=bob, other=robert)
    await purge_it(ruled, merged)
    past = await history.whole(before.seq)
    assert people(past) == {BOB}, "its name came with the merge"
    assert triples(past) == [("Bob", "lives_in", "Paris")]
    assert tables.rows("SELECT content FROM gb_tombstones") == [{"content": None}]


async def test_an_undone_merge_keeps_ids_and_no_content(ruled: Core, tables: Tables) -> None:
    history = History(ruled, 0)
    await told_of_both(ruled)
    before = await history.whole()
    bob, robert = id_of(before, "Bob"), id_of(before, "Robert")
    merged = await merge_them(ruled, into=bob, other=robert)
    as_one = await history.whole()
    await undo_it(ruled, merged)
    assert await history.whole(as_one.seq) == as_one
    (row,) = tables.rows("SELECT content, CAST(removed AS VARCHAR) AS removed FROM gb_tombstones")
    assert row["content"] is None and "Robert" not in row["removed"] and "tall" not in row["removed"]


async def test_a_merge_is_not_undone_before_one_that_took_an_end_of_its_facts(ruled: Core) -> None:
    history = History(ruled, 0)
    await told_of_both(ruled)
    await tell(ruled, "Paname", entities=[{"name": "Paname", "type": "place"}])
    before = await history.whole()
    bob, robert, paris, paname = (id_of(before, name) for name in ("Bob", "Robert", "Paris", "Paname"))
    people_first = await merge_them(ruled, into=bob, other=robert)
    places_then = await merge_them(ruled, into=paname, other=paris)
    with pytest.raises(Conflict, match=f"undo tombstone {places_then.tombstone_id} first"):
        await undo_it(ruled, people_first)
    for gone in (places_then, people_first):
        await undo_it(ruled, gone)
    assert triples(await history.whole()) == triples(before)


@pytest.mark.parametrize("on_its_own", [False, True])
async def test_a_query_finds_who_was_merged_by_name_and_each_of_them_in_the_past(
    ruled: Core, monkeypatch: pytest.MonkeyPatch, on_its_own: bool
) -> None:
    """Also on a view of the past that is kept for the next query: once the merge is purged, it is not."""
    if on_its_own:
        monkeypatch.setattr(queries, "SMALL", -1)
        monkeypatch.setattr(queries, "NEAR", 0)
    await told_of_both(ruled)
    before = await History(ruled, 0).whole()
    bob, robert = id_of(before, "Bob"), id_of(before, "Robert")
    merged = await merge_them(ruled, into=bob, other=robert)
    await tell(ruled, "Bob lives in Oslo.", edges=[edge("Bob", "lives_in", "Oslo")])
    text = "SELECT ?label ?other { ?x rdfs:label ?label OPTIONAL { ?x skos:altLabel ?other } ?x a type:person }"

    async def named(at_seq: int | None) -> set[tuple[str, ...]]:
        query = checked(text, {**WELL_KNOWN, **prefixes_of(base_of("main"))})
        found = await ruled.queries.solve(
            await History(ruled, 0).dataset(), GraphQuery(query.text, facts=query.facts), at_seq=at_seq
        )
        return {tuple(row[name].value for name in found.variables if name in row) for row in found.rows}

    assert await named(None) == {("Bob", "Robert")}
    assert await named(before.seq) == {("Bob",), ("Robert",)}
    await purge_it(ruled, merged)
    assert await named(before.seq) == {("Bob",)}
