"""Candidates: the stored facts that new ones are compared with, and that no other fact is touched."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from core.core import Core
from core.engine import NoEngine
from core.errors import ModelFailed
from core.extraction import RawEdge, RawEntity, read_extraction
from core.graph import Dataset, Extraction
from core.inferences import Inference
from core.ports import Hit
from core.remember.load_candidates import NEAREST, close, endpoint_texts
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from tests.conftest import Tables
from tests.facts import ask, edge, graph, tell, tell_facts, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

# Descriptions that are alike make vectors that are alike.
ENGINEER = "engineer for bridges in the north of the country since school"


def extraction(*edges: tuple[str, str, str], entities: tuple[RawEntity, ...] = ()) -> Extraction:
    raw = [RawEdge(source, target, relation) for source, relation, target in edges]
    return read_extraction(entities, raw, reference_time=datetime(2026, 1, 1, tzinfo=UTC), model_id="m")


def fact(source: str, relation: str, target: str) -> dict[str, object]:
    return {"source": source, "relation": relation, "target": target}


def shown(model: ScriptedModel) -> list[int]:
    """The ids of the candidates that the last comparison was shown, in order."""
    prompt = model.prompts[-1]
    assert prompt.schema_name == "resolve_edges"
    return [int(number) for number in re.findall(r"^\[(\d+)\]", prompt.user, flags=re.MULTILINE)]


async def main(core: Core) -> Dataset:
    dataset = await core.graph.dataset("u1", "main")
    assert dataset is not None
    return dataset


@requirement("candidates.by-name", "candidates.touch-an-endpoint", "candidates.found-by", "candidates.merged-by-edge")
async def test_a_fact_that_touches_an_endpoint_is_a_candidate_once(plain: Core) -> None:
    core = replace(plain, engine=NoEngine())
    told = await tell_facts(
        core,
        fact("Ana", "knows", "Bo"),
        fact("Cy", "hired", "Ana"),
        fact("Cy", "knows", "Di"),
        fact("Eve", "is", "Fay"),
    )
    knows, hired, cy_di, _ = (e.id for e in told.edges)
    ids = {e.source: e.source_id for e in told.edges} | {e.target: e.target_id for e in told.edges}
    dataset = await main(core)

    async def found(similar: dict[int, float], *edges: tuple[str, str, str]) -> dict[int, str]:
        known = await core.graph.known(dataset, extraction(*edges), similar)
        return {c.edge.id: c.found_by for c in known.candidates}

    ana = (" ANA ", "likes", "tea")
    assert await found({}, ana) == {knows: "name", hired: "name"}
    assert await found({}, ("tea", "suits", "ana")) == {knows: "name", hired: "name"}
    assert await found({ids["Cy"]: 0.8}, ana) == {knows: "name", hired: "name+similar", cy_di: "similar"}
    # Similar to itself is no way of being found.
    assert await found({ids["Ana"]: 1.0}, ana) == {knows: "name", hired: "name"}
    assert await found({}, ("Gus", "likes", "tea")) == {}
    # An index may name what is not there any more.
    assert await found({99_999: 0.9}, ana) == {knows: "name", hired: "name"}


@requirement(
    "candidates.newest-50",
    "candidates.nothing-else-touched",
    "candidates.merged-by-edge",
    "candidates.live-only",
    "candidates.liveness-from-database",
)
async def test_the_newest_fifty_live_facts_are_compared_and_no_other_is_touched(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    core = replace(plain, engine=NoEngine())
    old = await tell_facts(core, fact("Ana", "lives_in", "Paris"), *(fact("Ana", "knows", f"p{i}") for i in range(39)))
    paris = old.edges[0].id
    similar = await tell_facts(core, *(fact("Anna", "knows", f"q{i}") for i in range(30)))
    moved = await tell_facts(core, fact("Anna", "lives_in", "Oslo"))
    gone = await tell_facts(core, fact("Anna", "lives_in", "Bern"))
    assert gone.invalidated_edges == [moved.edges[0].id]

    known = await core.graph.known(
        await main(core), extraction(("Ana", "lives_in", "Rome")), {similar.edges[0].source_id: 0.9}
    )
    ids = [c.edge.id for c in known.candidates]
    newest = sorted([e.id for t in (old, similar, gone) for e in t.edges], reverse=True)[:50]
    assert ids == newest
    assert moved.edges[0].id not in ids
    assert {c.found_by for c in known.candidates} == {"name", "similar"}

    await tell_facts(core, *(fact("Ana", "likes", f"r{i}") for i in range(11)))
    model.replies(graph(edges=[edge("Ana", "lives_in", "Rome")]), verdicts(verdict(contradicts=[paris])))
    told = await tell(plain, "Ana lives in Rome.")
    assert len(shown(model)) == 50
    assert shown(model) == sorted(shown(model), reverse=True)
    assert paris not in shown(model)
    assert told.invalidated_edges == []
    assert tables.rows("SELECT invalid_at, expired_at FROM gb_edges WHERE id = :id", id=paris) == [
        {"invalid_at": None, "expired_at": None}
    ]


@requirement("candidates.similarity-limits", "candidates.by-similarity")
def test_only_what_is_close_counts_and_endpoints_are_searched_as_entities_are_embedded() -> None:
    assert NEAREST == 3
    assert [close(Hit(1, s)) for s in (0.7499, 0.75, 1.0, -1.0)] == [False, True, True, False]
    read = extraction(
        ("Ana", "knows", "Bo"),
        ("ana", "lives_in", "Oslo"),
        entities=(RawEntity("Ana", "Person", "a cook"), RawEntity("X")),
    )
    assert list(endpoint_texts(read).values()) == ["Ana (person): a cook", "Bo (other)", "Oslo (other)"]


@requirement(
    "candidates.finds-aliases",
    "candidates.by-similarity",
    "candidates.similarity-recorded",
    "remember.embedding-request-count",
    "store.edge-links",
)
async def test_an_alias_is_compared_but_only_the_comparison_decides(
    core: Core, model: ScriptedModel, embedder: HashEmbedder, tables: Tables
) -> None:
    """C010: similarity widens what is compared; it never joins or renames."""
    model.replies(graph(f"Alice Smith:person:{ENGINEER}", edges=[edge("Alice Smith", "lives_in", "Paris")]))
    paris = (await tell(core, "Alice Smith lives in Paris.")).edges[0]
    model.replies(graph(f"Alicia:person:{ENGINEER}", edges=[edge("Alicia", "likes", "tea")]), verdicts(verdict()))
    tea = await tell(core, "Alicia likes tea.")
    assert shown(model) == [paris.id]
    assert embedder.batches[1] == [f"Alicia (person): {ENGINEER}", "tea (other)"]
    assert tea.invalidated_edges == []
    assert tea.entities[0].name == "Alicia"

    berlin = edge("Alicia", "lives_in", "Berlin", valid_at="2027-01-01")
    model.replies(graph(f"Alicia:person:{ENGINEER}", edges=[berlin]), verdicts(verdict(contradicts=[paris.id])))
    assert (await tell(core, "Alicia moves to Berlin in 2027.")).invalidated_edges == [paris.id]
    model.replies(
        graph(
            f"Alicia:person:{ENGINEER}", edges=[edge("Alicia", "resides_in", "Paris", description="She resides there.")]
        ),
        verdicts(verdict(duplicate_of=paris.id)),
    )
    merged = await tell(core, "Alicia resides in Paris.")
    assert [(e.id, e.source, e.relation) for e in merged.edges] == [(paris.id, "Alice Smith", "lives_in")]
    linked = tables.rows("SELECT artifact_id FROM gb_edge_artifacts WHERE edge_id = :id ORDER BY 1", id=paris.id)
    assert [row["artifact_id"] for row in linked] == [paris.artifact_id, merged.artifact_id]
    names = {row["name"] for row in tables.rows("SELECT name FROM gb_entities")}
    assert names == {"Alice Smith", "Alicia", "Paris", "tea", "Berlin"}

    (stage,) = tables.rows(
        "SELECT inference_ids FROM gb_remember_run_stages WHERE run_id = 2 AND stage = 'load_candidates'"
    )
    (call,) = tables.rows(
        "SELECT id, type, stage, model FROM gb_inferences WHERE run_id = 2 AND stage = 'search_similar'"
    )
    assert (call["type"], call["model"]) == ("embedding", "hash-1")
    assert str(stage["inference_ids"]).strip("[]") == str(call["id"])


@requirement("candidates.similarity-limits", "candidates.edges-not-searched")
async def test_three_neighbours_count_and_a_fact_alone_is_no_neighbour(core: Core, model: ScriptedModel) -> None:
    quiet = replace(core, engine=NoEngine())
    for name in ("Ada", "Bea", "Cleo", "Dora", "Else"):
        entities = [{"name": name, "type": "person", "description": ENGINEER}]
        await tell(quiet, "Told.", entities=entities, edges=[fact(name, "likes", f"the {name} tea")])
    model.replies(graph(f"Fay:person:{ENGINEER}", edges=[edge("Fay", "likes", "rum")]), verdicts(verdict()))
    await tell(core, "Fay likes rum.")
    assert len(shown(model)) == 3
    before = len(model.prompts)
    paraphrase = edge("Zeno", "enjoys", "milk", description="the Ada tea is what Ada likes")
    model.replies(graph(edges=[paraphrase]))
    await tell(core, "Zeno enjoys milk.")
    assert len(model.prompts) == before + 1


@requirement("candidates.similarity-may-fail", "inferences.recorded")
async def test_without_the_similarity_search_names_decide(
    core: Core, model: ScriptedModel, embedder: HashEmbedder, tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    model.replies(graph(edges=[edge("Ana", "lives_in", "Paris", valid_at="2020")]))
    paris = (await tell(core, "Ana lives in Paris.")).edges[0]
    failed = Inference("scripted", "hash-1", "hash-1", error="out of reach")
    embedder.fails(ModelFailed("out of reach", inferences=[failed]))
    model.replies(graph(edges=[edge("Ana", "lives_in", "Rome")]), verdicts(verdict(contradicts=[paris.id])))
    told = await tell(core, "Ana lives in Rome.")
    assert told.invalidated_edges == [paris.id]
    assert (told.embedded_entities, told.embedded_edges) == (2, 1)
    assert "candidates are searched by name alone: out of reach" in caplog.messages
    (stage,) = tables.rows(
        "SELECT status, error FROM gb_remember_run_stages WHERE run_id = 2 AND stage = 'load_candidates'"
    )
    assert stage == {"status": "succeeded", "error": "out of reach"}
    calls = tables.rows("SELECT error FROM gb_inferences WHERE run_id = 2 AND stage = 'search_similar'")
    assert calls == [{"error": "out of reach"}]


@requirement("candidates.same-dataset", "candidates.new-dataset-none")
async def test_another_dataset_and_another_user_have_no_candidates_to_give(core: Core, model: ScriptedModel) -> None:
    for user, dataset in (("u1", "main"), ("u1", "other"), ("u2", "main")):
        model.replies(graph(f"Ana:person:{ENGINEER}", edges=[edge("Ana", "lives_in", f"{user} {dataset}")]))
        await tell(core, "Ana moved.", user_id=user, dataset=dataset)
    assert {p.schema_name for p in model.prompts} == {"extract_graph"}
    asked = await ask(core, "Ana", answer=False)
    assert [e.target for e in asked.evidence.edges] == ["u1 main"]
