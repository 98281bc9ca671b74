"""Progress as a client is told it: numbers that grow, and nothing that a client can hold up or break."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import anyio
import pytest

from core.progress import Progress
from core.remember.stages import STAGES
from gligabao_mcp.mcp_door import progress
from gligabao_mcp.mcp_door.progress import how_far, in_words, reporting

pytestmark = pytest.mark.anyio


class Client:
    """The part of the SDK's context that progress is sent through."""

    def __init__(self, *, reads: bool = True, hung_up: bool = False) -> None:
        self.session = self
        self.told: list[tuple[float, float | None, str | None]] = []
        self._reads, self._hung_up = reads, hung_up

    async def report_progress(self, done: float, total: float | None, message: str | None) -> None:
        if self._hung_up:
            raise anyio.BrokenResourceError
        if not self._reads:
            await asyncio.Event().wait()
        self.told.append((done, total, message))

    @property
    def context(self) -> Any:
        return cast("Any", self)


async def test_every_step_is_told_before_the_answer_and_none_twice() -> None:
    client = Client()
    async with reporting(client.context) as watcher:
        watcher(Progress(stage="queued"))
        watcher(Progress(0, 2, "extract_graph"))
        watcher(Progress(0, 2, "store"))
        watcher(Progress(0, 2, "load_candidates"))  # other writers were faster: it is decided again
        watcher(Progress(0, 2, "store"))
        watcher(Progress(1, 2, "extract_graph"))
        watcher(Progress(2, 2))
    assert [(total, message) for _, total, message in client.told] == [
        (None, "queued"),
        (2, "chunk 1 of 2: extract_graph"),
        (2, "chunk 1 of 2: store"),
        (2, "chunk 2 of 2: extract_graph"),
        (2, "2 of 2 chunks stored"),
    ]
    assert [done for done, _, _ in client.told] == sorted({done for done, _, _ in client.told})


def test_a_text_of_one_part_names_the_stage_alone() -> None:
    assert [in_words(Progress(0, 1, "store")), in_words(Progress(1, 1))] == ["store", None]


def test_a_part_grows_from_stage_to_stage_and_never_reaches_the_next() -> None:
    steps = [how_far(Progress(3, 12, stage.name)) for stage in STAGES]
    assert steps == sorted(set(steps))
    assert 3 < steps[0] < steps[-1] < how_far(Progress(4, 12))


@pytest.mark.parametrize("client", [Client(reads=False), Client(hung_up=True)], ids=["reads nothing", "hung up"])
async def test_a_client_that_takes_nothing_holds_nothing_up(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LAST_STEPS_SECONDS", 0.05)
    with anyio.fail_after(30):
        async with reporting(client.context) as watcher:
            for number in range(2 * progress.ROOM):
                watcher(Progress(number, 2 * progress.ROOM))
    assert client.told == []
