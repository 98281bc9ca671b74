"""Graphs as wholes: made, listed, counted, deleted; and at which commit they are."""

from __future__ import annotations

from typing import Any

import pytest
from lbb import models

from core.core import Core
from core.errors import InvalidRequest, UnknownDataset
from core.forget.undo import UndoRequest, undo
from core.graph import Dataset
from core.graphs.create_graph import CreateGraphRequest, create_graph
from core.graphs.delete_graph import DeleteGraphRequest, delete_graph
from core.graphs.graphs import GraphsRequest, graphs
from core.graphs.metadata import (
    GraphMetadataRequest,
    PublicationStatusRequest,
    ReadSnapshotRequest,
    graph_metadata,
    publication_status,
    read_snapshot,
)
from core.graphs.summary import GraphSummaryRequest, GraphSummaryResponse, graph_summary
from core.rdf.ports import READ_SECONDS, GraphQuery
from core.rdf.terms import Solutions
from tests.facts import edge, tell
from tests.rdf.loading import change, head, load, triples

pytestmark = pytest.mark.anyio


async def made(core: Core, name: str) -> models.CreateGraphResponse:
    answer = await create_graph(core, CreateGraphRequest(user_id="u1", dataset=name))
    return models.CreateGraphResponse.model_validate(answer.body())


async def summary(core: Core, **more: Any) -> GraphSummaryResponse:
    answer = await graph_summary(core, GraphSummaryRequest.model_validate({"user_id": "u1", **more}))
    models.GraphSummaryResponse.model_validate(answer.body())
    return answer


async def test_a_graph_is_made_once_and_holds_nothing(plain: Core) -> None:
    first = await made(plain, "ops")
    assert (first.commit_seq, first.graph.graph_id, first.ontology_version) == (0, "ops", 1)
    assert await made(plain, "ops") == first
    loaded = await load(plain, "<urn:a> <urn:b> <urn:c> .", dataset="ops")
    assert (loaded.graph_created, loaded.committed_commit_seq) == (False, 1)
    assert (await made(plain, "ops")).commit_seq == 1


async def test_graphs_are_listed_by_page(plain: Core) -> None:
    for name in ("b", "a", "Ü", "c"):
        await made(plain, name)
    seen: list[str] = []
    cursor = None
    while True:
        page = await graphs(plain, GraphsRequest.model_validate({"user_id": "u1", "limit": 3, "cursor": cursor}))
        models.GraphListResponse.model_validate(page.body())
        seen += [graph.graph_id for graph in page.data]
        cursor = page.next_cursor
        assert page.has_more == (cursor is not None)
        if cursor is None:
            break
    assert seen == ["a", "b", "c", "Ü"]
    assert (await graphs(plain, GraphsRequest(user_id="u2"))).data == []


async def test_a_graph_is_deleted_by_its_name_and_can_be_brought_back(plain: Core) -> None:
    await load(plain, "<urn:a> <urn:b> <urn:c> .", dataset="ops")
    with pytest.raises(InvalidRequest, match=r"^confirm: must be the name of the graph"):
        await delete_graph(plain, DeleteGraphRequest(user_id="u1", dataset="ops", confirm="other"))
    gone = await delete_graph(plain, DeleteGraphRequest(user_id="u1", dataset="ops", confirm="ops"))
    shown = models.GraphDeleteResponse.model_validate(gone.body())
    assert (shown.ok, shown.graph_id, shown.deleted_objects) == (True, "ops", 1)
    with pytest.raises(UnknownDataset):
        await delete_graph(plain, DeleteGraphRequest(user_id="u1", dataset="ops", confirm="ops"))
    assert gone.tombstone_id is not None
    await undo(plain, UndoRequest(user_id="u1", tombstone_id=gone.tombstone_id))
    assert await triples(plain, "ops") == {"<urn:a> <urn:b> <urn:c>"}


async def test_what_is_written_can_be_read_at_once(plain: Core) -> None:
    await load(plain, "<urn:a> <urn:b> <urn:c> .")
    await change(plain, "INSERT DATA { <urn:a> <urn:b> <urn:d> }")
    metadata = await graph_metadata(plain, GraphMetadataRequest(user_id="u1"))
    assert models.GraphMetadataResponse.model_validate(metadata.body()).snapshot.commit_seq == 2 == await head(plain)
    snapshot = await read_snapshot(plain, ReadSnapshotRequest(user_id="u1"))
    assert models.PublishedReadStatusResponse.model_validate(snapshot.body()).snapshot.served_at_seq == 2
    status = await publication_status(plain, PublicationStatusRequest(user_id="u1"))
    shown = models.PublicationStatusResponse.model_validate(status.body())
    assert (shown.state.value, shown.published_seq, shown.target_seq, shown.lag_commits) == ("current", 2, 2, 0)
    commit = await plain.commits.commit((await plain.graph.dataset("u1", "main")) or pytest.fail("gone"), 2)
    assert commit is not None and commit.kind == "update"
    assert abs(shown.last_progress_at_micros - commit.created_at.timestamp() * 1_000_000) < 2


async def test_main_of_somebody_who_told_nothing_is_an_empty_graph(plain: Core) -> None:
    assert (await graph_metadata(plain, GraphMetadataRequest(user_id="new"))).snapshot.commit_seq == 0
    status = await publication_status(plain, PublicationStatusRequest(user_id="new"))
    assert (status.published_seq, status.last_progress_at_micros) == (0, 0)
    empty = await summary(plain)
    assert (empty.entity_count, empty.current_edge_count, empty.entity_types) == (0, 0, [])
    with pytest.raises(UnknownDataset):
        await graph_metadata(plain, GraphMetadataRequest(user_id="new", dataset="other"))


async def test_a_summary_has_the_time_of_one_read(plain: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    await load(plain, "<urn:a> <urn:b> <urn:c> .")
    asked: list[float] = []
    solve = plain.queries.solve

    async def noted(dataset: Dataset, query: GraphQuery, *, at_seq: int | None = None) -> Solutions:
        asked.append(query.seconds)
        return await solve(dataset, query, at_seq=at_seq)

    monkeypatch.setattr(plain.queries, "solve", noted)
    await summary(plain)
    assert READ_SECONDS >= asked[0] > asked[1] > asked[2]


async def test_the_summary_counts_what_was_remembered_and_what_was_loaded(plain: Core) -> None:
    await tell(
        plain,
        entities=[{"name": "Alice", "type": "person"}, {"name": "Acme", "type": "company"}],
        edges=[edge("Alice", "works_at", "Acme"), edge("Alice", "lives_in", "Paris", invalid_at="2020")],
    )
    await load(plain, "PREFIX s: <urn:s:> s:b a s:Bread ; s:madeBy s:n ; s:price 4 . s:c a s:Bread .", format="turtle")
    counted = await summary(plain)
    types = {one.name: one.count for one in counted.entity_types}
    base = "urn:gligabao:main:"
    assert types["urn:s:Bread"] == 2 and types[f"{base}type/person"] == types[f"{base}type/company"] == 1
    assert counted.entity_types[0].name == "urn:s:Bread", "the largest comes first"
    assert {one.name: one.count for one in counted.relations} == {f"{base}relation/works_at": 1, "urn:s:madeBy": 1}
    assert (counted.entity_count, counted.current_edge_count) == (5, 2)
    assert (counted.observation_count, counted.edge_event_count) == (1, 2 + 4)
    assert counted.snapshot.commit_seq == 2
