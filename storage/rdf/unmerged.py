"""The rows of a past commit across merges. A merge moves rows in their tables, so its tombstone says how they were."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from storage import tables as t
from storage.rdf.changes import EntityRow, FactRow, microseconds
from storage.tombstones import Content, ids_of, unpacked
from storage.wording import all_descriptions


class Alias(NamedTuple):
    """The name of a former entity, and the one that it belongs to."""

    entity_id: int
    name: str


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge of `other` into `into` that a reader of the past meets: one that came later and holds, with its content,
    or one that held then and was undone later, without. `seq` is the commit where it came, or was undone."""

    seq: int
    other: int
    into: int
    going: frozenset[int]
    """The facts that it took away."""
    twins: Mapping[int, int]
    """Of these the ones that another took up, with that one."""
    described: bool
    """Whether `into` had the description of `other` then."""
    content: Content | None

    @classmethod
    def of(cls, seq: int, removed: Mapping[str, Any], content: Content | None) -> Merge:
        into = content.changes["merge"][0]["into"] if content else removed["into"]
        twins = {int(twin): survivor for twin, survivor in removed["merged"].items()}
        is_described = removed.get("described", False)
        return cls(seq, removed["entities"][0], into, frozenset(removed["edges"]), twins, is_described, content)


def merges_since(connection: Connection, dataset_id: int, seq: int) -> list[Merge]:
    """What merging and undoing did after that commit to what was there at it, the newest first. Purged merges are not
    among it: nobody knows any more what was there before."""
    c = t.tombstones.c
    holds = c.undone_at.is_(None) & (c.seq > seq) & c.content.is_not(None)
    held = c.undone_at.is_not(None) & (c.seq <= seq)
    select = sa.select(c.seq, c.undone_at, c.removed, c.content)
    found: list[Merge] = []
    for row in connection.execute(select.where(c.dataset_id == dataset_id, c.action == "merge", holds | held)):
        if row.undone_at is None:
            found.append(Merge.of(row.seq, row.removed, unpacked(row.content)))
        elif row.removed.get("undone_seq", 0) > seq:  # databases of earlier versions do not say
            found.append(Merge.of(row.removed["undone_seq"], row.removed, None))
    return sorted(found, key=lambda merge: merge.seq, reverse=True)


