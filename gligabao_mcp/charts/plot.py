"""Plot: the rows of an answer as a picture needs them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from gligabao_mcp.charts.days import day_of
from gligabao_mcp.charts.words import clean, local_name, number, short, titled

Kind = Literal["bar", "line", "scatter", "table"]
Place = str | float
"""Where on the x axis: a name, a number, or the days since 1970 of a date."""
Cell = Mapping[str, str]
Row = Mapping[str, Cell]

# More than these make no picture that can be read; the others are told of.
MOST_BARS = 60
MOST_GROUPS = 8
MOST_TABLE_ROWS = 60
MOST_TABLE_COLUMNS = 8
CELL_LENGTH = 60
OTHERS = "others"

# The distance of two that are larger may be infinite.
_LARGEST = 1e100
_FRACTIONS = ("#decimal", "#double", "#float")
_NUMBER = re.compile(r"-?[\d,]+(\.\d+)?(e[+-]\d+)?")
_MIDNIGHT = re.compile(r"T00:00:00(\.0+)?(Z|\+00:00)?$")


@dataclass(frozen=True, slots=True)
class Group:
    """The points of one series, in the order of the rows; of the only one the name is empty."""

    name: str
    points: Sequence[tuple[Place, float]]


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture to be drawn. Of a table, `columns` and `cells` are set; of the others, `x`, `y` and `groups`.

    `left_out` counts the rows that are not shown.
    """

    kind: Kind
    title: str = ""
    x: str = ""
    y: str = ""
    x_is: Literal["name", "number", "date"] = "name"
    groups: Sequence[Group] = ()
    columns: Sequence[str] = ()
    cells: Sequence[Sequence[str]] = ()
    left_out: int = 0

    @property
    def note(self) -> str:
        """What stands below where rows are left out."""
        return "1 more row is not shown" if self.left_out == 1 else f"{self.left_out:,} more rows are not shown"

    def holds_numbers(self, column: int) -> bool:
        """Whether a column of the table holds nothing but numbers."""
        cells = [row[column] for row in self.cells if row[column]]
        return bool(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)


def plot_of(body: Mapping[str, Any], question: str) -> Plot | None:
    """The picture of an answer, a response of POST /v1/query/ask; None where it has no rows, or none that make one."""
    chart = _object(_object(body, "answer"), "chart")
    document = json.loads(_object(body, "result").get("results") or "{}")
    columns: list[str] = _object(document, "head").get("vars") or []
    rows: list[Row] = _object(document, "results").get("bindings") or []
    if not chart or not rows or not columns:
        return None
    of_table = chart["kind"] == "table"
    made = _table(columns, rows) if of_table else _points(chart, columns, rows)
    total = _object(_object(body, "result"), "row_page").get("total", len(rows))
    return made and replace(made, title=clean(question), left_out=made.left_out + total - len(rows))


