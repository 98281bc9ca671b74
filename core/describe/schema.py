"""What a graph states about its own model: which vocabulary is schema, and what of it is told."""

from __future__ import annotations

from core.rdf.vocabulary import GB, OWL, RDF, RDFS, SKOS, XSD

TYPE = f"{RDF}type"
LABEL = f"{RDFS}label"
SUBCLASS = f"{RDFS}subClassOf"

# Classes of these are schema, not records.
SCHEMA_NAMESPACES = (RDF, RDFS, OWL, XSD)

CLASS_KINDS = (f"{RDFS}Class", f"{OWL}Class")
PROPERTY_TRAITS = tuple(
    f"{OWL}{name}Property"
    for name in (
        "Symmetric",
        "Transitive",
        "Functional",
        "InverseFunctional",
        "Asymmetric",
        "Reflexive",
        "Irreflexive",
    )
)
PROPERTY_KINDS = (f"{RDF}Property", f"{OWL}ObjectProperty", f"{OWL}DatatypeProperty", *PROPERTY_TRAITS)

# Statements between classes, and between properties and classes.
CLASS_STATEMENTS = (SUBCLASS, f"{OWL}equivalentClass", f"{OWL}disjointWith")
PROPERTY_STATEMENTS = (
    f"{RDFS}subPropertyOf",
    f"{OWL}inverseOf",
    f"{OWL}equivalentProperty",
    f"{OWL}propertyDisjointWith",
)
BOUND_STATEMENTS = (f"{RDFS}domain", f"{RDFS}range")

LABELS = (LABEL, f"{SKOS}prefLabel")
COMMENTS = (
    f"{RDFS}comment",
    f"{SKOS}definition",
    "http://purl.org/dc/terms/description",
    "https://schema.org/description",
    f"{GB}description",
)


def is_schema(iri: str) -> bool:
    """Whether the IRI is a term of RDF, RDFS, OWL or XML Schema."""
    return iri.startswith(SCHEMA_NAMESPACES)
