"""The rows of an answer as items: each with an id that stays the same wherever and whenever the row comes back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from core.evals.trace import EvalItem, EvalItems, Surface
from core.rdf.terms import Row, Solutions, Term

# Rows that a trace shows; all of them count.
SHOWN_ITEMS = 100
# Characters of a value that a trace keeps of each row.
VALUE_KEPT = 1_000
LABEL_KEPT = 200


def items_of(solutions: Solutions, surface: Surface) -> EvalItems:
    """The rows as items, the first 100 of them shown."""
    ids = ids_of(solutions, surface)
    count = len(ids) if solutions.boolean is not None else max(solutions.total, len(ids))
    digest = _digest("\n".join(sorted(set(ids))))
    return EvalItems(item_count=count, items_blake3=digest, items=each_item(solutions, surface)[:SHOWN_ITEMS])


def each_item(solutions: Solutions, surface: Surface) -> tuple[EvalItem, ...]:
    """Each row as an item."""
    ids = ids_of(solutions, surface)
    if solutions.boolean is not None:
        return (EvalItem(id=ids[0], rank=0, label=str(solutions.boolean).lower(), value=solutions.boolean),)
    rows = zip(solutions.rows, ids, strict=True)
    return tuple(_item(row, id_, rank, solutions.variables) for rank, (row, id_) in enumerate(rows))


def ids_of(solutions: Solutions, surface: Surface) -> list[str]:
    """The id of each row. To a question a row is the record that it names, else its values; to a query it is all of its
    values. The names of the variables count for neither."""
    if solutions.boolean is not None:
        return ["ask:true" if solutions.boolean else "ask:false"]
    if surface == "sparql":
        return [_digest(_values(row, solutions.variables)) for row in solutions.rows]
    return [_answer_id(row, solutions.variables) for row in solutions.rows]


def _answer_id(row: Row, variables: Sequence[str]) -> str:
    iri = _named(row, variables)
    return f"e:{_digest(iri)}" if iri else f"v:{_digest(_values(row, variables))}"


def _named(row: Row, variables: Sequence[str]) -> str | None:
    """The record that a row names: its first IRI."""
    return next((row[name].value for name in variables if name in row and row[name].kind == "uri"), None)


def _values(row: Row, variables: Iterable[str]) -> str:
    return json.dumps([list(row[name]) if name in row else None for name in variables], separators=(",", ":"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _item(row: Row, id_: str, rank: int, variables: Sequence[str]) -> EvalItem:
    bound = [(name, row[name]) for name in variables if name in row]
    label = ", ".join(term.value for _, term in bound)
    value = {name: _cut(term).json() for name, term in bound}
    return EvalItem(id=id_, rank=rank, label=label[:LABEL_KEPT], value=value, iri=_named(row, variables))


def _cut(term: Term) -> Term:
    return term if len(term.value) <= VALUE_KEPT else term._replace(value=f"{term.value[:VALUE_KEPT]}…")
