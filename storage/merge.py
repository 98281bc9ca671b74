"""Merge: one entity gives its facts, links and name to another, and can take them back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.errors import Conflict, NotFound
from core.graph import Dataset
from core.ports import Order, Removal
from core.reconcile import Triple
from core.text import fold
from storage import tables as t
from storage.journal import Touched, touched
from storage.removal import digest, finish, new_tombstone, number, order_dataset, secure_delete
from storage.retime import CommitOf, affected, closers_of, retime, told
from storage.rows import SAME, at_triples
from storage.tombstones import (
    Content,
    Rows,
    batches,
    delete_of,
    ids_of,
    inserted,
    later_tombstone_of,
    one_tombstone,
    removed,
    rows_of,
)
from storage.wording import described, embed_again, forget_vectors, undescribe
from storage.write import insert_or_ignore, next_commit

_ENDS = ("source_id", "target_id")


def merge(connection: Connection, order: Order) -> Removal:
    """Gives everything of the entity `order.target` to the entity `order.into`."""
    dataset = order_dataset(connection, order)
    plan = _Plan.of(connection, dataset, order)
    counts = {"entities": 1, "edges": len(plan.going), "moved": len(plan.moved)}
    word = digest(order, counts, dataset.head_seq)
    order.allow(Removal(counts, word, None, dataset))
    if order.dry_run:
        return Removal(counts, word, None, dataset)
    return _Merge(connection, order, plan, counts, word).run()


class _Plan:
    """What a merge does to each fact of the entity that goes: it moves, or it is one that the other has already, or it
    was a fact between the two."""

    def __init__(self, into: Mapping[str, Any], other: Mapping[str, Any]) -> None:
        self.into = into
        self.other = other
        self.moved: Rows = []
        self.loops: Rows = []
        self.twins: dict[int, int] = {}
        self.twin_rows: Rows = []

    @property
    def going(self) -> Rows:
        return [*self.loops, *self.twin_rows]

    @classmethod
    def of(cls, connection: Connection, dataset: Dataset, order: Order) -> _Plan:
        e, pair = t.entities, {"into": order.into, "other": number(order)}
        rows = {row["id"]: row for row in rows_of(connection, e, e.c.id, [i for i in pair.values() if i is not None])}
        for field, entity_id in pair.items():
            if entity_id is None or rows.get(entity_id, {}).get("dataset_id") != dataset.id:
                raise NotFound(f"{field}: there is no such entity in the dataset", param=field)
        plan = cls(*(rows[i] for i in pair.values() if i is not None))
        facts = {
            row["id"]: row
            for column in (t.edges.c.source_id, t.edges.c.target_id)
            for row in rows_of(connection, t.edges, column, [plan.other["id"]])
        }
        there = _at(connection, dataset.id, [plan.triple(row) for row in facts.values()])
        for row in facts.values():
            plan.place(row, there.get(plan.triple(row), []))
        return plan

    def triple(self, row: Mapping[str, Any]) -> Triple:
        """The ends of a fact once the merge is done, and its relation."""
        source, target = (self.into["id"] if row[end] == self.other["id"] else row[end] for end in _ENDS)
        return source, target, row["relation"]

    def place(self, row: dict[str, Any], there: Rows) -> None:
        if {row["source_id"], row["target_id"]} == {self.into["id"], self.other["id"]}:
            self.loops.append(row)
        elif (twin := next((other for other in there if _are_one(row, other)), None)) is not None:
            self.twins[row["id"]] = twin["id"]
            self.twin_rows.append(row)
        else:
            self.moved.append(row)


def _at(connection: Connection, dataset_id: int, triples: list[Triple]) -> dict[Triple, Rows]:
    if not triples:
        return {}
    ids = [int(row[0]) for row in connection.execute(SAME, at_triples(dataset_id, triples))]
    found: dict[Triple, Rows] = {}
    for row in rows_of(connection, t.edges, t.edges.c.id, ids):
        found.setdefault((row["source_id"], row["target_id"], row["relation"]), []).append(row)
    return found


def _are_one(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Two facts of one triple are one fact: both open, or true at the same time."""
    if one["expired_at"] is None and other["expired_at"] is None and one["invalid_at"] == other["invalid_at"] is None:
        return True
    return (one["valid_at"], one["invalid_at"]) == (other["valid_at"], other["invalid_at"])


