"""Images as they go to the providers: before the words, as each API wants them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from core.engine import PromptedEngine
from core.errors import ModelFailed
from core.images import Image, decoded_image
from core.inferences import Choice
from core.ports import LanguageModel, Prompt
from gligabao_mcp.providers.anthropic import AnthropicModel
from gligabao_mcp.providers.openai import OpenAIModel
from tests.drawn import as_base64, drawn
from tests.requirements import requirement
from tests.wire import Wire, chat, error, message, openai_error

pytestmark = pytest.mark.anyio

PLOT = json.dumps({"theme": "plot", "title": "Revenue", "blocks": [{"text": "Q1", "role": "label"}], "language": "en"})


@pytest.fixture
async def anthropic(wire: Wire) -> AsyncIterator[AnthropicModel]:
    model = AnthropicModel(api_key="sk-ant-test-0123456789", base_url=wire.url)
    yield model
    await model.aclose()


@pytest.fixture
async def openai(wire: Wire) -> AsyncIterator[OpenAIModel]:
    model = OpenAIModel(model="qwen3-vl", base_url=f"{wire.url}/v1")
    yield model
    await model.aclose()


def picture() -> Image:
    return decoded_image(as_base64(drawn("WEBP")))


async def test_anthropic_sees_the_image_before_the_words(wire: Wire, anthropic: AnthropicModel) -> None:
    wire.says(message(PLOT))
    reply = await PromptedEngine(anthropic).read_image(picture(), Choice())
    assert (reply.value.theme, reply.value.title) == ("plot", "Revenue")
    source = {"type": "base64", "media_type": "image/webp", "data": as_base64(drawn("WEBP"))}
    (body,) = wire.bodies
    assert body["messages"] == [
        {
            "role": "user",
            "content": [{"type": "image", "source": source}, {"type": "text", "text": "Read this image."}],
        }
    ]
    assert body["max_tokens"] == 4096


async def test_an_openai_compatible_server_gets_a_data_url(wire: Wire, openai: OpenAIModel) -> None:
    wire.says(chat(PLOT, model="qwen3-vl"))
    reply = await PromptedEngine(openai).read_image(picture(), Choice())
    assert reply.value.title == "Revenue"
    assert wire.bodies[0]["messages"][1] == {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": f"data:image/webp;base64,{as_base64(drawn('WEBP'))}"}},
            {"type": "text", "text": "Read this image."},
        ],
    }


@requirement("models.extract-image", "reasoning.summary-and-image-stages")
async def test_the_model_and_the_level_of_the_stage_are_sent(wire: Wire, anthropic: AnthropicModel) -> None:
    wire.says(message(PLOT, model="claude-sonnet-5-20260930"))
    reply = await PromptedEngine(anthropic).read_image(picture(), Choice("claude-sonnet-5", "medium"))
    (body,) = wire.bodies
    assert (body["model"], body["thinking"], body["output_config"]["effort"]) == (
        "claude-sonnet-5",
        {"type": "adaptive"},
        "medium",
    )
    assert body["max_tokens"] == 4096 + 4096
    (call,) = reply.inferences
    assert (call.model, call.reasoning) == ("claude-sonnet-5-20260930", "medium")


async def test_an_unusable_answer_is_asked_for_again_with_the_image(wire: Wire, anthropic: AnthropicModel) -> None:
    wire.says(message("I see a plot."), message(PLOT))
    reply = await PromptedEngine(anthropic).read_image(picture(), Choice())
    assert len(reply.inferences) == 2
    assert [body["messages"][0]["content"][0]["type"] for body in wire.bodies] == ["image", "image"]


async def test_a_model_that_sees_nothing_is_a_clear_failure(
    wire: Wire, anthropic: AnthropicModel, openai: OpenAIModel
) -> None:
    for model, no in (
        (anthropic, error(400, "invalid_request_error", "this model does not take images")),
        (openai, openai_error(400, "image input is not supported by this model")),
    ):
        wire.forget()
        wire.always(no)
        with pytest.raises(ModelFailed, match=r"not take images|not supported") as failed:
            await PromptedEngine(model).read_image(picture(), Choice())
        assert "refused the call (400)" in failed.value.message
        assert as_base64(drawn("WEBP"))[:40] not in failed.value.message


async def test_a_prompt_without_an_image_is_sent_as_words(
    wire: Wire, anthropic: AnthropicModel, openai: OpenAIModel
) -> None:
    prompt = Prompt("System.", "Words.", {"type": "object"}, "extract_graph", 100)
    models: tuple[tuple[LanguageModel, object], ...] = ((anthropic, message("{}")), (openai, chat("{}")))
    wire.says(message("{}"), chat("{}"))
    for model, _ in models:
        await model.complete(prompt, Choice())
    assert [body["messages"][-1]["content"] for body in wire.bodies] == ["Words.", "Words."]
