"""A dataset as one document in nine formats, and the native one taken in again."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from contextlib import aclosing
from datetime import datetime
from typing import Any

import networkx
import pyoxigraph as ox
import pytest

from core.core import Core
from core.errors import InvalidRequest, UnknownDataset
from core.export.export import ExportRequest, export
from core.export.formats import FORMATS
from core.export.markdown import safe_name
from core.export.rows import SECTIONS
from core.imports.imports import ImportRequest, ImportResponse, import_document
from core.rdf.ports import Load
from core.remember.remember import remember
from core.remember.request import RememberRequest
from gligabao_mcp.providers.scripted import ScriptedModel
from tests.conftest import Opener, Tables
from tests.facts import edge, graph, tell, tell_facts, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

ODD = 'Zoë \\u0027 "O\'Hara" <&>\n{x}'
RDF, GB = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "urn:gligabao-terms:"


async def exported(core: Core, format: str = "json", user_id: str = "u1", **more: Any) -> bytes:
    asked = ExportRequest.model_validate({"user_id": user_id, "format": format, **more})
    async with aclosing(await export(core, asked)) as stream:
        return b"".join([piece async for piece in stream])


async def whole(core: Core, **more: Any) -> dict[str, Any]:
    return json.loads(await exported(core, **more))


async def take_in(core: Core, document: object, **more: Any) -> ImportResponse:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return await import_document(core, ImportRequest(user_id="u1", **more), io.BytesIO(body))


async def story(core: Core, model: ScriptedModel) -> None:
    """A superseded fact, one with an end, odd names, sessions, a changed description and messages."""
    model.replies(
        graph("Alice:person:engineer", "Paris:city", edges=[edge("Alice", "lives_in", "Paris", valid_at="2025-01-10")]),
        graph("Alice:person:an architect", edges=[edge("Alice", "lives_in", "Berlin", valid_at="2026-03-01")]),
        verdicts(verdict(0, contradicts=[1])),
    )
    await tell(core, "Alice, an engineer, lives in Paris.", session_id="chat-1")
    await tell(core, "Alice, an architect, moved to Berlin.", session_id="chat-2")
    await tell_facts(
        core,
        edge(ODD, "likes a/b #1", "日本", description='says "hi"\n\\ there', valid_at="2026-01-01"),
        edge(ODD, "worked at", "=cmd|' /C calc'!A0", valid_at="2020", invalid_at="2021"),
    )


LOADED = """
@prefix s: <urn:s:> .
s:a a s:Thing ; s:says "hi\\u0000\\n"@en, 5 .
s:g { s:a s:knows [ s:is s:b ] }
"""


async def load_triples(core: Core, dataset: str = "main") -> None:
    """Triples of both kinds, one of them taken out again."""
    await core.triples.load(Load("u1", dataset, io.BytesIO(LOADED.encode()), "trig"), core.clock)
    await core.triples.update("u1", dataset, "DELETE DATA { <urn:s:a> <urn:s:says> 5 }", core.clock)


@requirement("models.exported")
async def test_the_native_document_holds_the_graph_with_its_models(core: Core, model: ScriptedModel) -> None:
    await story(core, model)
    document = await whole(core)
    assert (document["format"], document["version"], document["dataset"]) == ("gligabao-graph", 1, "main")
    assert {row["id"] for row in document["models"]} == {"caller", model.model}
    alice = next(row for row in document["entities"] if row["name"] == "Alice")
    assert (alice["type"], alice["description"], alice["model_id"]) == ("person", "an architect", model.model)
    paris, berlin, *_ = document["edges"]
    assert (paris["invalid_at"], paris["closed_by"]) == ("2026-03-01T00:00:00Z", berlin["id"])
    assert paris["expired_at"] and berlin["invalid_at"] is None
    assert {row["model_id"] for row in document["edges"]} == {model.model, "caller"}
    assert [row["id"] for row in document["edges"]] == sorted(row["id"] for row in document["edges"])
    assert not any("text" in row for row in document["artifacts"])
    assert document["series"] == []
    assert (await whole(core, include="text,points"))["artifacts"][0]["text"] == "Alice, an engineer, lives in Paris."


async def test_two_exports_of_the_same_state_are_equal(core: Core, model: ScriptedModel) -> None:
    await story(core, model)
    for format in FORMATS:
        assert await exported(core, format) == await exported(core, format), format


async def test_a_dataset_comes_back_as_it_was(core: Core, model: ScriptedModel, tables: Tables) -> None:
    """Into an empty dataset, from JSON and from JSON Lines: the second export is the first under other ids."""
    await story(core, model)
    await load_triples(core)
    first = await whole(core, include="text")
    assert [row["removed_seq"] for row in first["triples"]].count(None) == 4
    for format in ("json", "jsonl"):
        taken = await take_in(core, await exported(core, format, include="text"), dataset=format)
        assert taken.added["edges"] == len(first["edges"]) and not taken.merged
        again = await whole(core, include="text", dataset=format)
        assert again | {"dataset": "main"} != first  # other ids, in the same order:
        assert renumbered(again) == renumbered(first)


def renumbered(document: dict[str, Any]) -> dict[str, Any]:
    """The document with ids that count from 1, and without the name of its dataset."""
    ids = {
        section: {row["id"]: n for n, row in enumerate(document[section], 1)}
        for section in ("entities", "edges", "artifacts")
    }
    of = {
        "entity_id": "entities",
        "source_id": "entities",
        "target_id": "entities",
        "edge_id": "edges",
        "closed_by": "edges",
        "artifact_id": "artifacts",
        "parent_id": "artifacts",
    }

    def row_of(section: str, row: dict[str, Any]) -> dict[str, Any]:
        named = {name: ids[other].get(row[name], row[name]) for name, other in of.items() if name in row}
        return {**row, **named} | ({"id": ids[section][row["id"]]} if section in ids else {})

    header = {name: document[name] for name in ("format", "version", "exported_at")}
    return header | {name: [row_of(name, row) for row in document.get(name, ())] for name in SECTIONS}


async def test_chunks_messages_images_and_merged_names_come_back_too(
    core: Core, tables: Tables, model: ScriptedModel
) -> None:
    model.replies(
        graph("Alice:person", "Acme", edges=[edge("Alice", "works_at", "Acme") | {"said_in": [0]}]),
    )
    messages = [
        {"id": "m1", "text": "I am at Acme.", "speaker": "Alice"},
        {"id": "m2", "text": "Fine.", "speaker": "Bob"},
    ]
    await remember(core, RememberRequest.model_validate({"user_id": "u1", "messages": messages}))
    first = await whole(core, include="text")
    assert [row["message_id"] for row in first["artifacts"]] == ["m1", "m2"]
    parent = first["artifacts"][0] | {"id": 50, "kind": "image", "message_id": None, "text": "a cat", "speaker": None}
    chunk = parent | {"id": 51, "kind": "chunk", "parent_id": 50, "chunk_index": 0, "start_offset": 0, "end_offset": 5}
    first["artifacts"] += [parent, chunk | {"tokens": 2, "overlap_tokens": 0, "vector_index": "chunks"}]
    image: dict[str, Any] = {"artifact_id": 50, "sha256": "a" * 64, "media_type": "image/png", "width": 1, "height": 2}
    read = {"theme": "a cat", "title": "Cat", "blocks": [{"text": "miau"}], "language": "en", "content": "AAEC"}
    first["images"] = [image | {"bytes": 3} | read]
    alias = {"former_id": 99, "name": "Ally", "type": "person", "entity_id": first["entities"][0]["id"]}
    first["aliases"] = [alias | {"created_at": first["exported_at"]}]
    await take_in(core, first, dataset="two")
    again = await whole(core, include="text", dataset="two")
    assert again["images"] == [first["images"][0] | {"artifact_id": again["artifacts"][2]["id"]}]
    assert again["artifacts"][3]["parent_id"] == again["artifacts"][2]["id"]
    shown = ("chunk_index", "start_offset", "end_offset", "tokens", "vector_index", "searched", "text", "speaker")
    for before, after in zip(first["artifacts"], again["artifacts"], strict=True):
        assert {name: before[name] for name in shown} == {name: after[name] for name in shown}
    assert [row["name"] for row in again["aliases"]] == ["Ally"]
    taken = await take_in(core, again, dataset="two")
    assert taken.added == {} and taken.merged["artifacts"] == 4
    plain = await whole(core, dataset="two")
    assert plain["images"] == [image | {"bytes": 3, "artifact_id": again["artifacts"][2]["id"]}]


async def test_loaded_triples_are_in_the_documents_of_rdf(core: Core) -> None:
    await load_triples(core)
    store = quads(await exported(core, "nquads"), ox.RdfFormat.N_QUADS)
    thing, says = ox.NamedNode("urn:s:a"), ox.NamedNode("urn:s:says")
    assert [quad.object for quad in store.quads_for_pattern(thing, says, None)] == [ox.Literal("hi\0\n", language="en")]
    assert len(list(store.quads_for_pattern(None, None, None, ox.NamedNode("urn:s:g")))) == 2
    plain = quads(await exported(core, "turtle"), ox.RdfFormat.TURTLE)
    assert len(list(plain.quads_for_pattern(None, None, None, ox.DefaultGraph()))) == 4


async def test_blank_nodes_that_come_in_are_others_than_those_there(core: Core) -> None:
    for dataset in ("main", "two"):
        await load_triples(core, dataset)
    await take_in(core, await exported(core), dataset="two")
    subjects = {row["subject"] for row in (await whole(core, dataset="two"))["triples"]}
    assert len({subject for subject in subjects if subject.startswith("_:")}) == 2


async def test_a_triple_that_is_none_is_refused(core: Core, tables: Tables) -> None:
    row = {"subject": "<urn:a>", "predicate": "<urn:b> <urn:c> .\n<urn:d>", "object": "<urn:e>", "graph": ""}
    for wrong in (row, row | {"predicate": '"no"'}):
        with pytest.raises(InvalidRequest, match=r"^triples: "):
            await take_in(core, MINIMAL | {"triples": [wrong]})
    assert tables.count("gb_datasets") == 0


async def test_a_fresh_database_gives_the_same_bytes(
    opened: Opener, model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with opened() as core:
        await tell_facts(core, edge("Somebody", "knows", "Else"), user_id="u2")  # so that ids do not begin with 1
        await story(core, model)
        await load_triples(core)
        first = await exported(core, include="text")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    async with opened(home=elsewhere, db=None) as core:
        await take_in(core, first)
        assert await exported(core, include="text") == first
        told = await tell_facts(core, edge("Xi", "knows", "Yu"))
        assert told.artifact_id > max(row["id"] for row in json.loads(first)["artifacts"])


async def test_a_second_import_adds_nothing(core: Core, model: ScriptedModel, tables: Tables) -> None:
    await story(core, model)
    await core.triples.update("u1", "main", "INSERT DATA { <urn:s:a> <urn:s:says> 5 }", core.clock)
    document = await whole(core, include="text")
    taken = await take_in(core, document)
    assert taken.added == {} and taken.merged["edges"] == len(document["edges"])
    assert taken.merged["triples"] == 1
    again = await whole(core, include="text")
    for section in ("entities", "edges", "artifacts", "entity_artifacts", "edge_artifacts", "edge_versions"):
        assert again[section] == document[section], section


async def test_an_import_joins_what_is_there(core: Core) -> None:
    """Entities by name and type; an open fact never twice, however it is told; an end that the document knows."""
    await tell_facts(
        core,
        edge("Alice", "works at", "Acme", valid_at="2025-01-31"),
        edge("Alice", "lives in", "Paris", valid_at="2025-01-10"),
        dataset="old",
    )
    document = await whole(core, dataset="old")
    paris = next(row for row in document["edges"] if row["relation"] == "lives_in")
    paris |= {"invalid_at": "2026-03-01T00:00:00Z", "invalid_at_source": "stated"}
    await tell_facts(
        core,
        edge("ALICE", "works at", "Acme", valid_at="2025-06-01"),
        edge("Alice", "lives in", "Paris", valid_at="2025-01-10"),
        edge("Bob", "knows", "Alice"),
    )
    taken = await take_in(core, document, dataset="main")
    assert taken.merged == {"entities": 3, "edges": 2} and taken.added == {"artifacts": 1}
    edges = {row["relation"]: row for row in (await whole(core))["edges"]}
    assert len(edges) == 3
    assert edges["lives_in"]["invalid_at"] == "2026-03-01T00:00:00Z"
    assert edges["works_at"]["invalid_at"] is None


async def test_vectors_of_what_came_in_are_made_later(core: Core, tables: Tables) -> None:
    await tell_facts(core, edge("Alice", "knows", "Bob"))
    taken = await take_in(core, await exported(core), dataset="two")
    assert taken.pending_vectors == 3
    found = await core.graph.dataset("u1", "two")
    assert found is not None and core.vectors is not None
    assert (await core.vectors.catch_up(found)).pending == 0
    assert tables.count("gb_vector_outbox") == 0


MINIMAL: dict[str, Any] = {
    "format": "gligabao-graph",
    "version": 1,
    "dataset": "main",
    "exported_at": "2026-01-01T00:00:00Z",
    "entities": [{"id": 1, "name": "Alice"}, {"id": 2, "name": "Acme"}],
    "edges": [{"id": 1, "source_id": 1, "target_id": 2, "relation": "Works at"}],
}


async def test_a_document_that_somebody_wrote_by_hand_needs_little(core: Core) -> None:
    await take_in(core, MINIMAL)
    (fact,) = (await whole(core))["edges"]
    assert (fact["relation"], fact["valid_at"]) == ("works_at", "2026-01-01T00:00:00Z")


def broken(section: str, **more: object) -> bytes:
    rows = [dict(row) for row in MINIMAL[section]]
    rows[-1] |= more
    return json.dumps(MINIMAL | {section: rows}).encode()


@pytest.mark.parametrize(
    ("document", "wrong"),
    [
        (b"", "line 1: the document ends early"),
        (b"{}", "format: is missing"),
        (json.dumps(MINIMAL)[:-9].encode(), "line 1: is not valid JSON"),
        (
            json.dumps(MINIMAL | {"version": 2}).encode(),
            "version: the document has version 2, this release reads up to 1",
        ),
        (json.dumps(MINIMAL | {"format": "other"}).encode(), "format: must be gligabao-graph"),
        (json.dumps(MINIMAL | {"extra": []}).encode(), "unknown field 'extra'"),
        (json.dumps(MINIMAL | {"exported_at": "2999-01-01"}).encode(), "exported_at: is in the future"),
        (broken("edges", target_id=9), "edges[0] (line 1): target_id: there is no 9 among the entities"),
        (broken("edges", valid_at="soon"), "edges[0] (line 1): valid_at: must be an RFC 3339 time"),
        (broken("edges", surprise=1), "edges[0] (line 1): surprise: extra inputs"),
        (broken("edges", id="1"), "edges[0] (line 1): id: input should be a valid integer"),
        (broken("entities", id=1), "entities[1] (line 1): id: 1 is there twice"),
        (broken("entities", name=" "), "entities[1] (line 1): name: must be a name"),
        (broken("entities", created_at="2999-01-01T00:00:00Z"), "entities[1] (line 1): created_at: is in the future"),
        (b'{"type":"graph","format":"gligabao-graph","version":1}\n', "line 1: the document ends early"),
        (b'{"type":"graph","format":"gligabao-graph","version":1}\nnope\n', "line 2: is not valid JSON"),
        (
            b'{"type":"graph","format":"gligabao-graph","version":1}\n{"type":"end","rows":3}\n',
            "line 2: the document has 0",
        ),
        (b"\xff\xfe", "the document is not UTF-8"),
    ],
)
async def test_a_broken_document_is_refused_by_its_place_and_nothing_is_stored(
    plain: Core, tables: Tables, document: bytes, wrong: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await take_in(plain, document)
    assert wrong in refused.value.message
    assert (tables.count("gb_datasets"), tables.count("gb_entities"), tables.count("gb_edges")) == (0, 0, 0)


async def test_only_the_users_own_dataset_is_exported(core: Core) -> None:
    await tell_facts(core, edge("Alice", "knows", "Bob"), dataset="mine")
    for user_id, there in (("u1", "the datasets of this user are mine"), ("u2", "this user has none yet")):
        with pytest.raises(UnknownDataset, match=there):
            await exported(core, user_id=user_id)


async def test_an_export_is_one_snapshot_and_is_given_back(opened: Opener) -> None:
    """What is written meanwhile is not in it; a reader that goes away leaves no transaction open."""
    async with opened() as core:
        await tell_facts(core, edge("Alice", "knows", "Bob"))
        before = await exported(core)
        stream = await export(core, ExportRequest(user_id="u1"))
        await tell_facts(core, edge("Dan", "knows", "Carla"))
        async with aclosing(stream):
            assert b"".join([piece async for piece in stream]) == before
        gone = await export(core, ExportRequest(user_id="u1"))
        await gone.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(gone)
        assert b"Carla" in await exported(core)


# Other formats, read by others ----------------------------------------------------------------------------------------


def quads(body: bytes, format: ox.RdfFormat) -> ox.Store:
    store = ox.Store()
    store.bulk_load(body, format)
    return store


def values(store: ox.Store, predicate: str) -> set[str]:
    """What the statements of that predicate say, in every graph."""
    found = (quad.object for quad in store.quads_for_pattern(None, ox.NamedNode(predicate), None, None))
    return {term.value for term in found if isinstance(term, ox.Literal | ox.NamedNode)}


async def test_turtle_and_nquads_reify_each_fact_and_state_what_is_true_now(core: Core, model: ScriptedModel) -> None:
    await story(core, model)
    ids = {row["name"]: row["id"] for row in (await whole(core))["entities"]}
    for format, kind in (("turtle", ox.RdfFormat.TURTLE), ("nquads", ox.RdfFormat.N_QUADS)):
        store = quads(await exported(core, format), kind)
        start = "urn:gligabao:main:"

        def ask(pattern: str, store: ox.Store = store) -> bool:
            text = f"PREFIX rdf: <{RDF}> PREFIX gb: <{GB}> ASK {{ {pattern} }}"
            return bool(store.query(text, use_default_graph_as_union=True))

        alice, paris, berlin = (f"<{start}entity/{ids[name]}>" for name in ("Alice", "Paris", "Berlin"))
        lives = f"<{start}relation/lives_in>"
        assert ask(f"{alice} {lives} {berlin}") and not ask(f"{alice} {lives} {paris}")
        assert ask(f"?fact rdf:reifies <<( {alice} {lives} {paris} )>> ; gb:expiredAt ?at ; gb:statedIn ?artifact")
        names = values(store, "http://www.w3.org/2000/01/rdf-schema#label")
        assert {"Alice", "日本"} <= names and any("O'Hara" in name for name in names)
        assert ask(f"?a <{start}relation/likes_a%2Fb_%231> ?b")


async def test_the_base_of_the_iris_can_be_chosen(core: Core) -> None:
    await tell_facts(core, edge("Alice", "knows", "Bob"))
    body = await exported(core, "turtle", base_iri="https://example.org/kb/")
    assert b"<https://example.org/kb/entity/1> <https://example.org/kb/relation/knows>" in body
    with pytest.raises(ValueError, match="base_iri"):
        ExportRequest(user_id="u1", base_iri="no iri>")


async def test_jsonld_is_read_as_rdf(core: Core, model: ScriptedModel) -> None:
    await story(core, model)
    store = quads(await exported(core, "jsonld"), ox.RdfFormat.JSON_LD)
    assert len(values(store, f"{GB}validAt")) >= 4
    sources = values(store, f"{GB}source")
    assert len(sources) == 2 and all(iri.startswith("urn:gligabao:main:entity/") for iri in sources)


async def test_graphml_is_read_by_networkx(core: Core, model: ScriptedModel) -> None:
    await story(core, model)
    await tell_facts(core, edge("Bell\x07", "rings", "Bob", description="a\x0bb"))
    load: Any = networkx.read_graphml  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    read: Any = load(io.BytesIO(await exported(core, "graphml")), force_multigraph=True)
    names = {data["name"] for _, data in read.nodes(data=True)}
    assert {"Alice", "Paris", "Bell", "日本"} <= names
    facts = {data["relation"]: data for *_, data in read.edges(data=True)}
    assert facts["worked_at"]["invalid_at"].startswith("2021-12-31")
    assert facts["rings"]["description"] == "ab"


async def test_csv_holds_every_value_as_it_is(core: Core, model: ScriptedModel) -> None:
    await story(core, model)
    archive = zipfile.ZipFile(io.BytesIO(await exported(core, "csv")))
    nodes, facts = (list(csv.DictReader(io.StringIO(archive.read(n).decode(), ""))) for n in ("nodes.csv", "facts.csv"))
    native = await whole(core)
    assert [row["name"] for row in nodes] == [row["name"] for row in native["entities"]]
    assert "=cmd|' /C calc'!A0" in {row["name"] for row in nodes}
    assert [row["description"] for row in facts] == [row["description"] for row in native["edges"]]
    assert {row[":TYPE"] for row in facts} == {"lives_in", "likes_a/b_#1", "worked_at"}


async def test_cypher_keeps_names_out_of_its_statements(core: Core) -> None:
    await tell_facts(core, edge("a\\", "x'}) DETACH DELETE n //", "\\u0027}) DETACH DELETE n //", description="1\n2"))
    body = (await exported(core, "cypher")).decode()
    assert "'a\\\\'" in body and "relation: 'x\\'})_detach_delete_n_//'" in body
    assert "'\\\\' + 'u0027}) DETACH DELETE n //'" in body, "no backslash stands before a u"
    assert body.count(";\n") == 3 and body.endswith("// end\n")


async def test_markdown_is_a_note_for_each_entity_with_links_and_dates(core: Core, model: ScriptedModel) -> None:
    await story(core, model)
    await tell_facts(core, edge("CON", "is", "a/b:c"), edge("A/B?C", "is", "alice."), edge("a\\b*c", "is", "ALICE:"))
    archive = zipfile.ZipFile(io.BytesIO(await exported(core, "markdown")))
    names = archive.namelist()
    assert len({name.casefold() for name in names}) == len(names)
    assert {"Alice.md", "_CON.md", "a-b-c.md", "A-B-C (other).md", "a-b-c (other) 2.md"} <= set(names)
    note = archive.read("Alice.md").decode()
    assert 'type: "person"' in note and "an architect" in note
    assert "- lives in [[Paris]] (since 2025-01-10, until 2026-03-01, superseded)" in note
    assert "- lives in [[Berlin]] (since 2026-03-01)" in note
    assert "- [[Alice]] lives in (since 2026-03-01)" in archive.read("Berlin.md").decode()


@pytest.mark.parametrize("name", ["..", "a" * 300, "語" * 200, "nul.txt", " . ", "a\nb", "x#y|z", "COM¹", "a."])
def test_a_file_name_is_one_everywhere(name: str) -> None:
    safe = safe_name(name, " (type)")
    for shown in (safe, safe_name(name)):
        assert 0 < len(shown.encode()) <= 170
        assert not set('<>:"/\\|?*#^[]\n') & set(shown)
        assert shown.strip(" .") and not shown.endswith((" ", "."))
        assert shown.split(".")[0].lower() not in ("nul", "com¹", "con")


async def test_system_times_come_along(core: Core) -> None:
    await tell_facts(core, edge("Alice", "knows", "Bob"))
    first = await whole(core)
    await take_in(core, first, dataset="two")
    (fact,) = (await whole(core, dataset="two"))["edges"]
    assert fact["created_at"] == first["edges"][0]["created_at"]
    assert datetime.fromisoformat(fact["created_at"]) <= core.clock()


async def test_what_no_database_holds_is_cleaned_and_told(core: Core) -> None:
    document = MINIMAL | {"entities": [{"id": 1, "name": "Al\x00ice \ud800 😀"}, {"id": 2, "name": "Acme"}]}
    taken = await take_in(core, document)
    assert [row["name"] for row in (await whole(core))["entities"]] == ["Alice \ufffd 😀", "Acme"]
    assert taken.warnings == [
        "entities[0] (line 1): removed 1 NUL character",
        "entities[0] (line 1): replaced 1 lone surrogate",
    ]
