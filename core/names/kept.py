"""The indexes of names of one process: read once for each dataset, and brought up after its commits.

Every process has this at its start, few look names up: so what reads them is imported when the first are read.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from core.describe.underway import Underway, within
from core.errors import NotYetVisible

if TYPE_CHECKING:
    from core.core import Core
    from core.graph import Dataset
    from core.names.read import ReadNames

T = TypeVar("T")

# Seconds that a question waits: for the names of the newest commit where it could do with earlier ones, for the first
# names of a dataset, and for a commit that it needs.
QUICK, FIRST_WAIT, WAIT = 0.25, 3.0, 5.0
# Seconds for reading names.
SECONDS = 300.0
# After how many seconds it is looked again whether a commit came that is waited for.
LOOK = 0.2
# Records whose names are read again; where more changed, all are read.
FEW = 1_000
# Names that are held at once, of all datasets together, one index at least: 1 to 2 KB each.
MAX_HELD = 500_000


class NameIndexes:
    """The names of each dataset that was asked for. They are read by one task at a time, whoever waits for it."""

    def __init__(self) -> None:
        self._held: OrderedDict[int, ReadNames] = OrderedDict()
        self._reading: Underway[int, ReadNames] = Underway()
        self._thread = ThreadPoolExecutor(1, "gligabao-names")

    async def in_turn(self, work: Callable[[], T]) -> T:
        """What `work` gives, which uses an index. In a thread: a long text takes half a second. In one: an index is not
        changed while it is asked."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def get(self, core: Core, dataset: Dataset, at_least: int | None = None) -> ReadNames | None:
        """The names of a dataset, those of its newest commit where they are read quickly, else of an earlier one; None
        where they were never read, or something was forgotten since, and reading takes longer.

        Raises NotYetVisible where they do not reach the commit `at_least` within a few seconds, and what queries raise.
        """
        if dataset.id in self._held:
            self._held.move_to_end(dataset.id)
        if at_least:
            return await self._reaching(core, dataset, at_least)
        if dataset.head_seq == 0:
            from core.names.read import ReadNames

            return ReadNames(0, {})
        held = self._held.get(dataset.id)
        if held is None or held.seq < dataset.head_seq:
            held = await within(self._start(core, dataset), QUICK if held else FIRST_WAIT) or held
        if held and held.seq < dataset.head_seq and await core.touched.forgot_since(dataset, held.seq):
            return None
        return held

    async def close(self) -> None:
        """Ends what is being read."""
        await self._reading.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _reaching(self, core: Core, dataset: Dataset, seq: int) -> ReadNames:
        end = asyncio.get_running_loop().time() + WAIT
        while True:
            held = self._held.get(dataset.id)
            if held and held.seq >= seq:
                return held
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                raise NotYetVisible(
                    f"min_commit_seq: the names reach commit {held.seq if held else 0} so far", param="min_commit_seq"
                )
            newest = await core.graph.dataset(dataset.user_id, dataset.name)
            if newest and newest.head_seq >= seq:
                await within(self._start(core, newest), left)
            else:
                await asyncio.sleep(min(LOOK, left))

    def _start(self, core: Core, dataset: Dataset) -> asyncio.Task[ReadNames]:
        return self._reading.start(dataset.id, lambda: self._bring_up(core, dataset))

    async def _bring_up(self, core: Core, dataset: Dataset) -> ReadNames:
        from core.describe.reading import Reading
        from core.names.read import read_names

        held = self._held.get(dataset.id)
        if held and not held.index.worn and await self._read_few(core, dataset, held):
            return held
        description = await core.descriptions.get(core, dataset, None, SECONDS)
        held = self._held[dataset.id] = await read_names(Reading(core.queries, dataset, None, SECONDS), description)
        self._held.move_to_end(dataset.id)
        while len(self._held) > 1 and sum(len(one.index) for one in self._held.values()) > MAX_HELD:
            self._held.popitem(last=False)
        return held

    async def _read_few(self, core: Core, dataset: Dataset, held: ReadNames) -> bool:
        """Reads the names again of the few records that changed; whether that was enough."""
        from core.describe.reading import Reading
        from core.graphs.graph_of import base_iri_of
        from core.names.read import read_again

        touched = await core.touched.since(dataset, held.seq, base_iri_of(core, dataset), FEW)
        if touched is None or touched.model:
            return False
        if touched.iris:
            names = await read_again(Reading(core.queries, dataset, None, SECONDS), list(touched.iris), held)
            await self.in_turn(lambda: held.replace(touched.iris, names))
        held.seq = touched.seq
        return True
