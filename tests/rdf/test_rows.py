"""The rows of the RDF view: at any commit what was stored then, and between two commits what leads from one to the
other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.config import Config
from core.engine import NoEngine
from gligabao_mcp.wiring import Providers, open_core
from storage.rdf.changes import Changes, FactRow
from tests.rdf.history import REMOVING, TELLING, History, applied

pytestmark = pytest.mark.anyio

STEPS = 40


@pytest.mark.parametrize("seed", range(3))
async def test_a_past_commit_is_read_exactly_as_it_was_stored(config: Config, seed: int) -> None:
    async with open_core(config, Providers(NoEngine())) as core:
        history = History(core, seed)
        await history.told()
        kept = {1: await history.whole()}
        for _ in range(STEPS):
            await history.step(*TELLING)
            now = await history.whole()
            kept.setdefault(now.seq, now)
        assert len(kept) > STEPS / 2
        for seq, then in kept.items():
            assert await history.whole(seq) == then


@pytest.mark.parametrize("seed", range(4))
async def test_changes_lead_to_the_present_and_back_to_any_commit(config: Config, seed: int) -> None:
    async with open_core(config, Providers(NoEngine())) as core:
        history = History(core, seed)
        await history.told()
        seen = {1: await history.whole()}
        for _ in range(STEPS):
            kind = await history.step(*TELLING, *REMOVING)
            now = await history.whole()
            for seq in history.random.sample(sorted(seen), min(3, len(seen))):
                await assert_they_lead(history, seen[seq], now, kind)
            seen[now.seq] = now
        assert len(seen) > STEPS / 2
        for then in seen.values():
            await assert_they_lead(history, then, seen[max(seen)], "the end")


@pytest.mark.parametrize("seed", range(3))
async def test_what_is_forgotten_goes_from_the_past_too_and_comes_back_with_undo(config: Config, seed: int) -> None:
    """Facts that stay keep the times that they had at each commit."""
    async with open_core(config, Providers(NoEngine())) as core:
        history = History(core, seed)
        await history.told()
        undone = 0
        for _ in range(STEPS // 4):
            for _ in range(3):
                await history.step(*TELLING)
            before = await past_of(history)
            await history.step("forgotten")
            if not history.tombstones:
                continue
            after = await past_of(history)
            gone = before[max(before)].facts.keys() - after[max(after)].facts.keys()
            for seq, then in before.items():
                assert after[seq].facts.keys() == then.facts.keys() - gone
                assert all(_times(fact) == _times(_facts(then)[i]) for i, fact in _facts(after[seq]).items())
            await history.undone()
            undone += not history.tombstones
            back = await past_of(history)
            assert {seq: back[seq] for seq in before} == before
        assert undone > 3


@pytest.mark.parametrize("seed", range(6))
async def test_the_past_is_exact_across_merges_that_hold_and_merges_that_were_undone(config: Config, seed: int) -> None:
    async with open_core(config, Providers(NoEngine())) as core:
        history = History(core, seed)
        await history.told()
        kept = {1: await history.whole()}
        merged = undone = 0
        for _ in range(STEPS):
            before = len(history.tombstones)
            await history.step(*TELLING, "merged", "merged", "undone", "undone")
            merged += len(history.tombstones) > before
            undone += len(history.tombstones) < before
            now = await history.whole()
            kept.setdefault(now.seq, now)
        assert merged > 2 and undone
        for seq, then in kept.items():
            assert await history.whole(seq) == then
            assert await history.whole(seq, facts=False) == _bare(then)
            await assert_they_lead(history, then, kept[max(kept)], "the end")


@pytest.mark.parametrize("seed", range(6))
async def test_nothing_forgotten_comes_back_with_the_past_of_a_merge(config: Config, seed: int) -> None:
    """What stays keeps its names, ends and times of each commit."""
    async with open_core(config, Providers(NoEngine())) as core:
        history = History(core, seed)
        await history.told()
        kept = {1: await history.whole()}
        for _ in range(STEPS):
            await history.step(*TELLING, "merged", "forgotten")
            now = await history.whole()
            kept.setdefault(now.seq, now)
        there = kept[max(kept)].artifacts
        for seq, then in (await past_of(history)).items():
            assert _ends(then) <= then.entities.keys()
            for i, entity in then.entities.items():
                was = kept[seq].entities[i]
                assert entity is not None and was is not None
                assert (entity.name, entity.type) == (was.name, was.type)
            for i, fact in _facts(then).items():
                was = _facts(kept[seq])[i]
                assert (_ended(fact), _times(fact)) == (_ended(was), _times(was))
                assert set(fact.artifacts) == set(was.artifacts) & there.keys()
                assert fact.artifact_id is None or fact.artifact_id in there
                assert fact.description in ("", was.description)
                assert set(fact.sessions) <= set(was.sessions)


async def past_of(history: History) -> dict[int, Changes]:
    head = (await history.dataset()).head_seq
    return {seq: await history.whole(seq) for seq in range(1, head + 1)}


def _facts(rows: Changes) -> dict[int, FactRow]:
    return {i: fact for i, fact in rows.facts.items() if fact is not None}


def _ends(rows: Changes) -> set[int]:
    return {end for fact in _facts(rows).values() for end in (fact.source_id, fact.target_id)}


def _ended(fact: FactRow) -> tuple[int, str, int]:
    return fact.source_id, fact.relation, fact.target_id


def _bare(rows: Changes) -> Changes:
    bare = {
        i: fact._replace(description="", artifact_id=None, artifacts=(), sessions=())
        for i, fact in _facts(rows).items()
    }
    return replace(rows, facts=bare, artifacts={})


def _times(fact: FactRow) -> tuple[int | None, ...]:
    return fact.valid_at, fact.invalid_at, fact.created_at, fact.expired_at


async def assert_they_lead(history: History, then: Changes, now: Changes, kind: str) -> None:
    since, back = await history.since(then.seq), await history.back(then.seq)
    assert since is not None and back is not None
    assert applied(then, since) == now, kind
    whole = await history.whole(then.seq)
    assert applied(now, back) == whole, kind
    assert _ends(whole) <= whole.entities.keys()
