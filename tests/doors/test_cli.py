"""What only the command line has: where text comes from, what people read, exit codes, completion."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import gligabao_mcp
from core.config import Config
from gligabao_mcp.cli import SECTIONS, cli
from gligabao_mcp.every_operation import EVERY
from gligabao_mcp.operation_commands import NEEDLESS, OF_THE_WIRE, TOLD_BY_DOORS, commands
from gligabao_mcp.settings import flag, is_secret, is_table
from tests.processes import COMMAND, environment
from tests.requirements import requirement

EDGES = json.dumps([{"source": "Alice", "target": "Berlin", "relation": "lives in", "valid_at": "2025-01-31"}])
MOVED = json.dumps([{"source": "Alice", "target": "Paris", "relation": "lives in", "valid_at": "2026-03-01"}])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLIGABAO_HOME", str(tmp_path))
    monkeypatch.setenv("GLIGABAO_LLM", "none")
    return tmp_path


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, arguments, input=stdin)


def kept(home: Path) -> list[str]:
    import sqlite3

    with sqlite3.connect(home / "gligabao.db") as connection:
        rows = connection.execute("SELECT text FROM gb_artifacts ORDER BY id").fetchall()
    connection.close()
    return [row[0] for row in rows]


def test_people_read_facts_with_their_dates_and_sources(home: Path) -> None:
    assert run("remember", "Alice lives in Berlin.", "--edges", EDGES).output == (
        "Remembered as artifact 1: 1 fact.\n  [1] Alice lives in Berlin (since 2025-01-31; artifact 1)\n"
    )
    assert "Closed by it: fact 1." in run("remember", "Alice moved to Paris.", "--edges", MOVED).output
    shown = run("query", "--no-answer", "Where does Alice live?").output
    assert "[2] Alice lives in Paris (since 2026-03-01; artifact 2)" in shown
    assert "[1] Alice lives in Berlin (since 2025-01-31, until 2026-03-01, superseded; artifact 1)" in shown


def test_the_text_is_words_a_file_or_stdin(home: Path) -> None:
    file = home / "note.txt"
    file.write_text("from a file, in Huế", encoding="utf-8")
    common = ("--edges", EDGES)
    assert run("remember", "from", "words", *common).exit_code == 0
    assert run("remember", "--file", str(file), *common).exit_code == 0
    assert run("remember", "-", *common, stdin="from stdin").exit_code == 0
    assert run("remember", *common, stdin=b"caf\xe9 without a dash").exit_code == 0
    assert kept(home) == ["from words", "from a file, in Huế", "from stdin", "caf\ufffd without a dash"]


def test_two_texts_at_once_are_refused(home: Path) -> None:
    result = run("remember", "text", "--file", str(home / "note.txt"))
    assert (result.exit_code, "not both" in result.output) == (2, True)
    missing = run("remember", "--file", str(home / "none.txt"))
    assert (missing.exit_code, "can't read" in missing.output) == (2, True)


def test_a_failure_is_a_sentence_and_an_exit_code(home: Path) -> None:
    run("remember", "Alice.", "--edges", EDGES)
    unknown = run("query", "--no-answer", "--dataset", "nope", "Alice?")
    assert (unknown.exit_code, unknown.stdout) == (1, "")
    assert unknown.stderr.startswith("gligabao: dataset: not found")
    assert run("query", "--reasoning", "max", "Alice?").exit_code == 2
    assert run("query", "--no-such-flag", "Alice?").exit_code == 2
    assert run("query", "Alice?").exit_code == 1, "no model is configured"


def test_json_is_the_response_of_the_other_doors(home: Path) -> None:
    body = json.loads(run("remember", "Alice.", "--edges", EDGES, "--session-id", "s", "--json").stdout)
    assert (body["artifact_id"], body["session_id"], body["edges"][0]["target"]) == (1, "s", "Berlin")
    failure = run("query", "--json", "Alice?")
    assert json.loads(failure.stdout)["code"] == "not_configured"


def test_the_user_is_the_setting_unless_a_flag_names_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("remember", "Alice.", "--edges", EDGES)
    assert "lives in" in run("query", "--no-answer", "Alice?", "--user-id", "local").output
    assert "lives in" not in run("query", "--no-answer", "Alice?", "--user-id", "other").output
    monkeypatch.setenv("GLIGABAO_USER_ID", "other")
    assert "lives in" not in run("query", "--no-answer", "Alice?").output


@requirement("store.db-flag")
def test_the_db_flag_selects_the_file(home: Path) -> None:
    elsewhere = home / "elsewhere.db"
    run("remember", "Alice.", "--edges", EDGES, "--db", str(elsewhere))
    assert elsewhere.exists()
    assert "lives in" in run("query", "--no-answer", "Alice?", "--db", str(elsewhere)).output
    assert "lives in" not in run("query", "--no-answer", "Alice?").output


def test_status_shows_settings_with_their_source_and_what_is_off_and_why(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JEV_API_KEY", "jv-secret")
    run("remember", "Alice.", "--edges", EDGES)
    shown = run("status", "--port", "5")
    assert shown.exit_code == 0, shown.output
    lines = [" ".join(line.split()) for line in shown.output.splitlines()]
    assert "port 5 flag --port" in lines
    assert "llm none environment GLIGABAO_LLM" in lines
    assert "jev_api_key (set) environment JEV_API_KEY" in lines
    assert "jv-secret" not in shown.output
    assert any(line.startswith("language model off no language model") for line in lines)
    assert "local main 1 2 1 1 -" in lines


def test_a_wrong_setting_stops_every_command(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLIGABAO_CHUNK_SIZE", "some")
    for command in (["query", "A?"], ["status"], ["serve"]):
        result = run(*command)
        assert (result.exit_code, "chunk_size" in result.stderr, "GLIGABAO_CHUNK_SIZE" in result.stderr) == (
            2,
            True,
            True,
        )


def test_every_field_and_every_setting_has_a_flag() -> None:
    for name, operation in commands().items():
        shown = " ".join(run(name, "--help").output.split())
        described = {
            n: f for n, f in operation.request.model_fields.items() if not (f.description or "").startswith(NEEDLESS)
        }
        typed = described.keys() - {operation.main_field, TOLD_BY_DOORS, *OF_THE_WIRE}
        assert all(flag(field) in shown for field in typed)
    shown = " ".join(run("serve", "--help").output.split())
    for name, field in Config.model_fields.items():
        hidden = is_secret(field) or is_table(field)
        assert (flag(name) in shown) != hidden
        assert hidden or " ".join((field.description or "").split())[:20] in shown


def test_help_lists_a_command_for_each_operation() -> None:
    listed = {line.split()[0] for line in run("--help").output.splitlines() if line.startswith("  ")}
    assert {name for names in SECTIONS.values() for name in names} <= listed
    assert listed >= commands().keys() | {"serve", "stdio", "status"}
    assert {row.name for row in EVERY if not row.of_graph} <= {row.name for row in commands().values()}
    unknown = run("no-such-command")
    assert (unknown.exit_code, "No such command" in unknown.output) == (2, True)


def test_the_table_of_operations_is_not_read_to_find_a_command_of_the_command_line() -> None:
    """A host starts `gligabao stdio` for every conversation: it shall not wait for models it does not need yet."""
    code = (
        "import sys; from gligabao_mcp.cli import cli; import click; "
        "assert cli.get_command(click.Context(cli), 'stdio'); print('gligabao_mcp.operations' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_messages_are_given_instead_of_a_text(home: Path) -> None:
    said = json.dumps([{"text": "Alice lives in Berlin."}, {"text": "[not] {JSON}"}])
    assert run("remember", "--messages", said, "--llm", "none").exit_code == 1, "no model reads them"
    both = run("remember", "--messages", said, "a text")
    assert (both.exit_code, "text: can't be given with messages" in both.stderr) == (2, True)


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert gligabao_mcp.__version__ == project["version"]
    assert project["version"] in run("--version").output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    assert "_GLIGABAO_COMPLETE" in run("completion", shell).output


def test_completion_completes(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.shell_completion import ShellComplete

    complete = ShellComplete(cli, {}, "gligabao", "_GLIGABAO_COMPLETE")
    assert [item.value for item in complete.get_completions([], "rem")] == ["remember"]
    assert "--session-id" in [item.value for item in complete.get_completions(["query"], "--se")]
    assert [item.value for item in complete.get_completions(["query", "--llm"], "lo")] == ["local"]


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    """As in `gligabao status | head -1`."""
    command = [*COMMAND, "status", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(tmp_path)
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read().decode()
    assert "internal error" not in said and "Traceback" not in said
