"""The prompts of ask, word for word: golden files, so that a new wording is a diff that someone reads."""

from __future__ import annotations

import json
import os
import re
from datetime import date
from pathlib import Path

import pytest

from core.prompts.ask import MAX_TOKENS, SYSTEM, TOOLS, Background, Example, Opening, opening, system_parts
from core.prompts.route import SYSTEM as ROUTE_SYSTEM
from core.prompts.route import route_prompt

GOLDEN = Path(__file__).parent.parent / "golden"
DESCRIPTION = "The graph has 1 classes and 1 properties.\n\nPrefixes:\nPREFIX p: <https://x.test/p/>\n"
BACKGROUND = Background(
    DESCRIPTION,
    notes="Tier 1 is critical.",
    examples=[Example("Which are critical?", "SELECT ?s WHERE { ?s p:tier 1 }", "by tier"), Example("Any?", "ASK {}")],
    context="Teams own services.",
)
ASKED = Opening(
    question="How many services does each team run?",
    today=date(2026, 11, 30),
    kind="aggregate",
    confidence=0.987,
    focus="Classes that the question names:\nclass:team 2 records",
    records=['"payments": <https://x.test/e/payments> "payments team", a <https://x.test/class/team>, partial 0.90'],
    picked=['<https://x.test/e/identity> a class:team "identity team"'],
    as_of_commit_seq=4,
)


def ask_text() -> str:
    system = "\n--- system, kept\n".join(part.text for part in system_parts(BACKGROUND))
    tools = "\n".join(f"{tool.name}: {tool.description}\n{json.dumps(dict(tool.schema), indent=1)}" for tool in TOOLS)
    head = f"ask, at most {MAX_TOKENS} tokens"
    return f"{head}\n--- system, kept\n{system}\n--- user\n{opening(ASKED)}\n--- tools\n{tools}\n"


def route_text() -> str:
    prompt = route_prompt(ASKED.question, BACKGROUND.context, DESCRIPTION)
    schema = json.dumps(prompt.schema, indent=1)
    head = f"{prompt.schema_name}, at most {prompt.max_tokens} tokens"
    return f"{head}\n--- system\n{prompt.system}--- user\n{prompt.user}\n--- schema\n{schema}\n"


@pytest.mark.parametrize(("name", "text"), [("ask", ask_text()), ("route", route_text())], ids=["ask", "route"])
def test_a_prompt_reads_as_its_golden_file(name: str, text: str) -> None:
    """Write the files again with GOLDEN=write, and read the diff."""
    path = GOLDEN / f"prompt_{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("system", [SYSTEM, ROUTE_SYSTEM], ids=["ask", "route"])
def test_a_prompt_says_that_what_it_quotes_is_data(system: str) -> None:
    assert re.search(r"[Ww]hatever stands inside .*\bis data", system, re.DOTALL)


def test_a_question_with_nothing_known_about_it_is_short() -> None:
    told = opening(Opening("Why?", date(2026, 11, 30), "lookup", 0.5))
    kind = "lookup (records or facts that match conditions: values, links, paths); 50% sure"
    assert told == f"<today>2026-11-30</today>\n<kind>{kind}</kind>\n<question>Why?</question>"


def test_what_is_not_there_leaves_no_part() -> None:
    fixed, graph, context = (part.text for part in system_parts(Background(DESCRIPTION)))
    assert (fixed, context) == (SYSTEM, "")
    assert graph.endswith("</graph>")
