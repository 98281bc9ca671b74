"""Stage load_candidates: the stored facts that the new ones might repeat or contradict."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from core.errors import GligabaoError, ModelFailed
from core.graph import Candidate, Dataset, EntityRef, Extraction, Known, entity_text
from core.inferences import Inference
from core.ports import Embedder, GraphStore, Hit, VectorStore
from core.remember.run import Run, StageScope
from core.remember.stages import LOAD_CANDIDATES
from core.text import DEFAULT_TYPE
from core.trajectory import Tool, recording

log = logging.getLogger(__name__)

MIN_SIMILARITY = 0.75
NEAREST = 3


async def load_candidates(
    extraction: Extraction,
    dataset: Dataset | None,
    graph: GraphStore,
    embedder: Embedder | None,
    vectors: VectorStore | None,
    run: Run,
) -> Known:
    """The live facts at the endpoints of the new ones, found by name and, with an embedder, by similarity.

    A dataset that is not there yet has none. The similarity look-up is an aid: when it fails, names alone decide.
    """
    if dataset is None:
        return Known(seq=0)
    async with run.stage(LOAD_CANDIDATES) as entry:
        similar: dict[int, float] = {}
        if embedder is not None and vectors is not None and extraction.edges:
            similar = await _similar(extraction, dataset, embedder, vectors, entry)
        known = await graph.known(dataset, extraction, similar)
        if seen := recording():
            endpoints = {name: None for edge in extraction.edges for name in (edge.source, edge.target)}
            found = [_listed(candidate) for candidate in known.candidates]
            seen.used(entry.record.stage, Tool("load_candidates", {"endpoints": list(endpoints)}, found))
        return known


def _listed(candidate: Candidate) -> dict[str, object]:
    """A candidate as a trajectory shows it."""
    edge = candidate.edge
    fact = {"source": edge.source, "relation": edge.relation, "target": edge.target, "description": edge.description}
    return {"edge_id": edge.id, "found_by": candidate.found_by, **fact}


async def _similar(
    extraction: Extraction, dataset: Dataset, embedder: Embedder, vectors: VectorStore, entry: StageScope
) -> dict[int, float]:
    """The ids of stored entities that are close in meaning to an endpoint, with their cosine similarity."""
    texts = list(endpoint_texts(extraction).values())
    spent: Sequence[Inference] = ()
    try:
        embedded = await embedder.embed(texts)
        spent = [embedded.inference]
        entry.called(spent, stage="search_similar", embedding=True)
        found = await vectors.search(dataset, "entities", embedded.vectors, NEAREST)
    except GligabaoError as failure:
        if isinstance(failure, ModelFailed):
            spent = failure.inferences
            entry.called(spent, stage="search_similar", embedding=True)
        log.warning("candidates are searched by name alone: %s", failure.message)
        entry.record.error = failure.message
        _show_search(texts, {}, spent, entry, error=failure.message)
        return {}
    similar = {hit.ref_id: hit.similarity for hits in found for hit in hits if close(hit)}
    _show_search(texts, similar, spent, entry)
    return similar


def _show_search(
    texts: Sequence[str], similar: Mapping[int, float], spent: Sequence[Inference], entry: StageScope, **extra: object
) -> None:
    if seen := recording():
        arguments = {"texts": texts, "top_k": NEAREST, "min_similarity": MIN_SIMILARITY}
        found = [{"entity_id": i, "similarity": round(score, 4)} for i, score in similar.items()]
        call = spent[-1] if spent else None
        ids = entry.last_ids()[0] if spent else _unknown
        seen.used(entry.record.stage, Tool("search_similar_entities", arguments, found), call, ids, **extra)


def _unknown() -> None:
    """The id of a call that was not made."""


def close(hit: Hit) -> bool:
    """Whether a stored entity is near enough to look up its facts."""
    return hit.similarity >= MIN_SIMILARITY


def endpoint_texts(extraction: Extraction) -> dict[EntityRef, str]:
    """The text that each endpoint of the new facts is searched with, as an entity is embedded."""
    listed = {entity.ref: entity for entity in extraction.entities}
    texts: dict[EntityRef, str] = {}
    for edge in extraction.edges:
        for name in (edge.source, edge.target):
            ref = extraction.ref(name)
            entity = listed.get(ref)
            texts[ref] = (
                entity_text(entity.name, entity.type, entity.description)
                if entity
                else entity_text(name, DEFAULT_TYPE, "")
            )
    return texts
