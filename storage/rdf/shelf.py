"""Shelf: the views that the worker keeps, those of the datasets in use."""

from __future__ import annotations

import time
from collections import OrderedDict

from storage.rdf.messages import Bring, Key, Run
from storage.rdf.view import View

# Past commits that have a view of their own: others are reached from the present, or are read again.
PAST_VIEWS = 2
# About how much memory the views may take. The one that was used last stays, whatever it takes.
MOST_BYTES = 3 << 29
# After so many seconds without a query a view goes.
IDLE_SECONDS = 600.0


class Shelf:
    """Views by key, those that were used the longest time ago first."""

    def __init__(self) -> None:
        self._views: OrderedDict[Key, View] = OrderedDict()
        self._used: dict[Key, float] = {}
        self._coming: dict[tuple[Key, bool], View] = {}

    def bring(self, bring: Bring) -> None:
        """Makes a view of all rows that come, or brings one that is there, and not as far yet, to a commit."""
        changes = bring.changes
        if changes.whole:
            self._load(bring)
        elif (view := self._views.get(bring.key)) is not None and view.seq < changes.seq:
            view.apply(changes)
            if view.is_worn:
                self.drop(bring.key)

    def _load(self, bring: Bring) -> None:
        coming = (bring.key, bring.facts)
        at = bring.changes.at
        if bring.is_first:
            now = at if bring.key.seq is not None else max(bring.now, at)
            self._coming[coming] = View(bring.base, now, with_facts=bring.facts)
        view = self._coming.pop(coming)
        view.load(bring.changes)
        if not bring.is_last:
            self._coming[coming] = view
        else:
            view.finish()
            self._views[bring.key] = view
            self._touch(bring.key)
            self._make_room()

    def held(self, dataset_id: int) -> tuple[int | None, bool, int, tuple[tuple[int, int, bool], ...]]:
        """Of a dataset the commit of its present view, whether that has fact nodes, how many rows it is made of, and
        the past commits that have a view: `seq` and `rewritten` of each, and whether it has fact nodes."""
        past = tuple(
            (key.seq, key.rewritten, view.with_facts)
            for key, view in self._views.items()
            if key.dataset_id == dataset_id and key.seq is not None
        )
        view = self._views.get(Key(dataset_id))
        return (None, False, 0, past) if view is None else (view.seq, view.with_facts, len(view), past)

    def view_for(self, run: Run) -> View | None:
        """The view that a query can be run on, moved on to its moment; None where it is not there, at another commit,
        or without the fact nodes that it asks for."""
        view = self._views.get(run.key)
        if view is None or view.seq < run.lowest or (run.highest is not None and view.seq > run.highest):
            return None
        if run.facts and not view.with_facts:
            return None
        self._touch(run.key)
        if run.back is None:
            view.move_to(view.at if run.now is None else max(run.now, view.at))
        return view

    def drop(self, key: Key) -> None:
        """Forgets a view, where it is there."""
        self._views.pop(key, None)
        self._used.pop(key, None)

    def drop_idle(self) -> None:
        """Forgets the views that nobody asks any more."""
        before = time.monotonic() - IDLE_SECONDS
        for key in [key for key, used in self._used.items() if used < before]:
            self.drop(key)

    def _touch(self, key: Key) -> None:
        self._views.move_to_end(key)
        self._used[key] = time.monotonic()

    def _make_room(self) -> None:
        past = [key for key in self._views if key.seq is not None]
        for key in past[:-PAST_VIEWS]:
            self.drop(key)
        while len(self._views) > 1 and sum(view.bytes for view in self._views.values()) > MOST_BYTES:
            self.drop(next(iter(self._views)))
