"""The vocabulary of a dataset as RDF, in the view and in exports: what its IRIs begin with, and the terms of ours.
Described in docs/rdf.md. The process that answers queries imports it, so it imports the standard library alone."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
XSD = "http://www.w3.org/2001/XMLSchema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
GB = "urn:gligabao-terms:"
SEARCH = "https://littlebigbrain.com/search#"

# Prefixes that every query may use without a PREFIX line.
WELL_KNOWN: Mapping[str, str] = {
    "rdf": RDF,
    "rdfs": RDFS,
    "owl": OWL,
    "xsd": XSD,
    "skos": SKOS,
    "foaf": "http://xmlns.com/foaf/0.1/",
    "schema": "https://schema.org/",
    "dcterms": "http://purl.org/dc/terms/",
    "gb": GB,
    "search": SEARCH,
}


def base_of(dataset: str) -> str:
    """What the IRIs of a dataset begin with, unless the setting base_iri names another beginning."""
    return f"urn:gligabao:{quote(dataset, safe='')}:"


def prefixes_of(base: str) -> dict[str, str]:
    """The prefixes of what was remembered: entities, their types, and relations."""
    return {"entity": f"{base}entity/", "type": f"{base}type/", "rel": f"{base}relation/"}


def relation_iri(base: str, relation: str) -> str:
    """The IRI of a relation: what is no letter, digit or one of `-._~` is percent-encoded."""
    return f"{base}relation/{quote(relation, safe='')}"


def type_iri(base: str, type_: str) -> str:
    """The IRI of the class that an entity of this type belongs to."""
    return f"{base}type/{quote(type_, safe='')}"
