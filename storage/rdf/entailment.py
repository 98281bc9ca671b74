"""What follows from a graph: written into the store, which therefore is one that nobody else reads."""

from __future__ import annotations

import pyoxigraph as ox

from core.rdf.vocabulary import RDF, RDFS

_PREFIXES = f"PREFIX rdf: <{RDF}> PREFIX rdfs: <{RDFS}>\n"
_SUBCLASS = "INSERT { ?x a ?wide } WHERE { ?narrow rdfs:subClassOf+ ?wide . ?x a ?narrow }"
_RULES = (
    "INSERT { ?x ?wide ?y } WHERE { ?narrow rdfs:subPropertyOf+ ?wide . ?x ?narrow ?y FILTER(isIRI(?wide)) }",
    "INSERT { ?x a ?class } WHERE { ?property rdfs:domain ?class . ?x ?property ?y }",
    "INSERT { ?y a ?class } WHERE { ?property rdfs:range ?class . ?x ?property ?y FILTER(!isLiteral(?y)) }",
    _SUBCLASS,
)


def entail(store: ox.Store, entailment: str) -> None:
    """subclass: each instance of a class is one of its superclasses. rdfs: of the domains and ranges of what it has,
    too, and a property states its superproperties. Repeated until nothing new follows."""
    if entailment == "subclass":
        store.update(_PREFIXES + _SUBCLASS)
    elif entailment == "rdfs":
        size = -1
        while size != len(store):
            size = len(store)
            for rule in _RULES:
                store.update(_PREFIXES + rule)
