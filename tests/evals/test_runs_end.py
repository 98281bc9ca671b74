"""How runs end before all goldens are met: with their caller, and with the questions of the day."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.core import Core
from core.evals.label import LabelRequest, label
from core.evals.run import RunRequest, run_goldens
from core.evals.summary import ResultsRequest, results
from core.talk import Choice, Talk, Turn
from gligabao_mcp.evals_operations import EVALS_RUN
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.operations import parse
from gligabao_mcp.providers.scripted import ScriptedModel
from tests.ask.asking import answer, opened, sparql
from tests.ask.services import COUNT, GRAPH, USER
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

OF: dict[str, Any] = {"user_id": USER, "dataset": GRAPH}
QUESTIONS = ("How many?", "How many of each?", "How many now?", "How many then?")


@asynccontextmanager
async def answered(home: Path, model: ScriptedModel, **settings: Any) -> AsyncGenerator[Core]:
    """A memory with a golden of each question."""
    async with opened(home, model, **settings) as asker:
        for question in QUESTIONS:
            model.turns(sparql(COUNT), answer("They run some."))
            body = await asker.ask(question, route="aggregate")
            await label(asker.core, LabelRequest(**OF, trace=body["result"]["trace_id"], valid=True))
        yield asker.core


class Hanging(ScriptedModel):
    """Answers nothing; tells when it was asked, and when that was given up."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.given_up = asyncio.Event(), asyncio.Event()

    async def turn(self, talk: Talk, choice: Choice) -> Turn:
        self.asked.set()
        try:
            await asyncio.sleep(60)
        finally:
            self.given_up.set()
        raise AssertionError


@requirement("stream.hang-up")
async def test_a_run_ends_with_its_caller_and_leaves_no_results(tmp_path: Path, model: ScriptedModel) -> None:
    async with answered(tmp_path, model) as core:
        hanging = Hanging()

        @asynccontextmanager
        async def open_core() -> AsyncGenerator[Core]:
            yield replace(core, asker=hanging)

        handle = CoreHandle(open_core)
        call = asyncio.create_task(handle.run(EVALS_RUN, parse(EVALS_RUN, OF)))
        async with asyncio.timeout(10):
            await hanging.asked.wait()
            call.cancel()
            await hanging.given_up.wait()
        with pytest.raises(asyncio.CancelledError):
            await call
        await handle.close()
        assert (await results(core, ResultsRequest(**OF))).results == []


@requirement("ask.daily-limit")
async def test_the_questions_of_a_run_count_as_questions_of_the_day(tmp_path: Path, model: ScriptedModel) -> None:
    async with answered(tmp_path, model, ask_questions_per_day=len(QUESTIONS) + 1) as core:
        model.turns(sparql(COUNT), answer("They run some."))
        found = (await run_goldens(core, RunRequest(**OF))).results
    assert (found.passed, found.skipped, found.errors) == (1, 3, 0)
    skipped = {detail.message for detail in found.verdicts.values() if detail.verdict == "skipped"}
    assert len(skipped) == 1 and "of this UTC day are asked" in str(skipped)