class _Merge:
    """One merge on its way."""

    def __init__(self, connection: Connection, order: Order, plan: _Plan, counts: Mapping[str, int], word: str) -> None:
        self.connection = connection
        self.order = order
        self.plan = plan
        self.counts = counts
        self.word = word
        taken = next_commit(connection, order.user_id, order.dataset, order.clock)
        assert taken is not None  # its row is locked
        self.dataset, now = taken
        self.commit = CommitOf(self.dataset.id, self.dataset.head_seq, now)
        self.into, self.other = int(plan.into["id"]), int(plan.other["id"])

    def run(self) -> Removal:
        connection, plan = self.connection, self.plan
        secure_delete(connection)
        going = {row["id"] for row in plan.going}
        closed: dict[int, tuple[int, ...]] = closers_of(connection, going)
        closed |= {twin: (*closed.get(twin, ()), survivor) for twin, survivor in plan.twins.items()}
        before = removed(connection, self.dataset.id).ghosts
        changing = affected(connection, self.dataset.id, edges=going, artifacts=(), triples=(), ghosts=before)
        facts = told(connection, changing)
        ids = {"entities": [self.other], "edges": sorted(going), "merged": plan.twins, "closers": closed}
        content = self._content(going)
        tombstone_id = new_tombstone(connection, self.order, self.commit, "merge", ids, content)
        self._give()
        delete_of(connection, t.edges, t.edges.c.id, going)
        for row in plan.moved:
            source, target, _ = plan.triple(row)
            values = {"source_id": source, "target_id": target}
            connection.execute(sa.update(t.edges).where(t.edges.c.id == row["id"]).values(values))
        self._earlier_starts()
        is_described = self._describe()
        self._name()
        delete_of(connection, t.entities, t.entities.c.id, [self.other])
        retime(connection, self.commit, facts)
        indexed = self.dataset.embedding_model is not None
        forget_vectors(connection, self.commit, {"entities": [self.other], "edges": going}, indexed=indexed)
        reworded = [row["id"] for row in plan.moved if not row["description"].strip()]
        embed_again(connection, self.commit, [self.into] if is_described else [], reworded, indexed=indexed)
        moved = {row["id"] for row in plan.moved}
        rows = touched(entities=[self.into, self.other], edges=going | moved | changing | set(plan.twins.values()))
        finish(connection, self.commit, tombstone_id, "merge", self.counts, rows)
        return Removal(
            self.counts, self.word, one_tombstone(connection, self.order.user_id, tombstone_id), self.dataset
        )

    def _content(self, going: set[int]) -> Content:
        connection, other = self.connection, [self.other]
        ea, fa, es, fs = t.entity_artifacts, t.edge_artifacts, t.entity_sessions, t.edge_sessions
        v, w = t.entity_versions, t.edge_versions
        survivors = set(self.plan.twins.values())
        return Content(
            rows={
                t.entities.name: [dict(self.plan.other)],
                v.name: rows_of(connection, v, v.c.entity_id, other),
                ea.name: rows_of(connection, ea, ea.c.entity_id, other),
                es.name: rows_of(connection, es, es.c.entity_id, other),
                t.edges.name: self.plan.going,
                w.name: rows_of(connection, w, w.c.edge_id, going),
                fa.name: rows_of(connection, fa, fa.c.edge_id, going),
                fs.name: rows_of(connection, fs, fs.c.edge_id, going),
            },
            changes={
                "merge": [{"into": self.into, "other": self.other, "seq": self.commit.seq}],
                "moved": [{name: row[name] for name in ("id", *_ENDS)} for row in self.plan.moved],
                "twins": [{"twin": twin, "survivor": survivor} for twin, survivor in self.plan.twins.items()],
                "links": [
                    *_pairs(rows_of(connection, ea, ea.c.entity_id, [self.into]), "entity_id"),
                    *_pairs(rows_of(connection, fa, fa.c.edge_id, survivors), "edge_id"),
                ],
                "marks": [
                    *_pairs(rows_of(connection, es, es.c.entity_id, [self.into]), "entity_id", "session_id"),
                    *_pairs(rows_of(connection, fs, fs.c.edge_id, survivors), "edge_id", "session_id"),
                ],
                "aliases": [
                    {"former_id": row["former_id"]}
                    for row in rows_of(connection, t.aliases, t.aliases.c.entity_id, other)
                ],
            },
        )

    def _give(self) -> None:
        """The links of what goes, to what takes it up."""
        written = self.plan.other["text_seq"]
        for table, key, places in (
            (t.entity_artifacts, "entity_id", {self.other: self.into}),
            (t.entity_sessions, "entity_id", {self.other: self.into}),
            (t.edge_artifacts, "edge_id", self.plan.twins),
            (t.edge_sessions, "edge_id", self.plan.twins),
        ):
            rows = [row | {key: places[row[key]]} for row in rows_of(self.connection, table, table.c[key], places)]
            if rows:
                primary = [column.name for column in table.primary_key]
                self.connection.execute(insert_or_ignore(self.connection.dialect.name, table, *primary), rows)
            if table is t.entity_artifacts and self._takes_description:
                self._sign([row["artifact_id"] for row in rows if row["seq"] == written])

    def _sign(self, writers: Iterable[int]) -> None:
        """Who wrote the description that comes along is known by the commit."""
        link = t.entity_artifacts
        for some in batches(writers):
            mine = (link.c.entity_id == self.into) & link.c.artifact_id.in_(some)
            self.connection.execute(sa.update(link).where(mine).values(seq=self.commit.seq))

    def _earlier_starts(self) -> None:
        """Of two facts that were one, the earlier start holds."""
        for row in self.plan.twin_rows:
            (now,) = told(self.connection, [self.plan.twins[row["id"]]])
            if row["valid_at"] < now.now.valid_at:
                version = {
                    "edge_id": now.id,
                    "seq": self.commit.seq,
                    "dataset_id": self.dataset.id,
                    "changed_at": self.commit.at,
                    "valid_at": now.now.valid_at,
                    "valid_at_source": now.now.valid_at_source,
                    "invalid_at": now.now.invalid_at,
                    "invalid_at_source": now.now.invalid_at_source,
                    "expired_at": now.now.expired_at,
                    "closed_by": now.now.closed_by,
                }
                insert = insert_or_ignore(self.connection.dialect.name, t.edge_versions, "edge_id", "seq")
                self.connection.execute(insert, [version])
                start = {"valid_at": row["valid_at"], "valid_at_source": row["valid_at_source"]}
                self.connection.execute(sa.update(t.edges).where(t.edges.c.id == now.id).values(start))

    @property
    def _takes_description(self) -> bool:
        return not self.plan.into["description"] and bool(self.plan.other["description"])

    def _describe(self) -> bool:
        """The description of the one that goes, where the other has none."""
        if not self._takes_description:
            return False
        before = self.plan.into
        version = {
            "entity_id": self.into,
            "seq": self.commit.seq,
            "dataset_id": self.dataset.id,
            "changed_at": self.commit.at,
            **{name: before[name] for name in ("name", "type", "description")},
        }
        inserted(self.connection, t.entity_versions, [version])
        text = self.plan.other["description"]
        values = {"description": text, "desc_key": fold(text), "text_seq": self.commit.seq}
        self.connection.execute(sa.update(t.entities).where(t.entities.c.id == self.into).values(values))
        return True

    def _name(self) -> None:
        """The name of the one that goes, and those it had taken, mean the other from now on."""
        a = t.aliases
        self.connection.execute(sa.update(a).where(a.c.entity_id == self.other).values(entity_id=self.into))
        row = {name: self.plan.other[name] for name in ("dataset_id", "name", "name_key", "type")}
        row |= {"former_id": self.other, "entity_id": self.into, "created_at": self.commit.at}
        inserted(self.connection, a, [row])


