"""What a step found, as the model reads it: at most 30 rows, their values cut at 200 characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from core.compare.comparing import Compared
from core.compare.pairing import Change
from core.rdf.terms import Row, Solutions, Term
from core.rdf.vocabulary import RDF, XSD
from core.text import one_line

MAX_ROWS = 30
MAX_VALUE = 200
CHANGE_ROWS = 3
"""Rows of a change, at each point."""

_BARE = frozenset(XSD + name for name in ("integer", "decimal", "double", "float", "boolean"))
_PLAIN = ("", XSD + "string", RDF + "langString")


def told_rows(found: Solutions, limit: int) -> str:
    """The number of rows and the first of them; of an ASK, its yes or no."""
    if found.boolean is not None:
        return "yes" if found.boolean else "no"
    if not found.rows:
        return "0 rows"
    return "\n".join([_counted(found, limit), *table(found.variables, found.rows)])


def shown_rows(found: Solutions) -> Sequence[Row]:
    """The rows of it that the model reads."""
    return found.rows[:MAX_ROWS]


def table(variables: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """The first 30 rows under the names of their columns, split by tabs."""
    yield "\t".join(f"?{name}" for name in variables)
    for row in islice(rows, MAX_ROWS):
        yield "\t".join(told_term(row[name]) if name in row else "" for name in variables)


def told_row(row: Row) -> str:
    """One row in words of its own: each value with its name."""
    return ", ".join(f"?{name} {told_term(term)}" for name, term in row.items())


def told_term(term: Term) -> str:
    """A value on one line, cut where it is long."""
    value = one_line(term.value, MAX_VALUE)
    if term.kind == "uri":
        return f"<{value}>"
    if term.kind != "literal" or term.datatype in _BARE:
        return value
    if term.language:
        return f'"{value}"@{term.language}'
    return f'"{value}"' if term.datatype in _PLAIN else f'"{value}"^^{_type(term.datatype)}'


def told_difference(compared: Compared) -> str:
    """How much differs, and the first 30 entries of each list."""
    return "\n".join(_differences(compared))


def shown_differences(compared: Compared) -> list[Row]:
    """The rows of it that the model reads."""
    found = compared.difference
    changed = [row for change in found.changed[:MAX_ROWS] for row in _rows_of(change)]
    return [*found.added[:MAX_ROWS], *found.removed[:MAX_ROWS], *changed]


def iris_of(rows: Iterable[Row]) -> Iterator[str]:
    """The records in the rows, in their order."""
    for row in rows:
        for term in row.values():
            if term.kind == "uri":
                yield term.value


def _counted(found: Solutions, limit: int) -> str:
    total = f"{found.total}{'' if found.complete else ' or more'} row{'' if found.total == 1 else 's'}"
    if found.total > limit:
        total += f", {limit} of which are returned"
    shown = len(shown_rows(found))
    return total if shown >= found.total else f"{total}; the first {shown}:"


def _type(datatype: str) -> str:
    return f"xsd:{datatype[len(XSD) :]}" if datatype.startswith(XSD) else f"<{datatype}>"


def _differences(compared: Compared) -> Iterator[str]:
    found = compared.difference
    yield (
        f"{len(found.added)} added, {len(found.removed)} removed, {len(found.changed)} changed, "
        f"{found.unchanged} unchanged"
    )
    for name, rows in (("added", found.added), ("removed", found.removed)):
        if rows:
            yield f"{name}:"
            yield from table(compared.variables, rows)
    if found.changed:
        yield "changed:"
    for change in found.changed[:MAX_ROWS]:
        before, after = (" | ".join(map(told_row, rows[:CHANGE_ROWS])) for rows in (change.before, change.after))
        yield f"{told_row(change.key)}: {before or 'nothing'} -> {after or 'nothing'}"
    yield from compared.notes


def _rows_of(change: Change) -> list[Row]:
    return [change.key, *change.before[:CHANGE_ROWS], *change.after[:CHANGE_ROWS]]
