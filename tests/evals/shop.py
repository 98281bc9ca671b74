"""A small shop of services and teams, asked over Turtle, with its evals in a real database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.core import Core
from core.evals.trace import Surface
from core.evals.traces import NewTrace, record_trace
from core.graph import Dataset
from core.graphs.graph_of import graph_of
from core.graphs.requests import GraphRequest
from core.rdf.ports import GraphQuery
from tests.facts import edge, tell_facts
from tests.rdf.in_memory import TurtleQueries

TURTLE = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix c: <https://shop.test/class/> .
@prefix e: <https://shop.test/e/> .
@prefix p: <https://shop.test/p/> .
e:risk a c:service ; rdfs:label "risk-service" ; p:team e:payments ; p:tier 1 ; p:mail "risk@shop.test" .
e:ledger a c:service ; rdfs:label "ledger-service" ; p:team e:payments ; p:tier 2 ; p:mail "ledger@shop.test" .
e:auth a c:service ; rdfs:label "auth-service" ; p:team e:identity ; p:tier 1 ; p:mail "auth@shop.test" .
e:payments a c:team ; rdfs:label "payments team" .
e:identity a c:team ; rdfs:label "identity team" .
"""
LATER = TURTLE + 'e:cache a c:service ; rdfs:label "edge-cache" ; p:team e:identity ; p:tier 3 .'
PREFIXES = """PREFIX c: <https://shop.test/class/>
PREFIX e: <https://shop.test/e/>
PREFIX p: <https://shop.test/p/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
"""
COUNTS = PREFIXES + "SELECT ?t ?l (COUNT(?s) AS ?n) WHERE { ?s p:team ?t . ?t rdfs:label ?l } GROUP BY ?t ?l"
SERVICES = PREFIXES + "SELECT ?s WHERE { ?s a c:service }"
TIER_1 = PREFIXES + "SELECT ?s WHERE { ?s p:tier 1 }"
HOW_MANY = "How many services does each team run?"
REPLY = {"text": "Payments runs 2, identity 1.", "citations": ["https://shop.test/e/payments"]}
AGGREGATE = {"kind": "aggregate", "confidence": 0.9, "by": "router"}


async def shop(core: Core, *commits: str) -> tuple[Core, Dataset]:
    """The memory over the shop: queries answer from Turtle, one text for each commit, by default TURTLE."""
    await tell_facts(core, edge("Alice", "works_at", "Acme"))
    core = replace(core, queries=TurtleQueries(*(commits or (TURTLE,))))
    return core, await graph_of(core, GraphRequest(user_id="u1"))


async def asked(
    core: Core, dataset: Dataset, sparql: str = COUNTS, question: str = HOW_MANY, surface: Surface = "ask", **more: Any
) -> str:
    """Records the trace of a question that this query answers; its id."""
    solutions = await core.queries.solve(dataset, GraphQuery(sparql)) if sparql else None
    fields = {"route": AGGREGATE, "reply": REPLY} if surface == "ask" else {}
    new = NewTrace(
        question, surface, sparql, "none", solutions.seq if solutions else 1, solutions, **{**fields, **more}
    )
    trace_id = await record_trace(core, dataset, new)
    assert trace_id is not None
    return trace_id
