"""The commands of a graph: a file is loaded, asked about in plain words and in SPARQL, and compared with its past."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gligabao_mcp.cli import cli
from tests.doors.bakeries import BROKEN, COUNTS, HOW_MANY, MISSING, PER_BAKERY, PRICES, TURTLE, record, scripts
from tests.scripted_messages import Scripted
from tests.wire import Wire


@pytest.fixture
def home(tmp_path: Path, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory whose questions the scripted model answers."""
    wire.always(Scripted(*scripts()))
    said = {"GLIGABAO_HOME": str(tmp_path), "GLIGABAO_LLM": "anthropic"}
    for name, value in {**said, "ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": wire.url}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture
def loaded(home: Path) -> Path:
    """The same with the bakeries in its graph."""
    file = home / "bakeries.ttl"
    file.write_text(TURTLE, encoding="utf-8")
    assert run("load", str(file)).output == "Commit 1: 26 of 26 triples are new.\n"
    return home


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def test_a_file_is_loaded_once_in_the_format_that_its_name_says(loaded: Path) -> None:
    assert "Default: by the ending of its name" in " ".join(run("load", "--help").output.split())
    again = loaded / "bakeries.TTL"
    again.write_text(TURTLE, encoding="utf-8")
    assert run("load", str(again)).output == "Everything is there already.\n"
    lines = loaded / "more.txt"
    lines.write_text('<urn:a> <urn:b> "c" .\nnonsense\n', encoding="utf-8")
    refused = run("load", str(lines))
    assert (refused.exit_code, "line 2" in refused.stderr) == (2, True)
    partly = run("load", str(lines), "--no-strict")
    assert partly.exit_code == 0
    assert "Commit 2: 1 of 1 triples are new.\nLeft out: " in partly.output
    assert run("load", str(loaded / "none.ttl")).exit_code == 2


def test_an_answer_is_printed_with_what_it_cites_its_query_and_its_rows(loaded: Path) -> None:
    asked = run("ask", *HOW_MANY.split())
    assert asked.exit_code == 0
    said, cites, query, rows = asked.stdout.rstrip("\n").split("\n\n")
    assert said == "North Bakery and South Bakery GmbH make two each."
    assert cites == f"Cites:\n  {record('north')}\n  {record('south')}"
    assert query.startswith("Query:\n  PREFIX rdfs:") or "PREFIX rdfs:" in query
    assert rows.splitlines()[0] == "Rows (2)"
    assert rows.splitlines()[1].split() == ["bakery", "label", "n"]
    steps = asked.stderr.splitlines()
    assert [steps[0].partition(":")[0], steps[1]] == ["read the graph", "route: aggregate (0.90)"]
    assert steps[2].startswith("1. sparql: SELECT ?bakery")
    assert steps[2].endswith("(2 rows)")


def test_an_answer_is_printed_as_json(loaded: Path) -> None:
    asked = run("ask", HOW_MANY, "--json")
    body = json.loads(asked.stdout)
    assert body["answer"]["citations"] == [record("north"), record("south")]
    assert len(body["steps"]) == 1


def test_what_has_no_rows_and_what_fails_is_said_in_words(loaded: Path) -> None:
    assert run("ask", MISSING).stdout == "The graph holds no flours.\n"
    assert run("ask", HOW_MANY, "--mode", "route").stdout == "Route: aggregate (0.90)\n"
    failed = run("ask", BROKEN)
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert failed.stderr.splitlines()[-1].startswith("gligabao: ")
    wrong = run("ask", "q" * 4001)
    assert (wrong.exit_code, "question: " in wrong.stderr) == (2, True)


def test_a_query_is_printed_as_a_table(loaded: Path) -> None:
    lines = run("sparql", PRICES, "--limit", "2").output.splitlines()
    assert lines[0] == "Rows (2 of 3)"
    assert lines[2].split() == [record("baguette"), "2"]
    assert run("sparql", "ASK { ?s ?p ?o }").output == "yes\n"
    assert run("sparql", "SELECT ?s WHERE { ?s <urn:none> ?o }").output == "Rows (0)\n"
    assert run("sparql", "DELETE WHERE { ?s ?p ?o }").exit_code == 2


def test_names_classes_commits_and_changes_are_shown(loaded: Path) -> None:
    names = run("names", "What does Soth Bakery make?").output.splitlines()
    assert names[0] == "Names"
    assert record("south") in names[2]
    assert "fuzzy" in names[2]
    assert run("names", "What is this?").output == "No name of a record is in it.\n"
    assert "kind:Bread" in run("describe", "Which bread is there?").output
    assert run("commit-at", "--date", "2999-01-01").output.startswith("Commit 1, written at ")
    assert run("commit-at", "--date", "1999-01-01").output.startswith("No commit: the first commit was written at ")

    compared = run("compare", PER_BAKERY, "--before", "0", "--key", "bakery").output.splitlines()
    assert compared[:2] == ["Commit 0 to commit 1", "2 added, 0 removed, 0 changed, 0 unchanged."]
    stated = run("compare", PER_BAKERY, "--before", '{"as_of_commit_seq": 0}', "--key", "bakery")
    assert stated.output.splitlines() == compared, "a point as REST takes it"
    assert f"  + bakery {record('north')}, n 2" in compared
    unread = run("compare", PER_BAKERY, "--before", "yesterday")
    assert unread.stderr.startswith("gligabao: before: must be the number of a commit, a date such as 2026-03-01")
    early = run("compare", COUNTS, "--before", "1999-01-01")
    assert (early.exit_code, "before: " in early.stderr) == (2, True)
