"""Which records commits changed, read from the journal of commits and from the triples that came or went."""

from __future__ import annotations

import re

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.graph import Dataset
from core.names.ports import Touched
from core.rdf.vocabulary import OWL, RDFS
from storage import tables as t
from storage.database import Database

_IRI = re.compile(r"<([^>]*)>")
# They say of which kind the records of a class are.
_MODEL = (f"<{RDFS}subClassOf>", f"<{OWL}equivalentClass>")


class SqlTouchedRecords:
    """core.names.ports.TouchedRecords in SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def since(self, dataset: Dataset, seq: int, base: str, limit: int) -> Touched | None:
        return await self._database.read(lambda connection: touched_since(connection, dataset.id, seq, base, limit))

    async def forgot_since(self, dataset: Dataset, seq: int) -> bool:
        c = t.commits.c
        select = sa.select(c.seq).where(c.dataset_id == dataset.id, c.seq > seq, c.kind == "forget").limit(1)
        return await self._database.read(lambda connection: connection.execute(select).first() is not None)


def touched_since(connection: Connection, dataset_id: int, seq: int, base: str, limit: int) -> Touched | None:
    """What `SqlTouchedRecords.since` tells, inside a transaction."""
    c, q = t.commits.c, t.quads.c
    written = sa.select(c.seq, c.touched).where(c.dataset_id == dataset_id, c.seq > seq)
    commits = connection.execute(written).all()
    head = max((row.seq for row in commits), default=seq)
    if len(commits) != head - seq or any(row.touched is None for row in commits):
        return None
    iris = {f"{base}entity/{i}" for row in commits for i in row.touched.get("entities", ())}
    model = False
    for moved in (q.created_seq, q.removed_seq):
        select = sa.select(q.subject, q.predicate).where(q.dataset_id == dataset_id, moved > seq, moved <= head)
        pairs = connection.execute(select.distinct().limit(20 * limit)).all()
        if len(pairs) == 20 * limit:
            return None
        for subject, predicate in pairs:
            model = model or predicate in _MODEL
            if stated := _IRI.fullmatch(subject):
                iris.add(stated[1])
    return Touched(head, iris, model) if len(iris) <= limit else None
