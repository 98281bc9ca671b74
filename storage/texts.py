"""Which texts have a vector, by index, as their rows say them now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from core.ports import IndexName
from storage import tables as t
from storage.rows import EDGE, ENTITY, edge_of, entity_of

INDEXES: tuple[IndexName, ...] = ("entities", "edges", "chunks", "summaries")
_EMBEDDING = "embedding-"
PAGE = 1000
AT_ONCE = 500  # ids in one statement


def embedding_index(embedding_id: int, version: int) -> str:
    """The index of the records of an embedding in one version. It has no generations: another model is a version."""
    return f"{_EMBEDDING}{embedding_id}-{version}"


def is_of_embedding(index: str) -> bool:
    """Whether it is such an index: its rows are entries of an embedding, and come with their vectors."""
    return index.startswith(_EMBEDDING)


_ARTIFACT = sa.select(t.artifacts.c.id, t.artifacts.c.text, t.artifacts.c.speaker)


def version_of(index: str) -> int:
    """The version of the embedding whose index it is."""
    return int(index.rpartition("-")[2])


def entries_there(connection: Connection, ids: Sequence[int]) -> set[int]:
    """Which of these entries of embeddings are there."""
    column = t.embedding_entries.c.id
    batches = (ids[start : start + AT_ONCE] for start in range(0, len(ids), AT_ONCE))
    return {i for some in batches for i in connection.execute(sa.select(column).where(column.in_(some))).scalars()}


def current_texts(connection: Connection, dataset_id: int, index: str, ids: Iterable[int]) -> dict[int, str]:
    """The texts of these rows; a row that is not there, or not in that index, has none."""
    wanted = sorted(set(ids))
    texts: dict[int, str] = {}
    for start in range(0, len(wanted), AT_ONCE):
        column = _table(index).c.id
        texts |= _read(connection, dataset_id, index, column.in_(wanted[start : start + AT_ONCE]), AT_ONCE)
    return texts


def page_of_texts(connection: Connection, dataset_id: int, index: str, after: int, most: int = PAGE) -> dict[int, str]:
    """The texts of the next rows behind that id, in the order of their ids."""
    return _read(connection, dataset_id, index, _table(index).c.id > after, most)


def all_texts(connection: Connection, dataset_id: int, index: str) -> Iterator[tuple[int, str]]:
    """The texts of every row, in the order of their ids."""
    after = 0
    while page := page_of_texts(connection, dataset_id, index, after):
        yield from page.items()
        after = max(page)


def newer_than(connection: Connection, dataset_id: int, index: str, seq: int) -> list[int]:
    """The ids of the rows whose text was written after that commit."""
    table = _table(index)
    written = {"entities": t.entities.c.text_seq, "edges": t.edges.c.created_seq}.get(index, t.artifacts.c.seq)
    select = sa.select(table.c.id).where(table.c.dataset_id == dataset_id, written > seq, _within(index))
    return list(connection.execute(select).scalars())


def _read(
    connection: Connection, dataset_id: int, index: str, which: sa.ColumnElement[bool], most: int
) -> dict[int, str]:
    table = _table(index)
    select = {"entities": ENTITY, "edges": EDGE}.get(index, _ARTIFACT)
    mine = (table.c.dataset_id == dataset_id) & which & _within(index)
    return dict(_text(index, connection.execute(select.where(mine).order_by(table.c.id).limit(most)).all()))


def _text(index: str, rows: Sequence[Row[Any]]) -> Iterator[tuple[int, str]]:
    for row in rows:
        if index == "entities":
            yield row[0], entity_of(row).as_text
        elif index == "edges":
            yield row[0], edge_of(row).as_text
        else:
            yield row[0], f"{row.speaker}: {row.text}" if row.speaker else row.text


def _table(index: str) -> sa.Table:
    return {"entities": t.entities, "edges": t.edges}.get(index, t.artifacts)


def _within(index: str) -> sa.ColumnElement[bool]:
    return t.artifacts.c.index_name == index if index in ("chunks", "summaries") else sa.true()
