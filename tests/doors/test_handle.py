"""Opening, closing and what an accepted text may rely on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.config import Config
from core.core import Core
from core.errors import StorageBusy
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.operations import QUERY, REMEMBER, parse
from gligabao_mcp.wiring import open_core

pytestmark = pytest.mark.anyio

TOLD = parse(REMEMBER, {"user_id": "u1", "text": "A.", "edges": [{"source": "A", "target": "B", "relation": "knows"}]})
ASKED = parse(QUERY, {"user_id": "u1", "query": "A?", "answer": False})


class Opening:
    """Opens a memory and counts."""

    def __init__(self, home: Path, *failures: Exception) -> None:
        self.config = Config(home=home, llm="none")
        self.failures = list(failures)
        self.opened = self.closed = 0

    @asynccontextmanager
    async def __call__(self) -> AsyncGenerator[Core]:
        self.opened += 1
        if self.failures:
            raise self.failures.pop(0)
        async with open_core(self.config) as core:
            yield core
        self.closed += 1


async def test_it_opens_once_at_the_first_use_and_closes_at_the_end(tmp_path: Path) -> None:
    opening = Opening(tmp_path)
    handle = CoreHandle(opening)
    assert opening.opened == 0
    await asyncio.gather(*(handle.run(QUERY, ASKED) for _ in range(4)))
    await handle.close()
    assert (opening.opened, opening.closed) == (1, 1)


async def test_nothing_is_opened_only_to_be_closed(tmp_path: Path) -> None:
    opening = Opening(tmp_path)
    await CoreHandle(opening).close()
    assert opening.opened == 0


async def test_after_a_failure_the_next_call_opens_again(tmp_path: Path) -> None:
    opening = Opening(tmp_path, StorageBusy("another process holds the database"))
    handle = CoreHandle(opening)
    with pytest.raises(StorageBusy):
        await handle.run(QUERY, ASKED)
    await handle.run(QUERY, ASKED)
    await handle.close()
    assert opening.opened == 2


async def test_a_caller_that_hangs_up_never_stops_an_accepted_text(tmp_path: Path) -> None:
    handle = CoreHandle(Opening(tmp_path))
    await handle.core()
    call = asyncio.create_task(handle.run(REMEMBER, TOLD))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await handle.close()
    again = CoreHandle(Opening(tmp_path))
    body = await again.run(QUERY, ASKED)
    await again.close()
    assert [edge["relation"] for edge in body["evidence"]["edges"]] == ["knows"]


async def test_a_text_told_twice_by_callers_that_wait_is_two_artifacts(tmp_path: Path) -> None:
    handle = CoreHandle(Opening(tmp_path))
    both = await asyncio.gather(handle.run(REMEMBER, TOLD), handle.run(REMEMBER, TOLD))
    await handle.close()
    assert {body["artifact_id"] for body in both} == {1, 2}


async def test_eight_texts_and_four_questions_at_once_all_get_their_answer(tmp_path: Path) -> None:
    """C070: parallel calls in one turn."""
    handle = CoreHandle(Opening(tmp_path))
    calls = [handle.run(REMEMBER, TOLD) for _ in range(8)] + [handle.run(QUERY, ASKED) for _ in range(4)]
    bodies = await asyncio.gather(*calls)
    await handle.close()
    assert [body["artifact_id"] for body in bodies[:8]] == list(range(1, 9)), "in order of arrival"
