"""names over a real graph: which names are read, and how far they have come."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
from lbb import models

from core.core import Core
from core.errors import InvalidRequest, NotYetVisible, QueryTooLarge, UnknownDataset
from core.forget.forget import ForgetRequest, forget
from core.graph import Dataset
from core.names import kept, read
from core.names import names as naming
from core.names.link import Link, link
from core.names.names import NamesRequest, link_names, names
from core.rdf.ports import GraphQuery
from core.rdf.terms import Solutions
from gligabao_mcp.graph_operations import NAMES
from gligabao_mcp.operations import parse
from tests.facts import edge, tell_facts
from tests.forgetting import merge_them, undo_it
from tests.names.people import CLASS, FIELD, RECORD, TURTLE
from tests.rdf.gated import GatedQueries
from tests.requirements import requirement
from tests.sparql.catalog import load, update

pytestmark = pytest.mark.anyio

PREFIXES = f"""PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX c: <{CLASS}> PREFIX r: <{RECORD}> PREFIX f: <{FIELD}>
"""
ANNA = f'{PREFIXES} INSERT DATA {{ r:anna a c:Contact ; f:name "Anna Quistgaard" }}'


async def asked(core: Core, text: str, **fields: Any) -> dict[str, Any]:
    """What names answers, checked against the client's model."""
    body = (await names(core, NamesRequest.model_validate({"user_id": "u1", "text": text, **fields}))).body()
    models.QueryNamesResponse.model_validate(body)
    return body


async def first(core: Core, text: str, **fields: Any) -> str | None:
    """The record of the first candidate, without its namespace."""
    found = (await asked(core, text, **fields))["candidates"]
    return found[0]["iri"].removeprefix(RECORD) if found else None


@requirement("names.route", "names.linked", "names.people-first")
async def test_each_name_has_its_records_the_best_first_in_the_order_of_the_text(core: Core) -> None:
    await load(core, TURTLE)
    body = await asked(core, "Does Jurgen Weiss know Quelmann?", min_commit_seq=1)
    assert body["candidates"] == [
        {
            "text": "Jurgen Weiss",
            "iri": f"{RECORD}weiss",
            "label": "Jürgen Weiß",
            "class": f"{CLASS}Contact",
            "score": 1.0,
            "by": "exact",
        },
        {
            "text": "Jurgen Weiss",
            "iri": f"{RECORD}weisspage",
            "label": "Jürgen Weiß",
            "class": f"{CLASS}SourceDocument",
            "score": 1.0,
            "by": "exact",
        },
        {
            "text": "Quelmann",
            "iri": f"{RECORD}quellmann",
            "label": "Quellmann Fenstertechnik GmbH",
            "class": f"{CLASS}Company",
            "score": 0.82,
            "by": "fuzzy",
        },
    ]


@requirement("names.people-first")
async def test_what_a_class_is_shows_in_its_superclasses(core: Core) -> None:
    await load(core, TURTLE)
    found = (await asked(core, "Where is Mara Lindqvist?"))["candidates"]
    assert [one["iri"].removeprefix(RECORD) for one in found] == ["lindqvist", "lindqvistwiki"]


@requirement("names.properties-read")
async def test_names_labels_and_titles_are_read_and_nothing_else(core: Core) -> None:
    await load(core, TURTLE)
    for text, record in [
        ("What does Quellmann Fenstertechnik sell?", "quellmann"),  # f:legalName
        ("Where is the Technische Universität Dresden?", "dresden"),  # rdfs:label
        ("Who leads Apollo?", "apollo"),  # schema:name
        ("Who wrote 'Call notes Harbour'?", "callnotes"),  # f:title
        ("What is a label without a class?", "nowhere"),
    ]:
        assert await first(core, text) == record, text
    assert await first(core, "Where is Q3-final.docx?") is None  # f:fileName
    assert await first(core, "Who is a Planner?") is None  # f:jobTitle


@requirement("names.up-to-three")
async def test_a_name_has_at_most_as_many_records_as_asked_for_and_three_in_a_question(core: Core) -> None:
    people = "\n".join(f'<{RECORD}{n}> a <{CLASS}Contact> ; <{FIELD}name> "Ada Berg" .' for n in range(6))
    dataset = await load(core, people)
    assert len((await asked(core, "Ada Berg"))["candidates"]) == 5
    assert len((await asked(core, "Ada Berg", limit=10))["candidates"]) == 6
    linked = await link_names(core, dataset, "Where is Ada Berg?")
    assert [one.text for one in linked.candidates] == ["Ada Berg"] * 3
    assert (linked.seq, linked.names, linked.ready) == (1, 6, True)


