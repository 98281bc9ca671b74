"""The rows of embeddings and of their entries, inside a transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from core.embeddings.ports import Embedding, NewEntry, Spent
from core.embeddings.recipe import Recipe, RecipeField
from storage.tables import datasets, vector_outbox
from storage.tables import embedding_entries as e
from storage.tables import embeddings as t
from storage.texts import embedding_index
from storage.vectors import Place
from storage.write import insert_or_ignore

_AT_ONCE = 500

_COUNTED = sa.select(sa.func.count()).where(e.c.embedding_id == t.c.id).scalar_subquery()
SELECT = sa.select(t, _COUNTED.label("entries"))
Item = dict[str, Any]
"""A row of the outbox, without what all rows of one write share."""


def embedding_of(row: Row[Any]) -> Embedding:
    """A row of SELECT."""
    return Embedding(
        id=row.id,
        dataset_id=row.dataset_id,
        name=row.name,
        recipe=_recipe(row.class_iri, row.recipe),
        model=row.model,
        dim=row.dim,
        version=row.version,
        seq=row.embedded_seq,
        entries=row.entries,
        spent=Spent(**row.usage),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def named_embedding(connection: Connection, dataset_id: int, name: str) -> Embedding | None:
    """The embedding of that name in a dataset."""
    row = connection.execute(SELECT.where(t.c.dataset_id == dataset_id, t.c.name == name)).one_or_none()
    return embedding_of(row) if row else None


def _recipe(class_iri: str, stored: Any) -> Recipe:
    fields = (RecipeField(one["name"], tuple(one["path"]), one["max"]) for one in stored["fields"])
    return Recipe(class_iri, tuple(fields), tuple(stored["title"]))


def recipe_json(recipe: Recipe) -> dict[str, object]:
    """The recipe as it is stored, without its class."""
    return {"fields": [asdict(field) for field in recipe.fields], "title": list(recipe.title)}


def is_same(before: Embedding, recipe: Recipe, model: str, dim: int) -> bool:
    """Whether the texts and the vectors stay what they are."""
    is_same_text = (before.recipe.class_iri, before.recipe.fields) == (recipe.class_iri, recipe.fields)
    return is_same_text and (before.model, before.dim) == (model, dim)


def new_version(version: int, model: str, dim: int) -> dict[str, Any]:
    """The values of a version that has no entries yet."""
    return {"version": version, "model": model, "dim": dim, "embedded_seq": None, "usage": asdict(Spent())}


def empty(connection: Connection, embedding: Embedding) -> None:
    """Takes away the entries, and what is on its way to the index."""
    o = vector_outbox.c
    index = embedding_index(embedding.id, embedding.version)
    connection.execute(sa.delete(e).where(e.c.embedding_id == embedding.id))
    connection.execute(sa.delete(vector_outbox).where(o.dataset_id == embedding.dataset_id, o.index_name == index))


def put_entries(connection: Connection, embedding: Embedding, entries: Sequence[NewEntry]) -> list[Item]:
    """Stores the entries, new or changed; their items for the outbox."""
    if not entries:
        return []
    rows = [
        {"dataset_id": embedding.dataset_id, "embedding_id": embedding.id, "iri": one.iri, "text_sha256": one.digest}
        for one in entries
    ]
    connection.execute(insert_or_ignore(connection.dialect.name, e, "embedding_id", "iri"), rows)
    changed = (e.c.embedding_id == embedding.id) & (e.c.iri == sa.bindparam("which"))
    values = [{"which": one.iri, "digest": one.digest} for one in entries]
    connection.execute(sa.update(e).where(changed).values(text_sha256=sa.bindparam("digest")), values)
    ids = entry_ids(connection, embedding, [one.iri for one in entries])
    return [{"ref_id": ids[one.iri], "text": one.text, "vector": one.vector, "op": "upsert"} for one in entries]


def take_entries(connection: Connection, embedding: Embedding, gone: Sequence[str]) -> list[Item]:
    """Takes entries away; their items for the outbox."""
    ids = list(entry_ids(connection, embedding, gone).values())
    for some in batches(ids):
        connection.execute(sa.delete(e).where(e.c.id.in_(some)))
    return [{"ref_id": i, "text": "", "vector": None, "op": "delete"} for i in ids]


def queue_vectors(connection: Connection, embedding: Embedding, seq: int, items: Sequence[Item]) -> None:
    """Sends the items on their way to the index; `seq` is the newest commit."""
    same = {
        "dataset_id": embedding.dataset_id,
        "index_name": embedding_index(embedding.id, embedding.version),
        "seq": seq,
        "tries": 0,
        "created_at": datetime.now(UTC),
    }
    if items:
        connection.execute(sa.insert(vector_outbox), [same | item for item in items])


def entry_ids(connection: Connection, embedding: Embedding, iris: Sequence[str]) -> dict[str, int]:
    """The ids of the entries of these records."""
    found: dict[str, int] = {}
    for some in batches(iris):
        mine = (e.c.embedding_id == embedding.id) & e.c.iri.in_(some)
        found |= {row.iri: row.id for row in connection.execute(sa.select(e.c.iri, e.c.id).where(mine))}
    return found


def entry_digests(connection: Connection, embedding: Embedding, iris: Collection[str] | None) -> dict[str, str]:
    """The digests of the texts of all entries, or of those of some records, by IRI."""
    mine = sa.select(e.c.iri, e.c.text_sha256).where(e.c.embedding_id == embedding.id)
    selects = [mine] if iris is None else [mine.where(e.c.iri.in_(some)) for some in batches(list(iris))]
    return {row.iri: row.text_sha256 for select in selects for row in connection.execute(select)}


def entry_iris(connection: Connection, embedding: Embedding, ids: Sequence[int]) -> dict[int, str]:
    """The records of these entries."""
    found: dict[int, str] = {}
    for some in batches(ids):
        mine = (e.c.embedding_id == embedding.id) & e.c.id.in_(some)
        found |= {row.id: row.iri for row in connection.execute(sa.select(e.c.id, e.c.iri).where(mine))}
    return found


def renew_late(connection: Connection, dataset_id: int) -> list[Place]:
    """Begins the embeddings of a dataset anew that do not follow its newest commit yet: they may hold what was just
    purged. Where their vectors were, for whoever removes them."""
    late = sa.or_(t.c.embedded_seq.is_(None), t.c.embedded_seq < datasets.c.head_seq)
    return [_renew(connection, one, one.model, one.dim) for one in _found(connection, dataset_id, late)]


def renew_with(connection: Connection, dataset_id: int, model: str, dim: int) -> list[Place]:
    """Begins the embeddings of a dataset anew that are by another model than this one. Where their vectors were."""
    other = sa.or_(t.c.model != model, t.c.dim != dim)
    return [_renew(connection, one, model, dim) for one in _found(connection, dataset_id, other)]


def _found(connection: Connection, dataset_id: int, which: sa.ColumnElement[bool]) -> list[Embedding]:
    select = SELECT.join(datasets, datasets.c.id == t.c.dataset_id).where(t.c.dataset_id == dataset_id, which)
    return [embedding_of(row) for row in connection.execute(select)]


def _renew(connection: Connection, embedding: Embedding, model: str, dim: int) -> Place:
    empty(connection, embedding)
    anew = new_version(embedding.version + 1, model, dim)
    connection.execute(sa.update(t).where(t.c.id == embedding.id).values(anew))
    return Place(embedding.dataset_id, embedding_index(embedding.id, embedding.version), 0)


V = TypeVar("V")


def batches(values: Sequence[V]) -> Iterable[Sequence[V]]:
    """The values, as many at a time as one statement names."""
    return (values[start : start + _AT_ONCE] for start in range(0, len(values), _AT_ONCE))
