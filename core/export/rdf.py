"""RDF 1.2: each fact is reified with its dates and sources, and one that is true now is a plain triple too. Behind them
stand the triples that were loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json.encoder import encode_basestring

from core.export.rows import ArtifactRow, EdgeRow, EntityRow, Snapshot, TripleRow
from core.rdf.vocabulary import GB, RDF, RDFS, XSD, relation_iri

PREFIXES: Mapping[str, str] = {"rdf": RDF, "rdfs": RDFS, "xsd": XSD, "gb": GB}


_RELATIONS = 10_000  # spelled as IRIs once; a graph may have more
Terms = Mapping[str, str]
"""Each term of the vocabularies, `gb:validAt` say, as a format writes it."""
Statements = tuple[str, list[tuple[str, str]]]
"""A subject, and what is said of it: predicates and objects as they are written."""

_OF_RDF = ("rdf:type", "rdf:reifies", "rdfs:label", "xsd:dateTime")
_OWN = (
    "Artifact Entity Fact artifact createdAt description expiredAt invalidAt kind model namedIn partOf session speaker "
    "statedIn text type updatedAt validAt"
)
_SHORT = {term: term for term in (*_OF_RDF, *(f"gb:{name}" for name in _OWN.split()))}
_FULL = {term: f"<{PREFIXES[term.split(':')[0]]}{term.split(':')[1]}>" for term in _SHORT}


def as_turtle(snapshot: Snapshot, base: str) -> Iterator[str]:
    """Turtle of RDF 1.2, which has no named graphs: what was loaded into one stands with the others. The last line is a
    comment that says how many subjects and loaded triples were written."""
    yield "".join(f"@prefix {prefix}: <{iri}> .\n" for prefix, iri in PREFIXES.items())
    count = 0
    for batch in _Writing(base, _SHORT, snapshot.header.exported_at).statements(snapshot):
        count += len(batch)
        yield "".join(
            [
                f"{subject} " + " ;\n  ".join([f"{name} {value}" for name, value in said]) + " .\n"
                for subject, said in batch
            ]
        )
    for batch in _loaded(snapshot):
        count += len(batch)
        yield "".join([f"{row.subject} {row.predicate} {row.object} .\n" for row in batch])
    yield f"# end: {count}\n"


def as_nquads(snapshot: Snapshot, base: str) -> Iterator[str]:
    """N-Quads of RDF 1.2, what was remembered in one named graph, loaded triples where they were. The last line is a
    comment that says how many subjects and loaded triples were written."""
    end = f" <{base}graph> .\n"
    count = 0
    for batch in _Writing(base, _FULL, snapshot.header.exported_at).statements(snapshot):
        count += len(batch)
        yield "".join([f"{subject} {name} {value}{end}" for subject, said in batch for name, value in said])
    for batch in _loaded(snapshot):
        count += len(batch)
        yield "".join([" ".join(filter(None, row[:4])) + " .\n" for row in batch])
    yield f"# end: {count}\n"


def _loaded(snapshot: Snapshot) -> Iterator[list[TripleRow]]:
    """The triples that were loaded, and not taken away."""
    for batch in snapshot.rows("triples"):
        yield [row for row in batch if row.removed_seq is None]


class _Writing:
    """What the graph says, as RDF writes it."""

    def __init__(self, base: str, terms: Terms, now: str) -> None:
        self.base = base
        self.terms = terms
        self.now = now
        self.instant = f'Z"^^{terms["xsd:dateTime"]}'
        self.relations: dict[str, str] = {}

    def statements(self, snapshot: Snapshot) -> Iterator[list[Statements]]:
        """All of it by subject, a batch at a time."""
        for entities in snapshot.rows("entities"):
            yield [self.entity(row) for row in entities]
        for artifacts in snapshot.rows("artifacts"):
            yield [self.artifact(row) for row in artifacts]
        for edges in snapshot.rows("edges"):
            yield [said for row in edges for said in self.fact(row)]
        for links in snapshot.rows("entity_artifacts"):
            yield [self.source(f"entity/{row.entity_id}", "gb:namedIn", row.artifact_id) for row in links]
        for links in snapshot.rows("edge_artifacts"):
            yield [self.source(f"edge/{row.edge_id}", "gb:statedIn", row.artifact_id) for row in links]

    def entity(self, row: EntityRow) -> Statements:
        terms = self.terms
        said = [
            (terms["rdf:type"], terms["gb:Entity"]),
            (terms["rdfs:label"], literal(row.name)),
            (terms["gb:type"], literal(row.type)),
            (terms["gb:createdAt"], self.time(row.created_at)),
            (terms["gb:updatedAt"], self.time(row.updated_at)),
        ]
        if row.description:
            said.append((terms["gb:description"], literal(row.description)))
        if row.model_id:
            said.append((terms["gb:model"], literal(row.model_id)))
        return f"<{self.base}entity/{row.id}>", said

    def fact(self, row: EdgeRow) -> Iterator[Statements]:
        terms, base = self.terms, self.base
        source, target = f"<{base}entity/{row.source_id}>", f"<{base}entity/{row.target_id}>"
        relation = self.relation(row.relation)
        said = [
            (terms["rdf:reifies"], f"<<( {source} {relation} {target} )>>"),
            (terms["rdf:type"], terms["gb:Fact"]),
            (terms["gb:validAt"], self.time(row.valid_at)),
            (terms["gb:createdAt"], self.time(row.created_at)),
        ]
        if row.invalid_at:
            said.append((terms["gb:invalidAt"], self.time(row.invalid_at)))
        if row.expired_at:
            said.append((terms["gb:expiredAt"], self.time(row.expired_at)))
        if row.description:
            said.append((terms["gb:description"], literal(row.description)))
        if row.model_id:
            said.append((terms["gb:model"], literal(row.model_id)))
        if row.artifact_id is not None:
            said.append((terms["gb:artifact"], f"<{base}artifact/{row.artifact_id}>"))
        yield f"<{base}edge/{row.id}>", said
        if row.is_true_at(self.now):
            yield source, [(relation, target)]

    def artifact(self, row: ArtifactRow) -> Statements:
        terms = self.terms
        said = [
            (terms["rdf:type"], terms["gb:Artifact"]),
            (terms["gb:kind"], literal(row.kind)),
            (terms["gb:validAt"], self.time(row.valid_at)),
            (terms["gb:createdAt"], self.time(row.created_at)),
        ]
        if row.parent_id is not None:
            said.append((terms["gb:partOf"], f"<{self.base}artifact/{row.parent_id}>"))
        for name, text in (("gb:session", row.session_id), ("gb:speaker", row.speaker), ("gb:text", row.text)):
            if text is not None:
                said.append((terms[name], literal(text)))
        return f"<{self.base}artifact/{row.id}>", said

    def source(self, of: str, name: str, artifact_id: int) -> Statements:
        return f"<{self.base}{of}>", [(self.terms[name], f"<{self.base}artifact/{artifact_id}>")]

    def relation(self, stated: str) -> str:
        known = self.relations.get(stated)
        if known is None:
            known = f"<{relation_iri(self.base, stated)}>"
            if len(self.relations) < _RELATIONS:
                self.relations[stated] = known
        return known

    def time(self, moment: str) -> str:
        return f'"{moment[:-1]}{self.instant}'


def literal(text: str) -> str:
    """The text as a quoted literal: the escapes of JSON are those of Turtle and N-Quads."""
    return encode_basestring(text)
