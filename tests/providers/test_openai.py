"""The OpenAI providers, against a server that speaks their API."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from core.engine import PromptedEngine
from core.errors import ModelFailed, ModelOverloaded
from core.inferences import Choice, Usage
from core.ports import Prompt
from gligabao_mcp.providers.openai import OpenAIEmbedder, OpenAIModel
from tests.requirements import requirement
from tests.wire import Said, Wire, chat, embeddings, openai_error, refusing_formats

pytestmark = pytest.mark.anyio

KEY = "sk-proj-test-0123456789"
SCHEMA: Mapping[str, Any] = {"type": "object", "additionalProperties": False, "required": [], "properties": {}}
PROMPT = Prompt("Fixed text.", "<text>What varies.</text>", SCHEMA, "extract_graph", 4096)


@pytest.fixture
async def model(wire: Wire) -> AsyncIterator[OpenAIModel]:
    openai = OpenAIModel(model="qwen3", base_url=f"{wire.url}/v1")
    yield openai
    await openai.aclose()


@pytest.fixture
async def embedder(wire: Wire) -> AsyncIterator[OpenAIEmbedder]:
    openai = OpenAIEmbedder(api_key=KEY, base_url=f"{wire.url}/v1", dim=3)
    yield openai
    await openai.aclose()


def lengths(text: str) -> list[float]:
    """A vector by which a text can be known again."""
    return [float(len(text)), 1.0, -2.0]


def unpacked(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


async def failure(provider: OpenAIModel | OpenAIEmbedder) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        if isinstance(provider, OpenAIModel):
            await provider.complete(PROMPT, Choice())
        else:
            await provider.embed(["Ivo visited Rome"])
    return failed.value


# The language model


async def test_a_local_server_gets_the_schema_both_ways_and_max_tokens(wire: Wire, model: OpenAIModel) -> None:
    wire.says(chat("{}"))
    assert (await model.complete(PROMPT, Choice())).text == "{}"
    (body,) = wire.bodies
    system, user = body["messages"]
    assert system["content"].startswith("Fixed text.")
    assert json.dumps(SCHEMA) in system["content"]
    assert user == {"role": "user", "content": "<text>What varies.</text>"}
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "extract_graph", "strict": True, "schema": SCHEMA},
    }
    assert body["max_tokens"] == 4096
    assert "max_completion_tokens" not in body
    assert "temperature" not in body
    assert "reasoning_effort" not in body


async def test_a_server_that_takes_only_json_schema_is_asked_once(wire: Wire, model: OpenAIModel) -> None:
    wire.always(refusing_formats("json_schema", then=chat("ok")))
    await model.complete(PROMPT, Choice())
    assert len(wire.asked) == 1


async def test_the_ladder_goes_down_and_the_rung_is_remembered_for_the_model(wire: Wire, model: OpenAIModel) -> None:
    wire.always(refusing_formats(then=chat("ok")))
    assert (await model.complete(PROMPT, Choice())).text == "ok"
    assert [body.get("response_format", {}).get("type") for body in wire.bodies] == ["json_schema", "json_object", None]
    await model.complete(PROMPT, Choice())
    assert len(wire.asked) == 4
    await model.complete(PROMPT, Choice("other"))
    assert len(wire.asked) == 7


async def test_the_ladder_stops_at_json_object_where_that_is_taken(wire: Wire, model: OpenAIModel) -> None:
    wire.always(refusing_formats("json_object", then=chat("ok")))
    await model.complete(PROMPT, Choice())
    await model.complete(PROMPT, Choice())
    assert [body["response_format"]["type"] for body in wire.bodies] == ["json_schema", "json_object", "json_object"]


async def test_another_bad_request_is_not_taken_for_a_refused_format(wire: Wire, model: OpenAIModel) -> None:
    wire.says(openai_error(400, "the prompt is too long"))
    assert "the prompt is too long" in (await failure(model)).message
    assert len(wire.asked) == 1


async def test_a_server_that_says_nothing_of_effort_is_sent_none_and_none_is_recorded(
    wire: Wire, model: OpenAIModel
) -> None:
    wire.says(chat())
    inference = (await model.complete(PROMPT, Choice(reasoning="high"))).inference
    assert "reasoning_effort" not in wire.bodies[0]
    assert wire.bodies[0]["max_tokens"] == 4096
    assert inference.reasoning == "none"


@requirement("reasoning.recorded")
async def test_a_server_that_takes_effort_gets_the_level_and_its_room(wire: Wire) -> None:
    wire.says(chat())
    model = OpenAIModel(model="qwen3", base_url=f"{wire.url}/v1", takes_effort=True)
    inference = (await model.complete(PROMPT, Choice(reasoning="medium"))).inference
    await model.aclose()
    assert wire.bodies[0]["reasoning_effort"] == "medium"
    assert wire.bodies[0]["max_tokens"] == 8192
    assert inference.reasoning == "medium"


@requirement("inferences.recorded")
async def test_the_inference_names_the_model_that_answered_and_its_tokens(wire: Wire, model: OpenAIModel) -> None:
    usage = {
        "prompt_tokens": 300,
        "completion_tokens": 80,
        "total_tokens": 380,
        "prompt_tokens_details": {"cached_tokens": 256},
        "completion_tokens_details": {"reasoning_tokens": 30},
    }
    wire.says(chat(model="qwen3:8b-q4", usage=usage))
    inference = (await model.complete(PROMPT, Choice())).inference
    assert (inference.provider, inference.model, inference.requested_model) == ("openai", "qwen3:8b-q4", "qwen3")
    assert inference.usage == Usage(input=300, output=80, cached=256, thinking=30)
    assert (inference.stop_reason, inference.request_id) == ("stop", "req_2")


async def test_finish_reasons_are_told_apart(wire: Wire, model: OpenAIModel) -> None:
    wire.says(
        chat('{"a', finish_reason="length"), chat("", finish_reason="content_filter"), chat(None, refusal="I won't")
    )
    stops = [(await model.complete(PROMPT, Choice())).stop for _ in range(3)]
    assert stops == ["truncated", "refused", "refused"]


async def test_runaway_repetition_gets_one_retry_then_a_clear_error_with_both_costs(
    wire: Wire, model: OpenAIModel
) -> None:
    babble = '{"entities": [' + '{"name": "x"}, ' * 50
    wire.always(chat(babble, finish_reason="length"))
    with pytest.raises(ModelFailed, match="the model's answer was truncated") as failed:
        await PromptedEngine(model).resolve([], [], Choice())
    assert len(wire.asked) == 2
    assert [inference.usage.output for inference in failed.value.inferences] == [80, 80]
    assert all("truncated" in inference.error for inference in failed.value.inferences)


async def test_a_prompt_that_was_cut_in_silence_is_logged(
    wire: Wire, model: OpenAIModel, caplog: pytest.LogCaptureFixture
) -> None:
    wire.says(chat(usage={"prompt_tokens": 40, "completion_tokens": 1, "total_tokens": 41}))
    long = Prompt("Fixed text.", "word " * 2000, SCHEMA, "extract_graph", 4096)
    await model.complete(long, Choice())
    assert "raise the context size" in caplog.text
    assert "word word" not in caplog.text


async def test_openais_own_server_is_known_by_its_address() -> None:
    model = OpenAIModel(model="gpt-5.1", api_key=KEY, base_url="https://api.openai.com/v1")
    assert model.official
    await model.aclose()


async def test_the_environment_may_name_another_address(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{wire.url}/v1")
    wire.says(chat("here"))
    model = OpenAIModel(model="qwen3", api_key=KEY)
    assert not model.official
    assert (await model.complete(PROMPT, Choice())).text == "here"
    await model.aclose()


async def test_a_used_up_quota_is_called_that(wire: Wire, model: OpenAIModel) -> None:
    wire.always(openai_error(429, "You exceeded your current quota", code="insufficient_quota"))
    failed = await failure(model)
    assert "quota used up" in failed.message
    assert not isinstance(failed, ModelOverloaded)


async def test_a_refused_key_names_its_setting_and_stops_the_calls(wire: Wire) -> None:
    wire.says(openai_error(401, f"Incorrect API key provided: {KEY}"))
    model = OpenAIModel(model="gpt-5.1", api_key=KEY, base_url=f"{wire.url}/v1")
    first, again = await failure(model), await failure(model)
    await model.aclose()
    assert "OPENAI_API_KEY" in first.message
    assert KEY not in first.message
    assert again.message == first.message
    assert len(wire.asked) == 1


@pytest.mark.parametrize("said", [Said("<html>hello</html>"), Said({}), Said({"choices": []}), Said("{")])
async def test_a_page_that_is_no_completion_is_a_clear_failure(wire: Wire, model: OpenAIModel, said: Said) -> None:
    wire.says(said)
    assert "base URL" in (await failure(model)).message


# The embedder


@requirement("embed.one-request", "embed.matched-by-position", "embed.model", "embed.one-inference")
async def test_texts_are_one_request_and_vectors_come_back_in_their_order(wire: Wire, embedder: OpenAIEmbedder) -> None:
    wire.says(embeddings(lengths))
    embedded = await embedder.embed(["a", "bb", "ccc ccc"])
    (body,) = wire.bodies
    assert body["model"] == "text-embedding-3-small"
    assert body["input"] == ["a", "bb", "ccc ccc"]
    assert (body["dimensions"], body["encoding_format"]) == (3, "base64")
    ratios = [values[0] / values[1] for values in map(unpacked, embedded.vectors)]
    assert ratios == pytest.approx([1.0, 2.0, 7.0])
    assert embedded.inference.usage == Usage(input=4)
    assert embedded.inference.model == "text-embedding-3-small"


async def test_vectors_have_unit_length(wire: Wire, embedder: OpenAIEmbedder) -> None:
    wire.says(embeddings(lengths))
    (vector,) = (await embedder.embed(["hello"])).vectors
    assert math.hypot(*unpacked(vector)) == pytest.approx(1.0)


async def test_a_server_that_sends_plain_numbers_works_and_is_sent_no_dimensions(wire: Wire) -> None:
    def plain(body: dict[str, Any]) -> Said:
        data = [{"object": "embedding", "index": 0, "embedding": [3.0, 4.0]}]
        return Said(
            {"object": "list", "model": "nomic", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        )

    wire.says(plain)
    embedder = OpenAIEmbedder(model="nomic-embed-text", dim=2, base_url=f"{wire.url}/v1")
    (vector,) = (await embedder.embed(["hello"])).vectors
    await embedder.aclose()
    assert unpacked(vector) == pytest.approx((0.6, 0.8))
    assert "dimensions" not in wire.bodies[0]


@requirement("embed.dimensions")
async def test_vectors_of_another_size_are_refused(wire: Wire, embedder: OpenAIEmbedder) -> None:
    wire.says(embeddings(lambda text: [1.0, 0.0]))
    failed = await failure(embedder)
    assert "vectors of 2 numbers, but embedding_dimensions is 3" in failed.message


async def test_a_vector_without_a_direction_is_refused(wire: Wire, embedder: OpenAIEmbedder) -> None:
    wire.says(embeddings(lambda text: [0.0, 0.0, 0.0]))
    assert "without a direction" in (await failure(embedder)).message


async def test_too_few_vectors_are_refused(wire: Wire, embedder: OpenAIEmbedder) -> None:
    data = [{"object": "embedding", "index": 0, "embedding": [1.0, 0.0, 0.0]}]
    wire.says(Said({"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}))
    with pytest.raises(ModelFailed, match="1 vectors for 2 texts"):
        await embedder.embed(["one", "two"])


@pytest.mark.parametrize("said", [Said("<html>hello</html>"), Said({}), Said({"data": []}), Said({"data": [{}]})])
async def test_a_page_that_is_no_embedding_is_a_clear_failure(wire: Wire, embedder: OpenAIEmbedder, said: Said) -> None:
    wire.says(said)
    assert "base URL" in (await failure(embedder)).message


async def test_a_blank_text_is_never_sent(wire: Wire, embedder: OpenAIEmbedder) -> None:
    wire.says(embeddings(lengths))
    assert len((await embedder.embed(["", " \n\t", "Ivo visited Rome"])).vectors) == 3
    assert all(text.strip() for text in wire.bodies[0]["input"])


async def test_no_texts_need_no_call(wire: Wire, embedder: OpenAIEmbedder) -> None:
    assert (await embedder.embed([])).vectors == ()
    assert wire.asked == []


async def test_a_text_over_the_limit_is_cut(wire: Wire, embedder: OpenAIEmbedder) -> None:
    wire.says(embeddings(lengths))
    await embedder.embed(["short", "word " * 9000])
    short, cut = wire.bodies[0]["input"]
    assert short == "short"
    assert 8000 < len(cut.split()) < 8192


async def test_a_batch_is_split_only_where_a_limit_would_be_broken(wire: Wire, embedder: OpenAIEmbedder) -> None:
    wire.always(embeddings(lengths))
    await embedder.embed(["x"] * 2048)
    assert len(wire.asked) == 1
    embedded = await embedder.embed(["x"] * 2049)
    assert [len(body["input"]) for body in wire.bodies[1:]] == [2048, 1]
    assert len(embedded.vectors) == 2049
    assert embedded.inference.usage.input == 2049
    await embedder.embed(["word " * 8000] * 40)
    assert [len(body["input"]) for body in wire.bodies[3:]] == [37, 3]


async def test_an_overloaded_embedder_is_named(wire: Wire, embedder: OpenAIEmbedder) -> None:
    wire.always(openai_error(503, "busy"))
    failed = await failure(embedder)
    assert isinstance(failed, ModelOverloaded)
    assert len(wire.asked) == 3
    assert failed.inferences[0].requested_model == "text-embedding-3-small"


async def test_a_wrong_embedding_model_is_explained_every_time(wire: Wire, embedder: OpenAIEmbedder) -> None:
    wire.says(openai_error(404, "no such model", code="model_not_found"))
    messages = {(await failure(embedder)).message for _ in range(50)}
    assert len(messages) == 1
    assert "'text-embedding-3-small'" in messages.pop()
    assert len(wire.asked) == 1
