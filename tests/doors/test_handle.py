"""Opening, closing and what an accepted text may rely on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from core.config import Config
from core.core import Core
from core.errors import ShuttingDown, StorageBusy, UnknownDataset
from core.uploads import Upload
from gligabao_mcp.graph_operations import SPARQL
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.operations import QUERY, REMEMBER, execute, parse
from gligabao_mcp.plumbing_operations import IMPORT_RDF
from gligabao_mcp.wiring import open_core
from tests.rdf.loading import Endless

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


# Documents that are loaded when the process ends ----------------------------------------------------------------------


GRAPH = {"user_id": "u1", "dataset": "catalogue"}


async def loading(handle: CoreHandle, document: Endless) -> asyncio.Task[dict[str, Any]]:
    """The call of somebody who loads the document, once it is being read."""

    async def work() -> dict[str, Any]:
        with document:
            upload = Upload(cast("Any", document), "")
            return await execute(IMPORT_RDF, await handle.core(), parse(IMPORT_RDF, {**GRAPH, "content": upload}))

    call = asyncio.create_task(handle.finish(work()))
    assert await asyncio.to_thread(document.is_read.wait, 30)
    return call


async def assert_nothing_is_stored(home: Path) -> None:
    again = CoreHandle(Opening(home))
    with pytest.raises(UnknownDataset):
        await again.run(SPARQL, parse(SPARQL, {**GRAPH, "query": "ASK { ?s ?p ?o }"}))
    await again.close()


async def test_a_document_whose_sender_has_gone_is_read_on_and_dropped_when_the_process_ends(tmp_path: Path) -> None:
    handle, document = CoreHandle(Opening(tmp_path)), Endless()
    call = await loading(handle, document)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    document.is_read.clear()
    assert await asyncio.to_thread(document.is_read.wait, 30), "who hangs up stops nothing"
    async with asyncio.timeout(30):
        await handle.close()
    await assert_nothing_is_stored(tmp_path)


async def test_who_waits_for_a_document_when_the_process_ends_is_told_so(tmp_path: Path) -> None:
    handle, document = CoreHandle(Opening(tmp_path)), Endless()
    call = await loading(handle, document)
    handle.give_up()
    with pytest.raises(ShuttingDown):
        await call
    async with asyncio.timeout(30):
        await handle.close()
    await assert_nothing_is_stored(tmp_path)
