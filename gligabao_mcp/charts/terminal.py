"""shown_in_terminal: a picture as lines of text. Lines and dots are drawn by plotext; bars and tables need nothing."""

from __future__ import annotations

import importlib
import math
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from unicodedata import combining, east_asian_width

from core.errors import InvalidRequest
from gligabao_mcp.charts.plot import Plot
from gligabao_mcp.charts.words import distinct, number, short, tick

DEFAULT_WIDTH = 80
_LEAST_WIDTH = 40
_HEIGHT = 20
_NAME_SHARE = 0.4
_LEAST_CELL = 6
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_GAP = "  "
_TICKS = 5
# One for each series: text has no colours.
_MARKERS = ("●", "x", "+", "○", "#", "*", "%", "@")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def shown_in_terminal(plot: Plot, width: int = DEFAULT_WIDTH) -> str:
    """The picture as text, at most so many columns wide, without colours.

    Raises InvalidRequest for lines and dots where plotext is not installed.
    """
    width = max(_LEAST_WIDTH, width)
    body = {"table": _table, "bar": _bars, "line": _dotted, "scatter": _dotted}[plot.kind](plot, width)
    return "\n".join([*textwrap.wrap(plot.title, width), "", *body, *([plot.note] if plot.left_out else [])])


# Bars -----------------------------------------------------------------------------------------------------------------


