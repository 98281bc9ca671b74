"""As it was told: the times of a fact, worked out again from its history, when what had changed them is gone or back.

A fact starts with the times it was stored with, and each later commit that changed them had a cause: a newer fact that
contradicts it, an artifact that says when it ended or that it began earlier, or a merge of two facts. `as_told` takes
the steps whose cause is there, in order, and leaves out the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Times:
    """When a fact is true, and by whose word."""

    valid_at: datetime
    valid_at_source: str | None
    invalid_at: datetime | None = None
    invalid_at_source: str | None = None
    expired_at: datetime | None = None
    closed_by: int | None = None

    @property
    def start(self) -> tuple[datetime, str | None]:
        return self.valid_at, self.valid_at_source

    @property
    def end(self) -> tuple[datetime | None, datetime | None, int | None]:
        return self.invalid_at, self.expired_at, self.closed_by

    @property
    def open(self) -> bool:
        return self.invalid_at is None and self.expired_at is None

    def starting(self, other: Times) -> Times:
        """These times with the start of others; a start of unknown source keeps its own."""
        return replace(self, valid_at=other.valid_at, valid_at_source=other.valid_at_source or self.valid_at_source)

    def ending(self, other: Times) -> Times:
        """These times with the end of others."""
        return replace(
            self,
            invalid_at=other.invalid_at,
            invalid_at_source=other.invalid_at_source,
            expired_at=other.expired_at,
            closed_by=other.closed_by,
        )

    @property
    def reopened(self) -> Times:
        return Times(self.valid_at, self.valid_at_source)


@dataclass(frozen=True, slots=True)
class Support:
    """An artifact that states the fact, since that commit; `states_end`: it says when the fact ended, too."""

    artifact_id: int
    seq: int
    states_end: bool
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """A fact with its history. `versions` are the commits that changed its times, in order, with the times before."""

    id: int
    created_seq: int
    now: Times
    states_its_end: bool
    """The text that it was first read from says when it ended."""
    versions: tuple[tuple[int, Times], ...] = ()
    support: tuple[Support, ...] = ()


@dataclass(frozen=True, slots=True)
class World:
    """What is there to cause something: `facts` by id with their starts. `ghosts` are facts that are gone, each with
    those that had closed it, in order. `derived` are the commits that only worked out times anew, `merges` those of
    merges that hold."""

    facts: Mapping[int, datetime]
    ghosts: Mapping[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    derived: frozenset[int] = frozenset()
    merges: frozenset[int] = frozenset()

    def successor(self, edge_id: int) -> int | None:
        """The first fact that is there among this one, those that closed it, and those that closed these."""
        return self._successor(edge_id, set())

    def _successor(self, edge_id: int, seen: set[int]) -> int | None:
        if edge_id in self.facts:
            return edge_id
        seen.add(edge_id)
        later = (self._successor(i, seen) for i in reversed(self.ghosts.get(edge_id, ())) if i not in seen)
        return next((i for i in later if i is not None), None)


def as_told(fact: Told, world: World) -> Times:
    """The times of the fact by the causes that are there."""
    states = [times for _, times in fact.versions] + [fact.now]
    times = _first(fact, states[0], world)
    for (seq, before), after in zip(fact.versions, states[1:], strict=True):
        if seq in world.derived:
            continue
        if after.start != before.start and (seq in world.merges or _supported_since(fact, seq)):
            times = times.starting(after)
        if after.end != before.end:
            times = _ended(fact, times, after, seq, world)
    return times


def closers(fact: Told) -> tuple[int, ...]:
    """The facts that closed this one, in order."""
    states = [times for _, times in fact.versions] + [fact.now]
    return tuple(dict.fromkeys(times.closed_by for times in states if times.closed_by is not None))


def closers_among(ghosts: Mapping[int, tuple[int, ...]], edge_ids: Iterable[int]) -> set[int]:
    """These facts, and the facts that are gone and had been closed by one of them, or by one that had."""
    found = set(edge_ids)
    while more := {ghost for ghost, by in ghosts.items() if ghost not in found and found & set(by)}:
        found |= more
    return found


def _first(fact: Told, stored: Times, world: World) -> Times:
    """The times that the fact was stored with."""
    if stored.invalid_at is None:
        return stored
    alone = stored.reopened
    if stored.closed_by is not None and fact.states_its_end:
        alone = replace(stored, invalid_at_source="stated", expired_at=None, closed_by=None)
    return _ended(fact, alone, stored, fact.created_seq, world)


def _ended(fact: Told, times: Times, after: Times, seq: int, world: World) -> Times:
    """The times after a step that gave the fact an end, or took it."""
    if after.closed_by is not None:
        return _closed(times, after, after.closed_by, world)
    return times.ending(after) if _is_said(fact, after, seq, world) else times


def _closed(times: Times, after: Times, closer: int, world: World) -> Times:
    """Closed by that fact; where it is gone, by the first that had closed it and is there."""
    by = world.successor(closer)
    if by == closer:
        return times.ending(after)
    if by is None or world.facts[by] < times.valid_at:
        return times
    if times.invalid_at is not None and times.invalid_at <= world.facts[by]:
        return times
    return times.ending(replace(after, invalid_at=world.facts[by], invalid_at_source="reconciled", closed_by=by))


def _is_said(fact: Told, after: Times, seq: int, world: World) -> bool:
    """Whether an end that no other fact set still has somebody who says it."""
    if seq in world.merges or after.invalid_at is None or after.invalid_at_source is None:
        return True  # no artifact's word, or a version that was kept before its source was
    said = [s for s in fact.support if s.seq == seq and s.states_end] or [s for s in fact.support if s.seq == seq]
    return any(not s.gone for s in said) or any(s.states_end and s.seq > seq and not s.gone for s in fact.support)


def _supported_since(fact: Told, seq: int) -> bool:
    return any(s.seq >= seq and not s.gone for s in fact.support)