@requirement("names.commit-seq", "names.min-commit-seq")
async def test_a_commit_that_is_waited_for_is_in_the_index(core: Core) -> None:
    await load(core, TURTLE)
    assert (await asked(core, "Anna Quistgaard", min_commit_seq=1))["candidates"] == []
    await update(core, ANNA)
    body = await asked(core, "Anna Quistgaard", min_commit_seq=2)
    assert (body["commit_seq"], [one["iri"] for one in body["candidates"]]) == (2, [f"{RECORD}anna"])


@requirement("names.min-commit-seq")
async def test_a_commit_that_does_not_come_is_told_after_some_seconds(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "WAIT", 0.1)
    await load(core, TURTLE)
    with pytest.raises(NotYetVisible, match="min_commit_seq: the names reach commit 0 so far") as failure:
        await names(core, NamesRequest(user_id="u1", text="Anna", min_commit_seq=2))
    assert (failure.value.code, failure.value.retry_after) == ("read_your_writes_pending", 1)


@requirement("names.refreshed-behind")
async def test_a_question_after_a_commit_links_with_the_names_read_before(core: Core) -> None:
    queries = GatedQueries(core)
    core = replace(core, queries=queries)
    await load(core, TURTLE)
    await asked(core, "Jürgen Weiß")
    dataset = await update(core, ANNA)
    queries.gate.clear()
    linked = await link_names(core, dataset, "Does Anna Quistgaard know Jürgen Weiß?")
    assert ([one.text for one in linked.candidates], linked.seq) == (["Jürgen Weiß"] * 2, 1)
    queries.gate.set()
    assert await first(core, "Anna Quistgaard", min_commit_seq=2) == "anna"
    linked = await link_names(core, dataset, "Does Anna Quistgaard know Jürgen Weiß?")
    assert (linked.seq, linked.candidates[0].text) == (2, "Anna Quistgaard")


async def test_a_question_that_comes_before_the_names_is_told_so(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "FIRST_WAIT", 0)
    dataset = await load(core, TURTLE)
    body = await asked(core, "Jürgen Weiß")
    assert (body["index_ready"], body["candidates"], body["commit_seq"]) == (False, [], 0)
    assert (await link_names(core, dataset, "Jürgen Weiß")).ready is False
    assert await first(core, "Jürgen Weiß", min_commit_seq=1) == "weiss"


async def test_records_that_were_renamed_retyped_or_taken_away(core: Core) -> None:
    await load(core, TURTLE)
    assert await first(core, "Apollo") == "apollo"
    await update(
        core,
        f"""{PREFIXES} PREFIX schema: <https://schema.org/>
        DELETE DATA {{ r:apollo schema:name "Apollo" . r:weiss a c:Contact . r:payments rdfs:label "payments team" }} ;
        INSERT DATA {{ r:apollo schema:name "Artemis" . r:weiss a c:Note }}""",
    )
    assert await first(core, "Apollo", min_commit_seq=2) is None
    assert await first(core, "Artemis", min_commit_seq=2) == "apollo"
    assert await first(core, "payments team", min_commit_seq=2) is None
    assert (await asked(core, "Jürgen Weiß"))["candidates"][0]["class"] == f"{CLASS}Note"


async def test_a_new_superclass_changes_who_comes_first(core: Core) -> None:
    await load(core, f'<{RECORD}a> a <{CLASS}Aaa> ; <{FIELD}name> "Ada Berg" .')
    await load(core, f'<{RECORD}b> a <{CLASS}Bbb> ; <{FIELD}name> "Ada Berg" .')
    assert await first(core, "Ada Berg", min_commit_seq=2) == "a"
    await update(core, f"{PREFIXES} INSERT DATA {{ c:Bbb rdfs:subClassOf <http://xmlns.com/foaf/0.1/Person> }}")
    assert await first(core, "Ada Berg", min_commit_seq=3) == "b"


