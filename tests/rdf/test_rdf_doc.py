"""docs/rdf.md: its queries run on its facts, and answer what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from core.config import Config
from core.core import Core
from core.engine import NoEngine
from core.rdf.gate import OF_FACTS, checked
from core.rdf.ports import GraphQuery
from core.rdf.vocabulary import GB, WELL_KNOWN, base_of, prefixes_of
from gligabao_mcp.wiring import Providers, open_core
from tests.facts import tell

pytestmark = pytest.mark.anyio

TEXT = (Path(__file__).parents[2] / "docs" / "rdf.md").read_text("utf-8")
TOLD = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)[0]
EXAMPLES = re.findall(r"```sparql\n(.*?)```\n\n```text\n(.*?)```", TEXT, re.DOTALL)


async def test_its_queries_answer_what_it_says(tmp_path: Path) -> None:
    async with open_core(Config(home=tmp_path), Providers(NoEngine())) as core:
        at = 0
        while TOLD[at:].strip():
            told, size = json.JSONDecoder().raw_decode(TOLD[at:].lstrip())
            at += len(TOLD[at:]) - len(TOLD[at:].lstrip()) + size
            await tell(core, told.pop("text"), **told)
        assert len(EXAMPLES) >= 3
        for query, answer in EXAMPLES:
            assert await lines(core, query) == answer.splitlines()


async def lines(core: Core, text: str) -> list[str]:
    dataset = await core.graph.dataset("u1", "main")
    assert dataset
    passed = checked(text, {**WELL_KNOWN, **prefixes_of(base_of("main"))})
    found = await core.queries.solve(dataset, GraphQuery(passed.text, facts=passed.facts))
    return [" ".join(row[name].value for name in found.variables if name in row) for row in found.rows]


def test_it_tells_of_every_term() -> None:
    terms = {iri.removeprefix(GB) for iri in OF_FACTS if iri.startswith(GB)}
    assert {term for term in terms if f"gb:{term}" not in TEXT} == set()