def _object(of: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return of.get(name) or {}


# Tables ---------------------------------------------------------------------------------------------------------------


def _table(columns: Sequence[str], rows: Sequence[Row]) -> Plot:
    shown = _without_named(columns, rows)[:MOST_TABLE_COLUMNS]
    cells = [[_text(row.get(column)) for column in shown] for row in rows[:MOST_TABLE_ROWS]]
    left_out = max(0, len(rows) - MOST_TABLE_ROWS)
    titles = [titled(_titling(column, columns, rows)) for column in shown]
    return Plot("table", columns=titles, cells=cells, left_out=left_out)


def _without_named(columns: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """The columns without those of IRIs that another one has the names of."""
    named = {column for column in columns if _name_column(column, columns, rows)}
    return [column for column in columns if column not in named] or list(columns)


def _text(cell: Cell | None) -> str:
    if cell is None:
        return ""
    text = local_name(cell["value"]) if cell["type"] == "uri" else cell["value"]
    value = _number(cell) if cell.get("datatype", "").endswith(_FRACTIONS) else None
    return short(_MIDNIGHT.sub("", clean(text)) if value is None else number(value), CELL_LENGTH)


# Points ---------------------------------------------------------------------------------------------------------------


def _points(chart: Mapping[str, Any], columns: Sequence[str], rows: Sequence[Row]) -> Plot | None:
    x, y, series = chart["x"], chart["y"], chart.get("series")
    x_shown, series_shown = _shown(x, columns, rows), _shown(series, columns, rows) if series else None
    kept = [row for row in rows if _number(row.get(y)) is not None and x_shown in row]
    if not kept:
        return None
    axis = _axis(chart["kind"], [row[x_shown] for row in kept])
    named: dict[str, list[tuple[Place, float]]] = {}
    for row in kept:
        name = _text(row.get(series_shown)) if series_shown else ""
        value = _number(row.get(y))
        assert value is not None
        named.setdefault(name, []).append((_place(row[x_shown], axis), value))
    groups = _few([Group(name, tuple(points)) for name, points in named.items()])
    if axis != "name" and chart["kind"] == "line":
        groups = [Group(group.name, sorted(group.points)) for group in groups]
    if chart["kind"] == "bar":
        groups = [Group(group.name, group.points[: max(1, MOST_BARS // len(groups))]) for group in groups]
    shown = sum(len(group.points) for group in groups)
    of_x = _axis_title(_titling(x_shown, columns, rows))
    left_out = len(rows) - shown
    return Plot(chart["kind"], x=of_x, y=_axis_title(y), x_is=axis, groups=groups, left_out=left_out)


def _axis_title(column: str) -> str:
    """The title of an axis; empty for a letter, which says nothing."""
    title = titled(column)
    return title if len(title) > 1 else ""


def _few(groups: list[Group]) -> list[Group]:
    """The groups, the last of many as one."""
    if len(groups) <= MOST_GROUPS:
        return groups
    rest = [point for group in groups[MOST_GROUPS - 1 :] for point in group.points]
    return [*groups[: MOST_GROUPS - 1], Group(OTHERS, rest)]


def _shown(column: str, columns: Sequence[str], rows: Sequence[Row]) -> str:
    """The column itself, or the one that has the names of its records."""
    return _name_column(column, columns, rows) or column


def _name_column(column: str, columns: Sequence[str], rows: Sequence[Row]) -> str | None:
    """The column that names the records of this one: a text for each, the same for the same record, and another for
    another. None where it holds no records, or they go without names."""
    if not all(row[column]["type"] == "uri" for row in rows if column in row):
        return None
    return next((other for other in columns if other != column and _names(column, other, rows)), None)


def _titling(column: str, columns: Sequence[str], rows: Sequence[Row]) -> str:
    """The column whose name says what is in this one: that of the records that it names, where that is a word."""
    return next((of for of in columns if len(of) > 1 and _name_column(of, columns, rows) == column), column)


def _names(column: str, other: str, rows: Sequence[Row]) -> bool:
    pairs = {(row[column]["value"], row[other]["value"]) for row in rows if column in row and other in row}
    both = [row for row in rows if column in row and other in row]
    texts = all(row[other]["type"] == "literal" and _is_words(row[other]) for row in both)
    return bool(both) and texts and len(pairs) == len({iri for iri, _ in pairs}) == len({name for _, name in pairs})


def _is_words(cell: Cell) -> bool:
    return cell.get("datatype", "").endswith("#string") or "datatype" not in cell


def _axis(kind: str, cells: Sequence[Cell]) -> Literal["name", "number", "date"]:
    if kind == "bar":
        return "name"
    if kind == "line" and all(day_of(cell["value"]) is not None for cell in cells):
        return "date"
    return "number" if all(_number(cell) is not None for cell in cells) else "name"


def _place(cell: Cell, axis: Literal["name", "number", "date"]) -> Place:
    place = day_of(cell["value"]) if axis == "date" else _number(cell) if axis == "number" else None
    return _text(cell) if place is None else place


def _number(cell: Cell | None) -> float | None:
    try:
        value = float(cell["value"]) if cell is not None and cell["type"] == "literal" else math.nan
    except ValueError:
        return None
    return value if abs(value) < _LARGEST else None  # not a number is neither
