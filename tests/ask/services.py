"""The services of a small shop, their teams and incidents, in two commits, and queries over them."""

from __future__ import annotations

import io

from core.core import Core
from core.rdf.ports import Load

USER, GRAPH = "u1", "services"
CLASS, RECORD, FIELD = "https://x.test/class/", "https://x.test/e/", "https://x.test/p/"
PREFIXES = f"""@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix c: <{CLASS}> .
@prefix e: <{RECORD}> .
@prefix p: <{FIELD}> .
"""
FIRST = f"""{PREFIXES}
c:service a rdfs:Class ; rdfs:comment "A running program that a team owns." .
e:risk a c:service ; rdfs:label "risk-service" ; p:team e:payments ; p:tier 1 .
e:ledger a c:service ; rdfs:label "ledger-service" ; p:team e:payments ; p:tier 2 .
e:auth a c:service ; rdfs:label "auth-service" ; p:team e:identity ; p:tier 1 .
e:payments a c:team ; rdfs:label "payments team" .
e:identity a c:team ; rdfs:label "identity team" .
"""
SECOND = f"""{PREFIXES}
e:mail a c:service ; rdfs:label "mail-service" ; p:team e:identity ; p:tier 3 .
"""

COUNT = "SELECT ?t ?l (COUNT(?s) AS ?n) WHERE { ?s a class:service ; p:team ?t . ?t rdfs:label ?l } GROUP BY ?t ?l"
SERVICES = "SELECT ?s ?l ?tier WHERE { ?s a class:service ; rdfs:label ?l ; p:tier ?tier } ORDER BY ?s"
TOTAL = "SELECT (COUNT(?s) AS ?n) WHERE { ?s a class:service }"
BROKEN = "SELECT ?s WHERE { ?s a class:service"


def record(name: str) -> str:
    return RECORD + name


def records(*names: str) -> list[str]:
    return [RECORD + name for name in names]


async def load(core: Core, turtle: str) -> None:
    """Loads Turtle in one commit."""
    await core.triples.load(Load(USER, GRAPH, io.BytesIO(turtle.encode()), "turtle"), core.clock)
