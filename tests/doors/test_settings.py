"""Settings: flags before environment before file before defaults, and errors that say which and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.config import Config
from core.errors import InvalidRequest
from gligabao_mcp.settings import PLACES, load
from tests.requirements import requirement


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def environ(home: Path, **more: str) -> dict[str, str]:
    return {"GLIGABAO_HOME": str(home), **more}


def write(home: Path, text: str) -> Path:
    file = home / "gligabao.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_defaults_alone(home: Path) -> None:
    settings = load({}, environ(home))
    assert settings.config == Config(home=home)
    assert settings.sources["port"] == "default"
    assert settings.sources["home"] == "environment GLIGABAO_HOME"


def test_one_precedence_for_all(home: Path) -> None:
    file = write(home, "port = 1\nhost = '::1'\nllm = 'none'\nembedder = 'none'\n")
    settings = load({"port": "3", "db": None}, environ(home, GLIGABAO_PORT="2", GLIGABAO_LLM="local"))
    found = {name: (getattr(settings.config, name), settings.sources[name]) for name in ("port", "llm", "host", "db")}
    assert found == {
        "port": (3, "flag --port"),
        "llm": ("local", "environment GLIGABAO_LLM"),
        "host": ("::1", f"file {file}"),
        "db": (None, "default"),
    }


def test_a_flag_moves_the_folder_the_file_is_read_from(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write(other, "port = 5\n")
    assert load({"home": str(other)}, environ(home)).config.port == 5


@pytest.mark.parametrize("name", PLACES)
def test_an_empty_place_is_not_the_working_folder(home: Path, name: str) -> None:
    """`--home "$DATA"` of a script in which nobody set DATA."""
    write(home, f"{name} = ''\n")
    settings = load({name: ""}, environ(home))
    assert getattr(settings.config, name) == getattr(load({}, environ(home)).config, name)
    assert settings.sources[name] == ("environment GLIGABAO_HOME" if name == "home" else "default")


def test_the_file_may_be_elsewhere_and_must_be_there_then(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.toml"
    with pytest.raises(InvalidRequest, match="GLIGABAO_CONFIG names a file that is not there"):
        load({}, environ(home, GLIGABAO_CONFIG=str(elsewhere)))
    elsewhere.write_text("port = 6\n", encoding="utf-8")
    assert load({}, environ(home, GLIGABAO_CONFIG=str(elsewhere))).config.port == 6


@requirement("embed.optional")
def test_secrets_are_read_from_the_file_too_and_never_shown(home: Path) -> None:
    write(home, "openai_api_key = 'sk-secret'\n")
    settings = load({}, environ(home))
    assert settings.config.openai_api_key is not None
    assert settings.config.openai_api_key.get_secret_value() == "sk-secret"
    assert ("openai_api_key", "(set)", settings.sources["openai_api_key"]) in settings.shown()
    assert "sk-secret" not in repr(settings)


@pytest.mark.parametrize(
    ("variable", "field"),
    [
        ("ANTHROPIC_BASE_URL", "anthropic_base_url"),
        ("OPENAI_BASE_URL", "openai_base_url"),
        ("GLIGABAO_SESSION_ID", "session_id"),
        ("GLIGABAO_USER_ID", "user_id"),
    ],
)
def test_variables_that_people_have_are_honoured(home: Path, variable: str, field: str) -> None:
    settings = load({}, environ(home, **{variable: "http://here"}))
    assert getattr(settings.config, field) == "http://here"
    assert settings.sources[field] == f"environment {variable}"


@pytest.mark.parametrize("field", ["anthropic_api_key", "openai_api_key", "jev_api_key"])
def test_our_own_variable_wins_over_the_common_one(home: Path, field: str) -> None:
    both = {field.upper(): "common", f"GLIGABAO_{field.upper()}": "own"}
    assert getattr(load({}, environ(home, **both)).config, field).get_secret_value() == "own"
    assert getattr(load({}, environ(home, **{field.upper(): "common"})).config, field).get_secret_value() == "common"


def test_an_empty_variable_is_not_given(home: Path) -> None:
    settings = load({}, environ(home, ANTHROPIC_API_KEY="", GLIGABAO_PORT=""))
    assert settings.config.anthropic_api_key is None
    assert settings.config.port == 7878


@pytest.mark.parametrize("left", ["${OPENAI_API_KEY}", "${env:OPENAI_API_KEY}", "${user_config.openai_api_key}"])
def test_a_variable_that_a_host_left_as_it_stood_is_not_given(home: Path, left: str) -> None:
    settings = load({}, environ(home, GLIGABAO_OPENAI_API_KEY=left, OPENAI_API_KEY="sk-real"))
    assert settings.sources["openai_api_key"] == "environment OPENAI_API_KEY"
    assert load({}, environ(home, OPENAI_API_KEY=left)).config.openai_api_key is None


def test_a_list_in_the_environment_is_split_at_commas(home: Path) -> None:
    assert load({}, environ(home, GLIGABAO_SESSION_META_KEYS="a.b, c")).config.session_meta_keys == ("a.b", "c")


def test_a_wrong_value_names_the_setting_its_source_and_the_rule(home: Path) -> None:
    with pytest.raises(InvalidRequest) as wrong:
        load({}, environ(home, GLIGABAO_PORT="99999"))
    assert wrong.value.message == "setting port: must be at most 65535 (from environment GLIGABAO_PORT)"
    write(home, "llm = 'gpt'\n")
    with pytest.raises(InvalidRequest, match=r"setting llm: must be one of 'auto', .*gligabao\.toml\)"):
        load({}, environ(home))


def test_an_unknown_name_in_the_file_is_an_error(home: Path) -> None:
    write(home, "prot = 1\nllm = 'none'\n")
    with pytest.raises(InvalidRequest, match="unknown settings: prot; the settings are home, db"):
        load({}, environ(home))


def test_a_file_that_is_no_toml_is_an_error(home: Path) -> None:
    write(home, "port: 1\n")
    with pytest.raises(InvalidRequest, match=r"gligabao\.toml can't be read as TOML"):
        load({}, environ(home))


def test_the_tables_of_the_file_are_read_and_shown_by_the_names_of_their_rows(home: Path) -> None:
    write(home, "[prices.'m-1.5']\ninput = 2\n[models.'claude-next']\nthinking = 'budget'\n")
    settings = load({}, environ(home, GLIGABAO_PRICES="m=3"))
    assert settings.config.prices["m-1.5"].input == 2
    assert settings.config.models["claude-next"].thinking == "budget"
    shown = {name: (value, source) for name, value, source in settings.shown()}
    assert shown["prices"] == ("m-1.5", f"file {home / 'gligabao.toml'}")


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ("[prices.m]\ninput = -1", "prices.m.input: must be at least 0"),
        ("[prices.m]\ninput = nan", "prices.m.input: "),
        ("[prices.m]\ninputs = 1", "prices.m.inputs: is not known here"),
        ("[prices.m]\nlong_prompt = {above = 10}", "prices.m.long_prompt.input: is required"),
        ("[prices]\nm = 3", "prices.m: must be an object"),
        ("[models.m]\nthinking = 'hard'", "models.m.thinking: must be one of 'off', 'budget'"),
    ],
)
def test_a_wrong_row_of_a_table_is_named(home: Path, table: str, wrong: str) -> None:
    write(home, table)
    with pytest.raises(InvalidRequest) as raised:
        load({}, environ(home))
    assert raised.value.message.startswith(f"setting {wrong}")
    assert raised.value.message.endswith(f"(from file {home / 'gligabao.toml'})")


def test_the_url_of_a_webhook_is_a_secret(home: Path) -> None:
    settings = load({}, environ(home, GLIGABAO_EVENT_WEBHOOK_URL="https://hooks.test/key-1"))
    assert ("event_webhook_url", "(set)", "environment GLIGABAO_EVENT_WEBHOOK_URL") in settings.shown()
    assert "key-1" not in repr(settings)


@pytest.mark.parametrize(
    ("stated", "shown"),
    [
        ("postgresql+psycopg://me:secret@host/name", "postgresql+psycopg://me:***@host/name"),
        ("postgresql+psycopg://me:sec@ret@host/name", "postgresql+psycopg://me:***@host/name"),
        ("postgresql://host/name?user=me&password=secret&x=1", "postgresql://host/name?user=me&password=***&x=1"),
        ("postgresql://me@host:5432/name", "postgresql://me@host:5432/name"),
        ("folder/my.db", "folder/my.db"),
    ],
)
def test_the_password_of_a_database_is_never_shown(home: Path, stated: str, shown: str) -> None:
    assert ("db", shown, "flag --db") in load({"db": stated}, environ(home)).shown()


@requirement("embed.dimensions")
def test_the_defaults_of_the_product_documents() -> None:
    assert Config().embedding_dimensions == 1536
    assert Config().embedding_model == "text-embedding-3-small"
    assert Config().chunk_size == 1024
    assert (Config().host, Config().port) == ("127.0.0.1", 7878)
