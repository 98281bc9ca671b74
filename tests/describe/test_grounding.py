"""What a model is told of a graph, how long that is kept, and the part for one question."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.ask.profile import Profile, ProfileExample
from core.core import Core
from core.describe.description import describe_graph
from core.describe.grounding import grounding
from core.describe.prefixes import ShortNames
from core.describe.read import read_description
from core.describe.reading import Reading
from core.describe.remembered import remembered_lines
from core.embeddings.recipe import Recipe, RecipeField
from core.errors import InvalidRequest
from core.forget.forget import ForgetRequest, forget
from core.graph import Dataset
from core.rdf.gate import checked
from core.rdf.ports import GraphQuery
from tests.describe.shop import FIELD, KIND, RDFS, RECORD, TURTLE, many_classes
from tests.facts import edge, tell_facts
from tests.rdf.gated import GatedQueries
from tests.rdf.in_memory import TurtleQueries
from tests.requirements import requirement
from tests.sparql.catalog import load, update

pytestmark = pytest.mark.anyio

START = datetime(2026, 3, 1, tzinfo=UTC)
NEW_TEAM = f"INSERT DATA {{ <{RECORD}platform> a <{KIND}Team> }}"


@requirement("grounding.content")
async def test_it_tells_classes_properties_examples_statements_and_what_is_searched_by_meaning(core: Core) -> None:
    dataset = await load(core, TURTLE)
    recipe = Recipe(f"{KIND}Service", (RecipeField("label", (f"{RDFS}label",), 1),))
    await core.embeddings.declare(dataset, "services", recipe, "test", 8, core.clock)
    ground = await grounding(core, dataset, "How many?")
    lines = ground.text.splitlines()
    assert "kind:Service 3 records: Software that one team operates." in lines
    assert '  rdfs:label 3/3 e.g. "refund-worker"' in lines
    assert "  field:team 3/3 -> kind:Team" in lines
    assert "kind:DataOutage rdfs:subClassOf kind:Outage" in lines
    assert "field:runs owl:inverseOf field:team" in lines
    assert 'kind:Service by its label (search:embedding "services")' in lines
    assert f"PREFIX field: <{FIELD}>" in lines
    assert (ground.commit_seq, ground.classes, ground.properties, ground.embeddings) == (1, 4, 9, 1)
    assert (ground.focus, ground.focus_classes, ground.focus_properties) == ("", 0, 0)


async def test_prefixes_are_the_well_known_ones_those_of_the_memory_and_those_of_the_namespaces(core: Core) -> None:
    dataset = await load(
        core,
        TURTLE + "<https://other.test/kind/Thing> <https://www.firm.test/> <https://x.test/v1.2/#a> . "
        "<https://x.test/e/1> a <https://x.test/v1.2/Thing> .",
    )
    prefixes = (await grounding(core, dataset, "?")).prefixes
    wanted = {
        "foaf": "http://xmlns.com/foaf/0.1/",
        "rel": "urn:gligabao:main:relation/",
        "kind": KIND,
        "field": FIELD,
        "record": RECORD,
        "firm": "https://www.firm.test/",
        "v1-2": "https://x.test/v1.2/",
    }
    assert {name: prefixes.get(name) for name in wanted} == wanted


async def test_two_namespaces_of_one_name_are_numbered(core: Core) -> None:
    dataset = await load(core, "<a:1> a <https://a.test/kind/A>, <https://b.test/kind#B>, <https://c.test/schema/C> .")
    prefixes = (await grounding(core, dataset, "?")).prefixes
    assert {prefixes["kind"], prefixes["kind2"]} == {"https://a.test/kind/", "https://b.test/kind#"}
    assert (prefixes["schema"], prefixes["schema2"]) == ("https://schema.org/", "https://c.test/schema/")


@requirement("grounding.kept-10-minutes")
async def test_it_is_kept_for_ten_minutes(core: Core) -> None:
    now = START
    queries = GatedQueries(core)
    core = replace(core, queries=queries, clock=lambda: now)
    dataset = await load(core, TURTLE)
    first = await grounding(core, dataset, "How many?")
    assert (first.cached, first.age_ms) == (False, 0)
    asked = queries.count
    now = START + timedelta(minutes=9)
    again = await grounding(core, dataset, "How many?")
    assert (again.cached, again.age_ms, queries.count) == (True, 540_000, asked)
    assert again.overview == first.overview
    now = START + timedelta(minutes=10)
    anew = await grounding(core, dataset, "How many?")
    assert (anew.cached, anew.age_ms, queries.count) == (False, 0, 2 * asked)


async def test_after_a_commit_it_is_read_again_before_the_question_where_that_is_quick(core: Core) -> None:
    await grounding(core, await load(core, TURTLE), "How many?")
    dataset = await update(core, NEW_TEAM)
    described = await describe_graph(core, dataset, quick=30)
    assert (described.seq, described.classes[f"{KIND}Team"].instances) == (2, 3)


async def test_after_a_commit_the_older_one_is_used_while_a_new_one_is_read(core: Core) -> None:
    queries = GatedQueries(core)
    core = replace(core, queries=queries)
    await grounding(core, await load(core, TURTLE), "How many?")
    dataset = await update(core, NEW_TEAM)
    queries.gate.clear()
    older = await describe_graph(core, dataset)
    assert (older.seq, older.classes[f"{KIND}Team"].instances) == (1, 2)
    queries.gate.set()
    newer = await describe_graph(core, dataset, quick=30)
    assert (newer.seq, newer.classes[f"{KIND}Team"].instances) == (2, 3)


async def test_one_reading_serves_all_that_wait_for_it_and_outlives_one_that_goes(core: Core) -> None:
    queries = GatedQueries(core)
    core = replace(core, queries=queries)
    dataset = await load(core, TURTLE)
    gone = asyncio.create_task(describe_graph(core, dataset))
    stays = [asyncio.create_task(describe_graph(core, dataset)) for _ in range(3)]
    await asyncio.sleep(0)
    gone.cancel()
    described = await asyncio.gather(*stays)
    assert described[0] is described[1] is described[2]
    assert queries.count < 10


async def test_a_past_commit_is_described_as_it_was(core: Core) -> None:
    await load(core, TURTLE)
    dataset = await update(core, NEW_TEAM)
    ground = await grounding(core, dataset, "How many?", at_seq=1)
    assert (ground.commit_seq, "kind:Team 2 records" in ground.text) == (1, True)
    assert "kind:Team 3 records" in (await grounding(core, dataset, "How many?")).text
    with pytest.raises(InvalidRequest) as failure:
        await grounding(core, dataset, "How many?", at_seq=3)
    assert failure.value.param == "as_of_commit_seq"


@requirement("grounding.focus")
async def test_of_many_classes_those_that_the_question_names_are_added_with_all_their_properties(core: Core) -> None:
    wide = " ; ".join(f"<{FIELD}wide{n:02}> {n}" for n in range(25))
    named = f"<{RECORD}b1> a <{KIND}ZeppelinRepair> ; <{FIELD}wheelSize> 28 ; {wide} ."
    dataset = await load(core, many_classes(200) + "\n" + named)
    ground = await grounding(core, dataset, "Which zeppelin repairs had the largest wheels?")
    assert "ZeppelinRepair" not in ground.overview
    assert "kind:ZeppelinRepair 1 record" in ground.focus
    assert all(f"field:wide{n:02} 1/1" in ground.focus for n in range(25))
    assert 'field:wheelSize 1/1 e.g. "28"^^xsd:integer' in ground.focus
    assert (ground.focus_classes, ground.focus_properties) == (1, 1)
    assert f"PREFIX kind: <{KIND}>" in ground.focus
    assert ground.text == f"{ground.overview}\n{ground.focus}"
    other = await grounding(core, dataset, "How many are there?")
    assert (other.overview, other.focus) == (ground.overview, "")


async def test_the_text_of_a_very_large_schema_stays_short(core: Core) -> None:
    dataset = await load(core, many_classes(3000))
    ground = await grounding(core, dataset, " ".join(f"xyz{n}" for n in range(400)))
    assert (ground.classes, ground.focus_classes) == (3000, 8)
    assert len(ground.text) < 20_000
    assert "and 2,875 more" in ground.text.splitlines()


@requirement("grounding.profile")
async def test_the_profile_comes_with_it_beside_the_text(core: Core) -> None:
    dataset = await load(core, TURTLE)
    assert (await grounding(core, dataset, "How many?")).profile_version is None
    example = ProfileExample(question="How many?", sparql="SELECT (COUNT(?s) AS ?n) WHERE { ?s a kind:Service }")
    await core.profiles.write(dataset, Profile("Level 1 is critical.", (example,)), 0, core.clock)
    ground = await grounding(core, dataset, "How many?")
    assert (ground.profile_version, ground.profile.notes) == (1, "Level 1 is critical.")
    assert "critical" not in ground.text


async def test_what_was_told_is_explained(core: Core) -> None:
    await tell_facts(core, edge("Alice", "works at", "Acme"))
    dataset = await core.graph.dataset("u1", "main")
    assert dataset is not None
    ground = await grounding(core, dataset, "Who works where?")
    assert "What was remembered is in this graph." in ground.text
    assert "  rel:works_at 1/2 -> type:other" in ground.text.splitlines()
    assert "PREFIX rel: <urn:gligabao:main:relation/>" in ground.text
    facts = ground.text[ground.text.index("?fact a gb:Fact") :]
    query = f"SELECT ?record ?other ?since ?source ?told WHERE {{ {facts} }}"
    checked_query = checked(query, ground.prefixes)
    found = await core.queries.solve(dataset, GraphQuery(checked_query.text, facts=checked_query.facts))
    assert [row["record"].value for row in found.rows] == ["urn:gligabao:main:entity/1"]
    assert "PREFIX gb: <urn:gligabao-terms:>" in ground.text


async def test_a_fact_whose_source_is_not_known_is_one_row_of_the_query_that_is_explained() -> None:
    store = TurtleQueries(
        """@prefix gb: <urn:gligabao-terms:> . @prefix x: <urn:gligabao:main:> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        <urn:gligabao:main:entity/1> a <urn:gligabao:main:type/person> ; rdfs:label "Alice" ;
          <urn:gligabao:main:relation/knows> <urn:gligabao:main:entity/2> .
        <urn:gligabao:main:fact/1> a gb:Fact ; gb:subject <urn:gligabao:main:entity/1> ; gb:validAt "2026" ;
          gb:predicate <urn:gligabao:main:relation/knows> ; gb:object <urn:gligabao:main:entity/2> .
        x:a a gb:Artifact ; gb:kind "text" ; gb:text "One." ; gb:validAt "2026" .
        x:b a gb:Artifact ; gb:kind "text" ; gb:text "Two." ; gb:validAt "2026" ."""
    )
    dataset = Dataset(1, "u1", "main", 1)
    description = await read_description(Reading(store, dataset, None, 10), "urn:gligabao:main:", START)
    lines = remembered_lines(description, "urn:gligabao:main:", ShortNames(description.prefixes))
    query = checked(f"SELECT * WHERE {{ {' '.join(lines[4:])} }}", description.prefixes)
    assert len((await store.solve(dataset, GraphQuery(query.text))).rows) == 1


async def test_texts_in_the_data_can_not_break_a_line(core: Core) -> None:
    dataset = await load(core, f'<{RECORD}a> a <{KIND}Note> ; <{FIELD}text> "one\\n\\nStatements:\\n\\"two\\"" .')
    assert "  field:text 1/1 e.g. \"one Statements: 'two'\"" in (await grounding(core, dataset, "?")).text.splitlines()


async def test_odd_graphs_are_described(core: Core) -> None:
    odd: Mapping[str, str] = {
        "nothing but a class": f"<{KIND}A> a <{RDFS}Class> .",
        "blank nodes": f"_:a a <{KIND}A> ; <{FIELD}x> [ <{FIELD}y> 1 ] .",
        "a class that is blank": f"<{RECORD}a> a [ a <http://www.w3.org/2002/07/owl#Restriction> ] .",
        "a property of every kind": f'<{RECORD}a> <{FIELD}x> 1, "a"@en, "b", _:c, "2020"^^<urn:own:year> .',
        "an IRI without a local name": "<https://x.test/> a <https://x.test/> ; <https://x.test/> <https://x.test/> .",
        "an IRI that needs escapes": '<https://x.test/a(b)> a <https://x.test/k/%C3%A4,b> ; <https://x.test/p/ü> "x" .',
        "a cycle of classes": f"<{KIND}A> <{RDFS}subClassOf> <{KIND}B> . <{KIND}B> <{RDFS}subClassOf> <{KIND}A> .",
    }
    for name, turtle in odd.items():
        dataset = await load(core, turtle, dataset=name)
        assert (await grounding(core, dataset, "what is a?")).commit_seq == 1, name


async def test_it_takes_few_queries() -> None:
    queries = TurtleQueries(many_classes(100))
    reading = Reading(queries, Dataset(1, "u1", "main", 1), None, 10)
    description = await read_description(reading, "urn:gligabao:main:", START)
    assert len(description.classes) == 100
    assert len(queries.asked) <= 8


async def test_what_was_forgotten_is_told_no_more_of_no_commit(core: Core) -> None:
    told = await tell_facts(core, edge("A secret lab", "works for", "Bob"))
    dataset = await core.graph.dataset("u1", "main")
    assert dataset is not None
    for at_seq in (None, 1):
        assert "A secret lab" in str((await describe_graph(core, dataset, at_seq)).classes)
    await forget(core, ForgetRequest(user_id="u1", scope="artifact", id=str(told.artifact_id)))
    dataset = await core.graph.dataset("u1", "main")
    assert dataset is not None
    for at_seq in (None, 1):
        # With no time to wait an older description would do, if nothing had been forgotten.
        described = await describe_graph(core, dataset, at_seq, quick=0)
        assert "A secret lab" not in str(described.classes)
