"""gligabao ask --chart: the rows of an answer as a picture, in a file or in the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gligabao_mcp.cli import cli
from tests.doors.bakeries import HOW_MANY, MISSING, TURTLE, scripts
from tests.scripted_messages import Scripted
from tests.wire import Wire


@pytest.fixture
def home(tmp_path: Path, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory with the bakeries in its graph, whose questions the scripted model answers."""
    wire.always(Scripted(*scripts()))
    said = {"GLIGABAO_HOME": str(tmp_path), "GLIGABAO_LLM": "anthropic"}
    for name, value in {**said, "ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": wire.url}.items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "bakeries.ttl"
    file.write_text(TURTLE, encoding="utf-8")
    assert run("load", str(file)).exit_code == 0
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_an_answer_is_drawn_into_a_file(home: Path, kind: str) -> None:
    file = home / f"out.{kind}"
    asked = run("ask", HOW_MANY, "--chart", str(file))
    assert asked.exit_code == 0
    assert asked.stderr.splitlines()[-1] == f"drawn in {file}"
    assert asked.stdout.startswith("North Bakery and South Bakery GmbH make two each.\n")
    drawn = file.read_bytes()
    assert drawn.startswith(b"\x89PNG") if kind == "png" else b"South Bakery GmbH" in drawn


def test_an_answer_is_drawn_in_the_terminal_beside_its_json(home: Path) -> None:
    asked = run("ask", HOW_MANY, "--chart", "terminal", "--json")
    assert json.loads(asked.stdout)["answer"]["chart"]["kind"] == "bar"
    bars = [line for line in asked.stderr.splitlines() if "█" in line]
    assert [line.split("  ")[0] for line in bars] == ["North Bakery", "South Bakery GmbH"]
    assert asked.stderr.endswith("\n\n"), "the answer does not follow on it in the same terminal"


def test_an_answer_without_a_picture_is_printed_all_the_same(home: Path) -> None:
    asked = run("ask", MISSING, "--chart", "terminal")
    assert (asked.exit_code, asked.stdout) == (0, "The graph holds no flours.\n")
    assert asked.stderr.splitlines()[-1] == "the rows of this answer make no picture"


def test_what_can_not_be_drawn_is_refused_before_the_question_is_asked(home: Path, wire: Wire) -> None:
    asked = run("ask", HOW_MANY, "--chart", str(home / "out.pdf"))
    assert asked.exit_code == 2
    assert "chart: must be the name of a file that ends in .svg or .png, or terminal" in asked.stderr
    assert wire.bodies == []
