"""describe over a real graph: counts, examples, the records of small classes, and the text."""

from __future__ import annotations

from typing import Any

import pytest
from lbb import models

from core.core import Core
from core.describe.describe import DescribeRequest, describe, describe_parts
from core.errors import InvalidRequest, UnknownDataset
from gligabao_mcp.graph_operations import DESCRIBE
from gligabao_mcp.operations import parse
from tests.describe.shop import FIELD, KIND, RDFS, RECORD, TURTLE, many_classes, many_records
from tests.facts import edge, tell_facts
from tests.requirements import requirement
from tests.sparql.catalog import load, update

pytestmark = pytest.mark.anyio


async def described(core: Core, **fields: Any) -> dict[str, Any]:
    """What describe answers, checked against the client's model."""
    body = (await describe(core, DescribeRequest(user_id="u1", **fields))).body()
    models.QueryDescribeResponse.model_validate(body)
    return body


def by_iri(parts: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {part["iri"]: part for part in parts}


@requirement("describe.route")
async def test_a_question_brings_the_classes_and_properties_of_its_words(core: Core) -> None:
    await load(core, TURTLE)
    body = await described(core, question="Which services does each team operate?")
    assert set(by_iri(body["classes"])) == {f"{KIND}Service", f"{KIND}Team"}
    assert list(by_iri(body["properties"])) == [f"{FIELD}team"]
    assert (body["commit_seq"], body["partial"]) == (1, False)
    assert body["prefixes"] == {
        "field": FIELD,
        "kind": KIND,
        "owl": "http://www.w3.org/2002/07/owl#",
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "rdfs": RDFS,
    }


@requirement("describe.route")
async def test_classes_and_properties_are_described_by_iri_or_by_their_short_name(core: Core) -> None:
    await load(core, TURTLE)
    body = await described(
        core, classes=[f"{KIND}Outage", "kind:Team", f"{KIND}Missing"], properties=["field:level", f"{FIELD}none"]
    )
    assert list(by_iri(body["classes"])) == [f"{KIND}Outage", f"{KIND}Team"]
    assert list(by_iri(body["properties"])) == [f"{FIELD}level"]
    assert body["unknown"] == [f"{KIND}Missing", f"{FIELD}none"]


@requirement("describe.property-counts")
async def test_beside_each_property_stands_how_many_sampled_records_have_it(core: Core) -> None:
    await load(core, TURTLE)
    [service] = (await described(core, classes=[f"{KIND}Service"]))["classes"]
    assert (service["name"], service["instances"], service["label"]) == ("kind:Service", 3, "service")
    held = {one["name"]: one for one in service["properties"]}
    assert {name: (one["instances"], one["of"]) for name, one in held.items()} == {
        "rdfs:label": (3, 3),
        "field:level": (3, 3),
        "field:team": (3, 3),
        "field:note": (1, 3),
    }
    assert held["field:team"]["target"] == f"{KIND}Team"
    assert "example" not in held["field:team"]
    assert held["field:level"]["example"] in ('"1"^^xsd:integer', '"2"^^xsd:integer')


@requirement("describe.property-counts", "privacy.examples")
async def test_of_a_large_class_a_hundred_records_are_sampled_and_examples_are_short(core: Core) -> None:
    await load(core, many_records(150))
    [parcel] = (await described(core, classes=[f"{KIND}Parcel"]))["classes"]
    assert parcel["instances"] == 150
    assert "values" not in parcel
    weight, *_ = parcel["properties"]
    assert (weight["name"], weight["instances"], weight["of"]) == ("field:weight", 100, 100)


@requirement("privacy.examples")
async def test_an_example_has_at_most_48_characters(core: Core) -> None:
    await load(core, TURTLE)
    body = await described(core, classes=[f"{KIND}Service"])
    [note] = [one for one in body["classes"][0]["properties"] if one["name"] == "field:note"]
    assert note["example"] == '"counts the parcels on each shelf of each wareho…"'
    assert "whole company" not in body["text"]


@requirement("describe.small-classes")
async def test_a_small_class_lists_its_records_with_their_values(core: Core) -> None:
    await load(core, TURTLE)
    body = await described(core, classes=[f"{KIND}Team", f"{KIND}Service"])
    teams, services = body["classes"]
    assert teams["values"] == [
        {"iri": f"{RECORD}checkout", "label": "checkout team", "values": {}},
        {"iri": f"{RECORD}warehouse", "label": "warehouse team", "values": {f"{FIELD}disbanded": "true"}},
    ]
    assert [one["values"][f"{FIELD}level"] for one in services["values"]] == ["2", "2", "1"]


@requirement("describe.small-classes")
async def test_a_class_of_31_records_is_not_listed_and_one_of_30_is(core: Core) -> None:
    await load(core, many_records(30))
    assert len((await described(core))["classes"][0]["values"]) == 30
    await load(core, many_records(31))
    assert "values" not in (await described(core))["classes"][0]


@requirement("describe.text")
async def test_the_text_tells_the_same(core: Core) -> None:
    await load(core, TURTLE)
    body = await described(core, classes=["kind:Team"], properties=["field:team"])
    assert body["text"] == (
        f"Prefixes:\nPREFIX field: <{FIELD}>\nPREFIX kind: <{KIND}>\n"
        "PREFIX owl: <http://www.w3.org/2002/07/owl#>\n"
        f"PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>\nPREFIX rdfs: <{RDFS}>\n\n"
        "Classes, with their properties and how many of the sampled records have each:\n"
        "kind:Team 2 records\n"
        '  rdfs:label 2/2 e.g. "checkout team"\n'
        '  field:disbanded 1/2 e.g. "true"^^xsd:boolean\n'
        f'  <{RECORD}checkout> "checkout team"\n'
        f'  <{RECORD}warehouse> "warehouse team" field:disbanded "true"\n\n'
        'Properties:\nfield:team 3 links "run by"; of kind:Service 3/3 -> kind:Team\n\n'
        "Statements:\n"
        "field:runs owl:inverseOf field:team\n"
        "field:team rdf:type owl:FunctionalProperty ; rdfs:domain kind:Service ; rdfs:range kind:Team\n"
    )


async def test_a_property_tells_its_classes_its_values_and_where_it_leads(core: Core) -> None:
    await load(core, TURTLE)
    body = await described(core, properties=[f"{FIELD}hit", f"{FIELD}level", f"{FIELD}runs"])
    hit, level, runs = body["properties"]
    assert (hit["links"], hit["statements"], hit["target"]) == (True, 2, f"{KIND}Service")
    assert {use["class"] for use in hit["used_by"]} == {f"{KIND}Outage", f"{KIND}DataOutage"}
    assert (level["links"], level["used_by"]) == (False, [{"class": f"{KIND}Service", "instances": 3, "of": 3}])
    assert (runs["statements"], runs["used_by"]) == (0, [])
    assert body["statements"] == [
        {"subject": f"{FIELD}runs", "predicate": "http://www.w3.org/2002/07/owl#inverseOf", "object": f"{FIELD}team"}
    ]


async def test_without_a_request_the_largest_classes_are_described_and_never_the_schemas(core: Core) -> None:
    await load(core, TURTLE + many_records(20).split("\n", 7)[7])
    names = [part["name"] for part in (await described(core))["classes"]]
    assert names[:3] == ["kind:Parcel", "kind:Service", "kind:Team"]
    assert not [name for name in names if name.startswith(("rdfs:", "owl:", "rdf:"))]


async def test_classes_beyond_the_largest_are_sampled_when_they_are_asked_for(core: Core) -> None:
    await load(core, many_classes(60))
    body = await described(core, classes=["kind:Xyz59"], properties=["field:qqq58"])
    assert [one["name"] for one in body["classes"][0]["properties"]] == ["field:qqq59"]
    assert body["properties"][0]["used_by"] == [{"class": f"{KIND}Xyz58", "instances": 1, "of": 1}]


async def test_a_commit_is_seen_at_once_and_an_earlier_one_is_described_as_it_was(core: Core) -> None:
    await load(core, TURTLE)
    assert (await described(core, classes=["kind:Team"]))["classes"][0]["instances"] == 2
    dataset = await update(core, f"INSERT DATA {{ <{RECORD}platform> a <{KIND}Team> }}")
    now = await described(core, classes=["kind:Team"])
    assert (now["commit_seq"], now["classes"][0]["instances"], len(now["classes"][0]["values"])) == (2, 3, 3)
    then = await describe_parts(core, dataset, classes=["kind:Team"], at_seq=1)
    assert (then.commit_seq, then.classes[0].instances, len(then.classes[0].values or ())) == (1, 2, 2)


async def test_what_was_told_is_described_by_its_types_and_relations(core: Core) -> None:
    await tell_facts(core, edge("Alice", "works at", "Acme"), edge("Bob", "works at", "Acme"))
    body = await described(core, question="Who works where?")
    [works] = [part for part in body["properties"] if part["name"].startswith("rel:")]
    assert (works["label"], works["links"], works["statements"]) == ("works at", True, 2)
    assert "rel:works_at 2 links; of type:other 2/3 -> type:other" in body["text"].splitlines()
    assert "What was remembered is in this graph." in body["text"]
    assert "PREFIX gb: <urn:gligabao-terms:>" in body["text"]
    assert body["prefixes"]["gb"] == "urn:gligabao-terms:"


async def test_a_memory_without_anything_is_empty(core: Core) -> None:
    body = await described(core)
    assert (body["classes"], body["properties"], body["commit_seq"]) == ([], [], 0)
    assert body["text"] == "The graph has no class or property of this.\n"
    with pytest.raises(UnknownDataset):
        await describe(core, DescribeRequest(user_id="u1", dataset="other"))


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"question": "x" * 4001}, "question"),
        ({"classes": ["https://x.test/a"] * 21}, "classes"),
        ({"properties": ["https://x.test/a"] * 51}, "properties"),
        ({"classes": [""]}, "classes"),
        ({"kind": "x"}, "kind"),
    ],
)
def test_fields_outside_their_limits_are_named(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as failure:
        parse(DESCRIBE, {"user_id": "u1", **fields})
    assert param in (failure.value.param or "")
