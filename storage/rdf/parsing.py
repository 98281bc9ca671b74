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
_BOM, _GZIP = b"\xef\xbb\xbf", b"\x1f\x8b"
# Problems that are told, and characters of each; the others are counted.
_TOLD = 100
_LONGEST = 200
# How deep triples stand in triples. The parser, which would crash at some ten thousand, reads no further than to so
# many that are open.
MAX_DEPTH, _MOST_OPEN = 20, 1_000
# How many times its bytes a document may say, prefixes written out, and what each may.
_MOST_TIMES, _ANY_MAY = 200, 16 << 20


class TooDeep(Exception):
    """Triples stand too deep in triples."""


class Source:
    """A file that counts the lines and the bytes that were read of it, and the triples that may be open."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.is_gzip = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        self._ends = 0
        self._last = b"\n"
        self.size = self.open = 0
        """Bytes; beginnings of triples within triples since the last whole one."""

    def read(self, size: int = -1) -> bytes:
        if self.open > _MOST_OPEN:
            raise TooDeep
        piece = self._file.read(size)
        if not self.size:
            piece = piece.removeprefix(_BOM) or self._file.read(size)
        self.size += len(piece)
        self.open += piece.count(b"<<(")
        self._ends += piece.count(b"\n")
        self._last = piece[-1:] or self._last
        return piece

    @property
    def lines(self) -> int:
        return self._ends + (self._last != b"\n")


class Problems:
    """What can't be read of the field of a request. The first one ends it, unless lines may be left out."""

    def __init__(self, field: str, *, tolerant: bool = False, first_line: int = 1) -> None:
        self.field = field
        self.tolerant = tolerant
        self.first_line = first_line
        self.count = 0
        self.told: list[LoadProblem] = []

    def refuse(self, why: str) -> InvalidRequest:
        return InvalidRequest(f"{self.field}: {why}", param=self.field)

    def too_deep(self) -> InvalidRequest:
        return self.refuse(f"triples may stand in triples {MAX_DEPTH} deep, no deeper")

    def add(self, error: SyntaxError) -> None:
        why, line = _reason(error), (error.lineno or 1) + self.first_line - 1
        # Behind bytes that are no text the parser finds no line any more.
        if not self.tolerant or why.startswith("Invalid UTF-8"):
            raise self.refuse(f"line {line}: {why}") from None
        self.count += 1
        if len(self.told) < _TOLD:
            self.told.append(LoadProblem(why, line))


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

    if source.is_gzip:
        raise problems.refuse("is compressed with gzip, it must be the text itself")
    terms = _Terms(own_nodes, problems)
    said = 0
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
        except TooDeep:
            raise problems.too_deep() from None
        except MemoryError:
            # The parser's own limit: nothing was used up.
            raise problems.refuse(f"line {source.lines}: a term is longer than 16 MiB") from None
        finally:
            source.open = 0
        graph = quad.graph_name
        named = "" if isinstance(graph, ox.DefaultGraph) else terms.text(graph)
        row = QuadRow(terms.text(quad.subject), str(quad.predicate), terms.text(quad.object), named)
        said += sum(map(len, row))
        if said > _ANY_MAY + _MOST_TIMES * source.size:
            raise problems.refuse(f"says more than {_MOST_TIMES} times its bytes, with its prefixes written out")
        yield row


class _Terms:
    """Terms as N-Triples writes them, blank nodes under names that nothing else has."""

    def __init__(self, own_nodes: str | None, problems: Problems) -> None:
        import pyoxigraph as ox

        self.own_nodes = own_nodes
        self.problems = problems
        self.blank: type[ox.BlankNode] = ox.BlankNode
        self.triple: type[ox.Triple] = ox.Triple

    def text(self, term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple, depth: int = 0) -> str:
        if isinstance(term, self.blank):
            if self.own_nodes is None:
                raise self.problems.refuse("a blank node in DELETE DATA names nothing")
            return f"_:{self.own_nodes}{term.value}"
        if isinstance(term, self.triple):
            if depth == MAX_DEPTH:
                raise self.problems.too_deep()
            return f"<<( {self.text(term.subject)} {term.predicate} {self.text(term.object, depth + 1)} )>>"
        return str(term)


def graph_term(iri: str) -> str:
    """The named graph of that IRI as N-Quads writes it; empty for none."""
    import pyoxigraph as ox

    try:
        return str(ox.NamedNode(iri)) if iri else ""
    except ValueError:
        raise InvalidRequest("graph_uri: must be an absolute IRI", param="graph_uri") from None
