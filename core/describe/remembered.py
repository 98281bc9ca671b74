"""How the part of a graph that was remembered looks, in words for a model."""

from __future__ import annotations

from core.describe.description import Description
from core.describe.prefixes import ShortNames
from core.rdf.vocabulary import GB, prefixes_of

_SHAPE = """\
What was remembered is in this graph. Its records are of a class of type:, each with an rdfs:label (its name) and often
a gb:description. What was told about them stands as links of rel: from record to record, only where it is true at the
time that is read; a relation that is unused now stands in facts that ended or have not begun. For dates, sources and
such facts query the facts themselves, which no other query sees:
  ?fact a gb:Fact ; gb:subject ?record ; gb:predicate RELATION ; gb:object ?other ; gb:validAt ?since .
  OPTIONAL { ?fact gb:invalidAt ?until } OPTIONAL { ?fact gb:description ?words }
  OPTIONAL { ?fact gb:artifact ?source . ?source gb:kind ?kind ; gb:text ?beginning ; gb:validAt ?told }
  FILTER NOT EXISTS { ?fact gb:expiredAt ?superseded }"""


def remembered_lines(description: Description, base: str, short: ShortNames) -> list[str]:
    """How a model finds its way in it; nothing where nothing was remembered."""
    prefixes = prefixes_of(base)
    relations = [iri for iri in description.properties if iri.startswith(prefixes["rel"])]
    if not relations and not any(iri.startswith(prefixes["type"]) for iri in description.classes):
        return []
    short(f"{GB}Fact")  # so that the prefix that the lines use is told
    return _SHAPE.replace("RELATION", short(relations[0]) if relations else "?relation").split("\n")
