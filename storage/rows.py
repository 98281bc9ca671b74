"""Rows as values of the core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from core.graph import Dataset, Edge, Entity
from core.reconcile import Triple
from storage.tables import datasets, edges, entities

_source = entities.alias("source")
_target = entities.alias("target")
SOURCE_NAME, TARGET_NAME = _source.c.name, _target.c.name

DATASET = sa.select(
    datasets.c.id,
    datasets.c.user_id,
    datasets.c.name,
    datasets.c.head_seq,
    datasets.c.embedding_model,
    datasets.c.embedding_dim,
    datasets.c.vector_generation,
).where(datasets.c.forgotten_id == 0)

ENTITY = sa.select(
    entities.c.id,
    entities.c.name,
    entities.c.type,
    entities.c.description,
    entities.c.model_id,
    entities.c.created_at,
    entities.c.updated_at,
)

EDGE = sa.select(
    edges.c.id,
    edges.c.source_id,
    edges.c.target_id,
    SOURCE_NAME,
    TARGET_NAME,
    edges.c.relation,
    edges.c.description,
    edges.c.artifact_id,
    edges.c.model_id,
    edges.c.valid_at,
    edges.c.invalid_at,
    edges.c.created_at,
    edges.c.expired_at,
    edges.c.valid_at_source,
    edges.c.invalid_at_source,
    edges.c.closed_by,
).select_from(edges.join(_source, _source.c.id == edges.c.source_id).join(_target, _target.c.id == edges.c.target_id))


# The facts of some triples, by `at_triples`. The sources alone say which index to use: with the triples SQLite would
# read every fact of the dataset.
SAME = EDGE.where(
    edges.c.dataset_id == sa.bindparam("dataset"),
    edges.c.source_id.in_(sa.bindparam("sources", expanding=True)),
    sa.tuple_(edges.c.source_id, edges.c.target_id, edges.c.relation).in_(sa.bindparam("triples", expanding=True)),
).order_by(edges.c.id)


def at_triples(dataset_id: int, triples: Iterable[Triple]) -> dict[str, object]:
    """The parameters of SAME."""
    wanted = list(dict.fromkeys(triples))
    return {"dataset": dataset_id, "sources": list({source for source, _, _ in wanted}), "triples": wanted}


def dataset_of(row: Sequence[Any]) -> Dataset:
    return Dataset(*row)  # the columns of DATASET, in order


def entity_of(row: Sequence[Any]) -> Entity:
    return Entity(*row)  # the columns of ENTITY, in order


def edge_of(row: Sequence[Any]) -> Edge:
    return Edge(*row)  # the columns of EDGE, in order
