"""The part of the graph that a question is answered from."""

from __future__ import annotations

import logging
from datetime import datetime

from core.core import Core
from core.errors import GligabaoError, ModelFailed
from core.graph import Dataset
from core.ports import ModelCall, RunOf
from core.query.score import terms
from core.query.subgraph import Match, Subgraph
from core.text import name_key
from core.times import utc
from core.trajectory import Tool, known, recording

log = logging.getLogger(__name__)

# How many facts are ranked by meaning.
RANKED = 200


def match_for(question: str, as_of: datetime | None, known_at: datetime | None, since: datetime | None = None) -> Match:
    """The question ready for the store."""
    key = name_key(question)
    return Match(key, terms(key), as_of and utc(as_of), known_at and utc(known_at), since and utc(since))


async def retrieve(core: Core, question: str, dataset: Dataset, match: Match, of: RunOf, *, hybrid: bool) -> Subgraph:
    """Seeds by keyword score and every fact that touches one; with `hybrid`, facts that are near in meaning join."""
    seeds = await core.graph.match(dataset, match)
    found = await core.graph.neighbourhood(dataset, seeds, match)
    if not hybrid or not found.entities:
        return found
    similarity = await _similar_facts(core, question, dataset, of)
    have = {edge.id for edge in found.edges}
    near = [i for i in similarity if i not in have]
    return Subgraph(found.entities, found.edges, similarity).joined(await core.graph.facts(dataset, near, match))


async def _similar_facts(core: Core, question: str, dataset: Dataset, of: RunOf) -> dict[int, float]:
    """The ids of the facts nearest to the question, nearest first. An aid: without it, keywords alone decide."""
    embedder = core.embedder
    if embedder is None or core.vectors is None or not dataset.takes(embedder.model, embedder.dim):
        return {}
    try:
        embedded = await embedder.embed([question])
        call_id = await core.record(ModelCall("embedding", "search_similar", embedded.inference), of)
        (hits,) = await core.vectors.search(dataset, "edges", embedded.vectors, RANKED)
    except GligabaoError as failure:
        if isinstance(failure, ModelFailed):
            for inference in failure.inferences:
                await core.record(ModelCall("embedding", "search_similar", inference), of)
        log.warning("facts are searched by keyword alone: %s", failure.message)
        return {}
    if seen := recording():
        found = [{"edge_id": hit.ref_id, "similarity": round(hit.similarity, 4)} for hit in hits]
        tool = Tool("search_similar_facts", {"question": question, "top_k": RANKED}, found)
        seen.used("search_similar", tool, embedded.inference, known(call_id))
    return {hit.ref_id: hit.similarity for hit in hits}
