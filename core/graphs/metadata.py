"""graph_metadata, read_snapshot, publication_status: at which commit a graph is. What is written is read at once, so
nothing lags behind."""

from __future__ import annotations

from typing import Literal

from core.core import Core
from core.graph import Dataset
from core.graphs.graph_of import graph_of
from core.graphs.requests import GraphRead
from core.graphs.shown import ONTOLOGY, GraphKey, SnapshotView
from core.requests import Response


class GraphMetadataRequest(GraphRead):
    pass


class GraphMetadataResponse(Response):
    """A graph and its newest commit."""

    graph: GraphKey
    ontology_version: int
    snapshot: SnapshotView
    published_lag_commits: int = 0
    wal_tail_bytes: int = 0
    wal_tail_commits: int = 0
    index_caught_up: bool = True


async def graph_metadata(core: Core, request: GraphMetadataRequest) -> GraphMetadataResponse:
    """Tell the number of a graph's newest commit."""
    dataset = await graph_of(core, request)
    return GraphMetadataResponse(
        graph=GraphKey.of(dataset), ontology_version=ONTOLOGY, snapshot=SnapshotView.of(dataset)
    )


# What is read ---------------------------------------------------------------------------------------------------------


class ReadSnapshotRequest(GraphRead):
    pass


class ReadRoot(Response):
    """What reads are served from."""

    graph: GraphKey
    served_at_seq: int
    epoch: int = 0
    families: tuple[str, ...] = ()
    format_version: int = 1
    summary_available: bool = True


class ReadSnapshotResponse(Response):
    """The commit that reads are of: the newest one."""

    head_seq: int
    query_lag_commits: int = 0
    base_current: bool = True
    snapshot: ReadRoot


async def read_snapshot(core: Core, request: ReadSnapshotRequest) -> ReadSnapshotResponse:
    """Tell which commit of a graph is read."""
    dataset = await graph_of(core, request)
    root = ReadRoot(graph=GraphKey.of(dataset), served_at_seq=dataset.head_seq)
    return ReadSnapshotResponse(head_seq=dataset.head_seq, snapshot=root)


# What is published ----------------------------------------------------------------------------------------------------


class PublicationStatusRequest(GraphRead):
    pass


class RetryGuidance(Response):
    eventual_read_available: bool = True
    message: str = "what is written can be read at once"
    retry_after_ms: int = 0


class PublicationStatusResponse(Response):
    """How far what is written can be read: all of it, always."""

    state: Literal["current"] = "current"
    epoch: int = 0
    head_seq: int
    target_seq: int
    published_seq: int
    lag_commits: int = 0
    last_progress_at_micros: int
    retry: RetryGuidance = RetryGuidance()


async def publication_status(core: Core, request: PublicationStatusRequest) -> PublicationStatusResponse:
    """Tell up to which commit a graph can be read: the newest, for a write is answered when it can be read."""
    dataset = await graph_of(core, request)
    head = dataset.head_seq
    return PublicationStatusResponse(
        head_seq=head, target_seq=head, published_seq=head, last_progress_at_micros=await _last_written(core, dataset)
    )


async def _last_written(core: Core, dataset: Dataset) -> int:
    """When the newest commit was written, in microseconds since 1970; 0 where there is none."""
    commit = await core.commits.commit(dataset, dataset.head_seq)
    return round(commit.created_at.timestamp() * 1_000_000) if commit else 0
