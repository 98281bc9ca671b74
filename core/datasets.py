"""The dataset that a request means: one resolver for all that reads."""

from __future__ import annotations

from collections.abc import Sequence

from core.core import Core
from core.errors import UnknownDataset
from core.graph import Dataset

DEFAULT_DATASET = "main"
# Datasets that an error names: it is one line that a person reads.
NAMED = 10


async def find_dataset(core: Core, user_id: str, stated: str | None) -> Dataset | None:
    """The user's dataset of that name, main where none is stated; None for the main one of a user who has told nothing
    yet. Raises UnknownDataset, with the first names that there are, for any other that is not there."""
    dataset = await core.graph.dataset(user_id, stated or DEFAULT_DATASET)
    if dataset is None and stated is not None:
        known = await core.graph.dataset_names(user_id)
        there = f"the datasets of this user are {_some(known)}" if known else "this user has none yet"
        raise UnknownDataset(f"dataset: not found; {there}", param="dataset")
    return dataset


def _some(names: Sequence[str]) -> str:
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return ", ".join([*names[:NAMED], *more])
