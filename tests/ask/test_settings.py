"""Which model answers questions, by the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from core.config import Config
from core.errors import DailyLimit, InvalidRequest
from core.prices import Price
from gligabao_mcp.providers.scripted import ScriptedModel
from gligabao_mcp.settings import load
from gligabao_mcp.wiring import providers_for
from tests.ask.asking import answer, opened, sparql
from tests.ask.services import TOTAL
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

KEY = SecretStr("key")
LOCAL: dict[str, Any] = {"llm": "openai", "llm_base_url": "http://127.0.0.1:1/v1", "llm_model": "qwen3"}


def model_of(**settings: Any) -> str | None:
    asker = providers_for(Config.model_validate(settings)).asker
    return asker.model if asker else None


@requirement("ask.model", "ask.no-model-to-choose")
@pytest.mark.parametrize(
    ("settings", "model"),
    [
        ({"anthropic_api_key": KEY}, "claude-sonnet-5-5"),
        ({"anthropic_api_key": KEY, "llm_model": "claude-opus-5-5"}, "claude-sonnet-5-5"),
        ({"anthropic_api_key": KEY, "ask_model": "claude-opus-5-5"}, "claude-opus-5-5"),
        (LOCAL, "qwen3"),
        ({**LOCAL, "ask_model": "qwen3-large"}, "qwen3-large"),
        ({**LOCAL, "anthropic_api_key": KEY}, "qwen3"),
        ({}, None),
        ({"openai_api_key": KEY}, None),
        ({"llm": "local", "anthropic_api_key": KEY}, None),
        ({"llm": "none", "anthropic_api_key": KEY}, None),
    ],
)
def test_the_provider_that_reads_answers_questions_too(settings: dict[str, Any], model: str | None) -> None:
    assert model_of(**settings) == model


@requirement("ask.router")
def test_jev_routes_where_its_key_is_set() -> None:
    providers = providers_for(Config(jev_api_key=KEY))
    assert providers.router is providers.decide is not None


@requirement("ask.router")
@pytest.mark.parametrize(
    ("settings", "model"),
    [
        ({"anthropic_api_key": KEY}, "claude-haiku-5-5"),
        ({"anthropic_api_key": KEY, "ask_router_model": "claude-sonnet-5-5"}, "claude-sonnet-5-5"),
        (LOCAL, "qwen3"),
        ({**LOCAL, "ask_router_model": "qwen3-mini"}, "qwen3-mini"),
        ({}, None),
    ],
)
def test_without_jev_a_small_model_routes(settings: dict[str, Any], model: str | None) -> None:
    router = providers_for(Config.model_validate(settings)).router
    assert (router.model if router else None) == model


@requirement("ask.model", "ask.daily-limit")
def test_the_table_ask_names_its_settings_without_their_prefix(tmp_path: Path) -> None:
    file = tmp_path / "gligabao.toml"
    file.write_text('port = 1\n[ask]\nmodel = "m"\nrouter_model = "r"\nquestions_per_day = 3\n', encoding="utf-8")
    settings = load({"home": str(tmp_path)}, {})
    config = settings.config
    assert (config.ask_model, config.ask_router_model, config.ask_questions_per_day) == ("m", "r", 3)
    assert (config.port, settings.sources["ask_model"]) == (1, f"file {file}")
    over = load({"home": str(tmp_path), "ask_model": "flag"}, {"GLIGABAO_ASK_QUESTIONS_PER_DAY": "7"}).config
    assert (over.ask_model, over.ask_router_model, over.ask_questions_per_day) == ("flag", "r", 7)


@pytest.mark.parametrize("written", ["[ask]\ncolour = 1\n", "ask = 1\n", "[ask]\nquestions_per_day = -1\n"])
def test_what_can_not_stand_in_the_table_is_refused(tmp_path: Path, written: str) -> None:
    (tmp_path / "gligabao.toml").write_text(written, encoding="utf-8")
    with pytest.raises(InvalidRequest) as failed:
        load({"home": str(tmp_path)}, {})
    assert "ask" in failed.value.message


async def test_the_turns_of_a_question_count_towards_the_spend_limit(tmp_path: Path, model: ScriptedModel) -> None:
    price = Price(input=10_000.0)  # a call of 100 tokens is a dollar
    async with opened(tmp_path, model, prices={model.model: price}, daily_spend_limit_usd=1.5) as asked:
        model.turns(sparql(TOTAL), sparql(TOTAL), answer("Four."))
        body = await asked.ask()
        assert "daily spend limit" in body["error"]
        assert (len(model.talks), sum(call["cost_micro_usd"] for call in body["models"])) == (2, 2_000_000)
        with pytest.raises(DailyLimit):
            await asked.ask()
