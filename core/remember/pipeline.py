"""The stages of remember, in order, on one screen."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from core.core import Core
from core.errors import Conflict, GligabaoError, NotConfigured, Stale
from core.extraction import CALLER, read_extraction
from core.graph import Artifact, Commit, Entity, Extraction, Stored
from core.inferences import Choice
from core.noise import is_noise
from core.ports import Engine
from core.remember.chunk_text import chunk_text
from core.remember.classify_complexity import classify_complexity
from core.remember.embed import Indexed, embed, embedder_for
from core.remember.extract_graph import extract_graph
from core.remember.load_candidates import load_candidates
from core.remember.resolve_edges import resolve_edges
from core.remember.run import Run
from core.remember.store import store
from core.remember.summarize_chunk import summarize_chunk
from core.remember.telling import Part, Telling, chunks, stretch, stretches, whole
from core.tokens import fits
from core.trajectory import recording

# How often the facts are compared again when another process stored facts on the same entities meanwhile.
TRIES = 4
# How many commits share one write of the vector index: each write makes the next one slower.
COMMITS_PER_FLUSH = 8

Choices = dict[str, Choice]


@dataclass(frozen=True, slots=True)
class Remembered:
    """What one part left behind. `entities` are what the text says of them, with the ids of their rows."""

    commit: Commit
    entities: tuple[Entity, ...]

    @property
    def stored(self) -> Stored:
        return self.commit.stored


class Interrupted(Exception):
    """A part failed after others had been stored. `failure` says how, `stored` is what stays."""

    def __init__(self, failure: GligabaoError, part: int, parts: int, stored: Sequence[Remembered]) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.part = part
        self.parts = parts
        self.stored = list(stored)


async def execute(core: Core, told: Telling, choices: Choices, run: Run) -> tuple[list[Remembered], Indexed]:
    """Reads the texts part by part; compares the facts of each with what is stored, and stores them.

    Raises what the stages raise: nothing is stored then, or, where parts were stored before, Interrupted. Raises
    Conflict when other processes kept changing the facts.
    """
    parts = [part async for part in _parts(core, told, run)]
    done = await _stored_before(core, run)
    indexed = Indexed()
    for number, part in list(enumerate(parts))[len(done) :]:
        run.advance(number, len(parts))
        try:
            done.append(await _remember_part(core, part, done, choices, run))
        except GligabaoError as failure:
            if not done:
                raise
            raise Interrupted(failure, number, len(parts), done) from failure
        if len(done) % COMMITS_PER_FLUSH == 0:
            indexed = await embed([one.stored for one in done], core)
    run.advance(len(parts), len(parts))
    if len(done) % COMMITS_PER_FLUSH:
        indexed = await embed([one.stored for one in done], core)
    return done, indexed


async def _stored_before(core: Core, run: Run) -> list[Remembered]:
    """The parts that the run had stored when its process died: they are not read again."""
    if not run.resumed or run.of.run_id is None:
        return []
    return [remembered(commit) for commit in await core.graph.stored_by(run.of.run_id)]


def remembered(commit: Commit) -> Remembered:
    """A part as it is stored, where what its text said of the entities is not known any more."""
    return Remembered(commit, commit.stored.entities)


async def _parts(core: Core, told: Telling, run: Run) -> AsyncIterator[Part]:
    """The texts as they are read: whole, or cut into chunks; messages in stretches of the size of a chunk."""
    size, overlap = core.config.chunk_size, core.config.chunk_overlap_percent
    if not told.texts:
        return
    await classify_complexity("\n".join(text.text for text in told.texts), core.decide if not told.given else None, run)
    for group in stretches(told.texts, size):
        (first, *more) = group
        if more or fits(first.text, size) or is_noise(first.text):
            yield stretch(told, group) if told.conversation else whole(told, first)
        else:
            for part in chunks(told, first, await chunk_text(first.text, size, overlap, run)):
                yield part


async def _remember_part(core: Core, part: Part, done: Sequence[Remembered], choices: Choices, run: Run) -> Remembered:
    if seen := recording():
        seen.chunk_index = next((artifact.span.index for artifact in part.artifacts if artifact.span), None)
    noise = is_noise(part.text)
    extraction = await _read(core, part, choices["extract_graph"], run, noise=noise)
    artifacts = _hung_up(part, done)
    if part.parent is not None and (engine := _reader(core.engine, part)) and not noise:
        summary = await summarize_chunk(artifacts[-1], engine, choices["summarize_chunk"], run)
        artifacts = (*artifacts, replace(summary, parent=len(artifacts) - 1, parent_id=None))
    for attempt in range(TRIES):
        said = len(run.notes)
        try:
            stored = await _place(core, part, artifacts, extraction, choices["resolve_edges"], run)
            return Remembered(Commit(artifacts, stored), _as_said(extraction, stored))
        except Stale:
            del run.notes[said:]  # the next try says it again
            await asyncio.sleep(random.uniform(0, 0.05) * (attempt + 1))
    raise Conflict("other writers kept changing the facts about the same entities; nothing was stored, try again")


async def _read(core: Core, part: Part, choice: Choice, run: Run, *, noise: bool) -> Extraction:
    """The entities and facts: as the caller gives them, or as the engine reads them. Noise is kept unread."""
    if part.given is not None:
        (message,) = part.messages
        extraction = read_extraction(
            part.given.entities, part.given.edges, reference_time=message.reference_time, model_id=CALLER
        )
        run.notes += extraction.notes
        return extraction
    if noise:
        run.notes.append("the text looks like encoded or binary data: it is kept, but no facts were read from it")
        return Extraction((), (), "")
    return await extract_graph(part, core.engine, choice, run, names_in_text=core.config.require_names_in_text)


def _hung_up(part: Part, done: Sequence[Remembered]) -> tuple[Artifact, ...]:
    """The artifacts of the part. The first chunk brings its parent along, the others hang off the one it was stored
    with."""
    chunk = part.artifacts[0]
    if part.parent is None or chunk.span is None:
        return part.artifacts
    if chunk.span.index == 0:
        return (part.parent, replace(chunk, parent=0))
    first = done[-chunk.span.index]
    return (replace(chunk, parent_id=first.stored.artifact_ids[0]),)


def _reader(engine: Engine, part: Part) -> Engine | None:
    """Who compares new facts with stored ones, and sums up: the engine; nobody, so that rules do, where only the caller
    reads."""
    if part.given is None:
        return engine
    try:
        engine.require()
    except NotConfigured:
        return None
    return engine


async def _place(
    core: Core, part: Part, artifacts: Sequence[Artifact], extraction: Extraction, choice: Choice, run: Run
) -> Stored:
    """The facts in the graph, decided and stored on one snapshot."""
    dataset = await core.graph.dataset(run.of.user_id, run.of.dataset)
    embedder, later = embedder_for(core, dataset, run)
    known = await load_candidates(extraction, dataset, core.graph, embedder, core.vectors, run)
    verdicts = await resolve_edges(extraction, known, _reader(core.engine, part), choice, run)
    return await store(artifacts, extraction, verdicts, known, dataset, core.graph, embedder, run, embed_later=later)


def _as_said(extraction: Extraction, stored: Stored) -> tuple[Entity, ...]:
    pairs = zip(extraction.entities, stored.entities, strict=True)
    return tuple(replace(row, description=stated.description) for stated, row in pairs)
