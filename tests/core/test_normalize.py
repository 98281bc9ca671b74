"""Who is who: which names are one entity, and which endpoint an edge gets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.core import Core
from core.engine import NoEngine
from gligabao_mcp.providers.scripted import ScriptedModel
from tests.conftest import Tables
from tests.facts import ask, edge, graph, tell, tell_facts, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


@requirement("normalize.entity-type", "normalize.relation", "normalize.entity-identity", "remember.entities-normalized")
async def test_types_relations_and_names_are_normalised_before_they_are_stored(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    model.replies(
        graph(" Ada  Lovelace :Person:", "ada lovelace:PERSON:a mathematician", "Engine::", "Engine:other:"),
        graph("ADA\tLOVELACE:person", edges=[edge("Ada lovelace", "Wrote About", "engine")]),
    )
    told = await tell(plain, "Ada.")
    assert [(e.name, e.type, e.description) for e in told.entities] == [
        ("Ada Lovelace", "person", "a mathematician"),
        ("Engine", "other", None),
    ]
    again = await tell(plain, "Ada wrote about the engine.")
    assert [(e.id, e.name) for e in again.entities] == [(told.entities[0].id, "Ada Lovelace")]
    (fact,) = again.edges
    assert (fact.source, fact.relation, fact.target) == ("Ada Lovelace", "wrote_about", "Engine")
    assert tables.count("gb_entities") == 2


@requirement("normalize.description-kept", "models.merged-keeps-its-own")
async def test_a_description_is_replaced_only_by_one_that_says_something(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    told: list[str | None] = []
    for described in ("Bo:person:a potter", "Bo:person:", "Bo:person:  ", "Bo:person:a weaver", "Bo:person:a weaver"):
        model.replies(graph(described))
        told.append((await tell(plain, "Bo.")).entities[0].description)
    # What the text says, not what is stored.
    assert told == ["a potter", None, None, "a weaver", "a weaver"]
    (row,) = tables.rows("SELECT description, desc_key, text_seq, created_seq, name FROM gb_entities")
    assert row == {"description": "a weaver", "desc_key": "a weaver", "text_seq": 4, "created_seq": 1, "name": "Bo"}
    assert tables.rows("SELECT seq, description FROM gb_entity_versions") == [{"seq": 4, "description": "a potter"}]


@requirement("normalize.endpoint-resolution", "store.entity-links")
async def test_an_endpoint_is_the_listed_entity_else_the_stored_one_else_a_new_one_of_type_other(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    """C002, C031: the stored row, whatever its type, comes before a new one."""
    model.replies(graph("LoomDB:concept", "Rust:language"))
    stored = {e.name: e.id for e in (await tell(plain, "LoomDB, Rust.")).entities}
    model.replies(graph("Nia:person", edges=[edge("nia", "uses", "loomdb"), edge("LOOMDB", "needs", "Zig")]))
    told = await tell(plain, "Nia uses LoomDB, which needs Zig.")
    uses, needs = told.edges
    assert (uses.source_id, uses.target_id) == (told.entities[0].id, stored["LoomDB"])
    assert (needs.source_id, needs.source, needs.target) == (stored["LoomDB"], "LoomDB", "Zig")
    kinds = {row["name"]: row["type"] for row in tables.rows("SELECT name, type FROM gb_entities")}
    assert kinds == {"LoomDB": "concept", "Rust": "language", "Nia": "person", "Zig": "other"}
    linked = tables.rows(
        "SELECT e.name FROM gb_entity_artifacts l JOIN gb_entities e ON e.id = l.entity_id "
        "WHERE l.artifact_id = :id ORDER BY e.name",
        id=told.artifact_id,
    )
    assert [row["name"] for row in linked] == ["LoomDB", "Nia", "Zig"]

    # Typed otherwise, it is a row of its own; a question about the name finds the facts of both.
    model.replies(graph("LoomDB:technology", edges=[edge("LoomDB", "written_in", "Rust")]), verdicts(verdict()))
    retold = await tell(plain, "LoomDB is written in Rust.")
    assert retold.entities[0].id == retold.edges[0].source_id != stored["LoomDB"]
    assert retold.edges[0].target_id == stored["Rust"]
    asked = await ask(plain, "What is LoomDB?", answer=False)
    assert {e.relation for e in asked.evidence.edges} == {"uses", "needs", "written_in"}


@requirement("normalize.entity-identity", "store.entity-links")
async def test_one_name_however_it_is_written_is_one_entity(core: Core, tables: Tables) -> None:
    """C001 (however short, the same name is the same entity), C005, C008."""
    for spellings in (
        ["KQRA", "KQRA", "KQRA", "KQRA"],
        ["@VeraKoss", "verakoss", "@verakoss", "#VeraKoss"],
        ["\u200fليلى\u200f", "ليلى", "\u2067ليلى\u2069"],
        ["Zoë Groß", "ZOE\u0308 GROSS", "zoë\u00a0 groß"],
    ):
        told = [
            await tell_facts(
                replace(core, engine=NoEngine()),
                {"source": name, "target": f"thing {number}", "relation": "opened"},
                dataset=spellings[0].strip("\u200f"),
            )
            for number, name in enumerate(spellings)
        ]
        (source_id,) = {t.edges[0].source_id for t in told}
        assert {t.edges[0].source for t in told} == {spellings[0]}  # the first spelling is shown
        links = tables.rows("SELECT artifact_id FROM gb_entity_artifacts WHERE entity_id = :id", id=source_id)
        assert {row["artifact_id"] for row in links} == {t.artifact_id for t in told}
        asked = await ask(core, f"What did {spellings[1]} open?", answer=False, dataset=spellings[0].strip("\u200f"))
        assert len(asked.evidence.edges) == len(spellings)


@requirement("normalize.entity-identity")
async def test_names_that_only_look_alike_stay_apart(core: Core, tables: Tables) -> None:
    """C004, C007: a digit or a letter more is another thing, in every script, whatever a vector says."""
    names = ["VX7103", "VX7105", "VX7103A", "张伟", "王芳", "Анна", "Anna", "🦊🦊", "🦊", "Ann", "C", "C++", "C#"]
    for name in names:
        fact: dict[str, object] = {"source": name, "target": f"{name} W", "relation": "draws"}
        told = await tell_facts(replace(core, engine=NoEngine()), fact)
        assert told.warnings is None
    rows = tables.rows("SELECT name, name_key FROM gb_entities WHERE name NOT LIKE '% W'")
    assert sorted(row["name"] for row in rows) == sorted(names)
    assert all(row["name_key"] for row in rows)
    asked = await ask(core, "How much does VX7103 draw?", answer=False)
    assert asked.evidence.edges[0].target in ("VX7103 W", "VX7103A W")
    assert "VX7105" not in {e.source for e in asked.evidence.edges}


async def test_a_name_of_nothing_is_left_out_and_said_and_the_rest_is_kept(plain: Core, tables: Tables) -> None:
    """C007, C031: never a shared bucket for what has no name; C034: nor a name that no index takes."""
    entities = [{"name": name} for name in ("\u200b\u200f", "@", " ", "Bo", "x" * 60_000)]
    edges = [{"source": "Bo", "target": target, "relation": "likes"} for target in ("\u2060", "#", "tea", "y" * 60_000)]
    told = await tell(plain, "Bo likes tea.", entities=entities, edges=edges)
    assert [row["name"] for row in tables.rows("SELECT name FROM gb_entities ORDER BY id")] == ["Bo", "tea"]
    assert told.warnings == [
        "left out an entity without a name (3 times)",
        "left out an entity whose name or type has more than 1000 bytes",
        "left out an edge without a source, a target or a relation (2 times)",
        "left out an edge with a name or relation of more than 1000 bytes",
    ]
    # As long as it may be, and of a kind that no database can compress.
    longest = "".join(chr(0x4E00 + i * 37 % 20_000) for i in range(333))
    edges = [{"source": longest, "target": longest[::-1], "relation": longest[1:]}]
    told = await tell(plain, "Long.", entities=[{"name": longest, "type": longest}], edges=edges)
    assert len(told.edges) == 1
    assert told.warnings is None
