"""How a query is run on a view, and its rows are written down compactly."""

from __future__ import annotations

import marshal
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pyoxigraph as ox

from core.rdf.vocabulary import XSD
from storage.rdf import messages as m
from storage.rdf.entailment import entail
from storage.rdf.shelf import Shelf
from storage.rdf.view import View

# An answer of more bytes is refused: it is held whole by whoever asked.
MAX_ANSWER = 32 << 20
_MOST_WORDS = 200
_STRING = f"{XSD}string"

Cell = tuple[str, ...] | None
"""Kind, value, and of a literal its datatype and its language, as far as it has them; None: unbound."""


def answered(shelf: Shelf, query: m.Run | m.Parse) -> tuple[bytes, bool]:
    """The answer to a query, whatever happens on the way; and whether it leaves a view that no other can use."""
    is_spoilt = False
    try:
        if isinstance(query, m.Parse):
            return parse(query.text), False
        view = shelf.view_for(query)
        if view is None:
            return marshal.dumps((m.MISSING,)), False
        is_spoilt = query.back is not None or query.entailment != "none"
        if query.back is not None:
            view.apply(query.back)
            view.move_to(view.at)
        entail(view.statements.store, query.entailment)
        is_spoilt |= query.facts and view.set_apart()
        return answer(view, query), is_spoilt
    except MemoryError:
        return marshal.dumps((m.TOO_LARGE,)), True
    except Exception as failure:
        return marshal.dumps((m.FAILED, type(failure).__name__)), is_spoilt


def answer(view: View, run: m.Run) -> bytes:
    """The answer to a query: its rows, or why it has none."""
    began = time.perf_counter()
    try:
        found = view.query(run.text, facts=run.facts)
        if isinstance(found, ox.QueryTriples):
            return refused("only SELECT and ASK are answered")
        if isinstance(found, ox.QueryBoolean):
            told: Any = ((), (), 0, True, bool(found))
        else:
            names = tuple(variable.value for variable in found.variables)
            told = (names, *_rows(found, names, run), None)
    except SyntaxError as error:
        return refused(_in_words(error))
    except (RuntimeError, ValueError, OSError) as error:
        return refused(f"the engine can't evaluate it: {_in_words(error)}")
    ms = 1000 * (time.perf_counter() - began)
    body = marshal.dumps((m.ROWS, view.seq, ms, *told))
    return body if len(body) <= MAX_ANSWER else marshal.dumps((m.TOO_LARGE,))


def parse(text: str) -> bytes:
    """Whether the engine can read a query; it runs on nothing."""
    try:
        ox.Store().query(text)
    except SyntaxError as error:
        return refused(_in_words(error))
    except (RuntimeError, ValueError, OSError):
        pass
    return marshal.dumps((m.DONE,))


def refused(why: str) -> bytes:
    """An answer that tells the caller what is wrong with the query."""
    return marshal.dumps((m.REFUSED, why))


def _rows(found: ox.QuerySolutions, names: tuple[str, ...], run: m.Run) -> tuple[list[tuple[Cell, ...]], int, bool]:
    """The rows that are asked for, how many there are, and whether all were counted."""
    end = run.counted if run.limit is None else min(run.counted, run.offset + run.limit)
    rows: list[tuple[Cell, ...]] = []
    size = total = 0
    for solution in found:
        if total == run.counted:
            return rows, total, False
        if run.offset <= total < end:
            row = tuple(_cells(solution, names))
            size += sum(len(cell[1]) for cell in row if cell)
            if size > MAX_ANSWER:
                raise MemoryError
            rows.append(row)
        total += 1
    return rows, total, True


def _cells(solution: ox.QuerySolution, names: Iterable[str]) -> Iterator[Cell]:
    for name in names:
        value: Any = solution[name]
        if value is None:
            yield None
        elif isinstance(value, ox.NamedNode):
            yield "uri", value.value
        elif isinstance(value, ox.Literal):
            yield _literal(value)
        elif isinstance(value, ox.BlankNode):
            yield "bnode", value.value
        else:
            yield "triple", str(value)


def _literal(value: ox.Literal) -> Cell:
    if value.language:
        return "literal", value.value, "", value.language
    datatype = value.datatype.value
    return ("literal", value.value) if datatype == _STRING else ("literal", value.value, datatype)


def _in_words(error: Exception) -> str:
    """What the engine says, in one line: of a text that it can't read where, and what it expected there. It lists all
    that might stand there; the first few tell enough."""
    said = " ".join(str(error).split())
    return said if len(said) <= _MOST_WORDS else f"{said[:_MOST_WORDS].rpartition(' ')[0]} and so on"
