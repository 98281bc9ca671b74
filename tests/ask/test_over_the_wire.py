"""A question over the wire of both APIs, against a server that speaks them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest

from core.ask.ask import ask
from core.errors import ModelUnavailable
from gligabao_mcp.providers.anthropic import AnthropicModel
from gligabao_mcp.providers.openai import OpenAIModel
from tests.ask.asking import Asker, Call, answer, sparql
from tests.ask.services import COUNT, records
from tests.ask.speaking import claude_says, local_says
from tests.requirements import requirement
from tests.wire import Said, Slow, Wire, error

pytestmark = pytest.mark.anyio

TEAMS = records("payments", "identity")
THOUGHT = {"type": "thinking", "thinking": "", "signature": "c2ln"}


@pytest.fixture
def wire() -> Iterator[Wire]:
    with Wire() as wire:
        yield wire


def thoughtful(calls: list[Call]) -> Said:
    """Claude's calls after a thought."""
    usage = {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 4000}
    said = claude_says(calls, usage=usage)
    body = cast("dict[str, Any]", said.body)
    return Said({**body, "content": [THOUGHT, *body["content"]]})


@requirement("ask.model", "ask.models-field", "ask.context")
async def test_a_question_to_claude(asked: Asker, wire: Wire) -> None:
    model = AnthropicModel(api_key="sk-ant-test", base_url=wire.url, model="claude-sonnet-5-5", max_retries=0)
    wire.says(thoughtful(sparql(COUNT)), thoughtful(answer("Two each.", *TEAMS)))
    body = await asked.changed(asker=model).ask("How many does each team run?", context="Teams own services.")
    await model.aclose()
    assert body["answer"]["citations"] == TEAMS
    call = body["models"][0]
    assert (call["provider"], call["model"], call["tokens"], call["cost_micro_usd"]) == (
        "anthropic",
        "claude-sonnet-5-5",
        4120,
        800,
    )
    first, second = wire.bodies
    assert first["system"] == second["system"]
    assert first["tools"] == second["tools"]
    assert second["system"][2]["text"].endswith("Teams own services.")
    _, said, told = second["messages"]
    assert said["content"][0] == THOUGHT
    (result,) = told["content"]
    assert (result["tool_use_id"], "is_error" in result) == ("toolu_0", False)
    assert result["content"].startswith("step 1: 2 rows\n")
    marks = [block for block in (*second["system"], result) if "cache_control" in block]
    assert len(marks) == 4
    assert (second["tool_choice"], second["thinking"]) == ({"type": "auto"}, {"type": "between_tools"})


@requirement("ask.model")
async def test_a_question_to_a_compatible_server(asked: Asker, wire: Wire) -> None:
    model = OpenAIModel(model="qwen3", base_url=f"{wire.url}/v1", max_retries=0)
    wire.says(local_says(sparql(COUNT)), local_says(answer("Two each.", *TEAMS)))
    body = await asked.changed(asker=model).ask()
    await model.aclose()
    assert body["answer"]["citations"] == TEAMS
    assert [message["role"] for message in wire.bodies[1]["messages"]] == ["system", "user", "assistant", "tool"]


@requirement("ask.no-model", "ask.model-retry")
async def test_a_busy_provider_is_asked_twice_and_its_words_stay_here(asked: Asker, wire: Wire) -> None:
    model = AnthropicModel(api_key="sk-ant-test", base_url=wire.url, max_retries=0)
    wire.always(error(529, "overloaded_error", "secret words"))
    with pytest.raises(ModelUnavailable) as failed:
        await asked.changed(asker=model).ask()
    await model.aclose()
    assert "secret" not in failed.value.message
    assert len(wire.asked) == 2


@requirement("stream.hang-up")
async def test_a_question_that_is_given_up_hangs_up_on_the_provider(asked: Asker, wire: Wire) -> None:
    model = AnthropicModel(api_key="sk-ant-test", base_url=wire.url, max_retries=0)
    slow = Slow(thoughtful(answer("Late.")))
    wire.says(slow)
    work = asyncio.create_task(ask(asked.changed(asker=model).core, asked.request("How many?")))
    assert await asyncio.to_thread(slow.asked.wait, 10)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await model.aclose()
    async with asyncio.timeout(10):
        while not wire.hung_up:
            await asyncio.sleep(0.02)
    assert len(wire.asked) == 1
