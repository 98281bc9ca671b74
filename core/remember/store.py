"""Stage store: the vectors of the text, then everything in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from core.graph import Dataset, EntityRef, Extraction, GraphChange, Known, Stored, Vectors, Verdict, entity_text
from core.ports import Embedder, GraphStore
from core.remember.run import Run, StageScope
from core.remember.stages import STORE
from core.remember.telling import Telling
from core.temporal import exact_repeat
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
) -> Stored:
    """The stored rows. The vectors are computed before the transaction opens, in one request; a failure stores nothing.

    Raises Stale when the facts that the verdicts were decided on have moved.
    """
    async with run.stage(STORE) as entry:
        fits = embedder is not None and fits_dataset(embedder, dataset)
        vectors = await _embed(extraction, verdicts, known, embedder, entry) if embedder and fits else None
        change = GraphChange(
            user_id=run.of.user_id,
            dataset=run.of.dataset,
            artifact=told.artifact,
            extraction=extraction,
            verdicts=verdicts,
            read_seq=known.seq if dataset else None,
            run_id=run.of.run_id,
            vectors=vectors,
            embed_later=embedder is not None and not fits,
        )
        return await graph.write(change)


def fits_dataset(embedder: Embedder, dataset: Dataset | None) -> bool:
    """Whether the embedder makes the vectors that the dataset's indexes hold: vectors of two models never mix."""
    if dataset is None or dataset.embedding_model is None:
        return True
    return (embedder.model, embedder.dim) == (dataset.embedding_model, dataset.embedding_dim)


async def _embed(
    extraction: Extraction, verdicts: Sequence[Verdict], known: Known, embedder: Embedder, entry: StageScope
) -> Vectors | None:
    texts = embedding_texts(extraction, verdicts, known)
    if not texts:
        return None
    embedded = await embedder.embed(texts)
    entry.called([embedded.inference], stage="embed", embedding=True)
    return Vectors(embedder.model, embedder.dim, dict(zip(texts, embedded.vectors, strict=True)))


def embedding_texts(extraction: Extraction, verdicts: Sequence[Verdict], known: Known) -> list[str]:
    """The texts to embed, each once: the entities that the text mentions, then the facts that it states.

    A stored entity or fact stands for itself, as its row says it: a repeat keeps the stored description.
    """
    entities = {e.ref: entity_text(e.name, e.type, e.description) for e in extraction.entities}
    for edge in extraction.edges:
        for name in (edge.source, edge.target):
            entities.setdefault(extraction.ref(name), entity_text(name, DEFAULT_TYPE, ""))
    mentioned = [_entity_as_stored(ref, text, extraction, known) for ref, text in entities.items()]
    candidates = {c.edge.id: c.edge for c in known.candidates}
    facts: list[str] = []
    for index, edge in enumerate(extraction.edges):
        same = {e.id: e for e in known.same.get(index, ())}
        repeat = exact_repeat(edge, tuple(same.values()))
        merged = repeat.merged_into if repeat else verdicts[index].duplicate_of
        stored = same.get(merged or 0) or candidates.get(merged or 0)
        facts.append(stored.as_text if stored else edge.as_text)
    return list(dict.fromkeys([*mentioned, *facts]))


def _entity_as_stored(ref: EntityRef, text: str, extraction: Extraction, known: Known) -> str:
    stored = known.entities.get(ref)
    if stored is None:
        return text
    stated = next((e.description for e in extraction.entities if e.ref == ref), "")
    return entity_text(stored.name, stored.type, stated or stored.description)
