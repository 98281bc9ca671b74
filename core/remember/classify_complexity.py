"""Stage classify_complexity: how many entities the text will yield, as a quick model predicts. For now it is logged."""

from __future__ import annotations

import logging

from core.errors import ModelFailed
from core.ports import Complexity, DecisionModel
from core.remember.run import Run
from core.remember.stages import CLASSIFY_COMPLEXITY

log = logging.getLogger(__name__)


async def classify_complexity(text: str, decide: DecisionModel | None, run: Run) -> Complexity | None:
    """The predicted complexity, or None where nobody predicts or the prediction failed."""
    if decide is None:
        return None
    try:
        async with run.stage(CLASSIFY_COMPLEXITY) as entry:
            reply = await decide.classify_complexity(text)
            entry.called(reply.inferences, said=reply.value.choice, confidence=reply.value.confidence)
    except ModelFailed as failure:
        log.warning("text complexity is not known: %s", failure.message)
        return None
    latency = sum(i.latency_ms for i in reply.inferences)
    log.info("text complexity: %s, confidence %.2f, %d ms", reply.value.choice, reply.value.confidence, latency)
    return reply.value
