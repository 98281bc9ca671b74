"""A few people, companies and papers about them, for tests of what a question names."""

from __future__ import annotations

from core.names.index import Name, NameIndex
from core.names.kinds import kind_of

CLASS, RECORD, FIELD = "https://crm.test/class/", "https://crm.test/record/", "https://crm.test/field/"

TURTLE = f"""
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix schema: <https://schema.org/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix c: <{CLASS}> .
@prefix r: <{RECORD}> .
@prefix f: <{FIELD}> .
c:Mitwirkende rdfs:subClassOf foaf:Person .
c:Wiki rdfs:subClassOf schema:CreativeWork .
r:quellmann a c:Company ; f:legalName "Quellmann Fenstertechnik GmbH" .
r:dresden a c:University ; rdfs:label "Technische Universität Dresden" .
r:weiss a c:Contact ; f:name "Jürgen Weiß" .
r:weisspage a c:SourceDocument ; f:title "Jürgen Weiß" .
r:lindqvist a c:Mitwirkende ; skos:prefLabel "Mara Lindqvist" .
r:lindqvistwiki a c:Wiki ; rdfs:label "Mara Lindqvist" .
r:apollo a c:Project ; schema:name "Apollo" .
r:bridge a c:Product ; rdfs:label "CRM Bridge" .
r:payments a c:Team ; rdfs:label "payments team" .
r:callnotes a c:Note ; f:title "Call notes Harbour" .
r:plan a c:Note ; f:title "Q3 planning" ; f:fileName "q3-final.docx" ; f:jobTitle "Planner" .
r:nowhere rdfs:label "A label without a class" .
"""


def index(*names: tuple[str, str]) -> NameIndex:
    """An index of names with the local names of their classes; the record of the n-th is `n`."""
    built = NameIndex()
    for number, (label, class_) in enumerate(names):
        built.add(Name(str(number), label, class_, kind_of(class_, {})))
    return built
