"""Stage store: the vectors of the text, then everything in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from core.errors import ModelFailed
from core.graph import (
    Artifact,
    Dataset,
    Edge,
    Entity,
    Extraction,
    GraphChange,
    Known,
    StatedEdge,
    StatedEntity,
    Stored,
    Vectors,
    Verdict,
    entity_text,
)
from core.inferences import Inference
from core.ports import Embedder, GraphStore
from core.remember.run import Run, StageScope
from core.remember.stages import STORE
from core.temporal import settle
from core.text import DEFAULT_TYPE
from core.trajectory import Tool, recording


async def store(
    artifacts: Sequence[Artifact],
    extraction: Extraction,
    verdicts: Sequence[Verdict],
    known: Known,
    dataset: Dataset | None,
    graph: GraphStore,
    embedder: Embedder | None,
    run: Run,
    *,
    embed_later: bool,
) -> Stored:
    """The stored rows. The vectors are computed before the transaction opens, in one request; a failure stores nothing.
    With `embed_later` they wait for an embedder that fits the dataset.

    Raises Stale when the facts that the verdicts were decided on have moved.
    """
    async with run.stage(STORE) as entry:
        texts = embedding_texts(artifacts, extraction, verdicts, known) if embedder else []
        vectors = await _embed(texts, embedder, entry) if embedder and texts else None
        change = GraphChange(
            user_id=run.of.user_id,
            dataset=run.of.dataset,
            artifacts=artifacts,
            sources=sources(artifacts),
            extraction=extraction,
            verdicts=verdicts,
            read_seq=known.seq if dataset else None,
            clock=run.core.clock,
            run_id=run.of.run_id,
            vectors=vectors,
            embed_later=embed_later,
        )
        stored = await graph.write(change)
        if seen := recording():
            rows = {"entities": stored.entities, "edges": stored.edges, "invalidated": stored.invalidated}
            counts = ", ".join(f"{name} {len(some)}" for name, some in rows.items())
            seen.used(STORE.name, Tool("store", {"artifact_ids": stored.artifact_ids}, counts))
        run.core.monitor.stored(stored)
        return stored


def sources(artifacts: Sequence[Artifact]) -> list[int]:
    """The positions of the artifacts that were read: not the parent of a chunk, nor a summary."""
    parents = {artifact.parent for artifact in artifacts if artifact.kind == "chunk"}
    return [i for i, artifact in enumerate(artifacts) if i not in parents and artifact.kind != "chunk_summary"]


async def _embed(texts: Sequence[str], embedder: Embedder, entry: StageScope) -> Vectors:
    try:
        embedded = await embedder.embed(texts)
    except ModelFailed as failure:
        entry.called(failure.inferences, stage="embed", embedding=True)
        _show_embedding(texts, failure.inferences, entry, "", error=failure.message)
        # Without the calls: they are filed, as what they are, and the stage would file them as its own.
        raise type(failure)(failure.message) from failure
    entry.called([embedded.inference], stage="embed", embedding=True)
    _show_embedding(texts, [embedded.inference], entry, f"{len(texts)} vectors")
    return Vectors(embedder.model, embedder.dim, dict(zip(texts, embedded.vectors, strict=True)))


def _show_embedding(
    texts: Sequence[str], spent: Sequence[Inference], entry: StageScope, result: str, **extra: object
) -> None:
    if (seen := recording()) and spent:
        seen.used(STORE.name, Tool("embed", {"texts": len(texts)}, result), spent[-1], entry.last_ids()[0], **extra)


def embedding_texts(
    artifacts: Sequence[Artifact], extraction: Extraction, verdicts: Sequence[Verdict], known: Known
) -> list[str]:
    """The texts to embed, each once: the entities that the text mentions, the facts that it states, then the chunk or
    the messages themselves, and the summary.

    Each as its row will say it, for the store finds its vector by that text: a stored entity keeps its spelling, a
    repeated fact its description.
    """
    stated = {e.ref: e for e in extraction.entities}
    for edge in extraction.edges:
        for name in (edge.source, edge.target):
            stated.setdefault(extraction.ref(name), StatedEntity(name, DEFAULT_TYPE))
    rows = {ref: _as_stored(entity, known.entities.get(ref)) for ref, entity in stated.items()}
    read = [artifacts[i] for i in sources(artifacts)]
    facts: list[str] = []
    for index, edge in enumerate(extraction.edges):
        if repeated := _repeated(
            read[edge.said_in[0]].valid_at, edge, verdicts[index], known.same.get(index, ()), known
        ):
            facts.append(repeated.as_text)
        else:
            source, target = rows[extraction.ref(edge.source)], rows[extraction.ref(edge.target)]
            facts.append(replace(edge, source=source.name, target=target.name).as_text)
    mentioned = [entity_text(e.name, e.type, e.description) for e in rows.values()]
    themselves = [artifact.as_text for artifact in artifacts if artifact.index]
    return list(dict.fromkeys([*mentioned, *facts, *themselves]))


def _as_stored(stated: StatedEntity, stored: Entity | None) -> StatedEntity:
    return StatedEntity(stored.name, stored.type, stated.description or stored.description) if stored else stated


def _repeated(
    reference_time: datetime, edge: StatedEdge, verdict: Verdict, same: Sequence[Edge], known: Known
) -> Edge | None:
    """The stored fact that the new one will be merged into."""
    candidates = [candidate.edge for candidate in known.candidates]
    settled = settle(
        edge,
        same=same,
        candidates=candidates,
        verdict=verdict,
        reference_time=reference_time,
        now=reference_time,  # which fact takes it up does not depend on it
    )
    return next((e for e in (*same, *candidates) if e.id == settled.merged_into), None)
