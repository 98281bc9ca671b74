"""Stage resolve_edges: which new facts repeat or contradict stored ones."""

from __future__ import annotations

from dataclasses import replace

from core.graph import NOTHING, Extraction, Known, Verdict
from core.inferences import Choice
from core.ports import Engine
from core.remember.run import Run
from core.remember.stages import RESOLVE_EDGES
from core.single_valued import outdated, resolve_by_rule
from core.temporal import exact_repeat


async def resolve_edges(
    extraction: Extraction, known: Known, engine: Engine | None, choice: Choice, run: Run
) -> list[Verdict]:
    """One verdict for each fact of the extraction. Exact repeats need nobody; the others are compared with the
    candidates by the engine, or by rule where there is none. Without candidates nobody is asked."""
    verdicts = [Verdict(outdates=earlier) if earlier else NOTHING for earlier in outdated(extraction.edges)]
    open_questions = [
        index for index, edge in enumerate(extraction.edges) if exact_repeat(edge, known.same.get(index, ())) is None
    ]
    if not open_questions or not known.candidates:
        return verdicts
    new = [extraction.edges[index] for index in open_questions]
    candidates = [candidate.edge for candidate in known.candidates]
    async with run.stage(RESOLVE_EDGES) as entry:
        if engine is None:
            decided = resolve_by_rule(new, candidates)
        else:
            reply = await engine.resolve(new, candidates, choice)
            entry.called(reply.inferences, said=reply.value)
            run.notes += reply.notes
            decided = reply.value
        for index, verdict in zip(open_questions, decided, strict=True):
            verdicts[index] = replace(verdict, outdates=verdicts[index].outdates)
    return verdicts
