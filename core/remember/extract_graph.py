"""Stage extract_graph: the entities and facts that the text states."""

from __future__ import annotations

from core.extraction import only_named_in
from core.graph import Extraction
from core.inferences import Choice
from core.ports import Engine, Reply
from core.remember.run import Run
from core.remember.stages import EXTRACT_GRAPH
from core.remember.telling import Part


async def extract_graph(
    part: Part, engine: Engine, choice: Choice, run: Run, *, names_in_text: bool = False
) -> Extraction:
    """What the engine reads from the text; with `names_in_text` only names that occur in it."""
    async with run.stage(EXTRACT_GRAPH) as entry:
        reply = await _read(part, engine, choice)
        entry.called(reply.inferences, said=reply.value)
        said = "\n".join(f"{message.speaker}: {message.text}" for message in part.messages)
        extraction = only_named_in(said, reply.value) if names_in_text else reply.value
        run.notes += [*reply.notes, *extraction.notes]
        return extraction


async def _read(part: Part, engine: Engine, choice: Choice) -> Reply[Extraction]:
    if part.conversation:
        return await engine.extract_messages(part.messages, choice)
    (message,) = part.messages
    return await engine.extract(message.text, message.reference_time, choice)