def _bars(plot: Plot, width: int) -> list[str]:
    """A line for each bar: its name, the bar, its number."""
    rows = _bar_rows(plot)
    values = [value for _, _, value in rows]
    low, high = min(0.0, *values), max(0.0, *values)
    numbers = [number(value) for value in values]
    most = int(width * _NAME_SHARE)
    names = _as_wide(distinct([name for name, _, _ in rows], most), most)
    groups = _as_wide([group for _, group, _ in rows], most // 2)
    used = columns_of(names[0] + groups[0]) + max(map(len, numbers)) + len(_GAP) * (3 if groups[0] else 2)
    per_column = (high - low) / max(1, width - used) or 1.0
    lines: list[str] = []
    for name, group, value, said in zip(names, groups, values, numbers, strict=True):
        beside = f"{name}{_GAP}{group}{_GAP}" if group else f"{name}{_GAP}"
        lines.append(f"{beside}{_bar(value, low, per_column)} {said}")
    return lines


def _bar_rows(plot: Plot) -> list[tuple[str, str, float]]:
    """Name, series and value of each bar; of those with the same name only the first tells it."""
    if len(plot.groups) == 1:
        return [(str(name), "", value) for name, value in plot.groups[0].points]
    rows = [(str(name), group.name, value) for group in plot.groups for name, value in group.points]
    order = list(dict.fromkeys(name for name, _, _ in rows))
    rows.sort(key=lambda row: order.index(row[0]))
    return [("" if index and rows[index - 1][0] == row[0] else row[0], *row[1:]) for index, row in enumerate(rows)]


def _bar(value: float, low: float, per_column: float) -> str:
    """The bar in eighths of a column; where there are negative ones, they end where the others begin."""
    eighths = round(abs(value) / per_column * 8)
    if value < 0:
        columns = max(1, round(eighths / 8))
        return f"{'█' * columns}".rjust(round(-low / per_column))
    bar = "█" * (eighths // 8) + _EIGHTHS[eighths % 8]
    return " " * round(-low / per_column) + (bar or _EIGHTHS[value > 0])


# Tables ---------------------------------------------------------------------------------------------------------------


def _table(plot: Plot, width: int) -> list[str]:
    cells = [[title, *(row[index] for row in plot.cells)] for index, title in enumerate(plot.columns)]
    wide = [max(map(columns_of, column)) for column in cells]
    room = width - len(_GAP) * (len(cells) - 1)
    while sum(wide) > room and max(wide) > _LEAST_CELL:
        wide[wide.index(max(wide))] -= 1
    columns = [
        [_padded(cell, most, right=plot.holds_numbers(index)) for cell in column]
        for index, (column, most) in enumerate(zip(cells, wide, strict=True))
    ]
    lines = [_GAP.join(cells).rstrip() for cells in zip(*columns, strict=True)]
    return [lines[0], _GAP.join("─" * most for most in wide), *lines[1:]]


def _as_wide(texts: Sequence[str], most: int) -> list[str]:
    """The texts, each as wide as the widest of them."""
    columns = min(most, max(map(columns_of, texts)))
    return [_padded(text, columns) for text in texts]


def _padded(text: str, columns: int, *, right: bool = False) -> str:
    while columns_of(text) > columns:
        text = short(text, len(text) - 1)
    space = " " * (columns - columns_of(text))
    return space + text if right else text + space


def columns_of(text: str) -> int:
    """How many columns of a terminal the text takes."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


# Lines and dots -------------------------------------------------------------------------------------------------------


def dotting_library() -> Any:
    """plotext. Raises InvalidRequest where it is not installed."""
    try:
        return importlib.import_module("plotext")
    except ModuleNotFoundError:
        raise InvalidRequest("chart: lines need plotext: install gligabao-mcp[charts]", param="chart") from None


def _dotted(plot: Plot, width: int) -> list[str]:
    plotext = dotting_library()
    names = list(dict.fromkeys(str(place) for group in plot.groups for place, _ in group.points))
    terminal, figure = plotext.terminal, plotext.figure  # one for the process: what it held before is cleared
    figure.clear()
    terminal.limit(False, False)
    figure.plot_size(width, _HEIGHT)
    markers = ["braille" if plot.kind == "line" else "●"] if len(plot.groups) == 1 else _MARKERS
    for group, marker in zip(plot.groups, markers, strict=False):
        at = [_where(place, names) for place, _ in group.points]
        signal = figure.signal(at, [value for _, value in group.points], marker=marker)
        figure.draw(signal.lines(plot.kind == "line"))
    _label_axes(figure, plot, names)
    text = cast("str", figure.build().string(colorless=True))
    figure.clear()
    legend = [f"{marker} {group.name}" for group, marker in zip(plot.groups, markers, strict=False) if group.name]
    return [*textwrap.wrap((_GAP * 2).join(legend), width), *text.rstrip("\n").split("\n")]


def _where(place: str | float, names: Sequence[str]) -> float:
    return float(names.index(place)) if isinstance(place, str) else place


def _label_axes(figure: Any, plot: Plot, names: Sequence[str]) -> None:
    figure.label(plot.x, "x")
    figure.label(plot.y, "y")
    values = [value for group in plot.groups for _, value in group.points]
    _ruled(figure.ruler("y"), min(values), max(values))
    at = [_where(place, names) for group in plot.groups for place, _ in group.points]
    low, high = min(at), max(at)
    if plot.x_is == "name":
        step = -(-len(names) // _TICKS)
        figure.ruler("x").ticks(list(range(0, len(names), step)), distinct(names[::step], 12))
    elif plot.x_is == "date":
        days = sorted(set(at))
        days = days[:: -(-len(days) // _TICKS)]
        figure.ruler("x").ticks(days, [_day(place, high - low) for place in days])
    else:
        _ruled(figure.ruler("x"), low, high)


def _ruled(ruler: Any, low: float, high: float) -> None:
    """Puts the ticks on round numbers, from the one below the lowest value to the one above the highest."""
    rough = (high - low) / (_TICKS - 1) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    places = [round(place * step, 12) for place in range(first, last + 1)]
    ruler.lim(places[0], places[-1])
    ruler.ticks(places, [tick(place) for place in places])


def _day(place: float, span: float) -> str:
    moment = _EPOCH + timedelta(days=place)
    years, months, days = span > 365 * 8, span > 120, span > 3 or not span
    return moment.strftime("%Y" if years else "%Y-%m" if months else "%Y-%m-%d" if days else "%m-%d %H:%M")
