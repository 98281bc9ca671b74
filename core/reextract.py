"""reextract: texts that a weaker engine had read are read again by the configured one.

The new facts stand before an old one goes: both happen in one transaction for each part that was read at once. Whatever
fails changes nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from core.core import Core
from core.errors import Conflict, GligabaoError, InvalidRequest, ModelFailed, Stale
from core.graph import Artifact, Dataset, Extraction, GraphChange, Known, Vectors, Verdict
from core.inferences import Choice
from core.ports import RunOf
from core.remember.extract_graph import extract_graph
from core.remember.resolve_edges import resolve_edges
from core.remember.run import Run
from core.remember.store import embedding_texts
from core.remember.telling import Part, Told
from core.spending import charge_to

TRIES = 4
COMMITS = 3
"""How many commits one part takes at most: what others state too, what goes, what comes."""


@dataclass(frozen=True, slots=True)
class Written:
    """A part as it was read and stored before: a text, a chunk, or the messages of a stretch of conversation."""

    ids: tuple[int, ...]
    artifacts: tuple[Artifact, ...]
    conversation: bool


@dataclass(frozen=True, slots=True)
class Replaced:
    """What became of the facts of one part. `removed` are gone, `reworded` are the same facts in better words; facts
    that others state too are `kept`."""

    artifact_ids: tuple[int, ...]
    added: int = 0
    removed: int = 0
    reworded: int = 0
    kept: int = 0
    reopened: int = 0
    failed: str = ""
    """Why nothing was changed."""


class Rereading(Protocol):
    """What reextract asks of the store. Each verb is one snapshot or one transaction."""

    async def written_by(self, dataset: Dataset, model_id: str) -> list[Written]:
        """The parts that facts of this model were first read from, in the order in which they were stored."""
        ...

    async def known_without(
        self, dataset: Dataset, part: Written, extraction: Extraction, model_id: str, clock: Callable[[], datetime]
    ) -> tuple[Known, Replaced]:
        """What the store would know of the extraction once the facts were gone that it does not state again, and what
        would go. Nothing is changed."""
        ...

    async def replace(self, change: GraphChange, part: Written, model_id: str) -> Replaced:
        """Takes those facts out and puts the new ones in their place, linked to the same artifacts. Raises Stale when
        what the change was decided on has moved, Conflict when the part was forgotten meanwhile."""
        ...


async def reextract(
    core: Core, store: Rereading, dataset: Dataset, model_id: str, *, dry_run: bool = False
) -> AsyncIterator[Replaced]:
    """Reads every part again that facts of the model `model_id` came from, and yields what became of it. A part that
    can't be read, or whose facts keep changing, stays as it is and says why.

    Raises NotConfigured when nobody is there to read, and InvalidRequest when the model that reads is the same one.
    """
    core.engine.require()
    charge_to(dataset.user_id)
    for part in await store.written_by(dataset, model_id):
        yield await _reread(core, store, dataset, part, model_id, dry_run=dry_run)


async def _reread(
    core: Core, store: Rereading, dataset: Dataset, part: Written, model_id: str, *, dry_run: bool
) -> Replaced:
    run = Run(core, RunOf(dataset.user_id, dataset.name, part.artifacts[0].session_id), core.clock())
    try:
        extraction = await extract_graph(
            _as_part(part), core.engine, Choice(), run, names_in_text=core.config.require_names_in_text
        )
        if extraction.model_id == model_id:
            raise InvalidRequest(
                f"model_id: {model_id} is the engine that is configured; set up the one that is to read instead",
                param="model_id",
            )
        for _ in range(TRIES):
            try:
                return await _place(core, store, dataset, part, extraction, model_id, run, dry_run=dry_run)
            except Stale:
                continue
        raise Conflict("other writers kept changing the facts about the same entities; nothing was changed")
    except InvalidRequest:
        raise
    except GligabaoError as failure:
        return Replaced(part.ids, failed=failure.message)
    finally:
        for record in run.records.values():
            for call in record.unrecorded:
                await core.runs.inference(call, run.of)


async def _place(
    core: Core,
    store: Rereading,
    dataset: Dataset,
    part: Written,
    extraction: Extraction,
    model_id: str,
    run: Run,
    *,
    dry_run: bool,
) -> Replaced:
    known, going = await store.known_without(dataset, part, extraction, model_id, core.clock)
    verdicts = await resolve_edges(extraction, known, core.engine, Choice(), run)
    if dry_run:
        return replace(going, added=len(extraction.edges) - going.reworded)
    embedder = core.embedder
    fits = embedder is not None and dataset.takes(embedder.model, embedder.dim)
    change = GraphChange(
        user_id=dataset.user_id,
        dataset=dataset.name,
        artifacts=part.artifacts,
        sources=range(len(part.artifacts)),
        extraction=extraction,
        verdicts=verdicts,
        read_seq=known.seq,
        clock=core.clock,
        vectors=await _vectors(core, part, extraction, verdicts, known, run) if fits else None,
        embed_later=embedder is not None and not fits,
    )
    replaced = await store.replace(change, part, model_id)
    if core.vectors is not None:
        await core.vectors.flush(dataset, known.seq + COMMITS)
    return replaced


async def _vectors(
    core: Core, part: Written, extraction: Extraction, verdicts: Sequence[Verdict], known: Known, run: Run
) -> Vectors | None:
    embedder = core.embedder
    texts = embedding_texts(part.artifacts, extraction, verdicts, known)
    if embedder is None or not texts:
        return None
    try:
        embedded = await embedder.embed(texts)
    except ModelFailed as failure:
        raise ModelFailed(f"{failure.message}; nothing was changed", inferences=failure.inferences) from failure
    return Vectors(embedder.model, embedder.dim, dict(zip(texts, embedded.vectors, strict=True)))


def _as_part(part: Written) -> Part:
    told = [Told(a.text, a.valid_at, a.speaker, a.external_id, i) for i, a in enumerate(part.artifacts)]
    return Part(
        tuple(one.message for one in told),
        part.artifacts,
        conversation=part.conversation,
        places=tuple(one.place for one in told),
    )
