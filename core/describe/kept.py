"""Descriptions that were read, kept for the next question.

Every process has this at its start, few describe a graph: so what reads one is imported when the first is read.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from core.describe.underway import Underway, within

if TYPE_CHECKING:
    from core.core import Core
    from core.describe.description import Description
    from core.graph import Dataset

_Key = tuple[int, int | None]
"""A dataset and one of its commits; None for the newest."""

KEPT, KEPT_PARTIAL = timedelta(minutes=10), timedelta(minutes=1)
# Seconds for a description, and for the properties of the classes that one question names.
SECONDS, SAMPLE_SECONDS = 15.0, 5.0
# Descriptions that are kept at once: of the newest commits of datasets, and of past commits.
MAX_KEPT = 64


class Descriptions:
    """The descriptions of one process. A dataset's is read by one task at a time, whoever waits for it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, Description] = OrderedDict()
        self._reading: Underway[_Key, Description] = Underway()

    async def get(self, core: Core, dataset: Dataset, at_seq: int | None, quick: float) -> Description:
        """The description, kept or read (core/describe/description.py says when)."""
        if dataset.head_seq == 0:
            return _of_nothing(core, dataset)
        kept = self._kept.get((dataset.id, at_seq))
        if kept is None or core.clock() - kept.built_at >= (KEPT_PARTIAL if kept.partial else KEPT):
            return await self._read(core, dataset, at_seq)
        if kept.head >= dataset.head_seq:
            return kept
        newer = await within(self._start(core, dataset, at_seq), quick) or kept
        if newer.head < dataset.head_seq and await core.touched.forgot_since(dataset, newer.head):
            return await self._read(core, dataset, at_seq)
        return newer

    async def sampled(
        self, core: Core, dataset: Dataset, at_seq: int | None, description: Description, classes: Iterable[str]
    ) -> Description:
        """The description with the properties of these classes, where it lacks them; kept as it is then."""
        parts = [description.classes[iri] for iri in classes if iri in description.classes]
        missing = {part.iri: part.instances for part in parts if part.coverage is None and part.instances}
        if not missing:
            return description
        from core.describe.reading import Reading
        from core.describe.sample import sample

        reading = Reading(core.queries, dataset, at_seq, SAMPLE_SECONDS)
        taken = await sample(reading, missing)
        covered = {iri: replace(description.classes[iri], coverage=held) for iri, held in taken.coverage.items()}
        fuller = replace(
            description,
            classes={**description.classes, **covered},
            partial=description.partial or reading.partial,
        )
        key = (dataset.id, at_seq)
        if self._kept.get(key) is description and not reading.partial:
            self._keep(key, fuller)
        return fuller

    async def close(self) -> None:
        """Ends what is being read."""
        await self._reading.close()

    async def _read(self, core: Core, dataset: Dataset, at_seq: int | None) -> Description:
        # Shielded: one who goes must not end it for the others who wait for it.
        description = await asyncio.shield(self._start(core, dataset, at_seq))
        if description.head < dataset.head_seq:  # it was being read before the last commit
            description = await asyncio.shield(self._start(core, dataset, at_seq))
        return description

    def _start(self, core: Core, dataset: Dataset, at_seq: int | None) -> asyncio.Task[Description]:
        return self._reading.start((dataset.id, at_seq), lambda: self._read_and_keep(core, dataset, at_seq))

    async def _read_and_keep(self, core: Core, dataset: Dataset, at_seq: int | None) -> Description:
        from core.describe.read import read_description
        from core.describe.reading import Reading
        from core.graphs.graph_of import base_iri_of

        reading = Reading(core.queries, dataset, at_seq, SECONDS)
        description = await read_description(reading, base_iri_of(core, dataset), core.clock())
        description = replace(description, head=description.seq if at_seq is None else dataset.head_seq)
        self._keep((dataset.id, at_seq), description)
        return description

    def _keep(self, key: _Key, description: Description) -> None:
        self._kept[key] = description
        self._kept.move_to_end(key)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)


def _of_nothing(core: Core, dataset: Dataset) -> Description:
    from core.describe.description import Description
    from core.describe.prefixes import known_prefixes
    from core.graphs.graph_of import base_iri_of

    return Description(0, core.clock(), prefixes=known_prefixes(base_iri_of(core, dataset), ()))
