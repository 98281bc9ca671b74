"""The operations on graphs as wholes: making, loading, listing and deleting them, and at which commit they are."""

from __future__ import annotations

from typing import Any

from core.graphs.commit_at import CommitAtRequest, CommitAtResponse, commit_at
from core.graphs.create_graph import CreateGraphRequest, CreateGraphResponse, create_graph
from core.graphs.delete_graph import DeleteGraphRequest, DeleteGraphResponse, delete_graph
from core.graphs.graphs import GraphsRequest, GraphsResponse, graphs
from core.graphs.import_rdf import ImportRdfRequest, ImportRdfResponse, import_rdf
from core.graphs.metadata import (
    GraphMetadataRequest,
    GraphMetadataResponse,
    PublicationStatusRequest,
    PublicationStatusResponse,
    ReadSnapshotRequest,
    ReadSnapshotResponse,
    graph_metadata,
    publication_status,
    read_snapshot,
)
from core.graphs.summary import GraphSummaryRequest, GraphSummaryResponse, graph_summary
from core.graphs.update import UpdateRequest, UpdateResponse, update
from core.requests import MIB
from gligabao_mcp.operation import Operation

CREATE_GRAPH = Operation(
    name="create_graph",
    title="Create graph",
    handler=create_graph,
    request=CreateGraphRequest,
    response=CreateGraphResponse,
    path="/v1/graph/create",
    of_graph=True,
    reads_only=False,
)

IMPORT_RDF = Operation(
    name="import_rdf",
    title="Import RDF",
    command="load",
    handler=import_rdf,
    request=ImportRdfRequest,
    response=ImportRdfResponse,
    path="/v1/graph/import/rdf",
    of_graph=True,
    body_field="content",
    media_types={
        "application/n-triples": {"format": "ntriples"},
        "text/turtle": {"format": "turtle"},
        "application/n-quads": {"format": "nquads"},
        "application/trig": {"format": "trig"},
    },
    reads_only=False,
    main_field="content",
)

UPDATE = Operation(
    name="update",
    title="Update",
    handler=update,
    request=UpdateRequest,
    response=UpdateResponse,
    path="/update",
    of_graph=True,
    body_field="update",
    media_types={"application/sparql-update": {}},
    says_nothing=True,
    max_bytes=4 * MIB,
    reads_only=False,
    main_field="update",
    main_is_text=True,
)

DELETE_GRAPH = Operation(
    name="delete_graph",
    title="Delete graph",
    handler=delete_graph,
    request=DeleteGraphRequest,
    response=DeleteGraphResponse,
    path="/v1/graph/delete",
    of_graph=True,
    reads_only=False,
    destroys=True,
)


def _read(
    name: str, title: str, handler: Any, request: Any, response: Any, path: str, command: str = ""
) -> Operation[Any, Any]:
    return Operation(
        name=name,
        title=title,
        command=command,
        handler=handler,
        request=request,
        response=response,
        path=path,
        method="GET",
        of_graph=True,
        reads_only=True,
    )


PLUMBING_OPERATIONS: tuple[Operation[Any, Any], ...] = (
    CREATE_GRAPH,
    IMPORT_RDF,
    UPDATE,
    DELETE_GRAPH,
    _read("graphs", "Graphs", graphs, GraphsRequest, GraphsResponse, "/v1/graphs"),
    _read("commit_at", "Commit at", commit_at, CommitAtRequest, CommitAtResponse, "/v1/graph/commit-at", "commit-at"),
    _read(
        "graph_metadata",
        "Graph metadata",
        graph_metadata,
        GraphMetadataRequest,
        GraphMetadataResponse,
        "/v1/graph/metadata",
    ),
    _read(
        "graph_summary", "Graph summary", graph_summary, GraphSummaryRequest, GraphSummaryResponse, "/v1/graph/summary"
    ),
    _read(
        "read_snapshot",
        "Read snapshot",
        read_snapshot,
        ReadSnapshotRequest,
        ReadSnapshotResponse,
        "/v1/graph/read-snapshot",
    ),
    _read(
        "publication_status",
        "Publication status",
        publication_status,
        PublicationStatusRequest,
        PublicationStatusResponse,
        "/v1/graph/publication-status",
    ),
)