def _pairs(rows: Iterable[Mapping[str, Any]], key: str, other: str = "artifact_id") -> Rows:
    return [{key: row[key], other: row[other]} for row in rows]


# Undone ---------------------------------------------------------------------------------------------------------------


def unmerge(
    connection: Connection, dataset: Dataset, commit: CommitOf, content: Content, tombstone_id: int
) -> tuple[dict[str, int], Touched]:
    """Takes a merge apart again; what was told of the one entity since stays there. How many rows came back, and all
    that changed with them."""
    (of,) = content.changes["merge"]
    _refuse_what_moved_on(connection, dataset, content, of, tombstone_id)
    other_row = content.of(t.entities)[0]
    inserted(connection, t.entities, [other_row])
    inserted(connection, t.entity_versions, content.of(t.entity_versions))
    _names_back(connection, content, of)
    for row in content.changes["moved"]:
        # Its other end may have been merged since: that is not this one's to take back.
        ends = {end: row[end] for end in _ENDS if row[end] == of["other"]}
        connection.execute(sa.update(t.edges).where(t.edges.c.id == row["id"]).values(ends))
    back = _facts_back(connection, dataset, content)
    _links_back(connection, content, of, back)
    _marks_back(connection, content, of)
    unsupported = _unsupported(connection, content)
    _keep_how_it_was(connection, commit, of, tombstone_id)
    undescribed = undescribe(connection, of["into"], of["seq"])
    survivors = {row["survivor"] for row in content.changes["twins"]} - unsupported
    ghosts = removed(connection, dataset.id).ghosts
    changing = affected(connection, dataset.id, edges=back, artifacts=(), triples=(), ghosts=ghosts)
    retime(connection, commit, told(connection, changing | back | survivors))
    indexed = dataset.embedding_model is not None
    forget_vectors(connection, commit, {"edges": unsupported}, indexed=indexed)
    moved = {row["id"] for row in content.changes["moved"]}
    entities = [of["other"], *([of["into"]] if undescribed else [])]
    embed_again(connection, commit, entities, back | moved, indexed=indexed)
    rows = touched(entities=[of["into"], of["other"]], edges=back | moved | survivors | unsupported | changing)
    return {"entities": 1, "edges": len(back), "moved": len(moved)}, rows


