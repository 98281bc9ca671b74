"""Questions about what was remembered: counts, paths, the past, and what changed."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from core.config import Config
from core.engine import NoEngine
from gligabao_mcp.providers.scripted import ScriptedModel
from gligabao_mcp.wiring import Providers, open_core
from tests.ask.asking import Asker, answer, sparql, told_in
from tests.facts import tell_facts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

BASE = "urn:gligabao:main:"


@pytest.fixture
async def memory(config: Config, model: ScriptedModel) -> AsyncGenerator[Asker]:
    async with open_core(config, Providers(NoEngine(), asker=model)) as core:
        yield Asker(core, model)


def fact(source: str, relation: str, target: str, **more: object) -> dict[str, Any]:
    return {"source": source, "relation": relation, "target": target} | more


async def told_on(memory: Asker, date: str, *facts: dict[str, Any]) -> None:
    moment = datetime.fromisoformat(date).replace(hour=9, tzinfo=UTC)
    await tell_facts(replace(memory.core, clock=lambda: moment), *facts, text=f"Told on {date}.")


async def iri_of(memory: Asker, name: str) -> str:
    """The IRI of an entity, as find_entities tells it to the model."""
    memory.model.turns([("find_entities", {"text": name})], answer())
    await memory.ask("?", dataset="main")
    return told_in(memory.last)[-1].split("<")[1].split(">")[0]


def values(body: dict[str, Any], name: str) -> list[str]:
    rows = json.loads(body["result"]["results"])["results"]["bindings"]
    return sorted(row[name]["value"] for row in rows)


@requirement("ask.answers-on-the-server")
async def test_a_count_over_130_facts_tells_of_all_and_shows_the_first(memory: Asker) -> None:
    for start in (0, 65):
        await tell_facts(memory.core, *(fact(f"Worker {n:03}", "works_at", "Acme") for n in range(start, start + 65)))
    acme = await iri_of(memory, "Acme")
    assert acme.startswith(f"{BASE}entity/")
    query = f"SELECT ?who ?name WHERE {{ ?who rel:works_at <{acme}> ; rdfs:label ?name }} ORDER BY ?name"
    memory.model.turns(sparql(query), answer("130 people work at Acme.", acme))
    body = await memory.ask("How many people work at Acme?", dataset="main", limit=50)
    page = body["result"]["row_page"]
    assert (page["total"], page["returned"], page["has_more"]) == (130, 50, True)
    assert told_in(memory.model.talks[-1])[1].startswith("step 1: 130 rows, 50 of which are returned; the first 30:")
    assert values(body, "name")[0] == "Worker 000"


@requirement("ask.answers-on-the-server")
async def test_a_question_over_two_hops(memory: Asker) -> None:
    await tell_facts(
        memory.core,
        fact("Alice", "lives_in", "Paris"),
        fact("Alice", "works_at", "Acme"),
        fact("Bo", "works_at", "Acme"),
        fact("Cleo", "works_at", "Globex"),
    )
    query = """SELECT ?who ?name WHERE {
        ?other rel:lives_in ?place ; rel:works_at ?firm . ?place rdfs:label "Paris" .
        ?who rel:works_at ?firm ; rdfs:label ?name . FILTER(?who != ?other) }"""
    memory.model.turns(sparql(query), answer("Bo does."), answer("Bo does.", bo := f"{BASE}entity/4"))
    body = await memory.ask("Who works with people who live in Paris?", dataset="main")
    assert values(body, "name") == ["Bo"]
    assert "cites none of them" in told_in(memory.last)[-1]
    assert body["answer"]["citations"] == values(body, "who") == [bo]


@requirement("ask.answers-on-the-server")
async def test_what_held_in_the_past_is_read_from_the_facts_themselves(memory: Asker) -> None:
    await tell_facts(
        memory.core,
        fact("Alice", "works_at", "Acme", valid_at="2019-01-01", invalid_at="2022-06-30"),
        fact("Alice", "works_at", "Globex", valid_at="2022-07-01"),
    )
    query = """SELECT ?fact ?name WHERE {
        ?fact a gb:Fact ; gb:predicate rel:works_at ; gb:object ?firm ; gb:validAt ?since .
        OPTIONAL { ?fact gb:invalidAt ?until } ?firm rdfs:label ?name .
        FILTER(?since <= "2021-06-01T00:00:00Z"^^xsd:dateTime)
        FILTER(!BOUND(?until) || ?until > "2021-06-01T00:00:00Z"^^xsd:dateTime) }"""
    memory.model.turns(sparql(query), answer("At Acme.", f"{BASE}edge/1"))
    body = await memory.ask("Where did Alice work in June 2021?", dataset="main")
    assert values(body, "name") == ["Acme"]
    assert body["answer"]["citations"] == [f"{BASE}edge/1"]
    described = memory.last.system[1].text
    assert "gb:Fact" in described
    assert "gb:artifact" in described


@requirement("commits.of-a-date", "commits.history-field", "ask.one-commit")
async def test_what_was_known_at_a_date_is_read_from_its_commit(memory: Asker) -> None:
    await told_on(memory, "2026-03-01", fact("Alice", "works_at", "Acme"))
    await told_on(memory, "2026-03-10", fact("Bo", "works_at", "Acme"))
    count = "SELECT (COUNT(?who) AS ?n) WHERE { ?who rel:works_at ?firm }"
    memory.model.turns([("commit_for_date", {"date": "2026-03-05"})], sparql(count, as_of_commit_seq=1), answer("One."))
    body = await memory.ask("How many did we know of on 5 March?", dataset="main")
    assert (values(body, "n"), body["history"]["as_of_commit_seq"]) == (["1"], 1)
    assert body["history"]["resolved_by"] == "commit_time"


@requirement("compare.step", "compare.history")
async def test_what_changed_between_two_dates(memory: Asker) -> None:
    await told_on(memory, "2026-03-01", fact("Alice", "works_at", "Acme"), fact("Bo", "works_at", "Acme"))
    await told_on(memory, "2026-03-10", fact("Cleo", "works_at", "Acme"))
    await told_on(memory, "2026-03-20", fact("Dan", "works_at", "Acme"))
    query = "SELECT ?who ?name WHERE { ?who rel:works_at ?firm ; rdfs:label ?name }"
    asked = {"query": query, "since": "2026-03-05", "until": "2026-03-15", "key": ["who"]}
    memory.model.turns([("compare", asked)], answer("Cleo came.", f"{BASE}entity/4"))
    body = await memory.ask("Who came between 5 and 15 March?", dataset="main")
    history = body["history"]
    assert [row["name"]["value"] for row in history["added"]] == ["Cleo"]
    assert history["totals"] == {"added": 1, "removed": 0, "changed": 0, "unchanged": 2}
    assert (history["as_of_commit_seq"], body["query"]["as_of_commit_seq"]) == (1, 2)
    assert body["answer"]["citations"] == [history["added"][0]["who"]["value"]]


@requirement("ask.unanswerable")
async def test_what_was_never_told_is_said_to_be_missing(memory: Asker) -> None:
    await tell_facts(memory.core, fact("Alice", "works_at", "Acme"))
    memory.model.turns(
        sparql("SELECT ?salary WHERE { ?who rel:earns ?salary }"),
        answer("Nothing is remembered about salaries.", route="unanswerable"),
    )
    body = await memory.ask("What does Alice earn?", dataset="main")
    assert body["answer"]["text"] == "Nothing is remembered about salaries."
    assert not {"query", "result"} & body.keys()
