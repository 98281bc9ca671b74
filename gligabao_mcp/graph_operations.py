"""The operations on a dataset's graph: asking in plain words, SPARQL, and the tools for other agents. Rows of the one
table of operations."""

from __future__ import annotations

from typing import Any

from core.ask.ask import AskRequest, AskResponse, ask, ask_events
from core.ask.profile import ProfileRequest, ProfileResponse, SetProfileRequest, profile, set_profile
from core.compare.compare import CompareRequest, CompareResponse, compare
from core.describe.describe import DescribeRequest, describe
from core.describe.shown import DescribeResponse
from core.embeddings.declare import DeclareEmbeddingRequest, declare_embedding
from core.embeddings.embeddings import (
    DeleteEmbeddingRequest,
    DeleteEmbeddingResponse,
    EmbeddingList,
    EmbeddingsRequest,
    RefreshEmbeddingRequest,
    RefreshEmbeddingResponse,
    delete_embedding,
    embeddings,
    refresh_embedding,
)
from core.embeddings.search import SearchRequest, SearchResponse, search
from core.embeddings.status import EmbeddingStatus
from core.names.names import NamesRequest, NamesResponse, names
from core.requests import KIB, MIB
from core.sparql.response import SparqlResponse
from core.sparql.sparql import SparqlRequest, sparql
from gligabao_mcp.evals_operations import EVALS_OPERATIONS
from gligabao_mcp.operation import Operation
from gligabao_mcp.plumbing_operations import PLUMBING_OPERATIONS

ASK = Operation(
    name="ask",
    title="Ask",
    command="ask",
    handler=ask,
    request=AskRequest,
    response=AskResponse,
    path="/v1/query/ask",
    max_bytes=MIB,
    of_graph=True,
    refused_as="invalid_ask_request",
    removed=("run", "previous"),
    events=ask_events,
    reads_only=True,
    main_field="question",
    main_is_text=True,
)

SPARQL = Operation(
    name="sparql",
    title="SPARQL",
    command="sparql",
    handler=sparql,
    request=SparqlRequest,
    response=SparqlResponse,
    path="/v1/query/sparql-text",
    max_bytes=256 * KIB,
    of_graph=True,
    reads_only=True,
    main_field="query",
    main_is_text=True,
)

COMPARE = Operation(
    name="compare",
    title="Compare",
    command="compare",
    handler=compare,
    request=CompareRequest,
    response=CompareResponse,
    path="/v1/query/compare",
    max_bytes=256 * KIB,
    of_graph=True,
    reads_only=True,
    main_field="query",
    main_is_text=True,
)

EMBEDDINGS = Operation(
    name="embeddings",
    title="Embeddings",
    handler=embeddings,
    request=EmbeddingsRequest,
    response=EmbeddingList,
    others=(EmbeddingStatus,),
    path="/v1/embeddings",
    method="GET",
    of_graph=True,
    reads_only=True,
)

DECLARE_EMBEDDING = Operation(
    name="declare_embedding",
    title="Declare embedding",
    handler=declare_embedding,
    request=DeclareEmbeddingRequest,
    response=EmbeddingStatus,
    path="/v1/embeddings",
    method="PUT",
    of_graph=True,
    reads_only=False,
)

REFRESH_EMBEDDING = Operation(
    name="refresh_embedding",
    title="Refresh embedding",
    handler=refresh_embedding,
    request=RefreshEmbeddingRequest,
    response=RefreshEmbeddingResponse,
    path="/v1/embeddings/refresh",
    of_graph=True,
    reads_only=False,
)

DELETE_EMBEDDING = Operation(
    name="delete_embedding",
    title="Delete embedding",
    handler=delete_embedding,
    request=DeleteEmbeddingRequest,
    response=DeleteEmbeddingResponse,
    path="/v1/embeddings",
    method="DELETE",
    of_graph=True,
    reads_only=False,
    destroys=True,
)

SEARCH = Operation(
    name="search",
    title="Search by meaning",
    handler=search,
    request=SearchRequest,
    response=SearchResponse,
    path="/v1/search",
    max_bytes=256 * KIB,
    of_graph=True,
    reads_only=True,
    main_field="text",
    main_is_text=True,
)

PROFILE = Operation(
    name="profile",
    title="Profile",
    handler=profile,
    request=ProfileRequest,
    response=ProfileResponse,
    path="/v1/query/rewrite/profile",
    method="GET",
    of_graph=True,
    reads_only=True,
)

SET_PROFILE = Operation(
    name="set_profile",
    title="Set profile",
    handler=set_profile,
    request=SetProfileRequest,
    response=ProfileResponse,
    path="/v1/query/rewrite/profile",
    method="PUT",
    of_graph=True,
    refused_as="invalid_rewrite_profile",
    max_bytes=256 * KIB,
    reads_only=False,
)

NAMES = Operation(
    name="names",
    title="Names",
    command="names",
    handler=names,
    request=NamesRequest,
    response=NamesResponse,
    path="/v1/query/names",
    of_graph=True,
    reads_only=True,
    main_field="text",
)

DESCRIBE = Operation(
    name="describe",
    title="Describe",
    command="describe",
    handler=describe,
    request=DescribeRequest,
    response=DescribeResponse,
    path="/v1/query/describe",
    max_bytes=256 * KIB,
    of_graph=True,
    reads_only=True,
    main_field="question",
)

GRAPH_OPERATIONS: tuple[Operation[Any, Any], ...] = (
    ASK,
    SPARQL,
    COMPARE,
    NAMES,
    DESCRIBE,
    EMBEDDINGS,
    DECLARE_EMBEDDING,
    REFRESH_EMBEDDING,
    DELETE_EMBEDDING,
    SEARCH,
    PROFILE,
    SET_PROFILE,
    *PLUMBING_OPERATIONS,
    *EVALS_OPERATIONS,
)
