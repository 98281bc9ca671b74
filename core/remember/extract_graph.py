"""Stage extract_graph: the entities and facts that the text states."""

from __future__ import annotations

from core.extraction import only_named_in
from core.graph import Extraction
from core.inferences import Choice
from core.ports import Engine
from core.remember.run import Run
from core.remember.stages import EXTRACT_GRAPH
from core.remember.telling import Telling


async def extract_graph(
    told: Telling, engine: Engine, choice: Choice, run: Run, *, names_in_text: bool = False
) -> Extraction:
    """What the engine reads from the text; with `names_in_text` only names that occur in it."""
    async with run.stage(EXTRACT_GRAPH) as entry:
        reply = await engine.extract(told.text, told.reference_time, choice)
        entry.called(reply.inferences)
        extraction = only_named_in(told.text, reply.value) if names_in_text else reply.value
        run.notes += [*reply.notes, *extraction.notes]
        return extraction