@requirement("names.every-class", "names.index-gaps")
async def test_of_a_very_large_class_labels_link_and_the_gap_is_told(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "MANY_RECORDS", 2)
    rows = (
        f'<{RECORD}{n}> a <{CLASS}Part> ; <http://www.w3.org/2000/01/rdf-schema#label> "Bolt {n}x{n}" ; '
        f'<{FIELD}name> "Schraube {n}x{n}" .'
        for n in range(3)
    )
    await load(core, "\n".join(rows) + f'<{RECORD}nut> a <{CLASS}Nut> ; <{FIELD}name> "Mutter" .')
    body = await asked(core, "Bolt 1x1")
    assert body["candidates"][0]["iri"] == f"{RECORD}1"
    assert (body["index_complete"], body["index_names"], body["index_classes_read"]) == (False, 4, 2)
    assert body["index_gaps"] == [{"class": f"{CLASS}Part", "reason": "instance_bound"}]
    assert await first(core, "Schraube 1x1") is None
    assert await first(core, "Mutter") == "nut"


class _TooLarge(GatedQueries):
    """Queries of which those for the names of one class need too much memory."""

    async def solve(self, dataset: Dataset, query: GraphQuery, *, at_seq: int | None = None) -> Solutions:
        if "VALUES ?c" in query.text and f"<{CLASS}Contact>" in query.text:
            raise QueryTooLarge("too much")
        return await super().solve(dataset, query, at_seq=at_seq)


@requirement("names.index-gaps")
async def test_a_class_that_can_not_be_read_is_a_gap_and_the_others_link(core: Core) -> None:
    core = replace(core, queries=_TooLarge(core))
    await load(core, TURTLE)
    body = await asked(core, "Does Jürgen Weiß lead Apollo?")
    assert (body["index_complete"], body["index_gaps"]) == (
        False,
        [{"class": f"{CLASS}Contact", "reason": "read_failed"}],
    )
    assert [one["label"] for one in body["candidates"]] == ["Jürgen Weiß", "Apollo"]
    assert body["candidates"][0]["class"] == f"{CLASS}SourceDocument"


async def test_where_many_records_changed_all_names_are_read_again(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "FEW", 1)
    await load(core, TURTLE)
    assert await first(core, "Apollo") == "apollo"
    rows = (f'r:p{n} a c:Contact ; f:name "Person {n}x{n}" .' for n in range(3))
    await update(core, f"{PREFIXES} INSERT DATA {{ {' '.join(rows)} }}")
    assert await first(core, "Person 2x2", min_commit_seq=2) == "p2"
    assert await first(core, "Apollo") == "apollo"


async def test_classes_are_read_page_by_page(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "PAGE", 7)
    people = "\n".join(f'<{RECORD}{n}> a <{CLASS}Contact> ; <{FIELD}name> "Person {n:02}x" .' for n in range(30))
    await load(core, people)
    body = await asked(core, "Person 29x")
    assert (body["index_names"], body["index_complete"]) == (30, True)
    assert body["candidates"][0]["iri"] == f"{RECORD}29"


async def test_what_was_told_is_found_by_its_names(core: Core) -> None:
    await tell_facts(core, edge("Jürgen Weiß", "works_at", "Quellmann GmbH"))
    body = await asked(core, "Does Jurgen Weiss work at Quelmann?")
    assert [(one["label"], one["by"]) for one in body["candidates"]] == [
        ("Jürgen Weiß", "exact"),
        ("Quellmann GmbH", "fuzzy"),
    ]
    assert all(one["iri"].startswith("urn:gligabao:main:entity/") for one in body["candidates"])


