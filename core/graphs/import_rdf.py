"""import_rdf: triples of a document into a dataset, beside what was remembered."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.core import Core
from core.graphs.once import NamedWrite
from core.rdf.ports import Load, Loaded, RdfFormat
from core.requests import Response, Whole
from core.uploads import Document

_NOT_USED = "Taken from clients that send it; changes nothing here."
# Predicates that are told of; all are counted.
_SHOWN = 1_000


class ImportRdfRequest(NamedWrite):
    content: Annotated[Document, Field(description="The document.")]
    format: Annotated[RdfFormat, Field(description="How it is written. Default: by its content type, or ntriples.")] = (
        "ntriples"
    )
    base_iri: Annotated[str, Field(max_length=2_000, description="What relative IRIs are relative to.")] = ""
    graph_uri: Annotated[
        str, Field(max_length=2_000, description="The named graph of triples that stand in none. Default: none.")
    ] = ""
    strict: Annotated[
        bool,
        Field(
            description="false: lines of N-Triples and N-Quads that can't be read are left out and told of. Otherwise "
            "nothing is stored unless all can be read."
        ),
    ] = True
    blank_node_scope: Annotated[str | None, Field(description=_NOT_USED)] = None
    batch: Annotated[Whole | None, Field(description=_NOT_USED)] = None
    observed_at: Annotated[str | None, Field(description=_NOT_USED)] = None
    resource_type: Annotated[str | None, Field(description=_NOT_USED)] = None
    edge_idempotency: Annotated[str | None, Field(description=_NOT_USED)] = None
    build: Annotated[bool | None, Field(description=_NOT_USED)] = None


class LoadedPredicate(Response):
    """A predicate of the document, and how many of its triples have a record for their object, or a literal."""

    uri: str
    relation: str
    lbb_predicate_iri: str
    lbb_relation_iri: str
    triples: int
    resource_triples: int
    literal_triples: int


class LoadError(Response):
    message: str


class ImportRdfResponse(Response):
    """What became of the document. `committed_commit_seq` is its commit: missing where everything was there already.
    Triples that were there, or came twice, count as duplicates."""

    graph_created: bool
    committed_commit_seq: int | None = None
    lines_read: int
    triples_read: int
    resource_triples: int
    literal_triples: int
    duplicate_resource_triples: int
    duplicate_literal_triples: int
    imported_triplets: int
    predicate_count: int
    predicates: list[LoadedPredicate]
    batches: int
    error_count: int
    errors: list[LoadError]

    @classmethod
    def of(cls, loaded: Loaded) -> ImportRdfResponse:
        return cls(
            graph_created=loaded.created,
            committed_commit_seq=loaded.seq,
            lines_read=loaded.lines,
            triples_read=loaded.triples,
            resource_triples=loaded.resources,
            literal_triples=loaded.triples - loaded.resources,
            duplicate_resource_triples=loaded.known_resources,
            duplicate_literal_triples=loaded.known_literals,
            imported_triplets=loaded.added,
            predicate_count=len(loaded.predicates),
            predicates=_predicates(loaded),
            batches=1 if loaded.added else 0,
            error_count=loaded.left_out,
            errors=[LoadError(message=f"line {problem.line}: {problem.message}") for problem in loaded.problems],
        )


async def import_rdf(core: Core, request: ImportRdfRequest) -> ImportRdfResponse:
    """Load Turtle, N-Triples, N-Quads or TriG into a graph, which is made if it is not there: all in one commit, or
    nothing.

    Loaded triples are read together with what was remembered. Triples that are there already are left as they are. Each
    document has blank nodes of its own.
    """
    load = Load(
        user_id=request.user_id,
        dataset=request.dataset,
        content=request.content.file,
        format=request.format,
        base_iri=request.base_iri,
        graph_iri=request.graph_uri,
        strict=request.strict,
    )
    loaded = await core.triples.load(load, core.clock, request.once(ImportRdfResponse.of))
    if isinstance(loaded, Loaded):
        return ImportRdfResponse.of(loaded)
    return ImportRdfResponse.model_validate(loaded.response)


def _predicates(loaded: Loaded) -> list[LoadedPredicate]:
    """The predicates with the most triples."""
    most = sorted(loaded.predicates.items(), key=lambda counted: (-sum(counted[1]), counted[0]))
    return [_predicate(term[1:-1], *counts) for term, counts in most[:_SHOWN]]


def _predicate(iri: str, resources: int, literals: int) -> LoadedPredicate:
    return LoadedPredicate(
        uri=iri,
        relation=iri,
        lbb_predicate_iri=iri,
        lbb_relation_iri=iri,
        triples=resources + literals,
        resource_triples=resources,
        literal_triples=literals,
    )
