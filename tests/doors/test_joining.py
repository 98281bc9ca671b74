"""Calls that are repeated: which join a run that goes or went, and which are another text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from core.config import Config
from core.errors import GligabaoError
from core.progress import Progress
from gligabao_mcp import joining
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.operations import FORGET, REMEMBER, parse
from gligabao_mcp.wiring import open_core
from tests import wire as api
from tests.wire import Slow, Wire

pytestmark = pytest.mark.anyio

ALICE = {"name": "Alice", "type": "person", "description": ""}
NOTHING = api.chat(json.dumps({"entities": [], "edges": []}))


def call(handle: CoreHandle, minted: bool = False, patience: float | None = None, **more: Any) -> asyncio.Task[Any]:
    request = parse(REMEMBER, {"user_id": "u1", "text": "Alice lives in Paris.", **more})
    return asyncio.create_task(handle.run(REMEMBER, request, minted_session=minted, patience=patience))


@pytest.fixture
def slow(wire: Wire) -> Slow:
    """The model takes its time for the first text, and answers those that follow at once."""
    slow = Slow(NOTHING)
    wire.says(slow)
    wire.always(NOTHING)
    return slow


async def asked(slow: Slow) -> None:
    await asyncio.to_thread(slow.asked.wait, 30)


async def given_up(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def ended() -> None:
    """Returns when no run goes any more."""
    async with asyncio.timeout(30):
        while any(task.get_name() == REMEMBER.name for task in asyncio.all_tasks()):
            await asyncio.sleep(0.01)


async def test_the_same_text_in_the_same_session_joins_although_the_first_still_waits(
    handle: CoreHandle, wire: Wire, slow: Slow
) -> None:
    """C092: the same call again joins the running one."""
    first = call(handle, session_id="s")
    await asked(slow)
    again = call(handle, session_id="s", session_source="argument")
    others = [call(handle, session_id="t"), call(handle, session_id="s", text="Bo lives in Rome."), call(handle)]
    await asyncio.sleep(0)
    slow.let()
    assert (await first) == (await again)
    assert {(await other)["artifact_id"] for other in others} == {2, 3, 4}
    assert len(wire.asked) == 4


async def test_who_joined_stays_when_the_first_gives_up(handle: CoreHandle, wire: Wire, slow: Slow) -> None:
    before = call(handle, session_id="other", text="Bo lives in Rome.")
    await asked(slow)
    first, again = call(handle, session_id="s"), call(handle, session_id="s")
    await asyncio.sleep(0.1)
    await given_up(first)
    slow.let()
    assert (await again)["artifact_id"] == (await before)["artifact_id"] + 1, "it was not dropped from the queue"


async def test_a_session_made_for_a_call_joins_only_what_nobody_waits_for(handle: CoreHandle, slow: Slow) -> None:
    waits = call(handle, session_id="gbs_1", minted=True)
    await asked(slow)
    other = call(handle, session_id="gbs_2", minted=True)
    await asyncio.sleep(0)
    await given_up(waits)
    again = call(handle, session_id="gbs_3", minted=True)
    await asyncio.sleep(0)
    slow.let()
    bodies = [await again, await other]
    assert [(body["artifact_id"], body["session_id"]) for body in bodies] == [(1, "gbs_1"), (2, "gbs_2")]


async def test_an_answer_that_nobody_got_is_given_to_who_asks_again_and_once(
    handle: CoreHandle, wire: Wire, slow: Slow
) -> None:
    first = call(handle, session_id="s")
    await asked(slow)
    await given_up(first)
    slow.let()
    await ended()
    assert (await call(handle, session_id="s"))["artifact_id"] == 1
    assert len(wire.asked) == 1
    assert (await call(handle, session_id="s"))["artifact_id"] == 2, "the answer was told: now it is told anew"


async def test_an_answer_that_nobody_got_is_kept_for_a_while(
    handle: CoreHandle, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "KEPT_SECONDS", 0.0)
    first = call(handle)
    await asked(slow)
    await given_up(first)
    slow.let()
    await ended()
    assert (await call(handle))["artifact_id"] == 2


async def test_what_was_forgotten_meanwhile_is_told_anew(handle: CoreHandle, slow: Slow) -> None:
    first = call(handle)
    await asked(slow)
    await given_up(first)
    slow.let()
    await ended()
    forget: Mapping[str, Any] = {"user_id": "u1", "scope": "artifact", "id": 1}
    await handle.run(FORGET, parse(FORGET, forget))
    assert (await call(handle))["artifact_id"] == 2


async def test_nobody_joins_a_run_of_another_user(handle: CoreHandle, slow: Slow) -> None:
    first = call(handle, session_id="s")
    await asked(slow)
    await given_up(first)
    other = call(handle, session_id="s", user_id="u2")
    slow.let()
    await ended()
    assert (await other)["remember_run_id"] == 2
    assert (await call(handle, session_id="s", user_id="u2"))["remember_run_id"] == 3
    assert (await call(handle, session_id="s"))["remember_run_id"] == 1


async def test_a_text_whose_vectors_wait_is_stored_and_not_told_anew(settings: Config, wire: Wire) -> None:
    assert settings.home is not None
    (settings.home / "vectors").write_text("in the way")
    vectors = {"embedder": "openai", "embedding_base_url": f"{wire.url}/v1", "embedding_dimensions": 2}
    config = settings.model_copy(update=vectors)
    handle = CoreHandle(lambda: open_core(config))
    slow = Slow(api.chat(json.dumps({"entities": [ALICE], "edges": []})))
    wire.says(slow, api.embeddings(lambda _: [1.0, 0.0]))
    first = call(handle)
    await asked(slow)
    await given_up(first)
    slow.let()
    await ended()
    assert (await call(handle))["artifact_id"] == 1
    await handle.close()


async def test_a_run_that_failed_is_begun_anew(handle: CoreHandle, wire: Wire) -> None:
    fails = Slow(api.openai_error(400, "no"))
    wire.says(fails)
    wire.always(NOTHING)
    first = call(handle, session_id="s")
    await asked(fails)
    await given_up(first)
    fails.let()
    await ended()
    assert (await call(handle, session_id="s"))["artifact_id"] == 1


async def test_who_joins_a_run_that_fails_gets_its_failure(handle: CoreHandle, wire: Wire) -> None:
    fails = Slow(api.openai_error(400, "no"))
    wire.says(fails)
    both = [call(handle, session_id="s"), call(handle, session_id="s")]
    await asked(fails)
    fails.let()
    outcomes = await asyncio.gather(*both, return_exceptions=True)
    assert [isinstance(outcome, GligabaoError) for outcome in outcomes] == [True, True]
    assert len(wire.asked) == 1


async def test_who_was_told_that_it_goes_on_joins_with_the_session_it_was_given(
    handle: CoreHandle, wire: Wire, slow: Slow
) -> None:
    """C092: a soft limit returns a run id."""
    soft = await call(handle, session_id="gbs_1", minted=True, patience=0.05)
    assert soft == {"remember_run_id": 1, "state": "running", "session_id": "gbs_1"}
    another = await call(handle, session_id="gbs_2", minted=True, patience=0.05)
    assert another == soft, "the session is that of the run"
    waits = call(handle, session_id="gbs_1")
    await asyncio.sleep(0)
    slow.let()
    assert (await waits)["artifact_id"] == 1
    assert len(wire.asked) == 1


async def test_a_text_that_waits_for_its_turn_is_kept_too(handle: CoreHandle, wire: Wire, slow: Slow) -> None:
    before = call(handle, text="Bo lives in Rome.")
    await asked(slow)
    soft = await call(handle, patience=0.05)
    assert soft == {"remember_run_id": 2, "state": "queued"}
    slow.let()
    await before
    await ended()
    assert (await call(handle))["remember_run_id"] == 2


async def test_who_joins_is_told_how_far_the_run_is(handle: CoreHandle, slow: Slow) -> None:
    first = call(handle, session_id="s")
    await asked(slow)
    seen: list[Progress] = []
    request = parse(REMEMBER, {"user_id": "u1", "text": "Alice lives in Paris.", "session_id": "s"})
    again = asyncio.create_task(handle.run(REMEMBER, request, watcher=seen.append))
    await asyncio.sleep(0)
    assert seen == [Progress(0, 1, "extract_graph")]
    slow.let()
    await asyncio.gather(first, again)
    assert seen[-1] == Progress(1, 1)


async def test_over_rest_who_hangs_up_and_repeats_gets_the_answer_of_the_first(
    rest: httpx2.AsyncClient, wire: Wire, slow: Slow
) -> None:
    payload = {"user_id": "u1", "text": "Alice lives in Paris."}
    first = asyncio.create_task(rest.post("/v1/gb/remember", json=payload))
    await asked(slow)
    await given_up(first)
    slow.let()
    again = await rest.post("/v1/gb/remember", json=payload)
    assert again.json()["artifact_id"] == 1
    assert len(wire.asked) == 1
