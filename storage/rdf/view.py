"""View: the RDF graph of one dataset at one moment, kept in memory and brought up by what changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from storage.rdf.changes import ArtifactRow, Changes, EntityRow, FactRow, QuadRow
from storage.rdf.clock import Clock
from storage.rdf.projection import Projection, loaded
from storage.rdf.statements import Answer, Lines, Statements

R = TypeVar("R", EntityRow, ArtifactRow, QuadRow)

# What a triple and a row take, measured; what of a triple's text is within that, in characters, and how often what is
# beyond it is kept.
_LINE_BYTES, _ROW_BYTES = 300, 600
_LINE_SIZE, _TIMES = 200, 2
# The engine keeps what was taken out of a store: after so many triples, or as many as there are, it is to be made anew.
_WORN = 100_000


class View:
    """What a dataset says at its commit `seq`, of the time `at`, and at the moment `now` (microseconds since 1970).

    A fact is a direct triple while it is true: not superseded, begun, and not ended. With `with_facts` each fact is a
    node too, and artifacts are there: in a graph of their own, which is part of what is asked only for queries that
    name them. A triple that more than one row states stays until all of them are gone. Not for two threads at once.
    """

    def __init__(self, base: str, now: int, *, with_facts: bool = False) -> None:
        self.base = base
        self.now = now
        self.with_facts = with_facts
        self.seq = self.at = 0
        self.statements = Statements()
        self._projection = Projection(base)
        self._entities: dict[int, EntityRow] = {}
        self._facts: dict[int, FactRow] = {}
        self._artifacts: dict[int, ArtifactRow] = {}
        self._quads: dict[int, QuadRow] = {}
        self._true: set[int] = set()
        # The loaded triples that say something of a fact node or an artifact.
        self._of_nodes: set[int] = set()
        # How many entities are of a type, facts of a relation, triples of a loaded graph.
        self._types: Counter[str] = Counter()
        self._relations: Counter[str] = Counter()
        self._graphs: Counter[str] = Counter()
        self._clock = Clock()

    def __len__(self) -> int:
        """How many rows it is made of."""
        return len(self._entities) + len(self._facts) + len(self._artifacts) + len(self._quads)

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""
        lines = self.statements.count + self.statements.taken_out
        long = max(0, self.statements.size - _LINE_SIZE * lines)
        return _LINE_BYTES * lines + _TIMES * long + _ROW_BYTES * len(self)

    @property
    def is_worn(self) -> bool:
        """Whether so much was changed in it that it had better be loaded again."""
        is_full = self.statements.taken_out > max(_WORN, self.statements.count)
        return is_full or len(self._clock) > max(_WORN, 4 * len(self._facts))

    def query(self, text: str, *, facts: bool = False) -> Answer:
        """The engine's answer, over the default graph and the named graphs that were loaded. Raises SyntaxError."""
        return self.statements.query(text, self._graphs, nodes=facts and self.with_facts)

    def load(self, changes: Changes) -> None:
        """Takes in some of all rows of a dataset; `finish` when these were the last."""
        lines = Lines()
        self._take(changes, Lines(), lines)
        self.statements.load(lines)

    def finish(self) -> None:
        """Makes a loaded view ready to be read and brought up."""
        if not self.statements.are_all_there:
            self.statements.state_again(self._graphs, self._graph_lines())

    def apply(self, changes: Changes) -> None:
        """Brings the view to the commit of these changes, be it a later or an earlier one; the moment stays."""
        gone, new = Lines(), Lines()
        self._take(changes, gone, new)
        self.statements.exchange(gone, new)

    def set_apart(self) -> bool:
        """Takes out of the fact nodes what somebody loaded too, which a query for both would find twice; whether that
        was anything, so that the view is not what its rows say any more."""
        for id_ in self._of_nodes:
            self.statements.leave_to_graph(loaded(self._quads[id_]))
        return bool(self._of_nodes)

    def move_to(self, moment: int) -> None:
        """Lets facts begin and end by the clock, forward or back. Costs what the facts do that it passes."""
        gone, new = Lines(), Lines()
        passed = self._clock.passed(moment)
        self.now = moment
        for id_ in passed:
            self._refresh(id_, gone, new)
        self.statements.exchange(gone, new)

    # Rows become lines ------------------------------------------------------------------------------------------------

    def _take(self, changes: Changes, gone: Lines, new: Lines) -> None:
        """Keeps the rows; the lines that they no longer say, and those that they say now."""
        self._take_entities(changes.entities, gone, new)
        self._take_facts(changes.facts, gone, new)
        self._take_quads(changes.quads, gone, new)
        if self.with_facts:
            for id_, old, row in _replaced(self._artifacts, changes.artifacts):
                gone.nodes.extend([self._projection.artifact(id_, old)] if old else [])
                new.nodes.extend([self._projection.artifact(id_, row)] if row else [])
        self.seq, self.at = changes.seq, changes.at

    def _take_entities(self, rows: Mapping[int, EntityRow | None], gone: Lines, new: Lines) -> None:
        spell = self._projection
        for id_, old, row in _replaced(self._entities, rows):
            if old:
                gone.graph.append(spell.entity(id_, old))
                _uncount(self._types, old.type, spell.type_, gone)
            if row:
                new.graph.append(spell.entity(id_, row))
                _count(self._types, row.type, spell.type_, new)

    def _take_facts(self, rows: Mapping[int, FactRow | None], gone: Lines, new: Lines) -> None:
        spell, facts = self._projection, self._facts
        for id_, row in rows.items():
            old = facts.pop(id_, None)
            if old is not None:
                if self.with_facts:
                    gone.nodes.append(spell.fact(id_, old))
                if id_ in self._true:
                    self._true.remove(id_)
                    gone.graph.append(spell.triple(old))
                _uncount(self._relations, old.relation, spell.relation, gone)
            if row is None:
                continue
            facts[id_] = row
            if self.with_facts:
                new.nodes.append(spell.fact(id_, row))
            _count(self._relations, row.relation, spell.relation, new)
            if row.expired_at is None:
                self._refresh(id_, gone, new)
                self._clock.add(id_, row, self.now)

    def _take_quads(self, rows: Mapping[int, QuadRow | None], gone: Lines, new: Lines) -> None:
        nodes = (f"<{self.base}edge/", f"<{self.base}artifact/")
        for id_, old, row in _replaced(self._quads, rows):
            self._of_nodes.discard(id_)
            if old:
                gone.graph.append(loaded(old))
                self._graphs[old.graph] -= 1
            if row:
                new.graph.append(loaded(row))
                self._graphs[row.graph] += 1
                if row.subject.startswith(nodes):
                    self._of_nodes.add(id_)
        self._graphs = Counter({name: n for name, n in self._graphs.items() if name and n})

    def _refresh(self, id_: int, gone: Lines, new: Lines) -> None:
        """States a fact that is true now, takes back one that is not."""
        fact = self._facts.get(id_)
        if fact is None:
            return
        is_true = (
            fact.expired_at is None
            and fact.valid_at <= self.now
            and (fact.invalid_at is None or fact.invalid_at > self.now)
        )
        if is_true and id_ not in self._true:
            self._true.add(id_)
            new.graph.append(self._projection.triple(fact))
        elif not is_true and id_ in self._true:
            self._true.remove(id_)
            gone.graph.append(self._projection.triple(fact))

    def _graph_lines(self) -> Iterator[str]:
        spell, facts = self._projection, self._facts
        yield from (spell.type_(name) for name, n in self._types.items() if n)
        yield from (spell.relation(name) for name, n in self._relations.items() if n)
        yield from (spell.entity(id_, row) for id_, row in self._entities.items())
        yield from (spell.triple(facts[id_]) for id_ in self._true)
        yield from (loaded(row) for row in self._quads.values())


def _replaced(kept: dict[int, R], rows: Mapping[int, R | None]) -> Iterator[tuple[int, R | None, R | None]]:
    """Puts rows in the place of those that are kept: each that differs, with what it was."""
    for id_, row in rows.items():
        old = kept.get(id_)
        if old == row:
            continue
        if row is None:
            del kept[id_]
        else:
            kept[id_] = row
        yield id_, old, row


def _count(counts: Counter[str], name: str, spell: Callable[[str], str], new: Lines) -> None:
    counts[name] += 1
    if counts[name] == 1:
        new.graph.append(spell(name))


def _uncount(counts: Counter[str], name: str, spell: Callable[[str], str], gone: Lines) -> None:
    counts[name] -= 1
    if not counts[name]:
        gone.graph.append(spell(name))
