"""Long texts: cut into chunks, each read, summarised, stored and embedded on its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.core import Core
from core.engine import NoEngine
from core.errors import ModelFailed
from core.remember.chunk_text import spans
from core.tokens import count_tokens
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from tests.conftest import Opener, Tables
from tests.facts import Reply, edge, graph, tell, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

SENTENCE = "Ivo met {n} friends at the old harbour in Split and they talked about boats. "
LONG = "".join(SENTENCE.format(n=n) for n in range(30))
SIZE = 64


def part(place: str) -> Reply:
    """An extraction of one fact: Ivo visited the place."""
    return graph("Ivo:person", f"{place}:place", edges=[edge("Ivo", "visited", place)])


def summary(text: str = "Ivo met friends. They talked about boats.") -> Reply:
    return {"summary": text}


def scripted(model: ScriptedModel, *places: str) -> None:
    """What the model says of chunks: an extraction and a summary, and from the second one on a comparison."""
    for index, place in enumerate(places):
        model.replies(part(place), summary(f"Summary {index}."), *([verdicts()] if index else []))


def chunk_count() -> int:
    return len(spans(LONG, SIZE, 20))


def places() -> list[str]:
    return [f"Place{n}" for n in range(chunk_count())]


@requirement(
    "chunks.long-text",
    "chunks.parent",
    "chunks.listed",
    "chunks.union",
    "chunks.summary-fields",
    "chunks.each-on-its-own",
    "chunks.embedded-counts",
)
async def test_a_long_text_is_a_parent_with_chunks_and_their_summaries(
    opened: Opener, model: ScriptedModel, tables: Tables
) -> None:
    scripted(model, *places())
    async with opened(chunk_size=SIZE) as core:
        told = await tell(core, LONG, session_id="s1", kind="episode")
    assert told.chunks is not None
    assert told.embedded_chunks == told.embedded_summaries == len(told.chunks) == chunk_count() > 3
    parent = tables.rows("SELECT * FROM gb_artifacts WHERE id = :id", id=told.artifact_id)[0]
    assert (parent["text"], parent["kind"], parent["session_id"]) == (LONG, "episode", "s1")
    assert [chunk.index for chunk in told.chunks] == list(range(chunk_count()))
    for chunk in told.chunks:
        row = tables.rows("SELECT * FROM gb_artifacts WHERE id = :id", id=chunk.artifact_id)[0]
        assert row["text"] == LONG[chunk.start_offset : chunk.end_offset]
        assert (row["kind"], row["parent_id"], row["session_id"]) == ("chunk", told.artifact_id, "s1")
        assert chunk.tokens == count_tokens(row["text"]) <= SIZE
        assert [e.artifact_id for e in chunk.edges] == [chunk.artifact_id]
        assert [e.name for e in chunk.entities] == ["Ivo", f"Place{chunk.index}"]
        assert chunk.summary is not None
        assert (chunk.summary.text, chunk.summary.model) == (f"Summary {chunk.index}.", "scripted-1")
        assert chunk.summary.reasoning == "none"
    assert [e.target for e in told.edges] == places()
    assert [e.name for e in told.entities] == ["Ivo", *places()]
    links = tables.rows("SELECT DISTINCT artifact_id FROM gb_edge_artifacts ORDER BY artifact_id")
    assert [link["artifact_id"] for link in links] == [chunk.artifact_id for chunk in told.chunks]


@requirement("chunks.summary-artifact", "chunks.summary-model-registered", "chunks.summary-not-extracted")
async def test_a_summary_is_a_child_of_its_chunk_and_names_the_call_that_wrote_it(
    opened: Opener, model: ScriptedModel, tables: Tables
) -> None:
    scripted(model, *places())
    async with opened(chunk_size=SIZE) as core:
        told = await tell(core, LONG, models={"summarize_chunk": "sum-1"}, reasoning={"summarize_chunk": "low"})
    assert told.chunks is not None
    for chunk in told.chunks:
        assert chunk.summary is not None
        row = tables.rows("SELECT * FROM gb_artifacts WHERE id = :id", id=chunk.summary.artifact_id)[0]
        assert (row["kind"], row["parent_id"]) == ("chunk_summary", chunk.artifact_id)
        call = tables.rows("SELECT * FROM gb_inferences WHERE id = :id", id=row["inference_id"])[0]
        assert (call["stage"], call["model"], call["reasoning"]) == ("summarize_chunk", "sum-1", "low")
        assert chunk.summary.inference_id == row["inference_id"]
        assert (chunk.summary.model, chunk.summary.reasoning) == ("sum-1", "low")
    assert tables.rows("SELECT name FROM gb_models WHERE name = 'sum-1'")
    assert not any("Summary" in prompt.user for prompt in model.prompts if prompt.schema_name == "extract_graph")


@requirement(
    "models.summarize-chunk", "reasoning.summary-and-image-stages", "models.chunks-alike", "chunks.summary-call"
)
async def test_each_stage_of_a_chunk_runs_on_its_own_model(
    opened: Opener, model: ScriptedModel, tables: Tables
) -> None:
    scripted(model, *places())
    async with opened(chunk_size=SIZE) as core:
        chosen = {"extract_graph": "big-1", "summarize_chunk": "small-1"}
        await tell(core, LONG, models=chosen, reasoning={"summarize_chunk": "high"})
    asked = [(p.schema_name, c.model, c.reasoning) for p, c in zip(model.prompts, model.choices, strict=True)]
    assert set(asked) == {
        ("extract_graph", "big-1", "none"),
        ("summarize_chunk", "small-1", "high"),
        ("resolve_edges", "", "none"),
    }
    assert {p.max_tokens for p in model.prompts if p.schema_name == "summarize_chunk"} == {512}
    assert {row["model_id"] for row in tables.rows("SELECT model_id FROM gb_edges")} == {"big-1"}
    assert {row["model_id"] for row in tables.rows("SELECT model_id FROM gb_entities")} == {"big-1"}


@requirement("chunks.one-embedding-request", "chunks.vectors", "chunks.call-count")
async def test_a_chunk_is_embedded_in_one_request_its_own_text_and_summary_last(
    opened: Opener, model: ScriptedModel, embedder: HashEmbedder, tables: Tables
) -> None:
    scripted(model, *places())
    async with opened(chunk_size=SIZE) as core:
        told = await tell(core, LONG)
        assert told.chunks is not None
        dataset = await core.graph.dataset("u1", "main")
        assert dataset is not None and core.vectors is not None
        for index, texts in (
            ("chunks", [(c.artifact_id, LONG[c.start_offset : c.end_offset]) for c in told.chunks]),
            ("summaries", [(c.summary.artifact_id, c.summary.text) for c in told.chunks if c.summary]),
        ):
            wanted = (await embedder.embed([text for _, text in texts])).vectors
            found = await core.vectors.search(dataset, index, wanted, len(texts))  # pyright: ignore[reportArgumentType]
            for (artifact_id, _), hits in zip(texts, found, strict=True):
                near = {hit.ref_id: hit.similarity for hit in hits}
                assert near.keys() == {i for i, _ in texts}
                assert near[artifact_id] > 0.999
    batch = embedder.batches[0]
    first = told.chunks[0]
    assert batch[-2:] == [LONG[: first.end_offset], "Summary 0."]
    assert batch[:2] == ["Ivo (person)", "Place0 (place)"]
    stored = tables.rows("SELECT count(*) AS n FROM gb_inferences WHERE stage = 'embed'")
    assert stored == [{"n": chunk_count()}]
    assert len(model.prompts) == 3 * chunk_count() - 1


@requirement("chunks.only-when-chunked", "chunks.settings")
async def test_a_text_of_exactly_the_size_of_a_chunk_is_not_chunked(opened: Opener, model: ScriptedModel) -> None:
    text = "Ivo visited Rome."
    size = count_tokens(text)
    model.replies(part("Rome"))
    async with opened(chunk_size=size) as core:
        told = await tell(core, text)
    assert (told.chunks, told.embedded_chunks, told.embedded_summaries) == (None, None, None)
    assert [prompt.schema_name for prompt in model.prompts] == ["extract_graph"]


@requirement("chunks.summary-failure", "chunks.truncated")
@pytest.mark.parametrize("fails", ["extract_graph", "summarize_chunk"])
async def test_a_failure_in_the_first_chunk_stores_nothing(
    fails: str, opened: Opener, model: ScriptedModel, tables: Tables
) -> None:
    model.replies(*([part("Rome")] if fails == "summarize_chunk" else []), "no JSON", "no JSON")
    async with opened(chunk_size=SIZE) as core:
        with pytest.raises(ModelFailed) as failure:
            await tell(core, LONG)
    assert failure.value.saved == {}
    for table in ("gb_artifacts", "gb_entities", "gb_edges", "gb_vector_outbox"):
        assert tables.count(table) == 0


@requirement("chunks.failure-keeps-earlier")
async def test_a_failure_in_a_later_chunk_keeps_those_before_it_and_says_so(
    opened: Opener, model: ScriptedModel, tables: Tables
) -> None:
    """C041: a failed piece leaves the others, and the reply says which."""
    scripted(model, "Place0", "Place1")
    model.replies("no JSON", "no JSON")
    async with opened(chunk_size=SIZE) as core:
        with pytest.raises(ModelFailed, match=f"part 3 of {chunk_count()}") as failure:
            await tell(core, LONG)
        saved = failure.value.saved
        stored = cast("list[dict[str, Any]]", saved["chunks"])
        assert [chunk["index"] for chunk in stored] == [0, 1]
        rows = tables.rows("SELECT kind, count(*) AS n FROM gb_artifacts GROUP BY kind ORDER BY kind")
        assert rows == [{"kind": "chunk", "n": 2}, {"kind": "chunk_summary", "n": 2}, {"kind": "knowledge", "n": 1}]
        (run,) = tables.rows("SELECT status, error FROM gb_remember_runs")
        assert run["status"] == "failed" and "part 3" in run["error"]
        # Sent again, nothing that was stored is there twice.
        scripted(model, "Place0")
        for place in places()[1:]:
            model.replies(part(place), summary(), {"results": []})
        await tell(core, LONG)
    assert tables.count("gb_edges") == chunk_count()


async def test_a_later_chunk_compares_with_the_facts_of_the_chunks_before_it(
    opened: Opener, model: ScriptedModel, tables: Tables
) -> None:
    """C032: the same fact in two chunks is one, linked to both."""
    model.replies(part("Rome"), summary())
    for _ in range(chunk_count() - 1):
        model.replies(part("Rome"), summary())
    async with opened(chunk_size=SIZE) as core:
        told = await tell(core, LONG)
    assert told.chunks is not None
    assert len(told.edges) == 1
    assert tables.count("gb_edge_artifacts") == chunk_count()


async def test_facts_given_with_a_long_text_go_to_the_chunk_that_names_them(
    opened: Opener, model: ScriptedModel
) -> None:
    text = LONG + "Zora owns a kiln. " + LONG
    for _ in spans(text, SIZE, 20):
        model.replies(summary())
    async with opened(chunk_size=SIZE) as core:
        told = await tell(core, text, edges=[edge("Zora", "owns", "kiln"), edge("Ivo", "met", "friends")])
    assert told.chunks is not None
    holder = next(chunk for chunk in told.chunks if "Zora" in text[chunk.start_offset : chunk.end_offset])
    assert [(e.source, e.artifact_id) for e in holder.edges] == [("Zora", holder.artifact_id)]
    assert [e.source for e in told.chunks[0].edges] == ["Ivo"]


async def test_noise_inside_a_long_text_is_kept_unread(opened: Opener, model: ScriptedModel, tables: Tables) -> None:
    """C049"""
    noise = "QUJDRA==" * 2000
    text = f"{LONG * 6}\n\n{noise}\n\n{LONG * 6}"
    model.replies(*[part("Rome"), summary()] * len(spans(text, 1024, 20)))
    async with opened(chunk_size=1024) as core:
        told = await tell(core, text)
    assert tables.rows("SELECT text FROM gb_artifacts WHERE id = :id", id=told.artifact_id) == [{"text": text}]
    read = sum(prompt.schema_name == "extract_graph" for prompt in model.prompts)
    assert told.chunks is not None and 0 < read < len(told.chunks)
    assert told.warnings is not None and "no facts were read from it" in told.warnings[0]


async def test_a_mebibyte_of_text_is_remembered(opened: Opener, model: ScriptedModel) -> None:
    text = (LONG * 600)[: 1024 * 1024]
    always: Reply = {"entities": [], "edges": [], "summary": "Boats."}
    talker = ScriptedModel(always=always)
    model.complete = talker.complete  # pyright: ignore[reportAttributeAccessIssue]
    async with opened() as core:
        told = await tell(core, text)
    assert told.chunks is not None and len(told.chunks) > 200
    assert told.embedded_chunks == len(told.chunks)


def test_the_whole_text_is_in_its_chunks_but_white_space() -> None:
    covered = spans(LONG, SIZE, 20)
    assert covered[0].start == 0
    for before, later in pairwise(covered):
        assert LONG[before.end : later.start].strip() == ""
        if later.start < before.end:
            assert later.overlap_tokens == count_tokens(LONG[later.start : before.end])
            assert later.overlap_tokens <= SIZE * 0.2
    assert LONG[covered[-1].end :].strip() == ""


@settings(max_examples=100, deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80).map(lambda t: t * 40),
    st.integers(0, 50),
)
def test_any_text_can_be_cut(text: str, overlap: int) -> None:
    if count_tokens(text) <= SIZE or not text.strip():
        return
    covered = spans(text, SIZE, overlap)
    end = 0
    for span in covered:
        assert text[span.start : span.end].strip()
        assert span.tokens == count_tokens(text[span.start : span.end]) <= SIZE
        assert text[end : span.start].strip() == ""
        end = max(end, span.end)
    assert text[end:].strip() == ""


async def test_a_long_text_told_by_a_caller_without_any_model_has_no_summaries(plain: Core) -> None:
    told = await tell(replace(plain, engine=NoEngine()), LONG * 8, edges=[])
    assert told.chunks and all(chunk.summary is None for chunk in told.chunks)