@dataclass(slots=True)
class Unmerging:
    """The entities and facts of a commit (`at`: its time in microseconds) on their way from how the tables hold them to
    how they were.

    What was forgotten since a merge stays away: an entity whose sources are gone, a fact or a description that nothing
    there states, the mark of a session.
    """

    connection: Connection
    dataset_id: int
    seq: int
    at: int
    entities: dict[int, EntityRow]
    facts: dict[int, FactRow]
    aliases: dict[int, Alias]
    full: bool
    """Whether the facts come with words and sources."""
    later: dict[int, EntityRow] = field(default_factory=dict[int, EntityRow])
    """Entities that came after the commit, for facts that were moved to them by who knows what."""
    # Of all that the merges know, what is there still: looked up before the first is taken back.
    artifacts: set[int] = field(init=False)
    edges: set[int] = field(init=False)
    former: set[int] = field(init=False)
    stand: set[int] = field(init=False)
    """Entities that are there, or that another stands for."""
    forgotten_sessions: dict[str, int] = field(init=False)

    def undo(self, merges: Sequence[Merge]) -> None:
        """Takes back what merging and undoing did, the newest first."""
        self._look_up(merges)
        for merge in merges:
            if merge.content is None:
                self._together(merge)
            elif merge.other in self.former and merge.into in self.stand:
                self._apart(merge, merge.content)

    def _look_up(self, merges: Sequence[Merge]) -> None:
        contents = [merge.content for merge in merges if merge.content is not None]
        a, e, names = t.artifacts.c, t.edges.c, t.aliases.c
        linked = (t.entity_artifacts, t.edge_artifacts)
        sources = {row["artifact_id"] for content in contents for table in linked for row in content.of(table)}
        survivors = {row["survivor"] for content in contents for row in content.changes["twins"]}
        merged = {i for merge in merges for i in (merge.into, merge.other)}
        self.artifacts = self._there(a.id, sources)
        self.edges = self._there(e.id, survivors)
        self.former = self._there(names.former_id, merged)
        self.stand = self.former | self._there(t.entities.c.id, merged)
        c = t.tombstones.c
        forgets = (c.dataset_id == self.dataset_id) & (c.scope == "session") & c.undone_at.is_(None)
        rows = self.connection.execute(sa.select(c.target, c.seq).where(forgets).order_by(c.seq)).all()
        self.forgotten_sessions = {str(row.target): int(row.seq) for row in rows}

    def _there(self, key: sa.Column[int], ids: Iterable[int]) -> set[int]:
        return ids_of(self.connection, lambda some: sa.select(key).where(key.in_(some)), ids)

    def _rename(self, one: int, other: int, among: Collection[int]) -> None:
        """Names of the one that are the other's."""
        for i, alias in self.aliases.items():
            if i in among and alias.entity_id == one:
                self.aliases[i] = alias._replace(entity_id=other)

    # One that was undone later ----------------------------------------------------------------------------------------

    def _together(self, merge: Merge) -> None:
        """As one: the facts of `other` are those of `into`, and its name and maybe its description."""
        other, into = self.entities.get(merge.other), self.entities.get(merge.into)
        if other is None or into is None:
            return
        del self.entities[merge.other]
        self._rename(merge.other, merge.into, self.aliases)
        self.aliases[merge.other] = Alias(merge.into, other.name)
        if merge.described and not into.description:
            self.entities[merge.into] = into._replace(description=other.description)
        for i in merge.going:
            fact, survivor = self.facts.pop(i, None), merge.twins.get(i)
            if fact is not None and survivor in self.facts:
                had = self.facts[survivor]
                self.facts[survivor] = had._replace(
                    artifacts=_in_order((*had.artifacts, *fact.artifacts)),
                    sessions=_in_order((*had.sessions, *fact.sessions)),
                )
        for i, fact in self.facts.items():
            if merge.other in (fact.source_id, fact.target_id):
                self.facts[i] = _moved(fact, merge.other, merge.into, ("source_id", "target_id"))

    # One that holds ---------------------------------------------------------------------------------------------------

    def _apart(self, merge: Merge, content: Content) -> None:
        self.aliases.pop(merge.other, None)
        self._rename(merge.into, merge.other, {row["former_id"] for row in content.changes["aliases"]})
        for row in content.changes["moved"]:
            if (fact := self.facts.get(row["id"])) is not None:
                ends = [end for end in ("source_id", "target_id") if row[end] == merge.other]
                self.facts[row["id"]] = fact._replace(**dict.fromkeys(ends, merge.other))
        if self.full:
            self._take(merge, content, t.edge_artifacts, "artifacts", "artifact_id", "links")
            self._take(merge, content, t.edge_sessions, "sessions", "session_id", "marks")
        self._facts_back(merge, content)
        self._entity_back(content)

    def _take(self, merge: Merge, content: Content, table: sa.Table, field: str, key: str, own: str) -> None:
        """Takes from facts what they got of those that they took up."""
        kept = {(row["edge_id"], row[key]) for row in content.changes.get(own, ()) if "edge_id" in row}
        given: dict[int, set[Any]] = {}
        for row in content.of(table):
            survivor = merge.twins.get(row["edge_id"])
            if survivor in self.facts and (survivor, row[key]) not in kept:
                given.setdefault(survivor, set()).add(row[key])
        for survivor, values in given.items():
            fact = self.facts[survivor]
            left = tuple(value for value in getattr(fact, field) if value not in values)
            self.facts[survivor] = fact._replace(**{field: left})

    def _facts_back(self, merge: Merge, content: Content) -> None:
        """The facts that it took away: those that an artifact states still, and whose survivor nobody forgot."""
        links = _by(content.of(t.edge_artifacts), "edge_id")
        marks, versions = _by(content.of(t.edge_sessions), "edge_id"), _by(content.of(t.edge_versions), "edge_id")
        for row in content.of(t.edges):
            i = row["id"]
            by = {
                link["artifact_id"]: link["seq"] for link in links.get(i, ()) if link["artifact_id"] in self.artifacts
            }
            if not by or (i in merge.twins and merge.twins[i] not in self.edges):
                continue
            self.edges.add(i)
            if row["created_seq"] > self.seq:
                continue
            fact = self._fact(row, versions.get(i, ()))
            if self.full:
                said = row["artifact_id"] is None or row["artifact_id"] in self.artifacts
                fact = fact._replace(
                    description=row["description"] if said else "",
                    artifact_id=row["artifact_id"] if said else None,
                    artifacts=_in_order(artifact_id for artifact_id, seq in by.items() if seq <= self.seq),
                    sessions=self._sessions(marks.get(i, ()), merge.seq),
                )
            self.facts[i] = fact

    def _fact(self, row: Mapping[str, Any], versions: Iterable[Mapping[str, Any]]) -> FactRow:
        """With the times that it had then, and nothing of where it came from."""
        replaced = [version for version in versions if version["seq"] > self.seq]
        then = min(replaced, key=lambda version: version["seq"], default=row)
        return FactRow(
            row["source_id"],
            row["relation"],
            row["target_id"],
            valid_at=microseconds(then["valid_at"]),
            invalid_at=then["invalid_at"] and microseconds(then["invalid_at"]),
            created_at=microseconds(row["created_at"]),
            expired_at=then["expired_at"] and microseconds(then["expired_at"]),
        )

    def _sessions(self, marks: Iterable[Mapping[str, Any]], seq: int) -> tuple[str, ...]:
        return _in_order(
            mark["session_id"]
            for mark in marks
            if microseconds(mark["first_seen_at"]) <= self.at
            if self.forgotten_sessions.get(mark["session_id"], 0) < seq
        )

    def _entity_back(self, content: Content) -> None:
        (row,) = content.of(t.entities)
        i, links = row["id"], content.of(t.entity_artifacts)
        there = {link["seq"] for link in links if link["artifact_id"] in self.artifacts}
        gone = {link["seq"] for link in links if link["artifact_id"] not in self.artifacts}
        if row["created_seq"] > self.seq or not there:
            self.later[i] = EntityRow(row["name"], row["type"], "")
            return
        said = all_descriptions([row], content.of(t.entity_versions), {i})
        texts = [one["text"] for one in said if one["seq"] <= self.seq and one["seq"] in there - gone]
        self.entities[i] = EntityRow(row["name"], row["type"], texts[-1] if texts else "")


def with_aliases(entities: dict[int, EntityRow], aliases: Iterable[Alias]) -> None:
    """Gives entities their other names."""
    names: dict[int, set[str]] = {}
    for entity_id, name in aliases:
        names.setdefault(entity_id, set()).add(name)
    for i, others in names.items():
        if (row := entities.get(i)) is not None:
            entities[i] = row._replace(aliases=_in_order(others - {row.name}))


def _moved(fact: FactRow, one: int, other: int, ends: Iterable[str]) -> FactRow:
    return fact._replace(**{end: other for end in ends if getattr(fact, end) == one})


def _by(rows: Iterable[dict[str, Any]], key: str) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def _in_order(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))
