"""SqlGraphQueries: what was remembered and loaded, asked in SPARQL, now and at any commit."""

from __future__ import annotations

import io
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psutil
import pytest

from core.config import Config
from core.core import Core
from core.engine import NoEngine
from core.errors import InvalidRequest, QueryTimeout
from core.graph import Dataset
from core.rdf.gate import checked
from core.rdf.ports import GraphQueries, GraphQuery, Load
from core.rdf.terms import Solutions
from core.rdf.vocabulary import WELL_KNOWN, base_of, prefixes_of
from gligabao_mcp.wiring import Providers, open_core
from storage.graph import SqlGraph
from storage.rdf import queries as module
from storage.rdf.queries import SqlGraphQueries
from tests.facts import edge, tell, tell_facts
from tests.forgetting import correct_it, forget_it, undo_it
from tests.rdf.history import REMOVING, TELLING, History
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

KNOWN = {**WELL_KNOWN, **prefixes_of(base_of("main"))}
EVERYTHING = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
WITH_NODES = f"{EVERYTHING} VALUES ?none {{ gb:Fact }}"
THREE = "SELECT ?s ?r ?o { ?a ?p ?b . ?a rdfs:label ?s . ?p rdfs:label ?r . ?b rdfs:label ?o } ORDER BY ?s ?r ?o"


@pytest.fixture
async def core(config: Config) -> AsyncGenerator[Core]:
    """A memory whose callers read their texts themselves."""
    async with open_core(config, Providers(NoEngine())) as core:
        yield core


async def main(core: Core) -> Dataset:
    dataset = await core.graph.dataset("u1", "main")
    assert dataset
    return dataset


async def solve(core: Core, text: str, at_seq: int | None = None, **more: Any) -> Solutions:
    passed = checked(text, KNOWN)
    query = GraphQuery(passed.text, facts=passed.facts, **more)
    return await core.queries.solve(await main(core), query, at_seq=at_seq)


async def lines(core: Core, text: str, at_seq: int | None = None, **more: Any) -> list[str]:
    """The rows, each in a line."""
    found = await solve(core, text, at_seq, **more)
    return [" ".join(row[name].value for name in found.variables if name in row) for row in found.rows]


