"""Upkeep: a memory opened to be looked after, with nothing running in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.doctor import BackupManifest, Reindexed
from core.errors import InvalidRequest, NotConfigured, UnknownDataset
from core.graph import Dataset
from storage import backup
from storage import tables as t
from storage.database import Database, file_of
from storage.doctor import Doctor
from storage.outbox import VectorOutbox
from storage.reindex import Reindex
from storage.rows import DATASET, dataset_of
from storage.vectors import LanceIndex

SERVER_HAS_ITS_OWN = (
    "db: a PostgreSQL database is backed up and restored with its own tools: pg_dump and pg_restore; what it knows "
    "can be written to files with `gligabao export`"
)


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What can be done to a whole memory. `outbox.embedder` is the configured one, if there is one."""

    database: Database
    outbox: VectorOutbox

    @property
    def doctor(self) -> Doctor:
        return Doctor(self.database, self.outbox, self.outbox.embedder)

    async def back_up(self, target: Path) -> BackupManifest:
        """Writes the database and its vectors to one file while others may use them. Raises InvalidRequest where that
        can't be, PostgreSQL included."""
        if not self.database.sqlite:
            raise InvalidRequest(SERVER_HAS_ITS_OWN, param="db")
        source = Path(str(self.database.url.database))
        return await asyncio.to_thread(backup.back_up, source, self.outbox.index, target)

    async def queue_missing_vectors(self) -> list[str]:
        """Queues the vectors that are missing in any dataset, and takes out those without a row; what it did."""
        done: list[str] = []
        for dataset in await self.datasets():
            done += await self.doctor.mend_dataset(dataset)
        return done

    async def datasets(self) -> list[Dataset]:
        """Every dataset of every user, without the forgotten ones."""
        rows = await self.database.read(lambda connection: connection.execute(DATASET.order_by(t.datasets.c.id)).all())
        return [dataset_of(row) for row in rows]

    async def reindex(self, user_id: str, names: list[str], say: Callable[[Dataset, int], object]) -> list[Reindexed]:
        """Embeds those datasets of the user again, or with no names every dataset there is.

        Raises NotConfigured without an embedder, UnknownDataset for a name that the user has not.
        """
        embedder = self.outbox.embedder
        if embedder is None:
            raise NotConfigured("no embedder: set OPENAI_API_KEY, --embedding-base-url or --embedder local")
        work = Reindex(self.database, self.outbox, embedder, say)
        return [await work.run(dataset) for dataset in await self._chosen(user_id, names)]

    async def _chosen(self, user_id: str, names: list[str]) -> list[Dataset]:
        datasets = await self.datasets()
        if not names:
            return datasets
        mine = {dataset.name: dataset for dataset in datasets if dataset.user_id == user_id}
        if missing := next((name for name in names if name not in mine), None):
            raise UnknownDataset(f"user {user_id!r} has no dataset {missing!r}")
        return [mine[name] for name in names]


async def restore(url: str, vectors: str, source: Path, *, force: bool) -> tuple[BackupManifest, Path | None]:
    """Puts a backup in the place of a SQLite database that nobody has open (storage/backup.py)."""
    if not url.startswith("sqlite"):
        raise InvalidRequest(SERVER_HAS_ITS_OWN, param="db")
    return await asyncio.to_thread(backup.restore, source, file_of(url), LanceIndex(vectors), force=force)
