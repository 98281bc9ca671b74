"""The services of a shop with their teams and outages, for tests of how a graph is described."""

from __future__ import annotations

KIND, RECORD, FIELD = "https://shop.test/kind/", "https://shop.test/record/", "https://shop.test/field/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"

PREFIXES = f"""@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <{RDFS}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix k: <{KIND}> .
@prefix r: <{RECORD}> .
@prefix f: <{FIELD}> .
"""
TURTLE = f"""{PREFIXES}
k:Service a rdfs:Class ; rdfs:label "Dienst"@de, "service"@en ; rdfs:comment "Software that one team operates." .
k:Team a owl:Class .
k:DataOutage rdfs:subClassOf k:Outage .
f:team a owl:ObjectProperty, owl:FunctionalProperty ; rdfs:label "run by" ; rdfs:domain k:Service ; rdfs:range k:Team .
f:runs owl:inverseOf f:team .
r:checkout a k:Team ; rdfs:label "checkout team" .
r:warehouse a k:Team ; rdfs:label "warehouse team" ; f:disbanded true .
r:tills a k:Service ; rdfs:label "till-gateway" ; f:team r:checkout ; f:level 1 .
r:refunds a k:Service ; rdfs:label "refund-worker" ; f:team r:checkout ; f:level 2 .
r:stock a k:Service ; rdfs:label "stock-tracker" ; f:team r:warehouse ; f:level 2 ;
  f:note "counts the parcels on each shelf of each warehouse of the whole company" .
r:freeze a k:Outage ; f:hit r:tills ; f:month "2026-04"^^xsd:gYearMonth .
r:miscount a k:DataOutage ; f:hit r:stock ; f:month "2026-05"^^xsd:gYearMonth .
"""


def many_classes(count: int) -> str:
    """Turtle of classes of one record each, with names that no question has."""
    return PREFIXES + "\n".join(f"r:x{n} a k:Xyz{n} ; f:qqq{n} {n} ." for n in range(count))


def many_records(count: int) -> str:
    """Turtle of one class of many records, of which the first ten are named."""
    rows = (f"r:p{n} a k:Parcel ; f:weight {n}" + (f' ; f:nick "n{n}"' if n < 10 else "") for n in range(count))
    return PREFIXES + " .\n".join(rows) + " ."
