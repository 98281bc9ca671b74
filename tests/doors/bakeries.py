"""A graph of two bakeries and their breads, and what a model does with questions about it."""

from __future__ import annotations

from collections.abc import Sequence

from tests import wire as api
from tests.scripted_messages import Script, says, sparql

KIND = "https://bakery.test/kind/"
RECORD = "https://bakery.test/record/"
FIELD = "https://bakery.test/field/"
PREFIXES = f"PREFIX k: <{KIND}>\nPREFIX r: <{RECORD}>\nPREFIX f: <{FIELD}>\n"

TURTLE = f"""
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix k: <{KIND}> .
@prefix r: <{RECORD}> .
@prefix f: <{FIELD}> .

k:Bakery a rdfs:Class ; rdfs:label "bakery" ; rdfs:subClassOf foaf:Organization .
k:Baker a rdfs:Class ; rdfs:subClassOf foaf:Person .
k:Bread a rdfs:Class ; rdfs:label "bread" .

r:north a k:Bakery ; rdfs:label "North Bakery" .
r:south a k:Bakery ; rdfs:label "South Bakery GmbH" .
r:rye a k:Bread ; rdfs:label "rye loaf" ; f:madeBy r:north ; f:price 4 .
r:spelt a k:Bread ; rdfs:label "spelt loaf" ; f:madeBy r:north ; f:price 5 .
r:baguette a k:Bread ; rdfs:label "baguette" ; f:madeBy r:south ; f:price 2 .
r:anna a k:Baker ; f:name "Anna Öztürk" ; f:worksFor r:north .
"""
# Before it the north has two breads and the south one, after it both have two.
SECOND = f"{PREFIXES}INSERT DATA {{ r:focaccia a k:Bread ; f:madeBy r:south ; f:price 3 }}"

# rdfs: has no PREFIX line: it is known.
COUNTS = f"""{PREFIXES}SELECT ?bakery ?label (COUNT(?bread) AS ?n) WHERE {{
  ?bread a k:Bread ; f:madeBy ?bakery . ?bakery rdfs:label ?label
}} GROUP BY ?bakery ?label ORDER BY ?label"""
PER_BAKERY = f"""{PREFIXES}SELECT ?bakery (COUNT(?bread) AS ?n) WHERE {{ ?bread f:madeBy ?bakery }} GROUP BY ?bakery"""
PRICES = f"{PREFIXES}SELECT ?bread ?price WHERE {{ ?bread f:price ?price }} ORDER BY ?price"

HOW_MANY = "How many breads does each bakery make?"
ON_A_DATE = "How many breads did each bakery make on 11 June?"
MISSING = "Which flour does the rye loaf need?"
BROKEN = "Break the model on purpose"


# The dates that the two commits stand for.
TIMELINE = (
    {"date": "2026-06-10", "as_of_commit_seq": 1, "label": "opening day"},
    {"date": "2026-06-20", "as_of_commit_seq": 2},
)


def record(name: str) -> str:
    """The IRI of a record."""
    return RECORD + name


def scripts() -> Sequence[Script]:
    """What the model does with each question."""
    bakeries = (record("north"), record("south"))
    bar = {"kind": "bar", "x": "label", "y": "n"}
    counted = says("North Bakery and South Bakery GmbH make two each.", *bakeries, chart=bar)
    then = says("North Bakery made two, South Bakery GmbH one.", *bakeries, route="history", step=2)
    missing = says("The graph holds no flours.", step=None)
    return (
        Script(HOW_MANY, [[sparql(COUNTS)]], counted, route="aggregate"),
        Script(
            ON_A_DATE,
            [[("commit_for_date", {"date": "2026-06-11"})], [sparql(COUNTS, as_of_commit_seq=1)]],
            then,
            route="aggregate",
        ),
        Script(MISSING, [], missing, route="unanswerable"),
        Script(BROKEN, failure=api.error(500, "api_error", "broken on purpose")),
    )