def _keep_how_it_was(connection: Connection, commit: CommitOf, of: Mapping[str, Any], tombstone_id: int) -> None:
    """What a reader of the time when the merge held has to know: ids, no content. `described`: whether the one had the
    description of the other."""
    c = t.tombstones.c
    kept = connection.execute(sa.select(c.removed).where(c.id == tombstone_id)).scalar_one()
    is_described = any(one.seq == of["seq"] for one in described(connection, of["into"]))
    kept |= {"into": of["into"], "undone_seq": commit.seq, "described": is_described}
    connection.execute(sa.update(t.tombstones).where(c.id == tombstone_id).values(removed=kept))


def _refuse_what_moved_on(
    connection: Connection, dataset: Dataset, content: Content, of: Mapping[str, Any], tombstone_id: int
) -> None:
    a = t.aliases
    holder = connection.execute(sa.select(a.c.entity_id).where(a.c.former_id == of["other"])).scalar()
    edges = {row["id"] for row in content.changes["moved"]} | {row["survivor"] for row in content.changes["twins"]}
    artifacts = {link["artifact_id"] for table in (t.entity_artifacts, t.edge_artifacts) for link in content.of(table)}
    artifacts |= {link["artifact_id"] for link in content.changes["links"]}
    # A fact that comes back needs its ends as they were.
    ends = {row[end] for row in content.of(t.edges) for end in _ENDS} - {of["other"]}
    merged = ids_of(connection, lambda ids: sa.select(a.c.former_id).where(a.c.former_id.in_(ids)), ends)
    later = later_tombstone_of(
        connection, dataset.id, tombstone_id, artifacts=artifacts, entities={of["into"], *merged}, edges=edges
    )
    if later is not None:
        raise Conflict(f"parts of it were forgotten or merged since; undo tombstone {later} first")
    if holder != of["into"]:
        raise Conflict(f"entity {of['into']}, which took it up, is gone for good")
    e, other = t.entities, content.of(t.entities)[0]
    same = sa.and_(*(e.c[name] == other[name] for name in ("dataset_id", "name_key", "type")))
    if (new := connection.execute(sa.select(e.c.id).where(same)).scalar()) is not None:
        raise Conflict(f"its name is that of entity {new} by now; merge that one into {of['into']} first")


def _names_back(connection: Connection, content: Content, of: Mapping[str, Any]) -> None:
    a = t.aliases
    connection.execute(sa.delete(a).where(a.c.former_id == of["other"]))
    former = [row["former_id"] for row in content.changes["aliases"]]
    connection.execute(sa.update(a).where(a.c.former_id.in_(former)).values(entity_id=of["other"]))


