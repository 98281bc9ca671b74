"""A small catalogue of services, loaded in two commits, for tests of what reads the graph."""

from __future__ import annotations

from io import BytesIO

from core.core import Core
from core.graph import Dataset
from core.rdf.ports import Load, Loaded

PREFIXES = "PREFIX k: <https://catalog.test/kind/>\nPREFIX r: <https://catalog.test/record/>\n"
FIRST = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix k: <https://catalog.test/kind/> .
@prefix r: <https://catalog.test/record/> .
@prefix f: <https://catalog.test/field/> .
k:DataOutage rdfs:subClassOf k:Outage .
r:checkout a k:Team ; rdfs:label "checkout team" .
r:warehouse a k:Team ; rdfs:label "warehouse team" .
r:tills a k:Service ; rdfs:label "till-gateway" ; f:team r:checkout ; f:level 1 ;
  f:description "accepts card payments from shop tills" .
r:refunds a k:Service ; rdfs:label "refund-worker" ; f:team r:checkout ; f:level 2 ;
  f:description "sends money back to a bank account" .
r:stock a k:Service ; rdfs:label "stock-tracker" ; f:team r:warehouse ; f:level 2 ;
  f:description "counts the parcels on each shelf" .
r:mailer a k:Service ; rdfs:label "mail-sender" ; f:team r:warehouse ; f:level 3 ;
  f:description "delivers newsletters by email" .
r:freeze a k:Outage ; f:hit r:tills .
r:miscount a k:DataOutage ; f:hit r:stock .
"""
SECOND = """
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX k: <https://catalog.test/kind/>
PREFIX r: <https://catalog.test/record/>
PREFIX f: <https://catalog.test/field/>
DELETE DATA { r:mailer f:level 3 } ;
INSERT DATA {
  r:mailer f:level 1 .
  r:points a k:Service ; rdfs:label "loyalty-points" ; f:team r:checkout ; f:level 2 ;
    f:description "keeps the loyalty points of shoppers" .
}
"""


async def load(core: Core, turtle: str, user_id: str = "u1", dataset: str = "main") -> Dataset:
    """Loads Turtle in one commit; the dataset with it."""
    loaded = await core.triples.load(Load(user_id, dataset, BytesIO(turtle.encode()), "turtle"), core.clock)
    assert isinstance(loaded, Loaded)
    return loaded.dataset


async def update(core: Core, text: str, user_id: str = "u1", dataset: str = "main") -> Dataset:
    """Adds and takes away triples in one commit; the dataset with it."""
    updated = await core.triples.update(user_id, dataset, text, core.clock)
    assert isinstance(updated, Loaded)
    return updated.dataset
