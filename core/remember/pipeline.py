"""The stages of remember, in order, on one screen."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from core.core import Core
from core.errors import Conflict, NotConfigured, Stale
from core.extraction import CALLER, RawEdge, RawEntity, read_extraction
from core.graph import Extraction, Stored
from core.inferences import Choice
from core.noise import is_noise
from core.ports import Engine
from core.remember.classify_complexity import classify_complexity
from core.remember.embed import Indexed, embed
from core.remember.extract_graph import extract_graph
from core.remember.load_candidates import load_candidates
from core.remember.resolve_edges import resolve_edges
from core.remember.run import Run
from core.remember.store import store
from core.remember.telling import Telling

# How often the facts are compared again when another process stored facts on the same entities meanwhile.
TRIES = 4


@dataclass(frozen=True, slots=True)
class Given:
    """What the caller read from the text, instead of a model."""

    entities: tuple[RawEntity, ...]
    edges: tuple[RawEdge, ...]


@dataclass(frozen=True, slots=True)
class Remembered:
    """What one text left behind."""

    extraction: Extraction
    stored: Stored
    indexed: Indexed


async def execute(core: Core, told: Telling, given: Given | None, choices: dict[str, Choice], run: Run) -> Remembered:
    """Reads the text, compares its facts with what is stored, and stores them.

    Raises what the stages raise; nothing is stored then. Raises Conflict when other processes kept changing the facts.
    """
    extraction = await _read(core, told, given, choices["extract_graph"], run)
    engine = _comparer(core.engine, given)
    for attempt in range(TRIES):
        said = len(run.notes)
        try:
            stored, later = await _place(core, told, extraction, engine, choices["resolve_edges"], run)
            return Remembered(extraction, stored, await embed(stored, core.vectors, later=later))
        except Stale:
            del run.notes[said:]  # the next try says it again
            await asyncio.sleep(random.uniform(0, 0.05) * (attempt + 1))
    raise Conflict("other writers kept changing the facts about the same entities; nothing was stored, try again")


async def _read(core: Core, told: Telling, given: Given | None, choice: Choice, run: Run) -> Extraction:
    """The entities and facts: as the caller gives them, or as the engine reads them. Noise is kept unread."""
    if given is not None:
        extraction = read_extraction(given.entities, given.edges, reference_time=told.reference_time, model_id=CALLER)
        run.notes += extraction.notes
        return extraction
    if is_noise(told.text):
        run.notes.append("the text looks like encoded or binary data: it is kept, but no facts were read from it")
        return Extraction((), (), "")
    await classify_complexity(told.text, core.decide, run)
    return await extract_graph(told, core.engine, choice, run, names_in_text=core.config.require_names_in_text)


def _comparer(engine: Engine, given: Given | None) -> Engine | None:
    """Who compares new facts with stored ones: the engine; nobody, so that rules do, where only the caller reads."""
    if given is None:
        return engine
    try:
        engine.require()
    except NotConfigured:
        return None
    return engine


async def _place(
    core: Core, told: Telling, extraction: Extraction, engine: Engine | None, choice: Choice, run: Run
) -> tuple[Stored, bool]:
    """The facts in the graph, decided and stored on one snapshot; and whether they are embedded later."""
    dataset = await core.graph.dataset(run.of.user_id, run.of.dataset)
    embedder = core.embedder
    later = embedder is not None and dataset is not None and not dataset.takes(embedder.model, embedder.dim)
    if embedder is not None and later:
        run.notes.append(
            f"{embedder.model} does not make the vectors of this dataset: they wait for the model that does"
        )
        embedder = None
    known = await load_candidates(extraction, dataset, core.graph, embedder, core.vectors, run)
    verdicts = await resolve_edges(extraction, known, engine, choice, run)
    stored = await store(told, extraction, verdicts, known, dataset, core.graph, embedder, run, embed_later=later)
    return stored, later
