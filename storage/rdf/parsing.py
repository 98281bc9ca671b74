"""RDF documents as triples, read as they come: the terms as N-Triples writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from core.errors import InvalidRequest
from core.rdf.ports import LoadProblem, RdfFormat
from storage.rdf.changes import QuadRow

if TYPE_CHECKING:
    import pyoxigraph as ox

LINE_BY_LINE: tuple[RdfFormat, ...] = ("ntriples", "nquads")
_FORMATS: dict[RdfFormat, str] = {"ntriples": "N_TRIPLES", "turtle": "TURTLE", "nquads": "N_QUADS", "trig": "TRIG"}
# Problems that are told, and characters of each; the others are counted.
_TOLD = 100
_LONGEST = 200


class Source:
    """A file that counts the lines that were read of it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._ends = 0
        self._last = b"\n"

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._ends += piece.count(b"\n")
        self._last = piece[-1:] or self._last
        return piece

    @property
    def lines(self) -> int:
        return self._ends + (self._last != b"\n")


class Problems:
    """What can't be read of the field of a request. The first one ends it, unless lines may be left out."""

    def __init__(self, field: str, *, tolerant: bool = False) -> None:
        self.field = field
        self.tolerant = tolerant
        self.count = 0
        self.told: list[LoadProblem] = []

    def refuse(self, why: str) -> InvalidRequest:
        return InvalidRequest(f"{self.field}: {why}", param=self.field)

    def add(self, error: SyntaxError) -> None:
        why = _reason(error)
        if not self.tolerant:
            raise self.refuse(f"line {error.lineno}: {why}") from None
        self.count += 1
        if len(self.told) < _TOLD:
            self.told.append(LoadProblem(why, error.lineno))


def _reason(error: SyntaxError) -> str:
    """What the parser says, without the place that it begins with."""
    said = str(error.msg)
    if said.startswith("Parser error"):
        said = said.partition(": ")[2]
    return "".join(char if char.isprintable() else "\ufffd" for char in said[:_LONGEST])


def read_quads(
    source: Source, format: RdfFormat, problems: Problems, *, base_iri: str = "", own_nodes: str | None
) -> Iterator[QuadRow]:
    """The triples of a document, parsed as they are asked for. Its blank nodes get names of their own, which begin with
    `own_nodes`; None where it may have none. Raises InvalidRequest for what can't be read."""
    import pyoxigraph as ox

    terms = _Terms(own_nodes, problems)
    try:
        quads = ox.parse(source, format=getattr(ox.RdfFormat, _FORMATS[format]), base_iri=base_iri or None)  # pyright: ignore[reportArgumentType] -- it has a `read`, and that is what is asked of it
    except ValueError:
        raise InvalidRequest("base_iri: must be an absolute IRI", param="base_iri") from None
    while True:
        try:
            quad = next(quads)
        except StopIteration:
            return
        except SyntaxError as error:
            problems.add(error)
            continue
        graph = quad.graph_name
        named = "" if isinstance(graph, ox.DefaultGraph) else terms.text(graph)
        yield QuadRow(terms.text(quad.subject), str(quad.predicate), terms.text(quad.object), named)


class _Terms:
    """Terms as N-Triples writes them, blank nodes under names that nothing else has."""

    def __init__(self, own_nodes: str | None, problems: Problems) -> None:
        import pyoxigraph as ox

        self.own_nodes = own_nodes
        self.problems = problems
        self.blank: type[ox.BlankNode] = ox.BlankNode
        self.triple: type[ox.Triple] = ox.Triple

    def text(self, term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> str:
        if isinstance(term, self.blank):
            if self.own_nodes is None:
                raise self.problems.refuse("a blank node in DELETE DATA names nothing")
            return f"_:{self.own_nodes}{term.value}"
        if isinstance(term, self.triple):
            return f"<<( {self.text(term.subject)} {term.predicate} {self.text(term.object)} )>>"
        return str(term)


def graph_term(iri: str) -> str:
    """The named graph of that IRI as N-Quads writes it; empty for none."""
    import pyoxigraph as ox

    try:
        return str(ox.NamedNode(iri)) if iri else ""
    except ValueError:
        raise InvalidRequest("graph_uri: must be an absolute IRI", param="graph_uri") from None
