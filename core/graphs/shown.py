"""How graphs are named and numbered on the wire of these routes."""

from __future__ import annotations

from core.graph import Dataset
from core.requests import Response

BRANCH = "main"
# Triples need no schema: there is one version of it.
ONTOLOGY = 1


class GraphKey(Response):
    """A graph by its owner and name. It has one branch."""

    tenant_id: str
    graph_id: str
    branch_id: str = BRANCH

    @classmethod
    def of(cls, dataset: Dataset) -> GraphKey:
        return cls(tenant_id=dataset.user_id, graph_id=dataset.name)


class SnapshotView(Response):
    """Which commit is read. All is compacted and served at once: the numbers are the same."""

    commit_seq: int
    compacted_seq: int
    served_at_seq: int

    @classmethod
    def of(cls, dataset: Dataset) -> SnapshotView:
        return cls(commit_seq=dataset.head_seq, compacted_seq=dataset.head_seq, served_at_seq=dataset.head_seq)
