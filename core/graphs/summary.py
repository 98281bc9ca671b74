"""graph_summary: what a graph holds, counted."""

from __future__ import annotations

import time
from collections.abc import Sequence

from core.core import Core
from core.graph import Dataset
from core.graphs.graph_of import NOTHING, graph_of
from core.graphs.requests import GraphRead
from core.graphs.shown import ONTOLOGY, SnapshotView
from core.rdf.ports import READ_SECONDS, GraphQuery
from core.rdf.terms import Row
from core.rdf.vocabulary import OWL, RDF, RDFS
from core.requests import Response

# Types and relations that are told of, the largest first.
_SHOWN = 500
_SCHEMA = ", ".join(
    f"<{iri}>"
    for iri in (
        f"{RDFS}Class",
        f"{OWL}Class",
        f"{RDF}Property",
        f"{OWL}ObjectProperty",
        f"{OWL}DatatypeProperty",
        f"{OWL}AnnotationProperty",
        f"{OWL}Ontology",
    )
)
_INSTANCE = f"?record a ?type . FILTER(?type NOT IN ({_SCHEMA}))"
_RECORDS = f"SELECT (COUNT(DISTINCT ?record) AS ?count) WHERE {{ {_INSTANCE} }}"
_TYPES = (
    f"SELECT ?name (COUNT(DISTINCT ?record) AS ?count) WHERE {{ {_INSTANCE} BIND(?type AS ?name) }} "
    "GROUP BY ?name ORDER BY DESC(?count) ?name"
)
_RELATIONS = (
    "SELECT ?name (COUNT(*) AS ?count) WHERE { ?record ?name ?other . "
    f"FILTER(!isLiteral(?other) && ?name != <{RDF}type> && !STRSTARTS(STR(?name), '{RDFS}')) }} "
    "GROUP BY ?name ORDER BY DESC(?count) ?name"
)


class GraphSummaryRequest(GraphRead):
    pass


class NamedCount(Response):
    name: str
    count: int


class GraphSummaryResponse(Response):
    """What the newest commit holds. Entities are the records that have a type; edges are what is true now between two
    records. `observation_count` counts the texts that were told, `edge_event_count` facts and triples of all times."""

    entity_count: int
    current_edge_count: int
    observation_count: int
    edge_event_count: int
    entity_types: list[NamedCount]
    relations: list[NamedCount]
    ontology_version: int = ONTOLOGY
    snapshot: SnapshotView


async def graph_summary(core: Core, request: GraphSummaryRequest) -> GraphSummaryResponse:
    """Count what a graph holds: its entities by type and its relations, what was remembered and what was loaded."""
    dataset = await graph_of(core, request)
    types, relations, entities = await _counted(core, dataset)
    stored = await core.graphs.stored(dataset)
    return GraphSummaryResponse(
        entity_count=entities,
        current_edge_count=sum(relation.count for relation in relations),
        observation_count=stored.artifacts,
        edge_event_count=stored.facts + stored.triples,
        entity_types=types[:_SHOWN],
        relations=relations[:_SHOWN],
        snapshot=SnapshotView.of(dataset),
    )


async def _counted(core: Core, dataset: Dataset) -> tuple[list[NamedCount], list[NamedCount], int]:
    """The types, the relations, and how many entities there are."""
    if dataset.id == NOTHING:
        return [], [], 0
    end = time.monotonic() + READ_SECONDS
    (total,) = await _rows(core, dataset, _RECORDS, end)
    types, relations = [_named(await _rows(core, dataset, query, end)) for query in (_TYPES, _RELATIONS)]
    return types, relations, int(total["count"].value)


async def _rows(core: Core, dataset: Dataset, query: str, end: float) -> Sequence[Row]:
    """The rows of a query; all of them together have the time of one read."""
    return (await core.queries.solve(dataset, GraphQuery(query, seconds=max(0.0, end - time.monotonic())))).rows


def _named(rows: Sequence[Row]) -> list[NamedCount]:
    return [NamedCount(name=row["name"].value, count=int(row["count"].value)) for row in rows]