def beside(core: Core, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> SqlGraphQueries:
    """Another process of queries on the same database."""
    assert isinstance(core.graph, SqlGraph)
    return SqlGraphQueries(core.graph.database, clock=clock)


# What is in the graph -------------------------------------------------------------------------------------------------


async def test_what_was_remembered_is_a_graph_of_triples(core: Core) -> None:
    facts = [edge("Alice", "works_at", "Acme"), edge("Alice", "lives_in", "Paris", invalid_at="2020-01-01")]
    entities = [{"name": "Alice", "type": "person", "description": "an engineer"}]
    await tell(core, "Told.", edges=facts, entities=entities)
    assert await lines(core, THREE) == ["Alice works at Acme"]
    assert await lines(core, "SELECT ?d ?t { ?x rdfs:label 'Alice' ; gb:description ?d ; a/rdfs:label ?t }") == [
        "an engineer person"
    ]
    assert await lines(core, "SELECT ?x { ?x a rdfs:Class } ORDER BY ?x") == [
        "urn:gligabao:main:type/other",
        "urn:gligabao:main:type/person",
    ]
    found = await solve(core, "SELECT ?x { ?x rel:works_at ?y }")
    assert (found.total, found.seq, found.complete) == (1, 1, True)
    assert (await solve(core, "ASK { ?x rel:works_at ?y }")).boolean is True
    assert (await solve(core, "ASK { ?x rel:lives_in ?y }")).boolean is False


async def test_fact_nodes_are_there_for_queries_that_name_them(core: Core) -> None:
    told = await tell_facts(
        core,
        edge("Alice", "lives_in", "Paris", description="Alice lived in Paris.", valid_at="2018", invalid_at="2020"),
        session_id="s1",
    )
    fact = f"urn:gligabao:main:edge/{told.edges[0].id}"
    text = """SELECT ?f ?d ?from ?to ?session ?text {
        ?f a gb:Fact ; gb:description ?d ; gb:validAt ?from ; gb:invalidAt ?to ; gb:session ?session ;
           gb:artifact/gb:text ?text ; rdf:reifies <<( ?s rel:lives_in ?o )>>
    }"""
    assert await lines(core, text) == [
        f"{fact} Alice lived in Paris. 2018-01-01T00:00:00Z 2020-12-31T23:59:59.999999Z s1 Told."
    ]
    joined = "SELECT ?s ?o { ?f gb:predicate rel:lives_in ; gb:subject/rdfs:label ?s ; gb:object/rdfs:label ?o }"
    assert await lines(core, joined) == ["Alice Paris"]
    assert await lines(core, "SELECT * { ?f gb:description 'Alice lived in Paris.' }") == []
    assert await lines(core, f"SELECT ?k {{ <{fact}> gb:statedIn/gb:kind ?k }}") == ["knowledge"]


async def test_what_was_superseded_is_a_fact_node_only(core: Core) -> None:
    told = await tell_facts(core, edge("Alice", "lives_in", "Paris"))
    await correct_it(core, told.edges[0].id, restate={"relation": "visited"})
    assert await lines(core, THREE) == ["Alice visited Paris"]
    assert await lines(core, THREE, at_seq=1) == ["Alice lives in Paris"]
    expired = "SELECT ?r { ?f gb:predicate/rdfs:label ?r ; gb:expiredAt ?t }"
    every = "SELECT ?r { ?f a gb:Fact ; gb:predicate/rdfs:label ?r } ORDER BY ?r"
    assert await lines(core, every) == ["lives in", "visited"]
    assert await lines(core, expired) == ["lives in"]
    assert await lines(core, expired, at_seq=1) == []


async def test_loaded_triples_are_part_of_the_graph_and_of_their_own(core: Core) -> None:
    await tell_facts(core, edge("Alice", "works_at", "Acme"))
    text = (
        '<urn:acme> <http://www.w3.org/2000/01/rdf-schema#seeAlso> "x"@en <urn:g> .\n'
        "_:b <urn:of> <urn:gligabao:main:entity/1> ."
    )
    await core.triples.load(Load("u1", "main", io.BytesIO(text.encode()), "nquads"), core.clock)
    assert await lines(core, "SELECT ?x { ?x rdfs:seeAlso 'x'@en }") == ["urn:acme"]
    assert await lines(core, "SELECT ?g ?x { GRAPH ?g { ?x ?p ?o } }") == ["urn:g urn:acme"]
    assert await lines(core, "SELECT ?n { ?b <urn:of>/rdfs:label ?n }") == ["Alice"]
    await core.triples.update(
        "u1",
        "main",
        "DELETE DATA { GRAPH <urn:g> { <urn:acme> <http://www.w3.org/2000/01/rdf-schema#seeAlso> 'x'@en } }",
        core.clock,
    )
    assert await lines(core, "SELECT ?x { ?x rdfs:seeAlso ?y }") == []
    assert await lines(core, "SELECT ?x { ?x rdfs:seeAlso ?y }", at_seq=2) == ["urn:acme"]


async def test_datasets_and_users_are_apart(core: Core) -> None:
    await tell_facts(core, edge("Alice", "works_at", "Acme"))
    await tell_facts(core, edge("Bob", "works_at", "Globex"), user_id="u2")
    await tell_facts(core, edge("Cem", "works_at", "Initech"), dataset="other")
    assert await lines(core, THREE) == ["Alice works at Acme"]


# Time -----------------------------------------------------------------------------------------------------------------


async def test_facts_begin_and_end_by_the_clock_without_a_commit(core: Core) -> None:
    now = datetime.now(UTC)
    begins, ends = now + timedelta(days=1), now + timedelta(days=2)
    await tell_facts(core, edge("Alice", "works_at", "Acme", valid_at=begins.isoformat(), invalid_at=ends.isoformat()))
    moment = [now]
    queries = beside(core, lambda: moment[0])
    try:
        for at, stated in ((now, False), (begins, True), (ends - timedelta(seconds=1), True), (ends, False)):
            moment[0] = at
            ask = checked("ASK { ?x rel:works_at ?y }", KNOWN)
            assert (await queries.solve(await main(core), GraphQuery(ask.text))).boolean is stated
    finally:
        await queries.close()


@requirement("ask.as-of-commit-seq")
async def test_a_past_commit_is_read_as_it_was_stored(core: Core) -> None:
    await tell(
        core,
        "One.",
        edges=[edge("Alice", "works_at", "Acme")],
        entities=[{"name": "Alice", "type": "person", "description": "young"}],
    )
    await tell(
        core,
        "Two.",
        edges=[edge("Alice", "knows", "Bob")],
        entities=[{"name": "Alice", "type": "person", "description": "an engineer at Acme since 2020"}],
    )
    describe = "SELECT ?d { ?x rdfs:label 'Alice' ; gb:description ?d }"
    assert await lines(core, THREE) == ["Alice knows Bob", "Alice works at Acme"]
    assert await lines(core, THREE, at_seq=1) == ["Alice works at Acme"]
    assert await lines(core, describe, at_seq=1) == ["young"]
    assert await lines(core, describe, at_seq=2) != ["young"]
    assert await lines(core, EVERYTHING, at_seq=0) == []
    assert (await solve(core, THREE, at_seq=1)).seq == 1
    for seq in (-1, 3):
        with pytest.raises(InvalidRequest) as caught:
            await solve(core, THREE, at_seq=seq)
        assert caught.value.param == "as_of_commit_seq"


# Whatever is written --------------------------------------------------------------------------------------------------


def kill(core: Core) -> None:
    """The process that answers crashes."""
    assert isinstance(core.queries, SqlGraphQueries)
    assert core.queries.pid
    psutil.Process(core.queries.pid).kill()


async def said(queries: GraphQueries, dataset: Dataset, text: str, at_seq: int | None = None) -> Counter[str]:
    passed = checked(text, KNOWN)
    found = await queries.solve(dataset, GraphQuery(passed.text, facts=passed.facts), at_seq=at_seq)
    assert found.complete
    return Counter(str(sorted(row.items())) for row in found.rows)


@pytest.mark.parametrize("seed", range(2))
async def test_after_any_writes_and_crashes_the_graph_equals_one_that_is_made_anew(core: Core, seed: int) -> None:
    history = History(core, seed)
    await history.told()
    fresh = beside(core)
    try:
        for n in range(25):
            await history.step(*TELLING, *REMOVING)
            dataset = await history.dataset()
            if n % 9 == 7:
                kill(core)
            for text in (EVERYTHING, WITH_NODES) if n % 5 == 4 else (EVERYTHING,):
                assert await said(core.queries, dataset, text) == await said(fresh, dataset, text)
            if n % 5 == 4:
                await fresh.close()
                fresh = beside(core)
    finally:
        await fresh.close()


@pytest.mark.parametrize("seed", range(2))
async def test_a_commit_is_read_alike_from_the_present_and_on_its_own(
    core: Core, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(core, seed)
    await history.told()
    then = {1: await said(core.queries, await history.dataset(), WITH_NODES, 1)}
    for _ in range(12):
        await history.step(*TELLING)
        dataset = await history.dataset()
        then[dataset.head_seq] = await said(core.queries, dataset, WITH_NODES, dataset.head_seq)
    dataset = await history.dataset()
    for seq, expected in then.items():
        assert await said(core.queries, dataset, WITH_NODES, seq) == expected
    monkeypatch.setattr(module, "SMALL", -1)
    monkeypatch.setattr(module, "NEAR", 0)
    for seq, expected in then.items():
        assert await said(core.queries, dataset, WITH_NODES, seq) == expected
        assert await said(core.queries, dataset, EVERYTHING, seq)


@pytest.mark.parametrize("on_its_own", [False, True])
async def test_what_is_forgotten_is_gone_from_the_views_of_past_commits_that_are_kept(
    core: Core, monkeypatch: pytest.MonkeyPatch, on_its_own: bool
) -> None:
    if on_its_own:
        monkeypatch.setattr(module, "SMALL", -1)
        monkeypatch.setattr(module, "NEAR", 0)
    told = await tell_facts(core, edge("Alice", "works_at", "Acme"))
    await tell_facts(core, edge("Bob", "works_at", "Globex"))
    await tell_facts(core, edge("Bob", "knows", "Carol"))
    both = ["Alice works at Acme", "Bob works at Globex"]
    assert await lines(core, THREE, at_seq=2) == both
    gone = await forget_it(core, "edge", told.edges[0].id)
    assert await lines(core, THREE, at_seq=2) == both[1:]
    await undo_it(core, gone)
    assert await lines(core, THREE, at_seq=2) == both
    await tell_facts(core, edge("Carol", "knows", "Dave"))
    assert await lines(core, THREE, at_seq=2) == both


# The process ----------------------------------------------------------------------------------------------------------


async def test_the_first_query_starts_the_process_and_the_end_of_the_memory_ends_it(config: Config) -> None:
    def workers() -> list[psutil.Process]:
        return [p for p in psutil.Process().children() if "storage.rdf.serving" in " ".join(p.cmdline())]

    before = workers()
    async with open_core(config, Providers(NoEngine())) as core:
        await tell_facts(core, edge("Alice", "works_at", "Acme"))
        assert workers() == before
        await lines(core, THREE)
        assert len(workers()) == len(before) + 1
    assert workers() == before


async def test_a_killed_process_is_started_again_by_the_next_query(core: Core) -> None:
    await tell_facts(core, edge("Alice", "works_at", "Acme"))
    assert await lines(core, THREE) == ["Alice works at Acme"]
    kill(core)
    assert await lines(core, THREE) == ["Alice works at Acme"]


async def test_failures_are_told_in_words(core: Core) -> None:
    await tell_facts(core, edge("Alice", "works_at", "Acme"))
    with pytest.raises(InvalidRequest, match="query: error at 1:"):
        await solve(core, "SELECT * {")
    with pytest.raises(InvalidRequest, match="custom function"):
        await solve(core, "SELECT (<urn:f>(1) AS ?x) {}")
    with pytest.raises(InvalidRequest, match="query: error at"):
        await core.queries.check("SELECT ?x WHERE")
    await core.queries.check("SELECT * { ?s ?p ?o }")


@requirement("ask.query-time")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="without fork the view is loaded again, too")
async def test_the_deadline_of_a_query_is_kept(core: Core) -> None:
    await tell_facts(core, edge("Alice", "works_at", "Acme"))
    await lines(core, THREE)
    things = " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(9))
    began = time.monotonic()
    with pytest.raises(QueryTimeout):
        await solve(core, f"SELECT (COUNT(*) AS ?n) {{ {things} }}", seconds=1.0)
    assert time.monotonic() - began < 1.5
    assert await lines(core, THREE) == ["Alice works at Acme"]
