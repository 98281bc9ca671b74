"""JSON-LD with a fixed context. It has no RDF 1.2 triple terms yet, so each fact is a node with its two ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from core.export.rdf import PREFIXES
from core.export.rows import ArtifactRow, EdgeRow, EntityRow, Snapshot
from core.rdf.vocabulary import relation_iri

_ID = {"@type": "@id"}
_TIME = {"@type": "xsd:dateTime"}
CONTEXT: dict[str, Any] = {
    "gb": PREFIXES["gb"],
    "rdfs": PREFIXES["rdfs"],
    "xsd": PREFIXES["xsd"],
    "Entity": "gb:Entity",
    "Fact": "gb:Fact",
    "Artifact": "gb:Artifact",
    "name": "rdfs:label",
    "type": "gb:type",
    "kind": "gb:kind",
    "description": "gb:description",
    "model": "gb:model",
    "session": "gb:session",
    "speaker": "gb:speaker",
    "text": "gb:text",
    "source": {"@id": "gb:source"} | _ID,
    "relation": {"@id": "gb:relation"} | _ID,
    "target": {"@id": "gb:target"} | _ID,
    "artifact": {"@id": "gb:artifact"} | _ID,
    "partOf": {"@id": "gb:partOf"} | _ID,
    "validAt": {"@id": "gb:validAt"} | _TIME,
    "invalidAt": {"@id": "gb:invalidAt"} | _TIME,
    "createdAt": {"@id": "gb:createdAt"} | _TIME,
    "updatedAt": {"@id": "gb:updatedAt"} | _TIME,
    "expiredAt": {"@id": "gb:expiredAt"} | _TIME,
}
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def as_jsonld(snapshot: Snapshot, base: str) -> Iterator[str]:
    """One JSON-LD document, a node on a line; its last bracket is written last."""
    yield f'{{"@context":{_encode(CONTEXT)},\n"@graph":['
    separator = "\n"
    for nodes in _nodes(snapshot, base):
        yield separator + ",\n".join(_encode({k: v for k, v in node.items() if v is not None}) for node in nodes)
        separator = ",\n"
    yield "\n]}\n"


def _nodes(snapshot: Snapshot, base: str) -> Iterator[list[dict[str, Any]]]:
    for entities in snapshot.rows("entities"):
        yield [_entity(row, base) for row in entities]
    for artifacts in snapshot.rows("artifacts"):
        yield [_artifact(row, base) for row in artifacts]
    for edges in snapshot.rows("edges"):
        yield [_fact(row, base) for row in edges]


def _entity(row: EntityRow, base: str) -> dict[str, Any]:
    return {
        "@id": f"{base}entity/{row.id}",
        "@type": "Entity",
        "name": row.name,
        "type": row.type,
        "description": row.description or None,
        "model": row.model_id,
        "createdAt": row.created_at,
        "updatedAt": row.updated_at,
    }


def _artifact(row: ArtifactRow, base: str) -> dict[str, Any]:
    return {
        "@id": f"{base}artifact/{row.id}",
        "@type": "Artifact",
        "kind": row.kind,
        "partOf": None if row.parent_id is None else f"{base}artifact/{row.parent_id}",
        "session": row.session_id,
        "speaker": row.speaker,
        "validAt": row.valid_at,
        "createdAt": row.created_at,
        "text": row.text,
    }


def _fact(row: EdgeRow, base: str) -> dict[str, Any]:
    return {
        "@id": f"{base}edge/{row.id}",
        "@type": "Fact",
        "source": f"{base}entity/{row.source_id}",
        "relation": relation_iri(base, row.relation),
        "target": f"{base}entity/{row.target_id}",
        "description": row.description or None,
        "validAt": row.valid_at,
        "invalidAt": row.invalid_at,
        "createdAt": row.created_at,
        "expiredAt": row.expired_at,
        "artifact": None if row.artifact_id is None else f"{base}artifact/{row.artifact_id}",
        "model": row.model_id,
    }
