"""written_graph: the dataset that something is kept with."""

from __future__ import annotations

from core.core import Core
from core.errors import UnknownDataset
from core.graph import Dataset
from core.graphs.graph_of import NOTHING, graph_of
from core.graphs.requests import GraphRequest


async def written_graph(core: Core, request: GraphRequest) -> Dataset:
    """The dataset of the request. Raises UnknownDataset also for main of a user who has told nothing yet: there is
    nothing to check answers against."""
    dataset = await graph_of(core, request)
    if dataset.id == NOTHING:
        raise UnknownDataset("dataset: holds nothing yet", param="dataset")
    return dataset
