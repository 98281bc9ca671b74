"""The Anthropic provider, against a server that speaks its API."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from core.engine import PromptedEngine
from core.errors import ModelFailed, ModelOverloaded
from core.inferences import Choice, Reasoning, Usage
from core.ports import Prompt
from gligabao_mcp.providers.anthropic import AnthropicModel
from gligabao_mcp.providers.thinking import Style, style, thinking
from tests.requirements import requirement
from tests.wire import Said, Wire, error, message

pytestmark = pytest.mark.anyio

KEY = "sk-ant-test-0123456789"
SCHEMA: Mapping[str, Any] = {"type": "object", "additionalProperties": False, "required": [], "properties": {}}
PROMPT = Prompt("Fixed text.", "<text>What varies.</text>", SCHEMA, "extract_graph", 4096)
DEFAULT = Choice()


@pytest.fixture
async def model(wire: Wire) -> AsyncIterator[AnthropicModel]:
    anthropic = AnthropicModel(api_key=KEY, base_url=wire.url)
    yield anthropic
    await anthropic.aclose()


async def failure(model: AnthropicModel, choice: Choice = DEFAULT) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        await model.complete(PROMPT, choice)
    return failed.value


@requirement("remember.extract-one-call", "reasoning.default-none", "query.reasoning-default-none")
async def test_a_call_without_reasoning_is_exactly_this_request(wire: Wire, model: AnthropicModel) -> None:
    wire.says(message("{}"))
    await model.complete(PROMPT, Choice())
    assert wire.bodies == [
        {
            "model": "claude-haiku-5-5",
            "max_tokens": 4096,
            "system": [{"type": "text", "text": "Fixed text.", "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": "<text>What varies.</text>"}],
            "thinking": {"type": "disabled"},
            "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        }
    ]


async def test_the_key_is_ours_and_no_trace_headers_leave(wire: Wire, model: AnthropicModel) -> None:
    wire.says(message())
    await model.complete(PROMPT, Choice())
    headers = wire.asked[0].headers
    assert headers["authorization"] == f"Bearer {KEY}" or headers["x-api-key"] == KEY
    assert not {"traceparent", "tracestate", "baggage"} & headers.keys()


async def test_the_environment_may_name_another_address(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.url)
    wire.says(message("here"))
    anthropic = AnthropicModel(api_key=KEY)
    assert (await anthropic.complete(PROMPT, Choice())).text == "here"
    await anthropic.aclose()


async def test_an_empty_block_of_thoughts_may_come_first(wire: Wire, model: AnthropicModel) -> None:
    wire.says(message("the answer", thought=True))
    assert (await model.complete(PROMPT, Choice())).text == "the answer"


@requirement("inferences.recorded", "models.knowledge", "models.extract-graph")
async def test_the_inference_names_the_model_that_answered_and_counts_every_token(
    wire: Wire, model: AnthropicModel
) -> None:
    usage = {
        "input_tokens": 20,
        "output_tokens": 90,
        "cache_creation_input_tokens": 300,
        "cache_read_input_tokens": 4000,
        "output_tokens_details": {"thinking_tokens": 40},
    }
    wire.says(message(model="claude-sonnet-5-5-20261001", usage=usage))
    inference = (await model.complete(PROMPT, Choice("claude-sonnet-5-5", "low"))).inference
    assert wire.bodies[0]["model"] == "claude-sonnet-5-5"
    assert inference.model == "claude-sonnet-5-5-20261001"
    assert inference.requested_model == "claude-sonnet-5-5"
    assert inference.usage == Usage(input=4320, output=90, cached=4000, cache_write=300, thinking=40)
    assert (inference.provider, inference.reasoning, inference.stop_reason) == ("anthropic", "low", "end_turn")
    assert inference.request_id == "req_1"


@requirement("reasoning.budgets", "reasoning.recorded")
@pytest.mark.parametrize(("level", "room"), [("low", 1024), ("medium", 4096), ("high", 16384)])
async def test_a_level_is_sent_as_effort_with_its_room(
    wire: Wire, model: AnthropicModel, level: Reasoning, room: int
) -> None:
    wire.says(message())
    inference = (await model.complete(PROMPT, Choice(reasoning=level))).inference
    body = wire.bodies[0]
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"]["effort"] == level
    assert body["max_tokens"] == 4096 + room
    assert inference.reasoning == level


@requirement("reasoning.models-that-cannot-think")
async def test_a_model_that_cannot_think_is_called_without_and_records_none(wire: Wire, model: AnthropicModel) -> None:
    wire.says(message(model="claude-3-5-haiku-20241022"))
    inference = (await model.complete(PROMPT, Choice("claude-3-5-haiku-20241022", "high"))).inference
    assert "thinking" not in wire.bodies[0]
    assert "effort" not in wire.bodies[0]["output_config"]
    assert wire.bodies[0]["max_tokens"] == 4096
    assert inference.reasoning == "none"


@requirement("reasoning.budgets")
async def test_a_model_that_takes_a_budget_gets_one(wire: Wire, model: AnthropicModel) -> None:
    wire.says(message())
    await model.complete(PROMPT, Choice("claude-haiku-4-5", "medium"))
    assert wire.bodies[0]["thinking"] == {"type": "enabled", "budget_tokens": 4096}
    assert wire.bodies[0]["max_tokens"] == 8192


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("claude-3-haiku-20240307", "off"),
        ("claude-3-5-sonnet-20241022", "off"),
        ("claude-3-7-sonnet-20250219", "budget"),
        ("claude-sonnet-4-20250514", "budget"),
        ("claude-opus-4-1-20250805", "budget"),
        ("claude-haiku-4-5-20251001", "budget"),
        ("claude-opus-4-6", "adaptive"),
        ("claude-sonnet-4-8", "adaptive"),
        ("claude-sonnet-5", "adaptive"),
        ("claude-opus-5", "adaptive"),
        ("claude-haiku-5-5", "adaptive"),
        ("claude-sonnet-5-5", "between_tools"),
        ("claude-opus-5-5", "always"),
        ("claude-fable-5-1", "always"),
        ("claude-mythos-5-2", "always"),
        ("claude-mythos-preview", "always"),
        ("some-other-model", "adaptive"),
    ],
)
async def test_each_model_has_its_style_of_thinking(name: str, kind: Style) -> None:
    assert style(name) == kind


async def test_without_reasoning_each_style_thinks_as_little_as_it_can() -> None:
    assert thinking("claude-haiku-5-5", "none").thinking == {"type": "disabled"}
    assert thinking("claude-sonnet-5-5", "none").thinking == {"type": "between_tools"}
    assert thinking("claude-haiku-4-5", "none").thinking is None
    always = thinking("claude-opus-5-5", "none")
    assert (always.thinking, always.effort, always.room, always.level) == (None, "low", 1024, "low")


async def test_the_style_of_a_model_can_be_set(wire: Wire) -> None:
    wire.says(message(), message())
    model = AnthropicModel(api_key="k", base_url=wire.url, styles={"claude-next": "budget"})
    await model.complete(PROMPT, Choice("claude-next-1", "low"))
    await model.complete(PROMPT, Choice("claude-haiku-5-5", "low"))
    assert [body["thinking"]["type"] for body in wire.bodies] == ["enabled", "adaptive"]
    await model.aclose()


async def test_searches_of_the_web_are_counted(wire: Wire, model: AnthropicModel) -> None:
    searched = {"web_search_requests": 2, "web_fetch_requests": 0}
    wire.says(message(usage={"input_tokens": 9, "output_tokens": 1, "server_tool_use": searched}))
    assert (await model.complete(PROMPT, Choice())).inference.usage.web_searches == 2


@requirement("remember.model-failure", "query.model-output-unusable")
@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
async def test_an_answer_that_was_cut_off_says_so(wire: Wire, model: AnthropicModel, reason: str) -> None:
    wire.says(message('{"answer": "Al', stop_reason=reason))
    assert (await model.complete(PROMPT, Choice())).stop == "truncated"


async def test_a_refusal_says_so_and_why(wire: Wire, model: AnthropicModel) -> None:
    wire.says(message("", stop_reason="refusal", category="bio"))
    completion = await model.complete(PROMPT, Choice())
    assert (completion.stop, completion.detail) == ("refused", "bio")


async def test_a_refusal_fails_the_stage_at_once_with_its_cost(wire: Wire, model: AnthropicModel) -> None:
    wire.says(message("I can't help with that.", stop_reason="refusal"))
    with pytest.raises(ModelFailed, match="refused") as failed:
        await PromptedEngine(model).resolve([], [], Choice())
    assert len(wire.asked) == 1
    (inference,) = failed.value.inferences
    assert inference.usage.output == 180
    assert "refused" in inference.error
    assert "can't help" not in failed.value.message


@requirement("remember.model-failure")
async def test_overload_is_tried_three_times_and_then_named(wire: Wire, model: AnthropicModel) -> None:
    """C085: bounded tries, then a clear temporary error."""
    wire.always(error(529, "overloaded_error", "Overloaded"))
    failed = await failure(model)
    assert isinstance(failed, ModelOverloaded)
    assert failed.code == "upstream_overloaded"
    assert len(wire.asked) == 3
    (inference,) = failed.inferences
    assert inference.usage == Usage()
    assert inference.error == failed.message
    assert inference.request_id == "req_9"


async def test_one_deadline_holds_for_all_tries(wire: Wire) -> None:
    """C085: and all of them inside one deadline."""
    wire.always(error(529, "overloaded_error", "Overloaded", headers={"retry-after-ms": "30000"}))
    impatient = AnthropicModel(api_key=KEY, base_url=wire.url, deadline=0.2)
    failed = await failure(impatient)
    await impatient.aclose()
    assert isinstance(failed, ModelOverloaded)
    assert failed.message == "the Anthropic API did not answer within 0.2 s"
    assert len(wire.asked) == 1


async def test_a_server_that_is_not_there_is_overload_not_emptiness() -> None:
    nowhere = AnthropicModel(api_key=KEY, base_url="http://127.0.0.1:9", max_retries=0)
    failed = await failure(nowhere)
    await nowhere.aclose()
    assert isinstance(failed, ModelOverloaded)
    assert failed.message == "the Anthropic API can't be reached"


async def test_a_rate_limit_passes_a_spend_limit_does_not(wire: Wire, model: AnthropicModel) -> None:
    wire.always(error(429, "rate_limit_error", "Slow down"))
    assert isinstance(await failure(model), ModelOverloaded)
    wire.always(error(429, "rate_limit_error", "Limit reached", code="enforced_spend_limit_reached"))
    failed = await failure(model)
    assert not isinstance(failed, ModelOverloaded)
    assert "quota used up" in failed.message


async def test_a_wrong_key_stays_wrong_for_a_minute(wire: Wire, model: AnthropicModel) -> None:
    """C086: a key that is wrong stays wrong."""
    wire.says(error(401, "authentication_error", f"invalid x-api-key {KEY}"))
    first = await failure(model)
    assert "ANTHROPIC_API_KEY" in first.message
    assert KEY not in first.message
    for _ in range(10):
        again = await failure(model)
        assert "ANTHROPIC_API_KEY" in again.message
        assert again.inferences == ()
    assert len(wire.asked) == 1


async def test_after_the_minute_it_is_asked_again(wire: Wire) -> None:
    now = 0.0
    model = AnthropicModel(api_key=KEY, base_url=wire.url, clock=lambda: now)
    wire.says(error(401, "authentication_error", "no"), message("fine"))
    await failure(model)
    now = 61.0
    assert (await model.complete(PROMPT, Choice())).text == "fine"
    await model.aclose()


@requirement("models.name-not-checked")
async def test_an_unknown_model_stops_only_its_own_calls(wire: Wire, model: AnthropicModel) -> None:
    wire.says(error(404, "not_found_error", "model: nope"), message("fine"))
    failed = await failure(model, Choice("nope"))
    assert "'nope'" in failed.message
    assert await failure(model, Choice("nope"))
    assert (await model.complete(PROMPT, Choice())).text == "fine"
    assert len(wire.asked) == 2


async def test_a_bad_request_stops_nothing_and_is_told_in_the_providers_words(
    wire: Wire, model: AnthropicModel
) -> None:
    words = "thinking.type: this model does not support disabled"
    wire.says(error(400, "invalid_request_error", words), message("fine"))
    assert words in (await failure(model)).message
    assert (await model.complete(PROMPT, Choice())).text == "fine"


async def test_no_key_shows_in_a_message_or_a_log(
    wire: Wire, model: AnthropicModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="gligabao_mcp")
    wire.says(error(400, "invalid_request_error", f"what is {KEY} or sk-other-1234567?"))
    failed = await failure(model)
    assert KEY not in failed.message
    assert "sk-other" not in failed.message
    assert "BadRequestError" in caplog.text
    assert "req_9" in caplog.text
    assert KEY not in caplog.text
    assert failed.__cause__ is None


@pytest.mark.parametrize("said", [Said("<html>welcome</html>"), Said({}), Said({"content": None, "model": "m"})])
async def test_a_page_that_is_no_message_is_a_clear_failure(wire: Wire, model: AnthropicModel, said: Said) -> None:
    wire.says(said)
    assert "base URL" in (await failure(model)).message


async def test_the_sdk_is_not_imported_before_the_first_call() -> None:
    code = (
        "import sys, gligabao_mcp.providers.anthropic as a, gligabao_mcp.providers.openai, gligabao_mcp.providers.jev\n"
    )
    code += "a.AnthropicModel(api_key='k'); print([m for m in ('anthropic', 'openai', 'httpx2') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
