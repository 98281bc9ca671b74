"""Words that came from what is forgotten: they go from rows that stay, and come back with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.text import fold
from storage import tables as t
from storage.retime import CommitOf
from storage.rows import EDGE, ENTITY, edge_of, entity_of
from storage.tombstones import Rows, batches, ids_of, inserted, rows_of

# Facts ----------------------------------------------------------------------------------------------------------------


def reworded_facts(connection: Connection, edge_ids: Iterable[int], artifacts: frozenset[int]) -> tuple[Rows, set[int]]:
    """Takes the words of these artifacts from facts that stay: what they said before, and the facts that say less now.

    A description stays where an artifact that is there still holds it word for word.
    """
    before: Rows = []
    poorer: set[int] = set()
    for row in rows_of(connection, t.edges, t.edges.c.id, edge_ids):
        if row["artifact_id"] is not None and row["artifact_id"] not in artifacts:
            continue
        before.append({name: row[name] for name in ("id", "artifact_id", "description")})
        kept = row["description"] if _is_said(connection, row["id"], row["description"], artifacts) else ""
        if kept != row["description"]:
            poorer.add(row["id"])
        values = {"artifact_id": None, "description": kept}
        connection.execute(sa.update(t.edges).where(t.edges.c.id == row["id"]).values(values))
    return before, poorer


def _is_said(connection: Connection, edge_id: int, description: str, gone: frozenset[int]) -> bool:
    link, a = t.edge_artifacts, t.artifacts
    texts = sa.select(a.c.id, a.c.text).join(link, link.c.artifact_id == a.c.id).where(link.c.edge_id == edge_id)
    words = fold(description)
    return any(i not in gone and words in fold(text) for i, text in connection.execute(texts))


def worded_again(connection: Connection, before: Iterable[Mapping[str, Any]]) -> set[int]:
    """Gives facts their words back, where nobody else gave them some; the facts that say more now."""
    changed: set[int] = set()
    e = t.edges
    rows = list(before)
    nobodys = ids_of(
        connection,
        lambda ids: sa.select(e.c.id).where(e.c.id.in_(ids), e.c.artifact_id.is_(None)),
        (row["id"] for row in rows),
    )
    for row in (row for row in rows if row["id"] in nobodys):
        values = {"artifact_id": row["artifact_id"], "description": row["description"]}
        free = (e.c.id == row["id"]) & e.c.artifact_id.is_(None)
        if row["artifact_id"] is None:
            free &= e.c.description == ""
        elif not connection.execute(sa.select(t.artifacts.c.id).where(t.artifacts.c.id == row["artifact_id"])).first():
            continue
        if connection.execute(sa.update(e).where(free).values(values)).rowcount:
            changed.add(row["id"])
    return changed


# Entities -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Description:
    """What an entity was said to be, from that commit on."""

    seq: int
    at: datetime
    text: str


def undescribed(connection: Connection, entity_ids: Iterable[int], artifacts: frozenset[int]) -> tuple[Rows, set[int]]:
    """Takes the descriptions that the commits of these artifacts wrote from entities that stay, out of their past too:
    what was taken, and the entities that are described otherwise now."""
    link = t.entity_artifacts
    written: dict[int, set[int]] = {}
    for some in batches(entity_ids):
        for row in connection.execute(sa.select(link).where(link.c.entity_id.in_(some))):
            if row.artifact_id in artifacts:
                written.setdefault(row.entity_id, set()).add(row.seq)
    taken: Rows = []
    changed: set[int] = set()
    for entity_id, seqs in written.items():
        before = described(connection, entity_id)
        lost = [one for one in before if one.seq in seqs and one.text]
        taken += [{"id": entity_id, "seq": one.seq, "at": one.at, "text": one.text} for one in lost]
        if lost and _redescribed(connection, entity_id, before, [one for one in before if one not in lost]):
            changed.add(entity_id)
    return taken, changed


def described_again(connection: Connection, taken: Iterable[Mapping[str, Any]]) -> set[int]:
    """Puts descriptions back where they were; the entities that are described otherwise now."""
    back: dict[int, list[Description]] = {}
    for row in taken:
        at = row["at"] if isinstance(row["at"], datetime) else datetime.fromisoformat(row["at"])
        back.setdefault(row["id"], []).append(Description(row["seq"], at, row["text"]))
    changed: set[int] = set()
    for entity_id, lost in back.items():
        before = described(connection, entity_id)
        if before:
            # Of two that are one entity by now a commit may have described both.
            by_seq = {one.seq: one for one in (*before, *lost)}
            together = sorted(by_seq.values(), key=lambda one: one.seq)
            if together != before and _redescribed(connection, entity_id, before, together):
                changed.add(entity_id)
    return changed


def undescribe(connection: Connection, entity_id: int, seq: int) -> bool:
    """Takes out the description that one commit wrote; whether the entity is described otherwise now."""
    before = described(connection, entity_id)
    kept = [one for one in before if one.seq != seq]
    return kept != before and _redescribed(connection, entity_id, before, kept)


def described(connection: Connection, entity_id: int) -> list[Description]:
    """All that the entity was said to be, oldest first; nothing where it is not there."""
    found = rows_of(connection, t.entities, t.entities.c.id, [entity_id])
    versions = rows_of(connection, t.entity_versions, t.entity_versions.c.entity_id, [entity_id])
    return _descriptions(found[0], versions) if found else []


def _descriptions(now: Mapping[str, Any], versions: Rows) -> list[Description]:
    """Of an entity with its versions in order: a version holds what was said until its commit."""
    starts = [(now["created_seq"], now["created_at"]), *((row["seq"], row["changed_at"]) for row in versions)]
    texts = [*(row["description"] for row in versions), now["description"]]
    return [Description(seq, at, text) for (seq, at), text in zip(starts, texts, strict=True)]


def all_descriptions(entities: Rows, versions: Rows, among: set[int]) -> Rows:
    """Whatever some entities were said to be, for putting it back."""
    of: dict[int, Rows] = {}
    for row in versions:
        of.setdefault(row["entity_id"], []).append(row)
    return [
        {"id": row["id"], "seq": one.seq, "at": one.at, "text": one.text}
        for row in entities
        if row["id"] in among
        for one in _descriptions(row, of.get(row["id"], []))
        if one.text
    ]


def _redescribed(connection: Connection, entity_id: int, before: list[Description], after: list[Description]) -> bool:
    """Writes the descriptions of an entity with their times; whether the last one is another."""
    e, v = t.entities, t.entity_versions
    row = connection.execute(sa.select(e).where(e.c.id == entity_id)).one()
    if not after or after[0].seq != row.created_seq:
        after = [Description(row.created_seq, row.created_at, ""), *after]
    connection.execute(sa.delete(v).where(v.c.entity_id == entity_id))
    same = {"entity_id": entity_id, "dataset_id": row.dataset_id, "name": row.name, "type": row.type}
    inserted(
        connection,
        v,
        (
            same | {"seq": one.seq, "changed_at": one.at, "description": earlier.text}
            for earlier, one in pairwise(after)
        ),
    )
    last = after[-1]
    values = {"description": last.text, "desc_key": fold(last.text), "text_seq": last.seq}
    connection.execute(sa.update(e).where(e.c.id == entity_id).values(values))
    return last.text != before[-1].text


# Vectors --------------------------------------------------------------------------------------------------------------

INDEX_OF = {"chunk": "chunks", "chunk_summary": "summaries", "episode": "chunks", "image": "chunks"}


def forget_vectors(
    connection: Connection, commit: CommitOf, refs: Mapping[str, Iterable[int]], *, indexed: bool
) -> int:
    """Orders vectors out of the index, if the dataset has one, and takes their texts from the outbox; how many were
    ordered out."""
    o = t.vector_outbox
    ordered = 0
    for index, ids in refs.items():
        wanted = list(ids)
        for some in batches(wanted):
            # One that another process is bringing at this moment stays: the order to take it out comes behind it.
            idle = o.c.vector.is_(None) | o.c.lease_until.is_(None) | (o.c.lease_until < commit.at)
            waiting = (o.c.dataset_id == commit.dataset_id) & (o.c.index_name == index) & o.c.ref_id.in_(some)
            connection.execute(sa.delete(o).where(waiting & idle & (o.c.op == "upsert")))
        if indexed:
            inserted(connection, o, (_outbox_row(commit, index, i, "", "delete") for i in sorted(wanted)))
            ordered += len(wanted)
    return ordered


def embed_again(
    connection: Connection,
    commit: CommitOf,
    entities: Iterable[int],
    edges: Iterable[int],
    artifacts: Iterable[int] = (),
    *,
    indexed: bool,
) -> None:
    """Queues rows for an embedder with the texts that they have now. What the index holds of them goes at once."""
    if not indexed:
        return
    texts = _texts(connection, entities, edges, artifacts)
    forget_vectors(connection, commit, {index: list(by_id) for index, by_id in texts.items()}, indexed=True)
    rows = [
        _outbox_row(commit, index, i, text, "upsert") for index, by_id in texts.items() for i, text in by_id.items()
    ]
    inserted(connection, t.vector_outbox, rows)


def _texts(
    connection: Connection, entities: Iterable[int], edges: Iterable[int], artifacts: Iterable[int]
) -> dict[str, dict[int, str]]:
    """The texts that stand for rows in the indexes."""
    texts: dict[str, dict[int, str]] = {"entities": {}, "edges": {}, "chunks": {}, "summaries": {}}
    for some in batches(entities):
        found = map(entity_of, connection.execute(ENTITY.where(t.entities.c.id.in_(some))))
        texts["entities"] |= {entity.id: entity.as_text for entity in found}
    for some in batches(edges):
        found = map(edge_of, connection.execute(EDGE.where(t.edges.c.id.in_(some))))
        texts["edges"] |= {edge.id: edge.as_text for edge in found}
    for row in rows_of(connection, t.artifacts, t.artifacts.c.id, artifacts):
        if row["kind"] in INDEX_OF and row["text"]:  # an image without words is in no index
            said = f"{row['speaker']}: {row['text']}" if row["speaker"] else row["text"]
            texts[INDEX_OF[row["kind"]]][row["id"]] = said
    return texts


def _outbox_row(commit: CommitOf, index: str, ref_id: int, text: str, op: str) -> dict[str, Any]:
    return {
        "dataset_id": commit.dataset_id,
        "index_name": index,
        "ref_id": ref_id,
        "text": text,
        "op": op,
        "seq": commit.seq,
        "tries": 0,
        "created_at": commit.at,
    }
