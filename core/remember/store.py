"""Stage store: the vectors of the text, then everything in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.errors import ModelFailed
from core.graph import (
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
from core.ports import Embedder, GraphStore
from core.remember.run import Run, StageScope
from core.remember.stages import STORE
from core.remember.telling import Telling
from core.temporal import settle
from core.text import DEFAULT_TYPE


async def store(
    told: Telling,
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
        vectors = await _embed(told, extraction, verdicts, known, embedder, entry) if embedder else None
        change = GraphChange(
            user_id=run.of.user_id,
            dataset=run.of.dataset,
            artifact=told.artifact,
            extraction=extraction,
            verdicts=verdicts,
            read_seq=known.seq if dataset else None,
            clock=run.core.clock,
            run_id=run.of.run_id,
            vectors=vectors,
            embed_later=embed_later,
        )
        return await graph.write(change)


async def _embed(
    told: Telling,
    extraction: Extraction,
    verdicts: Sequence[Verdict],
    known: Known,
    embedder: Embedder,
    entry: StageScope,
) -> Vectors | None:
    texts = embedding_texts(told, extraction, verdicts, known)
    if not texts:
        return None
    try:
        embedded = await embedder.embed(texts)
    except ModelFailed as failure:
        entry.called(failure.inferences, stage="embed", embedding=True)
        # Without the calls: they are filed, as what they are, and the stage would file them as its own.
        raise type(failure)(failure.message) from failure
    entry.called([embedded.inference], stage="embed", embedding=True)
    return Vectors(embedder.model, embedder.dim, dict(zip(texts, embedded.vectors, strict=True)))


def embedding_texts(told: Telling, extraction: Extraction, verdicts: Sequence[Verdict], known: Known) -> list[str]:
    """The texts to embed, each once: the entities that the text mentions, then the facts that it states.

    Each as its row will say it, for the store finds its vector by that text: a stored entity keeps its spelling, a
    repeated fact its description.
    """
    stated = {e.ref: e for e in extraction.entities}
    for edge in extraction.edges:
        for name in (edge.source, edge.target):
            stated.setdefault(extraction.ref(name), StatedEntity(name, DEFAULT_TYPE))
    rows = {ref: _as_stored(entity, known.entities.get(ref)) for ref, entity in stated.items()}
    facts: list[str] = []
    for index, edge in enumerate(extraction.edges):
        if repeated := _repeated(told, edge, verdicts[index], known.same.get(index, ()), known):
            facts.append(repeated.as_text)
        else:
            source, target = rows[extraction.ref(edge.source)], rows[extraction.ref(edge.target)]
            facts.append(replace(edge, source=source.name, target=target.name).as_text)
    mentioned = [entity_text(e.name, e.type, e.description) for e in rows.values()]
    return list(dict.fromkeys([*mentioned, *facts]))


def _as_stored(stated: StatedEntity, stored: Entity | None) -> StatedEntity:
    return StatedEntity(stored.name, stored.type, stated.description or stored.description) if stored else stated


def _repeated(told: Telling, edge: StatedEdge, verdict: Verdict, same: Sequence[Edge], known: Known) -> Edge | None:
    """The stored fact that the new one will be merged into."""
    candidates = [candidate.edge for candidate in known.candidates]
    settled = settle(
        edge,
        same=same,
        candidates=candidates,
        verdict=verdict,
        reference_time=told.artifact.valid_at,
        now=told.artifact.valid_at,  # which fact takes it up does not depend on it
    )
    return next((e for e in (*same, *candidates) if e.id == settled.merged_into), None)
