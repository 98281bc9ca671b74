"""Chart hints against the rows that they are to draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from core.ask.charts import checked_chart
from core.evals.trace import Chart
from core.rdf.terms import Solutions, Term
from core.rdf.vocabulary import XSD
from tests.requirements import requirement


def term(value: object) -> Term:
    if isinstance(value, bool | int | float):
        return Term("literal", str(value), XSD + ("integer" if isinstance(value, int) else "decimal"))
    text = str(value)
    if "^^" in text:
        lexical, datatype = text.split("^^")
        return Term("literal", lexical, XSD + datatype)
    return Term("literal", text)


def rows(*found: Mapping[str, object], boolean: bool | None = None) -> Solutions:
    names = list(dict.fromkeys(name for row in found for name in row))
    terms = [{name: term(value) for name, value in row.items()} for row in found]
    return Solutions(names, terms, len(terms), 1, 0.0, boolean=boolean)


def hint(kind: str, x: str | None = None, y: str | None = None, series: str | None = None) -> Chart:
    return Chart(kind=cast("Any", kind), x=x, y=y, series=series)


TEAMS = rows({"team": "payments", "n": 2, "share": 0.5}, {"team": "identity", "n": 1, "share": 0.25})


@requirement("chart.fields", "chart.checked")
@pytest.mark.parametrize(
    ("kind", "x", "y", "series"),
    [
        ("bar", "team", "n", None),
        ("line", "team", "n", None),
        ("line", "team", "n", "share"),
        ("scatter", "share", "n", None),
        ("table", None, None, None),
        ("table", "team", None, None),
    ],
)
def test_a_hint_that_fits_stays_as_it_is(kind: str, x: str | None, y: str | None, series: str | None) -> None:
    stated = hint(kind, x, y, series)
    assert checked_chart(stated, TEAMS) == stated


@requirement("chart.checked")
@pytest.mark.parametrize(
    ("kind", "x", "y", "series"),
    [
        ("bar", "team", "missing", None),
        ("bar", "team", "n", "missing"),
        ("bar", "team", None, None),
        ("bar", None, "n", None),
        ("bar", "n", "team", None),
        ("line", "n", "team", None),
        ("scatter", "team", "n", None),
        ("scatter", "n", "team", None),
        ("table", "missing", None, None),
    ],
)
def test_a_hint_that_does_not_fit_is_dropped(kind: str, x: str | None, y: str | None, series: str | None) -> None:
    assert checked_chart(hint(kind, x, y, series), TEAMS) is None


@requirement("chart.checked")
@pytest.mark.parametrize("value", ["7", "NaN^^double", "INF^^double", "x^^integer", "2026-01-01^^date"])
def test_what_only_looks_like_a_number_is_none(value: str) -> None:
    found = rows({"x": "a", "y": 1}, {"x": "b", "y": value})
    assert checked_chart(hint("bar", "x", "y"), found) is None


@requirement("chart.absent")
def test_one_number_a_yes_and_no_rows_make_no_chart() -> None:
    for kind in ("bar", "table"):
        assert checked_chart(hint(kind, "n", "n"), rows({"n": 7})) is None
        assert checked_chart(hint(kind, "n", "n"), rows()) is None
        assert checked_chart(hint(kind), rows(boolean=True)) is None
    assert checked_chart(None, TEAMS) is None


def test_a_row_without_a_value_leaves_a_gap() -> None:
    stated = hint("bar", "x", "y")
    assert checked_chart(stated, rows({"x": "a", "y": 1}, {"x": "b"})) == stated


@requirement("chart.bar-over-time")
@pytest.mark.parametrize(
    "values",
    [
        ["2024", "2025", "2026"],
        [2024, 2025],
        ["2026-04", "2026-05"],
        ["2026-04^^gYearMonth", "2026-05^^gYearMonth"],
        ["2024^^gYear", "2026^^gYear"],
        ["2026-01-31^^date", "2026-02-01^^date"],
        ["2026-01-31T08:00:00Z^^dateTime", "2026-02-01T00:00:00Z^^dateTime"],
    ],
)
def test_bars_over_dates_in_order_are_a_line(values: list[object]) -> None:
    found = rows(*({"when": value, "n": 1} for value in values))
    assert checked_chart(hint("bar", "when", "n"), found) == hint("line", "when", "n")


@requirement("chart.bar-over-time")
@pytest.mark.parametrize("values", [["2026", "2025"], [1, 2, 3], ["2026-04", "May"], ["2026", "2026"]])
def test_bars_over_anything_else_stay_bars(values: list[object]) -> None:
    found = rows(*({"when": value, "n": 1} for value in values))
    assert checked_chart(hint("bar", "when", "n"), found) == hint("bar", "when", "n")


@requirement("chart.bar-over-time")
def test_each_series_has_an_order_of_its_own() -> None:
    found = rows(*({"team": team, "when": when, "n": 1} for team in ("a", "b") for when in ("2025", "2026")))
    assert checked_chart(hint("bar", "when", "n", "team"), found) == hint("line", "when", "n", "team")
