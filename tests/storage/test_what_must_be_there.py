"""Random lives of a memory (remember, forget, undo, merge, purge, crash, restart) against what must be there.

The model knows which artifact states what, which fact ended which, and what was taken away. Only the ids of the rows it
learns from the memory.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.config import Config
from core.core import Core
from core.engine import NoEngine
from core.errors import Conflict
from core.forget.forget import ForgetRequest, forget
from core.forget.merge import MergeRequest, merge
from core.forget.purge import PurgeRequest, purge
from core.forget.undo import UndoRequest, undo
from gligabao_mcp.providers.scripted import HashEmbedder
from gligabao_mcp.wiring import Providers, open_core
from storage.outbox import VectorOutbox
from tests.facts import edge, tell_facts

ONE_AT_A_TIME = "lives_in"
TRIPLES = [
    *((who, ONE_AT_A_TIME, city) for who in ("Ann", "Ben") for city in ("Paris", "Oslo", "Rome")),
    *((who, "knows", whom) for who in ("Ann", "Ben") for whom in ("Cem", "Ben", "Dia")),
]
SESSIONS = ("monday", "tuesday")
Link = tuple[int, int]


@dataclass(eq=False)
class Fact:
    """A fact: its ends, the facts that ended it, and the one that took it up in a merge."""

    source: int
    relation: str
    target: int
    ended_by: list[int] = field(default_factory=list[int])
    taken_up_by: int | None = None


@dataclass(eq=False)
class Tombstone:
    """What was taken away: artifacts with all their links, or facts and entities as such, or one entity by another."""

    id: int
    artifacts: set[int] = field(default_factory=set[int])
    facts: set[int] = field(default_factory=set[int])
    entities: set[int] = field(default_factory=set[int])
    into: int = 0
    other: int = 0
    ends: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    twins: dict[int, int] = field(default_factory=dict[int, int])
    moved_links: set[Link] = field(default_factory=set[Link])
    own_links: set[Link] = field(default_factory=set[Link])
    touched: set[int] = field(default_factory=set[int])
    says: set[Link] = field(default_factory=set[Link])
    names: set[Link] = field(default_factory=set[Link])


class Model:
    """What must be there."""

    def __init__(self) -> None:
        self.present: set[int] = set()
        self.facts: dict[int, Fact] = {}
        self.says: set[Link] = set()
        """Artifact and fact."""
        self.names: set[Link] = set()
        """Artifact and entity."""
        self.hidden_facts: set[int] = set()
        self.hidden_entities: set[int] = set()
        self.tombstones: list[Tombstone] = []

    def support(self, fact: int) -> set[int]:
        return {a for a, f in self.says if f == fact} & self.present

    def has_fact(self, fact: int) -> bool:
        return fact not in self.hidden_facts and bool(self.support(fact))

    def has_entity(self, entity: int) -> bool:
        return entity not in self.hidden_entities and any(a in self.present for a, e in self.names if e == entity)

    def is_open(self, fact: int) -> bool:
        return not any(self._holds(by, set()) for by in self.facts[fact].ended_by)

    def _holds(self, fact: int, seen: set[int]) -> bool:
        """Whether the fact, or what ended it, is there to have ended something."""
        if fact in seen or self.has_fact(fact):
            return fact not in seen
        seen.add(fact)
        later = self.facts[fact].taken_up_by
        return any(self._holds(by, seen) for by in (*self.facts[fact].ended_by, *([later] if later else [])))

    def graph(self) -> dict[int, tuple[int, str, int, frozenset[int], bool]]:
        return {
            i: (fact.source, fact.relation, fact.target, frozenset(self.support(i)), self.is_open(i))
            for i, fact in self.facts.items()
            if self.has_fact(i)
        }

    def entities(self) -> set[int]:
        return {entity for _, entity in self.names if self.has_entity(entity)}

    # What happens -----------------------------------------------------------------------------------------------------

    def told(self, artifact: int, fact: int, source: int, relation: str, target: int, known: set[int]) -> None:
        """A fact of an artifact; `known` were stored before it: facts of one text do not end each other."""
        self.present.add(artifact)
        if fact not in self.facts:
            for i in known:
                other = self.facts[i]
                same = (other.source, other.relation) == (source, relation) and other.target != target
                if same and relation == ONE_AT_A_TIME and self.has_fact(i) and self.is_open(i):
                    other.ended_by.append(fact)
            self.facts[fact] = Fact(source, relation, target)
        self.says.add((artifact, fact))
        self.names |= {(artifact, source), (artifact, target)}

    def forget_artifacts(self, tombstone: int, artifacts: set[int]) -> None:
        self.tombstones.append(Tombstone(tombstone, artifacts=artifacts))
        self.present -= artifacts

    def forget_as_such(self, tombstone: int, facts: set[int], entities: set[int]) -> None:
        gone = Tombstone(tombstone, facts=facts, entities=entities)
        gone.says = {(a, f) for a, f in self.says if f in facts and a in self.present}
        gone.names = {(a, e) for a, e in self.names if e in entities and a in self.present}
        self.tombstones.append(gone)
        self.hidden_facts |= facts
        self.hidden_entities |= entities

    def merge(self, tombstone: int, into: int, other: int) -> None:
        gone = Tombstone(tombstone, into=into, other=other, own_links={(a, e) for a, e in self.names if e == into})
        there = {i: fact for i, fact in self.facts.items() if self.has_fact(i)}
        for i, fact in there.items():
            if other in (fact.source, fact.target):
                self._merge_fact(gone, i, fact, into, other, there)
        gone.moved_links = {(a, e) for a, e in self.names if e == other and a in self.present}
        self.names = (self.names - gone.moved_links) | {(a, into) for a, _ in gone.moved_links}
        self.hidden_entities.add(other)
        gone.touched |= {*gone.ends, *gone.twins, *gone.twins.values()}
        self.tombstones.append(gone)

    def _merge_fact(self, gone: Tombstone, i: int, fact: Fact, into: int, other: int, there: dict[int, Fact]) -> None:
        if {fact.source, fact.target} == {into, other}:
            gone.facts.add(i)
            self.hidden_facts.add(i)
            return
        ends = tuple(into if end == other else end for end in (fact.source, fact.target))
        for j, twin in there.items():
            same = (twin.source, twin.relation, twin.target) == (ends[0], fact.relation, ends[1])
            if i != j and same and self.is_open(i) and self.is_open(j):
                gone.twins[i], gone.facts = j, gone.facts | {i}
                self.hidden_facts.add(i)
                fact.taken_up_by = j
                gone.own_links |= {(a, -j) for a in self.support(j)}
                self.says |= {(a, j) for a in self.support(i)}
                return
        gone.ends[i] = fact.source, fact.target
        fact.source, fact.target = ends

    def undo(self, gone: Tombstone) -> None:
        self.tombstones.remove(gone)
        if gone.into:
            self._unmerge(gone)
            return
        self.hidden_facts -= gone.facts
        self.hidden_entities -= gone.entities
        self.says |= gone.says
        self.names |= gone.names
        # What was forgotten as such meanwhile, or was merged away, takes no links.
        lost = {(a, f) for a, f in self.says if a in gone.artifacts and self._is_hidden(f)}
        self.says -= lost
        self.names -= {(a, e) for a, e in self.names if a in gone.artifacts and e in self.hidden_entities}
        self.present |= gone.artifacts

    def _is_hidden(self, fact: int) -> bool:
        ends = {self.facts[fact].source, self.facts[fact].target}
        return fact in self.hidden_facts or bool(ends & self.hidden_entities)

    def _unmerge(self, gone: Tombstone) -> None:
        self.hidden_entities.discard(gone.other)
        self.hidden_facts -= gone.facts
        for i, (source, target) in gone.ends.items():
            self.facts[i].source, self.facts[i].target = source, target
        self.names -= {(a, gone.into) for a, _ in gone.moved_links} - gone.own_links
        self.names |= gone.moved_links
        for twin, survivor in gone.twins.items():
            self.facts[twin].taken_up_by = None
            self.says -= {(a, survivor) for a, f in self.says if f == twin and (a, -survivor) not in gone.own_links}


# The memory -----------------------------------------------------------------------------------------------------------


class Life:
    """One memory, what it was told, and what must be there."""

    def __init__(self, home: Path, stack: AsyncExitStack) -> None:
        self.config = Config(home=home)
        self.stack = stack
        self.core: Core = None  # pyright: ignore[reportAttributeAccessIssue] -- opened by `start`
        self.model = Model()
        self.ids: dict[str, set[int]] = {}
        """The entities that a name has had."""
        self.sessions: dict[int, tuple[str, int]] = {}
        self.year = 1000
        self.reads = sa.create_engine(f"sqlite:///{home / 'gligabao.db'}", poolclass=sa.NullPool)

    async def start(self) -> None:
        """Opens the memory; one that was open before is left as a process that was killed leaves it."""
        opened = open_core(self.config, Providers(NoEngine(), HashEmbedder(dim=8)))
        self.core = await self.stack.enter_async_context(opened)

    # What happens -----------------------------------------------------------------------------------------------------

    async def remember(self, pick: Callable[[int], int]) -> None:
        triples = list(dict.fromkeys(TRIPLES[pick(len(TRIPLES))] for _ in range(1 + pick(2))))
        names = {name for source, _, target in triples for name in (source, target)}
        if any(
            not self.model.has_entity(i) and self._may_come_back(i) for name in names for i in self.ids.get(name, ())
        ):
            return  # which row it would be after an undo, is for tests of their own
        if any(self._waits(triple) for triple in triples):
            return
        stated = [edge(s, r, t, valid_at=f"{self.year + i}-01-01") for i, (s, r, t) in enumerate(triples)]
        self.year += 5
        session = SESSIONS[pick(2)]
        told = await tell_facts(self.core, *stated, text="Told.", session_id=session)
        assert told.vectors_pending is None
        self.sessions[told.artifact_id] = session, told.remember_run_id or 0
        known = set(self.model.facts)
        for fact, (source, relation, target) in zip(told.edges, triples, strict=True):
            for name, i in ((source, fact.source_id), (target, fact.target_id)):
                self.ids.setdefault(name, set()).add(i)
            self.model.told(told.artifact_id, fact.id, fact.source_id, relation, fact.target_id, known)

    def _may_come_back(self, entity: int) -> bool:
        return any(
            entity in gone.entities or any(e == entity and a in gone.artifacts for a, e in self.model.names)
            for gone in self.model.tombstones
            if not gone.into
        )

    def _waits(self, triple: tuple[str, str, str]) -> bool:
        """Whether a fact of these names is gone for now."""
        source, relation, target = triple
        return any(
            not self.model.has_fact(i)
            and fact.source in self.ids.get(source, ())
            and fact.target in self.ids.get(target, ())
            for i, fact in self.model.facts.items()
            if fact.relation == relation
        )

    async def forget_artifact(self, pick: Callable[[int], int]) -> None:
        if self.model.present:
            artifact = sorted(self.model.present)[pick(len(self.model.present))]
            self.model.forget_artifacts(await self._forget("artifact", artifact), {artifact})

    async def forget_run(self, pick: Callable[[int], int]) -> None:
        if self.model.present:
            artifact = sorted(self.model.present)[pick(len(self.model.present))]
            self.model.forget_artifacts(await self._forget("run", self.sessions[artifact][1]), {artifact})

    async def forget_session(self, pick: Callable[[int], int]) -> None:
        session = SESSIONS[pick(2)]
        artifacts = {a for a in self.model.present if self.sessions[a][0] == session}
        if artifacts:
            self.model.forget_artifacts(await self._forget("session", session), artifacts)

    async def forget_fact(self, pick: Callable[[int], int]) -> None:
        facts = sorted(self.model.graph())
        if facts:
            fact = facts[pick(len(facts))]
            self.model.forget_as_such(await self._forget("edge", fact), {fact}, set())

    async def forget_entity(self, pick: Callable[[int], int]) -> None:
        entities = sorted(self.model.entities())
        if entities:
            entity = entities[pick(len(entities))]
            facts = {i for i, (source, _, target, *_) in self.model.graph().items() if entity in (source, target)}
            self.model.forget_as_such(await self._forget("entity", entity), facts, {entity})

    async def _forget(self, scope: str, target: int | str) -> int:
        request = {"user_id": "u1", "scope": scope, "id": target}
        told = await forget(self.core, ForgetRequest.model_validate(request | {"dry_run": True}))
        gone = await forget(self.core, ForgetRequest.model_validate(request | {"confirm": told.confirm}))
        assert gone.tombstone_id is not None
        return gone.tombstone_id

    async def merge(self, pick: Callable[[int], int]) -> None:
        entities = sorted(self.model.entities())
        if len(entities) > 1:
            into, other = entities[pick(len(entities))], entities[pick(len(entities))]
            if into != other:
                done = await merge(self.core, MergeRequest(user_id="u1", into=into, other=other))
                assert done.tombstone_id is not None
                self.model.merge(done.tombstone_id, into, other)
                for had in self.ids.values():
                    had |= {into} if other in had else set()

    async def undo(self, pick: Callable[[int], int]) -> None:
        if self.model.tombstones:
            gone = self.model.tombstones[pick(len(self.model.tombstones))]
            try:
                await undo(self.core, UndoRequest(user_id="u1", tombstone_id=gone.id))
            except Conflict:
                # Only what rests on something else that is gone has to wait for it.
                assert gone.into or gone.facts or gone.entities
            else:
                self.model.undo(gone)

    async def purge(self, pick: Callable[[int], int]) -> None:
        if self.model.tombstones:
            gone = self.model.tombstones.pop(pick(len(self.model.tombstones)))
            await purge(self.core, PurgeRequest(user_id="u1", tombstone_id=gone.id))

    async def crash(self, _: Callable[[int], int]) -> None:
        await self.start()

    async def restart(self, _: Callable[[int], int]) -> None:
        await self.stack.aclose()
        await self.start()

    # What is there ----------------------------------------------------------------------------------------------------

    async def check(self) -> None:
        rows = self._rows("SELECT id, source_id, relation, target_id, invalid_at, expired_at FROM gb_edges")
        links = self._rows("SELECT edge_id, artifact_id FROM gb_edge_artifacts")
        graph = {
            i: (source, relation, target, frozenset(a for e, a in links if e == i), not end and not expired)
            for i, source, relation, target, end, expired in rows
        }
        expected = self.model.graph()
        for i, fact in expected.items():
            # Of facts that say the same one is open at a time.
            twins = [j for j, other in expected.items() if other[:3] == fact[:3] and other[4]]
            if fact[4] and len(twins) > 1:
                assert sum(graph[j][4] for j in twins if j in graph) == 1
                expected[i] = (*fact[:4], graph[i][4])
        assert graph == expected
        assert {i for (i,) in self._rows("SELECT id FROM gb_artifacts")} == self.model.present
        assert {i for (i,) in self._rows("SELECT id FROM gb_entities")} == self.model.entities()
        assert self._rows("PRAGMA foreign_key_check") == []
        assert isinstance(self.core.vectors, VectorOutbox)
        dataset = await self.core.graph.dataset("u1", "main")
        if dataset is not None:
            await self.core.vectors.catch_up(dataset)
            assert self._rows("SELECT id FROM gb_vector_outbox") == []
            assert self.core.vectors.index.ids(dataset.id, "edges") == set(graph)
            assert self.core.vectors.index.ids(dataset.id, "entities") == self.model.entities()

    def _rows(self, sql: str) -> list[Any]:
        with self.reads.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(sql))]


STEPS: dict[str, Callable[[Life, Callable[[int], int]], Coroutine[Any, Any, None]]] = {
    "remember": Life.remember,
    "forget_artifact": Life.forget_artifact,
    "forget_run": Life.forget_run,
    "forget_session": Life.forget_session,
    "forget_fact": Life.forget_fact,
    "forget_entity": Life.forget_entity,
    "merge": Life.merge,
    "undo": Life.undo,
    "purge": Life.purge,
    "crash": Life.crash,
    "restart": Life.restart,
}
OFTEN = [*STEPS, *["remember"] * 8, *["forget_artifact"] * 2, *["undo"] * 5]


async def lived(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        async with AsyncExitStack() as stack:
            life = Life(Path(home), stack)
            await life.start()
            for name, number in steps:
                rest = number

                def pick(many: int) -> int:
                    nonlocal rest
                    rest, chosen = divmod(rest, many)
                    return chosen

                await STEPS[name](life, pick)
                await life.check()


@settings(
    max_examples=10, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=False
)
@given(st.lists(st.tuples(st.sampled_from(OFTEN), st.integers(0, 10**6)), min_size=6, max_size=18))
def test_what_must_be_there_is_there_and_nothing_else(steps: list[tuple[str, int]]) -> None:
    asyncio.run(lived(steps))
