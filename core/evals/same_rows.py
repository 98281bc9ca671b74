"""same_rows: whether two queries hold the same rows, as a person would say it.

- A row is what it says. Names of variables, the order of columns and of rows, and how often a row comes, do not count.
- An answer may say more: columns that the golden query has not are passed over. Where the golden names no record, they
  may not make more rows: five services of level 3 do not say that there are 3.
- 2, 2.0 and "2" are one number; language tags do not count; blank nodes are all alike. An ASK says the same as a SELECT
  of true or false alone.
- A record is its IRI or its name: where one query has the IRI and the other the name, or one has both, it is the same
  record. `names` tells which text is a name of which record: a mail address or any other text is never taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property

from core.evals.results import QueryCheck
from core.rdf.terms import Solutions, Term
from core.rdf.vocabulary import XSD

Said = tuple[str, str] | None
"""A value of a row: its kind and what it says; None where it is unbound."""
Column = Sequence[Said]
Names = Mapping[str, Sequence[str]]
"""The names of records by their IRIs, the one to show first."""

_SIZES = ("long", "int", "short", "byte")
_NUMBERS = {
    f"{XSD}{name}"
    for name in (
        *("integer", "decimal", "double", "float", *_SIZES, *(f"unsigned{size.title()}" for size in _SIZES)),
        *("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
    )
}
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_TEXTS = {"", f"{XSD}string"}
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")  # not 007, which is a code
_MOST_DIGITS = 40
# Digits to which two numbers are compared: sums of fractions differ in the last ones.
_DIGITS = 12
# Pairs of columns that are tried: of many columns with equal values not every order is.
_MOST_PAIRS = 5_000


@dataclass(frozen=True, slots=True)
class _Need:
    """A column of the golden query, or another that says the same."""

    name: str
    columns: Sequence[Column]


@dataclass(frozen=True)
class _Offer:
    """A column of the answer."""

    name: str
    column: Column

    @cached_property
    def values(self) -> set[Said]:
        """What stands in it."""
        return set(self.column)


def same_rows(golden: Solutions, answer: Solutions, names: Names | None = None) -> QueryCheck:
    """How many rows both hold, and how many only one of them."""
    if golden.boolean is not None or answer.boolean is not None:
        return _same_booleans(golden, answer)
    if not golden.rows or not answer.rows:
        return QueryCheck(same=0, missing=len(_distinct(golden)), extra=len(_distinct(answer)))
    needs, offers = _needs(golden, names or {}), _offers(answer, names or {})
    checks = map(_check, _pairings(needs, offers, iter(range(_MOST_PAIRS))))
    check = next((check for check in checks if check.passed), None) or _closest(golden, answer, needs, offers)
    more = len(_distinct(answer)) - len(_distinct(golden))
    if check.passed and more > 0 and not records_of(golden):
        return QueryCheck(same=check.same, missing=0, extra=more)
    return check


def records_of(solutions: Solutions) -> set[str]:
    """The IRIs in the rows."""
    return {term.value for row in solutions.rows for term in row.values() if term.kind == "uri"}


def _yes_or_no(solutions: Solutions) -> bool | None:
    """What an ASK answers, and a SELECT of a single true or false; None for what is none."""
    if solutions.boolean is not None or len(solutions.rows) != 1:
        return solutions.boolean
    terms = list(solutions.rows[0].values())
    return _BOOLEANS.get(terms[0].value) if len(terms) == 1 and terms[0].datatype == f"{XSD}boolean" else None


def _same_booleans(golden: Solutions, answer: Solutions) -> QueryCheck:
    if _yes_or_no(golden) == _yes_or_no(answer):
        return QueryCheck(same=1, missing=0, extra=0)
    missing = 1 if golden.boolean is not None else len(_distinct(golden))
    return QueryCheck(same=0, missing=missing, extra=1 if answer.boolean is not None else len(_distinct(answer)))


def _distinct(solutions: Solutions) -> set[tuple[Said, ...]]:
    return set(zip(*(_column(solutions, name) for name in solutions.variables), strict=True))


# What is said ---------------------------------------------------------------------------------------------------------


def _column(solutions: Solutions, name: str) -> list[Said]:
    return [_said(row.get(name)) for row in solutions.rows]


def _said(term: Term | None) -> Said:
    if term is None:
        return None
    if term.kind == "bnode":
        return ("bnode", "")
    if term.kind == "literal":
        if (value := _number(term)) is not None:
            return ("number", value)
        boolean = _BOOLEANS.get(term.value) if term.datatype == f"{XSD}boolean" else None
        return ("text", term.value if boolean is None else str(boolean).lower())
    return (term.kind, term.value)


def _number(term: Term) -> str | None:
    """The number as text, the same for the same number; None for what is none."""
    if term.datatype not in _NUMBERS and (term.datatype not in _TEXTS or not _PLAIN_NUMBER.fullmatch(term.value)):
        return None
    try:
        value = Decimal(term.value)
    except InvalidOperation:
        return None
    if not value.is_finite() or abs(value.adjusted()) > _MOST_DIGITS:
        return None
    whole = value == value.to_integral_value()
    return str(int(value)) if whole else f"{float(value):.{_DIGITS}g}"


# Which columns say the same -------------------------------------------------------------------------------------------


def _needs(golden: Solutions, names: Names) -> list[_Need]:
    """What an answer has to say: a column each, but one for a record and its name."""
    columns = {name: _column(golden, name) for name in golden.variables}
    of_record = {
        text: record
        for text, said in columns.items()
        for record, iris in columns.items()
        if record != text and _is_name(said, iris, names)
    }
    return [
        _Need(
            name, [column, *(columns[text] for text in columns if of_record.get(text) == name), *_named(column, names)]
        )
        for name, column in columns.items()
        if name not in of_record
    ]


def _offers(answer: Solutions, names: Names) -> list[_Offer]:
    """What the answer says: its columns, and the names of its records."""
    columns = [(name, _column(answer, name)) for name in answer.variables]
    return [_Offer(name, said) for name, column in columns for said in (column, *_named(column, names))]


def _is_name(texts: Column, iris: Column, names: Names) -> bool:
    """Whether the one column holds nothing but names of the records in the other."""
    pairs = [(text, iri) for text, iri in zip(texts, iris, strict=True) if text is not None and iri is not None]
    return bool(pairs) and all(iri[0] == "uri" and text[1] in names.get(iri[1], ()) for text, iri in pairs)


def _named(column: Column, names: Names) -> Iterable[Column]:
    """The column with names in the place of records, where all have one."""
    if all(said is None or (said[0] == "uri" and names.get(said[1])) for said in column):
        yield [None if said is None else ("text", names[said[1]][0]) for said in column]


def _pairings(
    needs: Sequence[_Need], offers: Sequence[_Offer], tries: Iterator[int]
) -> Iterator[list[tuple[Column, Column]]]:
    """The ways to find each need in a column of its own that holds the same values, until `tries` ends."""
    if not needs:
        yield []
        return
    first, rest = needs[0], needs[1:]
    for column in first.columns:
        values = set(column)
        for offer in sorted(offers, key=lambda offer: offer.name != first.name):
            if values == offer.values and next(tries, None) is not None:
                left = [other for other in offers if other is not offer]
                yield from ([(column, offer.column), *pairs] for pairs in _pairings(rest, left, tries))


def _closest(golden: Solutions, answer: Solutions, needs: Sequence[_Need], offers: Sequence[_Offer]) -> QueryCheck:
    """The rows that agree where each need is found in the column that holds most of its values."""
    left, pairs = list(offers), list[tuple[Column, Column]]()
    for need in needs:
        found = max(
            (
                (_shared(set(column), offer.values), offer.name == need.name, column, offer)
                for column in need.columns
                for offer in left
            ),
            key=lambda one: one[:2],
            default=None,
        )
        if found is None or not found[0]:
            return QueryCheck(same=0, missing=len(_distinct(golden)), extra=len(_distinct(answer)))
        left.remove(found[3])
        pairs.append((found[2], found[3].column))
    return _check(pairs)


def _shared(values: set[Said], others: set[Said]) -> float:
    return len(values & others) / len(values | others)


def _check(pairs: Sequence[tuple[Column, Column]]) -> QueryCheck:
    """The rows of the paired columns, each counted once."""
    ours = set(zip(*(need for need, _ in pairs), strict=True))
    theirs = set(zip(*(offer for _, offer in pairs), strict=True))
    return QueryCheck(same=len(ours & theirs), missing=len(ours - theirs), extra=len(theirs - ours))
