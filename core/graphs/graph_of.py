"""The dataset that a read of a graph is of: one resolver for all of these routes."""

from __future__ import annotations

from core.core import Core
from core.datasets import find_dataset
from core.errors import NotYetVisible
from core.graph import Dataset
from core.graphs.requests import MAIN, GraphRead, GraphRequest
from core.rdf.vocabulary import base_of

NOTHING = 0
"""The id of a dataset that is not there yet: it holds nothing."""


async def graph_of(core: Core, request: GraphRequest) -> Dataset:
    """The dataset of the request; for main of a user who has told nothing yet, one that holds nothing.

    Raises UnknownDataset for any other that is not there, and NotYetVisible where the lowest commit that a read may be
    of is not written yet.
    """
    stated = None if request.dataset == MAIN else request.dataset
    found = await find_dataset(core, request.user_id, stated)
    dataset = found or Dataset(NOTHING, request.user_id, MAIN, 0)
    floor = request.min_indexed_seq if isinstance(request, GraphRead) else None
    if floor is not None and floor > dataset.head_seq:
        raise NotYetVisible(f"min_indexed_seq: the newest commit is {dataset.head_seq}", param="min_indexed_seq")
    return dataset


def base_iri_of(core: Core, dataset: Dataset) -> str:
    """What the IRIs of the dataset begin with."""
    return core.config.base_iri or base_of(dataset.name)