async def test_what_was_forgotten_is_no_name_any_more(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    told = await tell_facts(core, edge("Jürgen Weiß", "works_at", "Quellmann GmbH"))
    assert len((await asked(core, "Does Jurgen Weiss know Quellmann?"))["candidates"]) == 2
    await forget(core, ForgetRequest(user_id="u1", scope="artifact", id=str(told.artifact_id)))
    monkeypatch.setattr(kept, "QUICK", 0)  # with no time to wait, earlier names would do if nothing had been forgotten
    assert (await asked(core, "Does Jurgen Weiss know Quellmann?"))["candidates"] == []
    assert (await asked(core, "Jürgen Weiß", min_commit_seq=2))["candidates"] == []


async def test_a_text_that_takes_long_holds_up_nothing_else(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    await load(core, TURTLE)
    await asked(core, "Apollo")
    others_went_on = threading.Event()

    def slow(*args: Any, **fields: Any) -> list[Link]:
        assert others_went_on.wait(10)
        return link(*args, **fields)

    monkeypatch.setattr(naming, "link", slow)
    question = asyncio.create_task(asked(core, "Apollo"))
    for _ in range(5):
        await asyncio.sleep(0.01)
    others_went_on.set()
    assert [one["label"] for one in (await question)["candidates"]] == ["Apollo"]


async def test_the_names_that_were_asked_for_last_are_held(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_HELD", 2)
    queries = GatedQueries(core)
    core = replace(core, queries=queries)
    for dataset in ("one", "two", "three"):
        await load(core, f'<{RECORD}{dataset}> a <{CLASS}Project> ; <{FIELD}name> "Apollo" .', dataset=dataset)
    for dataset in ("one", "two", "one", "three"):
        assert await first(core, "Apollo", dataset=dataset) == dataset
    before = queries.count
    assert await first(core, "Apollo", dataset="one") == "one"
    assert queries.count == before
    assert await first(core, "Apollo", dataset="two") == "two"
    assert queries.count > before


async def test_a_dataset_that_is_made_again_has_its_own_names_and_so_has_another_user(core: Core) -> None:
    await load(core, f'<{RECORD}old> a <{CLASS}Project> ; <{FIELD}name> "Apollo" .', dataset="crm")
    await load(core, f'<{RECORD}theirs> a <{CLASS}Project> ; <{FIELD}name> "Apollo" .', user_id="u2", dataset="crm")
    assert await first(core, "Apollo", dataset="crm") == "old"
    assert await first(core, "Apollo", user_id="u2", dataset="crm") == "theirs"
    await forget(core, ForgetRequest(user_id="u1", dataset="crm", scope="dataset"))
    await load(core, f'<{RECORD}new> a <{CLASS}Project> ; <{FIELD}name> "Artemis" .', dataset="crm")
    assert await first(core, "Apollo", dataset="crm") is None
    assert await first(core, "Artemis", dataset="crm") == "new"


@pytest.mark.parametrize("type_", ["person", "organization"])
async def test_of_what_was_told_people_and_organizations_come_first(core: Core, type_: str) -> None:
    await load(
        core,
        f"""@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        <{RECORD}a> a <urn:gligabao:main:type/event> ; rdfs:label "Mara Lindqvist" .
        <{RECORD}b> a <urn:gligabao:main:type/{type_}> ; rdfs:label "Mara Lindqvist" .
        <{RECORD}0> a <urn:gligabao:main:type/document> ; rdfs:label "Mara Lindqvist" .""",
    )
    found = (await asked(core, "Where is Mara Lindqvist?"))["candidates"]
    assert [one["iri"].removeprefix(RECORD) for one in found] == ["b", "a", "0"]


async def test_a_merged_entity_is_found_by_its_former_name_until_that_is_undone(core: Core) -> None:
    told = await tell_facts(core, edge("Mara Lindqvist", "knows", "Jürgen Weiß"), edge("Maja Quelm", "knows", "Apollo"))
    mara, maja = (one.source_id for one in told.edges)

    async def meant() -> list[str]:
        found = (await asked(core, "Does Maja Quelm know?"))["candidates"]
        return [one["iri"].removeprefix("urn:gligabao:main:entity/") for one in found]

    assert await meant() == [str(maja)]
    merged = await merge_them(core, into=mara, other=maja)
    assert await meant() == [str(mara)]
    await undo_it(core, merged)
    assert await meant() == [str(maja)]


async def test_a_memory_without_anything_has_no_names(core: Core) -> None:
    body = await asked(core, "Jürgen Weiß")
    assert (body["candidates"], body["index_ready"], body["commit_seq"], body["index_names"]) == ([], True, 0, 0)
    with pytest.raises(UnknownDataset):
        await names(core, NamesRequest(user_id="u1", dataset="other", text="x"))


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"text": ""}, "text"),
        ({"text": "  "}, "text"),
        ({"text": "x" * 4001}, "text"),
        ({"text": "x", "limit": 0}, "limit"),
        ({"text": "x", "limit": 11}, "limit"),
        ({"text": "x", "min_commit_seq": -1}, "min_commit_seq"),
        ({}, "text"),
    ],
)
def test_fields_outside_their_limits_are_named(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as failure:
        parse(NAMES, {"user_id": "u1", **fields})
    assert failure.value.param == param


def test_a_text_that_is_too_long_is_told_so_in_characters() -> None:
    with pytest.raises(InvalidRequest, match=r"^text: must have at most 4000 characters$"):
        parse(NAMES, {"user_id": "u1", "text": "x" * 4001})