def _facts_back(connection: Connection, dataset: Dataset, content: Content) -> set[int]:
    """The facts that were between the two, or that both had: those that an artifact still states."""
    gone = removed(connection, dataset.id)
    there = _there(connection, content)
    supported = {link["edge_id"] for link in content.of(t.edge_artifacts) if link["artifact_id"] in there}
    rows = [r for r in content.of(t.edges) if r["id"] in supported and r["id"] not in gone.forgotten_edges]
    for row in rows:
        row["artifact_id"] = row["artifact_id"] if row["artifact_id"] in there else None
    ends = {row[end] for row in rows for end in _ENDS}
    known = ids_of(connection, lambda ids: sa.select(t.entities.c.id).where(t.entities.c.id.in_(ids)), ends)
    rows = [row for row in rows if {row[end] for end in _ENDS} <= known]
    inserted(connection, t.edges, rows)
    back = {row["id"] for row in rows}
    inserted(connection, t.edge_versions, [row for row in content.of(t.edge_versions) if row["edge_id"] in back])
    return back


def _there(connection: Connection, content: Content) -> set[int]:
    """The artifacts of the links that are there still."""
    named = {link["artifact_id"] for table in (t.entity_artifacts, t.edge_artifacts) for link in content.of(table)}
    return ids_of(connection, lambda ids: sa.select(t.artifacts.c.id).where(t.artifacts.c.id.in_(ids)), named)


def _links_back(connection: Connection, content: Content, of: Mapping[str, Any], back: set[int]) -> None:
    """Each link back to where it was, and away from what took it up, unless that had it by itself."""
    there = _there(connection, content)
    survivors = {row["twin"]: row["survivor"] for row in content.changes["twins"]}
    own = {(link.get("entity_id"), link.get("edge_id"), link["artifact_id"]) for link in content.changes["links"]}
    ea, fa = t.entity_artifacts, t.edge_artifacts
    for link in content.of(ea):
        if (of["into"], None, link["artifact_id"]) not in own:
            taken = (ea.c.entity_id == of["into"]) & (ea.c.artifact_id == link["artifact_id"])
            connection.execute(sa.delete(ea).where(taken))
    for link in content.of(fa):
        survivor = survivors.get(link["edge_id"])
        if survivor is not None and (None, survivor, link["artifact_id"]) not in own:
            taken = (fa.c.edge_id == survivor) & (fa.c.artifact_id == link["artifact_id"])
            connection.execute(sa.delete(fa).where(taken))
    inserted(connection, ea, [link for link in content.of(ea) if link["artifact_id"] in there])
    inserted(
        connection, fa, [link for link in content.of(fa) if link["artifact_id"] in there and link["edge_id"] in back]
    )
    inserted(connection, t.entity_sessions, content.of(t.entity_sessions))
    inserted(connection, t.edge_sessions, [row for row in content.of(t.edge_sessions) if row["edge_id"] in back])


def _marks_back(connection: Connection, content: Content, of: Mapping[str, Any]) -> None:
    """Takes the marks of sessions from what took them up, unless it had them by itself or has them by now, from when
    it was told first."""
    survivors = {row["twin"]: row["survivor"] for row in content.changes["twins"]}
    kinds = (
        (t.entity_sessions, t.entity_artifacts, "entity_id", {of["other"]: of["into"]}),
        (t.edge_sessions, t.edge_artifacts, "edge_id", survivors),
    )
    for marks, links, key, places in kinds:
        given = {(places[row[key]], row["session_id"]) for row in content.of(marks) if row[key] in places}
        own = {(row[key], row["session_id"]) for row in content.changes.get("marks", ()) if key in row}
        for row_id, session_id in given - own:
            a, here = t.artifacts.c, (marks.c[key] == row_id) & (marks.c.session_id == session_id)
            told = sa.select(sa.func.min(a.created_at)).join(links, links.c.artifact_id == a.id)
            mine = (links.c[key] == row_id) & (a.session_id == session_id)
            first = connection.execute(told.where(mine)).scalar()
            if first is None:
                connection.execute(sa.delete(marks).where(here))
            else:
                connection.execute(sa.update(marks).where(here).values(first_seen_at=first))


def _unsupported(connection: Connection, content: Content) -> set[int]:
    """Takes out the facts that only what went back supported."""
    survivors = {row["survivor"] for row in content.changes["twins"]}
    supported: set[int] = set()
    for some in batches(survivors):
        links = sa.select(t.edge_artifacts.c.edge_id).where(t.edge_artifacts.c.edge_id.in_(some))
        supported |= set(connection.execute(links).scalars())
    delete_of(connection, t.edges, t.edges.c.id, survivors - supported)
    return survivors - supported
