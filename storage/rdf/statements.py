"""Statements: the triples of a view in the engine, each there once, however often it is stated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyoxigraph as ox

Name = ox.NamedNode | ox.BlankNode | ox.DefaultGraph
Answer = ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples
_DEFAULT = ox.DefaultGraph()


@dataclass(frozen=True, slots=True)
class Lines:
    """Texts of whole lines of N-Quads: what is stated in the graph, and what of fact nodes and artifacts."""

    graph: list[str] = field(default_factory=list[str])
    nodes: list[str] = field(default_factory=list[str])

    def count(self) -> int:
        """How many lines these are."""
        return sum(text.count("\n") for texts in (self.graph, self.nodes) for text in texts)

    def size(self) -> int:
        """How many characters they have."""
        return sum(len(text) for texts in (self.graph, self.nodes) for text in texts)


class Statements:
    """A store of the engine. Fact nodes and artifacts stand in a graph of their own, which has no name to ask for."""

    def __init__(self) -> None:
        self.store = ox.Store()
        self.count = self.taken_out = self.size = 0
        """How many are stated, repeated ones included, and how many were taken out so far; the characters of both."""
        self._nodes = ox.BlankNode()
        # How often a triple is stated beyond the first time, for those that are.
        self._again: Counter[ox.Quad] = Counter()

    def query(self, text: str, graphs: Iterable[str], *, nodes: bool) -> Answer:
        """The engine's answer, over the graph, with or without the nodes, and these graphs by name. Raises
        SyntaxError."""
        default: list[Name] = [_DEFAULT, self._nodes] if nodes else [_DEFAULT]
        named: list[ox.NamedNode | ox.BlankNode] = [_graph(name) for name in graphs]
        return self.store.query(text, default_graph=default, named_graphs=named)

    def load(self, lines: Lines) -> None:
        """States many for the first time. `are_all_there` tells whether some of them were stated twice: then they have
        to be stated again, one by one."""
        self.count += lines.count()
        self.size += lines.size()
        # A text is the fastest way in: for parts of a graph faster than the engine's bulk_load.
        self.store.load("".join(lines.nodes), ox.RdfFormat.N_TRIPLES, to_graph=self._nodes, lenient=True)
        # The engine gives other names to blank nodes that it reads from a text.
        blank = [text for text in lines.graph if "_:" in text]
        plain = [text for text in lines.graph if "_:" not in text] if blank else lines.graph
        self.store.load("".join(plain), ox.RdfFormat.N_QUADS)
        self.store.extend(_parsed("".join(blank)))

    @property
    def are_all_there(self) -> bool:
        """Whether each one that was loaded has a triple of its own."""
        return len(self.store) == self.count

    def state_again(self, graphs: Iterable[str], texts: Iterable[str]) -> None:
        """States what is in the graph and in these graphs by name anew, one by one, and counts what is repeated."""
        self.store.clear_graph(_DEFAULT)
        for name in graphs:
            self.store.remove_graph(_graph(name))
        for text in texts:
            for quad in _parsed(text):
                self._state(quad)

    def exchange(self, gone: Lines, new: Lines) -> None:
        """Takes some back and states others; what is among both stays untouched."""
        taken_out = gone.count()
        self.taken_out += taken_out
        self.count += new.count() - taken_out
        self.size += new.size()
        for quad in _difference(gone.graph, new.graph):
            self._take_back(quad)
        for quad in _difference(new.graph, gone.graph):
            self._state(quad)
        self._take_out(_difference(gone.nodes, new.nodes))
        self.store.extend(map(self._node, _difference(new.nodes, gone.nodes)))

    def leave_to_graph(self, text: str) -> None:
        """Makes these lines no part of what the nodes say."""
        self._take_out(_parsed(text))

    def _take_out(self, quads: Iterable[ox.Quad]) -> None:
        for quad in quads:
            self.store.remove(self._node(quad))

    def _node(self, quad: ox.Quad) -> ox.Quad:
        return ox.Quad(quad.subject, quad.predicate, quad.object, self._nodes)

    def _state(self, quad: ox.Quad) -> None:
        if quad in self.store:
            self._again[self._stored(quad)] += 1
        else:
            self.store.add(quad)

    def _take_back(self, quad: ox.Quad) -> None:
        if not self._again or (stored := self._stored(quad)) not in self._again:
            self.store.remove(quad)
        elif self._again[stored] == 1:
            del self._again[stored]
        else:
            self._again[stored] -= 1

    def _stored(self, quad: ox.Quad) -> ox.Quad:
        """The quad as the engine keeps it: of a number or a time, the value and not its spelling."""
        return next(self.store.quads_for_pattern(quad.subject, quad.predicate, quad.object, quad.graph_name), quad)


def _difference(these: list[str], those: list[str]) -> Iterable[ox.Quad]:
    """The lines of these, as triples, that are not among those."""
    if not these:
        return ()
    left = Counter("".join(these).split("\n")) - Counter("".join(those).split("\n"))
    return _parsed("\n".join([*left.elements(), ""])) if left else ()


def _parsed(text: str) -> Iterable[ox.Quad]:
    return ox.parse(text.encode(), ox.RdfFormat.N_QUADS) if text else ()


def _graph(name: str) -> ox.NamedNode | ox.BlankNode:
    return ox.BlankNode(name[2:]) if name.startswith("_:") else ox.NamedNode(name[1:-1])
