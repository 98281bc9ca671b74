"""The journal: every write of a dataset is a numbered commit with its time and counts, and names the rows touched."""

from __future__ import annotations

import io
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import pytest

from core.config import Config
from core.core import Core
from core.engine import NoEngine
from core.export.export import ExportRequest, export
from core.forget.forget import ForgetRequest, forget
from core.imports.imports import ImportRequest, import_document
from core.remember.remember import remember
from core.remember.request import RememberRequest
from gligabao_mcp.providers.scripted import ScriptedModel
from gligabao_mcp.wiring import Providers, open_core
from tests.conftest import Tables
from tests.drawn import as_base64, drawn
from tests.facts import edge, tell, tell_facts
from tests.forgetting import correct_it, forget_it, merge_them, undo_it
from tests.rdf.history import History
from tests.rdf.loading import change, load

pytestmark = pytest.mark.anyio

READ: dict[str, object] = {"theme": "photo", "title": "A cat", "blocks": [], "language": "en"}


class Journal:
    """The commits of a dataset that nobody looked at yet."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.seen = 0

    def new(self) -> Mapping[str, Any]:
        """The one commit since the last look."""
        rows = self.tables.rows(
            "SELECT seq, kind, counts, touched, created_at FROM gb_commits WHERE seq > :seen AND dataset_id = 1",
            seen=self.seen,
        )
        (row,) = rows
        self.seen += 1
        assert row["seq"] == self.seen and row["created_at"] and row["counts"] not in (None, "null")
        head = self.tables.rows("SELECT head_seq FROM gb_datasets WHERE id = 1")
        assert head == [{"head_seq": self.seen}]
        return row


@pytest.fixture
async def ruled(config: Config) -> AsyncGenerator[Core]:
    """A memory that compares facts by rule."""
    async with open_core(config, Providers(NoEngine())) as core:
        yield core


async def test_every_write_is_a_commit(ruled: Core, tables: Tables) -> None:
    journal = Journal(tables)
    told = await tell_facts(ruled, edge("Alice", "likes", "Tea"), edge("Alice", "likes", "Milk"))
    assert journal.new()["kind"] == "remember"
    corrected = await correct_it(ruled, told.edges[0].id, restate={"target": "Coffee"})
    assert journal.new()["kind"] == "correct"
    gone = await forget_it(ruled, "artifact", corrected.artifact_id)
    assert journal.new()["kind"] == "forget"
    await undo_it(ruled, gone)
    assert journal.new()["kind"] == "undo"
    tea, milk = (fact.target_id for fact in told.edges)
    merged = await merge_them(ruled, into=milk, other=tea)
    assert journal.new()["kind"] == "merge"
    await undo_it(ruled, merged)
    assert journal.new()["kind"] == "undo"
    await load(ruled, "<urn:a> <urn:b> <urn:c> .")
    assert journal.new()["kind"] == "load"
    await change(ruled, "DELETE DATA { <urn:a> <urn:b> <urn:c> }")
    assert journal.new()["kind"] == "update"


async def test_an_image_that_is_told_again_in_another_conversation_is_a_commit(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    journal = Journal(tables)
    model.replies(READ)
    shown = {"user_id": "u1", "image": as_base64(drawn())}
    for session in ("one", "two"):
        shown["session_id"] = session
        await remember(plain, RememberRequest.model_validate(shown))
        assert journal.new()["kind"] == "remember"
    await remember(plain, RememberRequest.model_validate(shown))
    assert tables.count("gb_commits") == 2, "nothing was new"


async def test_what_only_looks_makes_no_commit(ruled: Core, tables: Tables) -> None:
    await tell_facts(ruled, edge("Alice", "likes", "Tea"))
    for asked in ({"scope": "entity", "id": 1}, {"scope": "dataset"}):
        await forget(ruled, ForgetRequest.model_validate({"user_id": "u1", "dry_run": True, **asked}))
    async with aclosing(await export(ruled, ExportRequest(user_id="u1"))) as stream:
        assert [piece async for piece in stream]
    assert tables.count("gb_commits") == 1


async def test_an_import_may_have_touched_anything(ruled: Core, tables: Tables) -> None:
    await tell_facts(ruled, edge("Alice", "likes", "Tea"))
    async with aclosing(await export(ruled, ExportRequest(user_id="u1"))) as stream:
        document = b"".join([piece async for piece in stream])
    await import_document(ruled, ImportRequest(user_id="u1", dataset="two"), io.BytesIO(document))
    copied = tables.rows("SELECT kind, touched FROM gb_commits WHERE dataset_id <> 1")
    assert copied == [{"kind": "import", "touched": None}]
    history = History(ruled, 0)
    await tell_facts(ruled, edge("Bob", "likes", "Tea"))
    assert await history.since(1) is not None
    await import_document(ruled, ImportRequest(user_id="u1", dataset="main"), io.BytesIO(document))
    assert await history.since(1) is None
    assert await history.back(1) is None
    assert set((await history.whole(1)).facts) == {1}


async def test_a_commit_touches_what_changed_and_nothing_else(ruled: Core) -> None:
    """However much is stored: what follows the commits reads a few rows."""
    await tell_facts(ruled, *(edge(f"Person {n}", "likes", f"Thing {n}") for n in range(50)))
    history = History(ruled, 0)
    told = await tell(
        ruled,
        entities=[{"name": "Person 1", "type": "other", "description": "new words"}],
        edges=[edge("Person 1", "likes", "Thing 1"), edge("Person 2", "hates", "Thing 3")],
    )
    changes = await history.since(1)
    assert changes is not None
    assert {row.description for row in changes.entities.values() if row} == {"new words"}
    assert len(changes.entities) == 1
    assert changes.facts.keys() == {fact.id for fact in told.edges}
    assert changes.artifacts.keys() == {told.artifact_id}
    await load(ruled, "<urn:a> <urn:b> <urn:c> .")
    loaded = await history.since(2)
    assert loaded is not None
    assert (len(loaded.entities), len(loaded.facts), len(loaded.artifacts), len(loaded.quads)) == (0, 0, 0, 1)
