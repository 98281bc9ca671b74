"""A random history of a dataset: things told, corrected, forgotten, brought back, merged, loaded and taken out."""

from __future__ import annotations

import io
from collections.abc import Iterable
from random import Random

from core.core import Core
from core.errors import GligabaoError
from core.forget.correct import CorrectRequest, correct
from core.forget.forget import ForgetRequest, forget
from core.forget.merge import MergeRequest, merge
from core.forget.undo import UndoRequest, undo
from core.graph import Dataset
from core.rdf.ports import Load
from core.remember.remember import remember
from core.remember.request import RememberRequest
from storage.graph import SqlGraph
from storage.rdf.changes import Changes
from storage.rdf.rows import changes_since, rows_back_at, whole_at

USER = "u1"
NAMES = ("Alice", "Bob", "Carol", "Acme", "Globex", "Paris", "Oslo")
RELATIONS = ("lives_in", "works_at", "knows", "reports_to", "likes")
SESSIONS = (None, "monday", "tuesday")
_REFUSED = ("conflict", "not_found", "invalid_request")
YEARS = (None, "2019", "2021", "2023-05-01", "2024")


class History:
    """One dataset as random calls change it."""

    def __init__(self, core: Core, seed: int) -> None:
        self.core = core
        self.random = Random(seed)
        assert isinstance(core.graph, SqlGraph)
        self.database = core.graph.database
        self.tombstones: list[int] = []

    # What is stored ---------------------------------------------------------------------------------------------------

    async def dataset(self) -> Dataset:
        found = await self.core.graph.dataset(USER, "main")
        assert found is not None
        return found

    async def whole(self, seq: int | None = None, *, facts: bool = True) -> Changes:
        dataset = await self.dataset()
        return await self.database.read(lambda connection: whole_at(connection, dataset.id, seq, facts))

    async def since(self, seq: int) -> Changes | None:
        dataset = await self.dataset()
        return await self.database.read(lambda connection: changes_since(connection, dataset.id, seq))

    async def back(self, seq: int) -> Changes | None:
        dataset = await self.dataset()
        return await self.database.read(lambda connection: rows_back_at(connection, dataset.id, seq))

    # What changes it --------------------------------------------------------------------------------------------------

    async def told(self) -> None:
        """Some facts that a caller read, about few names, so that they repeat, end and contradict each other."""
        pick = self.random.choice
        edges = [
            {
                "source": pick(NAMES),
                "target": pick(NAMES),
                "relation": pick(RELATIONS),
                "description": pick(("", "So.")),
            }
            | {"valid_at": pick(YEARS), "invalid_at": pick((None, None, None, "2025"))}
            for _ in range(self.random.randint(1, 3))
        ]
        edges = [edge for edge in edges if edge["source"] != edge["target"]]
        entities = [{"name": pick(NAMES), "type": "thing", "description": pick(("", "old", "young", "rich"))}]
        request = {"user_id": USER, "text": f"Told {self.random.random()}.", "session_id": pick(SESSIONS)}
        await remember(self.core, RememberRequest.model_validate({**request, "edges": edges, "entities": entities}))

    async def corrected(self) -> None:
        edge_id = self._one((await self.whole()).facts)
        how = self.random.choice(({"invalid_at": "2024-06-01"}, {"restate": {"relation": "knows"}}))
        await correct(self.core, CorrectRequest.model_validate({"user_id": USER, "edge_id": edge_id, **how}))

    async def loaded(self) -> None:
        lines = [self._triple() for _ in range(self.random.randint(1, 4))]
        content = io.BytesIO("\n".join(lines).encode())
        await self.core.triples.load(Load(USER, "main", content, "ntriples"), self.core.clock)

    async def updated(self) -> None:
        forms = [self.random.choice(("INSERT", "DELETE")) for _ in range(2)]
        text = " ; ".join(f"{form} DATA {{ {self._triple()} {self._triple()} }}" for form in forms)
        await self.core.triples.update(USER, "main", text, self.core.clock)

    async def forgotten(self) -> None:
        now = await self.whole()
        rows = {"artifact": now.artifacts, "entity": now.entities, "edge": now.facts}
        scope = self.random.choice((*rows, "session"))
        target = self.random.choice(SESSIONS[1:]) if scope == "session" else self._one(rows[scope])
        asked = {"user_id": USER, "scope": scope, "id": target}
        dry = await forget(self.core, ForgetRequest.model_validate({**asked, "dry_run": True}))
        gone = await forget(self.core, ForgetRequest.model_validate({**asked, "confirm": dry.confirm}))
        self._keep(gone.tombstone_id)

    async def merged(self) -> None:
        into, other = self.random.sample(sorted((await self.whole()).entities), 2)
        gone = await merge(self.core, MergeRequest(user_id=USER, into=into, other=other))
        self._keep(gone.tombstone_id)

    async def undone(self) -> None:
        tombstone = self._one(self.tombstones)
        await undo(self.core, UndoRequest(user_id=USER, tombstone_id=tombstone))
        self.tombstones.remove(tombstone)

    async def step(self, *kinds: str) -> str:
        """One call of these kinds; what can't be done at this moment is left."""
        kind = self.random.choice(kinds)
        try:
            await getattr(self, kind)()
        except (GligabaoError, IndexError, ValueError) as failure:
            assert not isinstance(failure, GligabaoError) or failure.code in _REFUSED, failure
        return kind

    def _keep(self, tombstone_id: int | None) -> None:
        assert tombstone_id is not None
        self.tombstones.append(tombstone_id)

    def _one(self, ids: Iterable[int]) -> int:
        return self.random.choice(sorted(ids))

    def _triple(self) -> str:
        return f'<urn:s:{self.random.randint(1, 5)}> <urn:p> "{self.random.randint(1, 3)}" .'


TELLING = ("told", "told", "told", "corrected", "loaded", "updated")
REMOVING = ("forgotten", "merged", "undone", "undone")


def applied(rows: Changes, changes: Changes) -> Changes:
    """Rows with changes laid over them."""
    kinds = ("entities", "facts", "artifacts", "quads")
    laid = {kind: {**getattr(rows, kind), **getattr(changes, kind)} for kind in kinds}
    there = {kind: {i: row for i, row in found.items() if row is not None} for kind, found in laid.items()}
    return Changes(changes.seq, changes.at, **there, whole=True)
