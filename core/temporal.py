"""Temporal facts: when a new one repeats, ends or contradicts what is stored (semantics of temporal facts).

Every fact has event time, the half-open interval [valid_at, invalid_at) in which it is true in the world, and system
time, created_at and expired_at: when it was learned and when newer knowledge superseded it. `settle` is the whole rule,
pure: the pipeline asks it for the plan, and the store asks it again on the rows it reads inside its transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from core.graph import NOTHING, Edge, StatedEdge, TimeSource, Verdict


@dataclass(frozen=True, slots=True)
class Closing:
    """What becomes of one stored fact: its new times. `superseded`: newer knowledge contradicts it."""

    edge_id: int
    valid_at: datetime
    invalid_at: datetime | None
    invalid_at_source: TimeSource | None
    expired_at: datetime | None
    closed_by_new: bool = False
    valid_at_source: TimeSource = "stated"


@dataclass(frozen=True, slots=True)
class Settlement:
    """What becomes of one new fact and of the stored ones. With `merged_into` nothing is inserted; otherwise the fact
    is stored with `invalid_at`, `expired_at` and `closed_by`."""

    merged_into: int | None = None
    invalid_at: datetime | None = None
    invalid_at_source: TimeSource | None = None
    expired_at: datetime | None = None
    closed_by: int | None = None
    changes: tuple[Closing, ...] = ()
    invalidated: tuple[int, ...] = ()


def settle(
    new: StatedEdge,
    *,
    same: Sequence[Edge],
    candidates: Sequence[Edge],
    superseded: Sequence[Edge] = (),
    verdict: Verdict = NOTHING,
    reference_time: datetime,
    now: datetime,
) -> Settlement:
    """What storing `new` does.

    `same`: every stored fact of the same source, target and relation, superseded ones too. `candidates`: the stored
    facts that the verdict may name: live ones, and whichever the caller corrects. `superseded`: the facts that the
    contradicted ones had closed, and those that these had closed.
    """
    by_id = {edge.id: edge for edge in candidates}
    if verdict.ends is not None:
        return _ending(new, by_id[verdict.ends])
    if verdict.restates is not None:
        return _restated(new, by_id[verdict.restates], same, superseded, now)
    repeat = exact_repeat(new, same)
    if repeat is not None:
        return repeat
    against = [by_id[i] for i in verdict.contradicts if i in by_id and by_id[i].live]
    twin = by_id.get(verdict.duplicate_of) if verdict.duplicate_of is not None else None
    if twin is not None and twin.id not in verdict.contradicts and not _disjoint(new, twin):
        return _ending(new, twin) if _ends(new, twin) else Settlement(merged_into=twin.id)
    return _contradict(new, against, superseded, reference_time, now)


def exact_repeat(new: StatedEdge, same: Sequence[Edge]) -> Settlement | None:
    """How a fact with the same source, target and relation takes up the new one, or None: it is a fact of its own.

    Judged against one stored fact: the one with the greatest start not after the new start, else the earliest.
    """
    if not same:
        return None
    stored = _nearest(new, same)
    if stored.live and (stored.valid_at, stored.invalid_at) == (new.valid_at, new.invalid_at):
        return Settlement(merged_into=stored.id)
    if _ends(new, stored):
        return _ending(new, stored)
    if new.invalid_at is not None:
        told_again = stored.valid_at == new.valid_at and stored.invalid_at == new.invalid_at
        return Settlement(merged_into=stored.id) if told_again else None
    if stored.live and new.valid_at < stored.valid_at:
        return _earlier_start(new, stored)
    if covering := next((e for e in (stored, *same) if _covers(e, new)), None):
        return Settlement(merged_into=covering.id)
    later = [e for e in same if e.live and e.invalid_at is None and e.valid_at > new.valid_at]
    return _earlier_start(new, min(later, key=lambda e: e.valid_at)) if later else None


def _nearest(new: StatedEdge, same: Sequence[Edge]) -> Edge:
    before = [e for e in same if e.valid_at <= new.valid_at]
    if before:
        return max(before, key=lambda e: (e.valid_at, e.live, e.invalid_at is None, e.id))
    return min(same, key=lambda e: (e.valid_at, not e.live, e.id))


def _covers(stored: Edge, new: StatedEdge) -> bool:
    """The stored fact already says the new, open one: true then, with the same start, or inside its closed interval."""
    return stored.valid_at == new.valid_at or (stored.valid_at <= new.valid_at and stored.holds_at(new.valid_at))


def _ends(new: StatedEdge, stored: Edge) -> bool:
    return stored.live and stored.invalid_at is None and new.invalid_at is not None and new.invalid_at > stored.valid_at


def _ending(new: StatedEdge, stored: Edge) -> Settlement:
    closing = Closing(
        stored.id, stored.valid_at, new.invalid_at, "stated", None, valid_at_source=stored.valid_at_source
    )
    return Settlement(merged_into=stored.id, changes=(closing,), invalidated=(stored.id,))


def _restated(
    new: StatedEdge, old: Edge, same: Sequence[Edge], superseded: Sequence[Edge], now: datetime
) -> Settlement:
    """The corrected fact never was so, unless something else holds from a later day on. What it had ended, ends where
    its successor begins."""
    holds_later = old.id not in {e.id for e in same} and new.valid_at > old.valid_at
    end = min(new.valid_at, old.invalid_at or new.valid_at) if holds_later else old.valid_at
    closings = [
        Closing(old.id, old.valid_at, end, "reconciled", old.expired_at or now, True, old.valid_at_source),
        *(_cut(e, new) for e in superseded if e.invalid_at == old.valid_at and e.valid_at < new.valid_at),
    ]
    taken_up = exact_repeat(new, [e for e in same if e.id != old.id])
    settled = taken_up or Settlement(invalid_at=new.invalid_at, invalid_at_source=_source(new))
    return replace(settled, changes=(*settled.changes, *closings), invalidated=(*settled.invalidated, old.id))


def _earlier_start(new: StatedEdge, stored: Edge) -> Settlement:
    """A stated earlier start moves one that was only the reference time; a stated start stays."""
    if stored.valid_at_source != "reference" or new.valid_at_source != "stated":
        return Settlement(merged_into=stored.id)
    moved = Closing(stored.id, new.valid_at, stored.invalid_at, stored.invalid_at_source, stored.expired_at)
    return Settlement(merged_into=stored.id, changes=(moved,))


def _disjoint(new: StatedEdge, stored: Edge) -> bool:
    ends_before = stored.invalid_at is not None and stored.invalid_at <= new.valid_at
    return ends_before or (new.invalid_at is not None and new.invalid_at <= stored.valid_at)


def _contradict(
    new: StatedEdge, against: Sequence[Edge], superseded: Sequence[Edge], reference_time: datetime, now: datetime
) -> Settlement:
    if new.inverted or new.invalid_at == new.valid_at:
        against = ()
    overlapping = [old for old in against if not _disjoint(new, old)]
    closings = [c for old in overlapping if (c := _close(new, old, reference_time, now)) is not None]
    invalidated = tuple(c.edge_id for c in closings)
    later = [old for old in overlapping if old.valid_at > new.valid_at]
    if not later:
        return Settlement(None, new.invalid_at, _source(new), None, None, tuple(closings), invalidated)
    history = {old.id: old for old in (*superseded, *later)}
    successor = min((e for e in history.values() if e.valid_at > new.valid_at), key=lambda e: (e.valid_at, e.id))
    closings += [_cut(old, new) for old in superseded if old.holds_at(new.valid_at) and old.valid_at < new.valid_at]
    earliest = successor.valid_at if new.invalid_at is None else min(new.invalid_at, successor.valid_at)
    return Settlement(None, earliest, "reconciled", now, successor.id, tuple(closings), invalidated)


def _close(new: StatedEdge, old: Edge, reference_time: datetime, now: datetime) -> Closing | None:
    """What an overlapping contradicted fact that began no later becomes; None: it stays as it is."""
    if old.valid_at > new.valid_at:
        return None
    if old.valid_at == new.valid_at:
        return _closed(old, new.valid_at, now)
    if new.valid_at > now:
        return _closed(old, new.valid_at, None)
    past_episode = new.invalid_at is not None and new.invalid_at <= reference_time
    if past_episode and old.invalid_at is None:
        return None
    return _closed(old, new.valid_at if old.invalid_at is None else min(old.invalid_at, new.valid_at), now)


def _closed(old: Edge, at: datetime, expired_at: datetime | None) -> Closing:
    return Closing(old.id, old.valid_at, at, "reconciled", expired_at, True, old.valid_at_source)


def _cut(old: Edge, new: StatedEdge) -> Closing:
    return Closing(old.id, old.valid_at, new.valid_at, "reconciled", old.expired_at, True, old.valid_at_source)


def _source(new: StatedEdge) -> TimeSource | None:
    return "stated" if new.invalid_at is not None else None


def superseded_by(edge_ids: Iterable[int], closed: Sequence[Edge]) -> list[Edge]:
    """Of `closed`, the facts that those of these ids had closed, and the ones that these had closed in turn."""
    frontier, found = set(edge_ids), dict[int, Edge]()
    while frontier:
        step = [e for e in closed if e.closed_by in frontier and e.id not in found]
        found |= {e.id: e for e in step}
        frontier = {e.id for e in step}
    return list(found.values())
