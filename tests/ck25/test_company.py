"""CK25 in a memory: its graph loads, its queries run as on the engine alone, its names link, and the loop answers."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from lbb import models

from core.ask.ask import AskRequest, ask
from core.config import Config
from core.core import Core
from core.engine import NoEngine
from core.errors import InvalidRequest
from core.evals.goldens import GoldensRequest, goldens
from core.evals.label import LabelRequest, label
from core.evals.run_answers import RunAnswersRequest, run_answers
from core.names.names import link_names
from core.rdf.terms import Solutions
from core.sparql.sparql import run_sparql
from gligabao_mcp.providers.scripted import ScriptedModel
from gligabao_mcp.wiring import Providers, open_core
from tests.ask.asking import answer, sparql
from tests.ck25.company import GRAPH, TRIPLES, USER, company, load, question, questions, turtle

pytestmark = pytest.mark.anyio

# Casts that the engine has no function for: its SPARQL knows xsd:integer, not the types derived from it.
NOT_EVALUATED = {37, 42}
# Words that link to no record of the query: Switches is no name, nor two letters off one that few products hold; a
# plural of an acronym is no acronym; and a misspelled word in small letters is taken for no name.
NOT_LINKED = {9: "Sensor Switches", 24: "pontiometer", 26: "LCDs"}
# Questions of each kind: a record, a list, yes or no, a count by group, the best by a measure.
ASKED = {8: "lookup", 22: "lookup", 16: "lookup", 30: "aggregate", 45: "aggregate"}


@pytest.fixture
async def loaded(config: Config, model: ScriptedModel) -> AsyncGenerator[Core]:
    async with open_core(config, Providers(NoEngine(), asker=model)) as core:
        await load(core)
        yield core


async def test_the_graph_is_loaded_whole_in_one_commit(config: Config) -> None:
    async with open_core(config, Providers(NoEngine())) as core:
        first, again = await load(core), await load(core)
        ran = await run_sparql(core, await company(core), "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
    assert (first.triples, first.added, first.seq, list(first.problems)) == (TRIPLES, TRIPLES, 1, [])
    assert (again.added, again.seq) == (0, None)
    assert ran.solutions.rows[0]["n"].value == str(TRIPLES)


async def test_the_queries_have_the_rows_that_the_engine_has_on_the_file(loaded: Core) -> None:
    dataset, alone = await company(loaded), ox.Store()
    alone.load(turtle(), format=ox.RdfFormat.TURTLE)
    refused: set[int] = set()
    for one in questions():
        try:
            solutions = (await run_sparql(loaded, dataset, one.sparql)).solutions
        except InvalidRequest as failure:
            refused.add(one.number)
            assert "XMLSchema#int" in failure.message
        else:
            assert said(solutions) == expected(alone.query(one.sparql)), one.words
    assert refused == NOT_EVALUATED
    assert len(questions()) == 50


def said(solutions: Solutions) -> object:
    """What a query answers, whatever the order of its rows."""
    if solutions.boolean is not None:
        return solutions.boolean
    return sorted(sorted((name, term.value) for name, term in row.items()) for row in solutions.rows)


def expected(found: ox.QueryBoolean | ox.QuerySolutions | ox.QueryTriples) -> object:
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    assert isinstance(found, ox.QuerySolutions)
    names = [variable.value for variable in found.variables]
    return sorted(sorted((name, row[name].value) for name in names if row[name] is not None) for row in found)


async def test_the_names_in_the_questions_link_to_the_records_of_the_queries(loaded: Core) -> None:
    dataset, missed = await company(loaded), set[int]()
    for one in questions():
        linked = await link_names(loaded, dataset, one.words, 5)
        if not one.records <= {candidate.iri for candidate in linked.candidates}:
            missed.add(one.number)
    assert missed == set(NOT_LINKED)
    assert sum(bool(one.records) for one in questions()) == 23


async def test_the_loop_answers_five_questions_with_the_rows_of_their_queries(
    tmp_path: Path, model: ScriptedModel
) -> None:
    async with open_core(Config(home=tmp_path), Providers(NoEngine(), asker=model)) as core:
        await load(core)
        for number, kind in ASKED.items():
            one = question(number)
            right = (await run_sparql(core, await company(core), one.sparql)).solutions
            records = [term.value for row in right.rows for term in row.values() if term.kind == "uri"]
            model.turns(sparql(one.sparql), answer("The rows show it.", *records, route=kind))
            body = await asked(core, question=one.words, route=kind)
            assert body["answer"].get("citations", []) == records, one.words
            assert rows_in(body) == (right.results().get("results") or right.boolean), one.words
            said = LabelRequest(user_id=USER, dataset=GRAPH, trace=body["result"]["trace_id"], valid=True)
            assert (await label(core, said)).golden is not None
        answers = [
            {"golden": golden.id, "sparql": next(one.sparql for one in questions() if one.words == golden.request)}
            for golden in (await goldens(core, GoldensRequest(user_id=USER, dataset=GRAPH))).goldens
        ]
        given = RunAnswersRequest.model_validate({"user_id": USER, "dataset": GRAPH, "answers": answers})
        found = (await run_answers(core, given)).results
    assert (found.total, found.passed) == (len(ASKED), len(ASKED))


async def asked(core: Core, **fields: Any) -> dict[str, Any]:
    body = (await ask(core, AskRequest(user_id=USER, dataset=GRAPH, **fields))).body()
    models.QueryRewriteResponse.model_validate(body)
    return body


def rows_in(body: Mapping[str, Any]) -> object:
    document = json.loads(body["result"]["results"])
    return document.get("results") or document["boolean"]
