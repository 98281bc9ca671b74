"""create_graph: a graph that holds nothing yet."""

from __future__ import annotations

from core.core import Core
from core.graphs.requests import GraphRequest
from core.graphs.shown import ONTOLOGY, GraphKey
from core.requests import Response


class CreateGraphRequest(GraphRequest):
    pass


class CreateGraphResponse(Response):
    """The graph and its newest commit: 0 where nothing is written."""

    commit_seq: int
    graph: GraphKey
    ontology_version: int


async def create_graph(core: Core, request: CreateGraphRequest) -> CreateGraphResponse:
    """Make a graph. One of that name that is there stays as it is."""
    dataset = await core.graphs.create(request.user_id, request.dataset, core.clock)
    return CreateGraphResponse(commit_seq=dataset.head_seq, graph=GraphKey.of(dataset), ontology_version=ONTOLOGY)
