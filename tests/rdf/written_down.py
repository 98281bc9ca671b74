"""What rows say as a graph, written down anew and without any haste: what the view is compared with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pyoxigraph as ox

from core.rdf.vocabulary import GB, RDF, RDFS, relation_iri, type_iri
from storage.rdf.changes import ArtifactRow, Changes, EntityRow, FactRow, QuadRow

BASE = "urn:gligabao:main:"
ALIAS = "http://www.w3.org/2004/02/skos/core#altLabel"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Rows:
    """The rows of a dataset."""

    entities: dict[int, EntityRow] = field(default_factory=dict[int, EntityRow])
    facts: dict[int, FactRow] = field(default_factory=dict[int, FactRow])
    artifacts: dict[int, ArtifactRow] = field(default_factory=dict[int, ArtifactRow])
    quads: dict[int, QuadRow] = field(default_factory=dict[int, QuadRow])

    def take(self, changes: Changes) -> None:
        for of in fields(self):
            kept: dict[int, Any] = getattr(self, of.name)
            for id_, row in getattr(changes, of.name).items():
                kept.pop(id_, None)
                if row is not None:
                    kept[id_] = row

    def whole(self, seq: int = 1) -> Changes:
        return Changes(seq, 0, self.entities, self.facts, self.artifacts, self.quads, whole=True)


def iri(text: str) -> ox.NamedNode:
    return ox.NamedNode(text)


def node(kind: str, id_: int) -> ox.NamedNode:
    return iri(f"{BASE}{kind}/{id_}")


def time(micros: int) -> ox.Literal:
    text = (EPOCH + timedelta(microseconds=micros)).isoformat().replace("+00:00", "Z")
    return ox.Literal(text, datatype=iri("http://www.w3.org/2001/XMLSchema#dateTime"))


def named(name: ox.NamedNode, of: str, label: str) -> Iterator[ox.Quad]:
    yield ox.Quad(name, iri(f"{RDF}type"), iri(of))
    yield ox.Quad(name, iri(f"{RDFS}label"), ox.Literal(label.replace("_", " ")))


def graph(rows: Rows, now: int) -> Iterator[ox.Quad]:
    for id_, entity in rows.entities.items():
        yield ox.Quad(node("entity", id_), iri(f"{RDF}type"), iri(type_iri(BASE, entity.type)))
        yield ox.Quad(node("entity", id_), iri(f"{RDFS}label"), ox.Literal(entity.name))
        if entity.description:
            yield ox.Quad(node("entity", id_), iri(f"{GB}description"), ox.Literal(entity.description))
        yield from (ox.Quad(node("entity", id_), iri(ALIAS), ox.Literal(name)) for name in entity.aliases)
        yield from named(iri(type_iri(BASE, entity.type)), f"{RDFS}Class", entity.type)
    for fact in rows.facts.values():
        yield from named(iri(relation_iri(BASE, fact.relation)), f"{RDF}Property", fact.relation)
        is_live = fact.expired_at is None
        if is_live and fact.valid_at <= now and (fact.invalid_at is None or now < fact.invalid_at):
            relation = iri(relation_iri(BASE, fact.relation))
            yield ox.Quad(node("entity", fact.source_id), relation, node("entity", fact.target_id))
    for row in rows.quads.values():
        for quad in ox.parse(f"{row.subject} {row.predicate} {row.object} {row.graph} .", ox.RdfFormat.N_QUADS):
            yield quad
            yield ox.Quad(*quad.triple)


def fact_nodes(rows: Rows) -> Iterator[ox.Quad]:
    for id_, fact in rows.facts.items():
        triple = ox.Triple(
            node("entity", fact.source_id), iri(relation_iri(BASE, fact.relation)), node("entity", fact.target_id)
        )
        said: list[tuple[str, Any]] = [
            (f"{RDF}type", iri(f"{GB}Fact")),
            (f"{RDF}reifies", triple),
            (f"{GB}subject", triple.subject),
            (f"{GB}predicate", triple.predicate),
            (f"{GB}object", triple.object),
            (f"{GB}validAt", time(fact.valid_at)),
            (f"{GB}createdAt", time(fact.created_at)),
            *((f"{GB}invalidAt", time(moment)) for moment in [fact.invalid_at] if moment is not None),
            *((f"{GB}expiredAt", time(moment)) for moment in [fact.expired_at] if moment is not None),
            *((f"{GB}description", ox.Literal(text)) for text in [fact.description] if text),
            *((f"{GB}artifact", node("artifact", i)) for i in [fact.artifact_id] if i is not None),
            *((f"{GB}statedIn", node("artifact", i)) for i in fact.artifacts),
            *((f"{GB}session", ox.Literal(session)) for session in fact.sessions),
        ]
        yield from (ox.Quad(node("edge", id_), iri(name), value) for name, value in said)
    for id_, artifact in rows.artifacts.items():
        texts = {"session": artifact.session_id, "speaker": artifact.speaker, "text": artifact.beginning}
        said = [
            (f"{RDF}type", iri(f"{GB}Artifact")),
            (f"{GB}kind", ox.Literal(artifact.kind)),
            (f"{GB}validAt", time(artifact.valid_at)),
            (f"{GB}createdAt", time(artifact.created_at)),
            *((f"{GB}partOf", node("artifact", i)) for i in [artifact.parent_id] if i is not None),
            *((f"{GB}{name}", ox.Literal(text)) for name, text in texts.items() if text),
        ]
        yield from (ox.Quad(node("artifact", id_), iri(name), value) for name, value in said)
