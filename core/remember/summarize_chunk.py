"""Stage summarize_chunk: what a chunk says, in two to four sentences."""

from __future__ import annotations

from dataclasses import replace

from core.graph import Artifact
from core.inferences import Choice
from core.ports import Engine
from core.remember.run import Run
from core.remember.stages import SUMMARIZE_CHUNK


async def summarize_chunk(chunk: Artifact, engine: Engine, choice: Choice, run: Run) -> Artifact:
    """The summary as an artifact to be stored. The call that wrote it is recorded first: the artifact names it."""
    async with run.stage(SUMMARIZE_CHUNK) as entry:
        reply = await engine.summarize(chunk.text, choice)
        entry.called(reply.inferences, said=reply.value)
        run.notes += reply.notes
        inference_id = await run.recorded(entry)
    written_by = reply.inferences[-1]
    return replace(
        chunk,
        kind="chunk_summary",
        text=reply.value,
        span=None,
        index="summaries",
        model_id=written_by.model,
        inference_id=inference_id,
        reasoning=written_by.reasoning,
    )
