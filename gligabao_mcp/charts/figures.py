"""figure_of: a picture as a figure of matplotlib. Imported only where one is drawn."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from gligabao_mcp.charts.plot import Group, Plot
from gligabao_mcp.charts.words import distinct, number, short, tick

# Its functions are typed in part only: what comes of them is Any here.
_dates, _figure, _ticker = (
    cast("Any", importlib.import_module(f"matplotlib.{n}")) for n in ("dates", "figure", "ticker")
)
Figure = Any
Axes = Any

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart; the first is for a single series.
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442")
_INK, _QUIET, _GRID = "#222222", "#666666", "#E3E3E3"
_WIDTH, _HEIGHT = 8.0, 4.8
# Bars stand while there are few of them and their names are short; else they lie, each name on a line of its own.
_STANDING, _STANDING_NAME = 8, 14
_NAME_LENGTH = 36
_INCHES_PER_BAR, _LEAST_HEIGHT = 0.30, 2.6
_NUMBERED_BARS = 60
_MARKED_POINTS = 40
_MOST_TICKS = 24
_TITLE_WIDTH = 70
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def figure_of(plot: Plot) -> Figure:
    """The picture, as large as what it shows needs."""
    if plot.kind == "table":
        return _table(plot)
    if plot.kind == "bar":
        return _bars(plot)
    figure, axes = _framed(plot, _HEIGHT)
    if plot.kind == "line":
        _lines(axes, plot)
    else:
        _dots(axes, plot)
    return figure


def _framed(plot: Plot, height: float) -> tuple[Figure, Axes]:
    """An empty figure with its title, and axes without what draws the eye from the data."""
    title = textwrap.wrap(short(plot.title, 3 * _TITLE_WIDTH), _TITLE_WIDTH)
    figure = _figure.Figure(figsize=(_WIDTH, height + 0.2 * len(title)), layout="constrained")
    figure.suptitle("\n".join(title), x=0.01, ha="left", fontsize=12, fontweight="bold", color=_INK)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_QUIET)
    axes.tick_params(colors=_QUIET, labelcolor=_INK, length=3)
    axes.set_axisbelow(True)
    if plot.left_out:
        figure.supxlabel(plot.note, fontsize=8, color=_QUIET, x=0.99, ha="right")
    return figure, axes


def _tick(value: float, _: object) -> str:
    return tick(value)


def _legend(axes: Axes, plot: Plot) -> None:
    if len(plot.groups) > 1:
        axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))


# Bars -----------------------------------------------------------------------------------------------------------------


def _bars(plot: Plot) -> Figure:
    names, single = _places(plot.groups), len(plot.groups) == 1
    bars = len(names) * len(plot.groups)
    stands = bars <= _STANDING and all(len(name) <= _STANDING_NAME for name in names)
    height = _HEIGHT if stands else max(_LEAST_HEIGHT, _INCHES_PER_BAR * bars + 1.2)
    figure, axes = _framed(plot, height)
    thickness = (0.62 if stands else 0.72) / len(plot.groups)
    for index, group in enumerate(plot.groups):
        shift = (index - (len(plot.groups) - 1) / 2) * thickness
        at = [place + shift for place in _positions(group, names, single=single)]
        values = [value for _, value in group.points]
        options: dict[str, Any] = {"color": _COLORS[index], "label": group.name or None}
        drawn = axes.bar(at, values, thickness, **options) if stands else axes.barh(at, values, thickness, **options)
        if bars <= _NUMBERED_BARS:
            axes.bar_label(drawn, [number(value) for value in values], padding=3, fontsize=9, color=_INK)
    _name_axis(axes, plot, names, stands=stands)
    _legend(axes, plot)
    return figure


def _places(groups: Sequence[Group]) -> list[str]:
    """The names on the axis, in the order of the rows. In a single series each row has a bar of its own."""
    if len(groups) == 1:
        return [str(place) for place, _ in groups[0].points]
    return list(dict.fromkeys(str(place) for group in groups for place, _ in group.points))


def _positions(group: Group, names: Sequence[str], *, single: bool) -> list[int]:
    if single:
        return list(range(len(names)))
    where = {name: index for index, name in enumerate(names)}
    return [where[str(place)] for place, _ in group.points]


def _name_axis(axes: Axes, plot: Plot, names: Sequence[str], *, stands: bool) -> None:
    shown = distinct(names, _NAME_LENGTH)
    values = axes.yaxis if stands else axes.xaxis
    values.set_major_formatter(_ticker.FuncFormatter(_tick))
    values.set_major_locator(_ticker.MaxNLocator(nbins=6, integer=_whole(plot)))
    axes.grid(axis="y" if stands else "x", color=_GRID)
    axes.margins(**{"y" if stands else "x": 0.10})
    if stands:
        axes.set_xticks(range(len(names)), shown)
        axes.set_xlabel(plot.x, color=_QUIET)
        axes.set_ylabel(plot.y, color=_QUIET)
    else:
        axes.set_yticks(range(len(names)), shown)
        axes.set_ylim(len(names) - 0.4, -0.6)  # the first row is on top
        axes.set_xlabel(plot.y, color=_QUIET)
        axes.set_ylabel(plot.x, color=_QUIET)


def _whole(plot: Plot) -> bool:
    return all(value == int(value) for group in plot.groups for _, value in group.points)


# Lines and dots -------------------------------------------------------------------------------------------------------


def _lines(axes: Axes, plot: Plot) -> None:
    names = _places(plot.groups) if plot.x_is == "name" else []
    for index, group in enumerate(plot.groups):
        at = _along(plot, group, names)
        marker = "o" if len(group.points) <= _MARKED_POINTS else None
        values = [value for _, value in group.points]
        axes.plot(
            at, values, color=_COLORS[index], marker=marker, markersize=4.5, linewidth=2, label=group.name or None
        )
    if plot.x_is == "name":
        step = -(-len(names) // _MOST_TICKS)
        shown = distinct(names[::step], _STANDING_NAME)
        axes.set_xticks(range(0, len(names), step), shown, rotation=30, ha="right")
    _measured(axes, plot)


def _dots(axes: Axes, plot: Plot) -> None:
    for index, group in enumerate(plot.groups):
        at, values = zip(*group.points, strict=True)
        axes.scatter(at, values, s=36, color=_COLORS[index], alpha=0.8, edgecolors="white", label=group.name or None)
    _measured(axes, plot)


def _along(plot: Plot, group: Group, names: Sequence[str]) -> list[Any]:
    if plot.x_is == "name":
        return _positions(group, names, single=len(plot.groups) == 1)
    if plot.x_is == "date":
        return [_EPOCH + timedelta(days=float(place)) for place, _ in group.points]
    return [place for place, _ in group.points]


def _measured(axes: Axes, plot: Plot) -> None:
    axes.set_xlabel(plot.x, color=_QUIET)
    axes.set_ylabel(plot.y, color=_QUIET)
    axes.grid(color=_GRID)
    axes.yaxis.set_major_formatter(_ticker.FuncFormatter(_tick))
    axes.yaxis.set_major_locator(_ticker.MaxNLocator(nbins=6, integer=_whole(plot)))
    if plot.x_is == "date":
        locator = _dates.AutoDateLocator(minticks=3, maxticks=8)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(_dates.ConciseDateFormatter(locator))
    elif plot.x_is == "number":
        axes.xaxis.set_major_formatter(_ticker.FuncFormatter(_tick))
    values = [value for group in plot.groups for _, value in group.points]
    if plot.kind == "line" and min(values) >= 0 and (min(values) <= max(values) / 2 or len(values) == 1):
        axes.set_ylim(bottom=0)
    _legend(axes, plot)


# Tables ---------------------------------------------------------------------------------------------------------------

_LINE, _LETTER, _GAP = 0.27, 0.092, 0.25
_LEAST_WIDTH = 5.0
_LETTERS_ACROSS, _LEAST_CELL = 160, 12


def _table(plot: Plot) -> Figure:
    """The rows as text, each column as wide as its longest cell."""
    most = max(_LEAST_CELL, _LETTERS_ACROSS // len(plot.columns))
    lines = [[short(cell, most) for cell in line] for line in (plot.columns, *plot.cells)]
    widths = [max(len(line[index]) for line in lines) * _LETTER + _GAP for index in range(len(plot.columns))]
    width = max(_LEAST_WIDTH, sum(widths) + 0.4)
    title = textwrap.wrap(short(plot.title, 3 * _TITLE_WIDTH), int(width / _WIDTH * _TITLE_WIDTH))
    head = 0.25 * len(title) + 0.35
    height = head + _LINE * (len(lines) + 1)
    figure = _figure.Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.text(0.2, 0.2, "\n".join(title), va="top", fontsize=12, fontweight="bold", color=_INK)
    for row, line in enumerate(lines):
        _line(axes, line, widths, head + _LINE * row, plot, header=row == 0)
    if plot.left_out:
        axes.text(0.2, head + _LINE * (len(lines) + 0.4), plot.note, va="center", fontsize=8, color=_QUIET)
    return figure


def _line(axes: Axes, line: Sequence[str], widths: Sequence[float], top: float, plot: Plot, *, header: bool) -> None:
    left, end = 0.2, sum(widths) + 0.2
    axes.plot((left, end), (top + _LINE,) * 2, color=_QUIET if header else _GRID, linewidth=1.2 if header else 0.6)
    for index, (cell, width) in enumerate(zip(line, widths, strict=True)):
        right = plot.holds_numbers(index)
        axes.text(
            left + (width - _GAP if right else 0),
            top + _LINE / 2,
            cell,
            ha="right" if right else "left",
            va="center",
            fontsize=9.5,
            fontweight="bold" if header else "normal",
            color=_INK,
        )
        left += width
