"""Chart hints of the model, checked against the rows that they are to draw."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from core.evals.trace import Chart
from core.rdf.terms import Solutions, Term
from core.rdf.vocabulary import XSD

_NUMBER = re.compile(
    re.escape(XSD) + "(decimal|double|float|(unsigned)?(int|long|short|byte)|((non)?(negative|positive))?integer)", re.I
)
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2}([T ].*)?)?)?(Z|[+-]\d{2}:\d{2})?")
# A whole number is read as a year only among these.
_YEARS = range(1500, 2200)


def checked_chart(hint: Chart | None, rows: Solutions) -> Chart | None:
    """The hint where it fits the rows; bars over dates in their order become a line. None for a hint that names a
    missing column or draws what is no number, and where there is nothing to draw: no row, one number, a yes or no."""
    if hint is None or rows.boolean is not None or not rows.rows:
        return None
    if any(name not in rows.variables for name in (hint.x, hint.y, hint.series) if name is not None):
        return None
    if hint.kind == "table":
        return hint if len(rows.rows) > 1 or len(rows.variables) > 1 else None
    if hint.x is None or hint.y is None or len(rows.rows) < 2:
        return None
    drawn = (hint.x, hint.y) if hint.kind == "scatter" else (hint.y,)
    if not all(_holds_numbers(_column(rows, name)) for name in drawn):
        return None
    over_time = hint.kind == "bar" and all(map(_runs_in_time, _lines(hint, rows)))
    return hint.model_copy(update={"kind": "line"}) if over_time else hint


def _column(rows: Solutions, name: str) -> list[Term]:
    return [row[name] for row in rows.rows if name in row]


def _holds_numbers(values: Sequence[Term]) -> bool:
    return bool(values) and all(_is_number(value) for value in values)


def _is_number(value: Term) -> bool:
    if not _NUMBER.fullmatch(value.datatype):
        return False
    try:
        return math.isfinite(float(value.value))
    except ValueError:
        return False


def _lines(hint: Chart, rows: Solutions) -> list[list[Term]]:
    """The values of x in the order of the rows, those of each series by themselves."""
    lines: dict[Term | None, list[Term]] = {}
    for row in rows.rows:
        series = row.get(hint.series) if hint.series else None
        if hint.x is not None and hint.x in row:
            lines.setdefault(series, []).append(row[hint.x])
    return list(lines.values())


def _runs_in_time(values: Sequence[Term]) -> bool:
    return all(map(_is_date, values)) and all(one.value < next.value for one, next in pairwise(values))


def _is_date(value: Term) -> bool:
    if value.kind != "literal":
        return False
    if _NUMBER.fullmatch(value.datatype):
        return value.value.isdecimal() and int(value.value) in _YEARS
    return _DATE.fullmatch(value.value) is not None
