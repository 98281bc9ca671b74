"""Pictures of answers: what is in the file and on the screen is what is in the rows."""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import InvalidRequest
from gligabao_mcp.charts import Plot, check, draw, plot_of, shown, shown_in_terminal
from gligabao_mcp.charts.terminal import columns_of
from gligabao_mcp.charts.words import clean, distinct, number, titled
from tests.processes import ROOT
from tests.requirements import requirement

XSD = "http://www.w3.org/2001/XMLSchema#"
E = "https://shop.test/e/"
HOW_MANY = "How many services does each team run?"
BAR = {"kind": "bar", "x": "team", "y": "n"}
LINE = {"kind": "line", "x": "month", "y": "n"}
MONTHS = [(f"2026-{month:02}", 10 + month) for month in range(1, 13)]


def cell(value: object) -> dict[str, str]:
    if isinstance(value, int | float) and math.isfinite(value):
        return {
            "type": "literal",
            "value": str(value),
            "datatype": XSD + ("integer" if value == int(value) else "decimal"),
        }
    return {"type": "uri" if str(value).startswith("https:") else "literal", "value": str(value)}


def answered(chart: dict[str, str] | None, columns: str, *rows: Sequence[object]) -> dict[str, Any]:
    """The response of a question with that hint; the columns by their names, None for what is unbound."""
    names = columns.split()
    bindings = [
        {name: cell(value) for name, value in zip(names, row, strict=True) if value is not None} for row in rows
    ]
    document = {"head": {"vars": names}, "results": {"bindings": bindings}}
    return {"answer": {"text": "", "chart": chart}, "result": {"results": json.dumps(document)}}


def plot(chart: dict[str, str], columns: str, *rows: Sequence[object], question: str = HOW_MANY) -> Plot:
    made = plot_of(answered(chart, columns, *rows), question)
    assert made is not None
    return made


TEAMS = plot(
    BAR, "team label n", (f"{E}pay", "payments team", 2), (f"{E}id", "identity team", 1), (f"{E}ops", "operations", 7)
)


def drawn(made: Plot, folder: Path) -> ElementTree.Element:
    draw(made, folder / "out.svg")
    return ElementTree.parse(folder / "out.svg").getroot()


def texts(svg: ElementTree.Element) -> list[str]:
    return ["".join(node.itertext()) for node in svg.iter("{http://www.w3.org/2000/svg}text")]


def filled(svg: ElementTree.Element, color: str = "#0072b2") -> int:
    """How many shapes of that colour there are."""
    shapes = svg.iter("{http://www.w3.org/2000/svg}path")
    return sum(f"fill: {color}" in shape.get("style", "") for shape in shapes)


@requirement("chart.fields")
def test_a_bar_for_each_row_with_the_names_of_the_records(tmp_path: Path) -> None:
    svg = drawn(TEAMS, tmp_path)
    assert filled(svg) == 3
    assert {"payments team", "identity team", "operations", "2", "1", "7", HOW_MANY, "Team", "Count"} <= set(texts(svg))
    assert not any("shop.test" in text for text in texts(svg))


@pytest.mark.parametrize("bars", [1, 9, 40])
def test_there_are_as_many_bars_as_rows(bars: int, tmp_path: Path) -> None:
    names = [f"The department of rather long name, number {index}" for index in range(bars)]
    svg = drawn(plot(BAR, "team n", *((name, index + 1) for index, name in enumerate(names))), tmp_path)
    assert filled(svg) == bars
    ends = {text[-2:] for text in texts(svg) if text.startswith("The department")}
    assert len(ends) == bars or bars == 1


def test_of_too_many_bars_the_first_are_drawn_and_the_others_told_of(tmp_path: Path) -> None:
    svg = drawn(plot(BAR, "team n", *((f"team {index}", index) for index in range(130))), tmp_path)
    assert filled(svg) == 60
    assert "70 more rows are not shown" in texts(svg)


def test_series_are_bars_side_by_side_with_a_legend(tmp_path: Path) -> None:
    rows = [
        (team, year, count) for team, year, count in (("Sales", "2024", 3), ("Sales", "2025", 5), ("Legal", "2025", 1))
    ]
    svg = drawn(plot(BAR | {"series": "year"}, "team year n", *rows), tmp_path)
    assert {"Sales", "Legal", "2024", "2025"} <= set(texts(svg))
    assert (filled(svg), filled(svg, "#e69f00")) == (2, 3)  # bars and the patch of the legend


def test_months_of_a_line_stand_on_an_axis_of_time(tmp_path: Path) -> None:
    made = plot(LINE, "month n", *reversed(MONTHS))
    assert made.x_is == "date"
    assert [value for _, value in made.groups[0].points] == [count for _, count in MONTHS]
    assert {"2026", "Mar", "Nov", "Month"} <= set(texts(drawn(made, tmp_path)))


def test_units_come_from_the_names_of_columns(tmp_path: Path) -> None:
    made = plot({"kind": "scatter", "x": "weightKg", "y": "price_eur"}, "weightKg price_eur", (1.5, 20), (3, 45.25))
    svg = drawn(made, tmp_path)
    assert {"Weight (kg)", "Price (EUR)"} <= set(texts(svg))


def test_a_table_shows_every_cell_and_names_instead_of_iris(tmp_path: Path) -> None:
    rows = [(f"{E}{index}", f"service {index}", index * 1000) for index in range(5)]
    svg = drawn(plot({"kind": "table"}, "service label cost", *rows), tmp_path)
    assert {"Service", "Cost", *(f"service {index}" for index in range(5)), "4000"} <= set(texts(svg))
    assert not any("shop.test" in text for text in texts(svg))


def test_the_same_rows_make_the_same_file_and_it_names_no_time(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg", "a.png", "b.png"):
        draw(TEAMS, tmp_path / name)
    for kind in ("svg", "png"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    assert b"dc:date" not in (tmp_path / "a.svg").read_bytes()


def test_a_png_is_a_png(tmp_path: Path) -> None:
    draw(TEAMS, tmp_path / "OUT.PNG")
    assert (tmp_path / "OUT.PNG").read_bytes().startswith(b"\x89PNG")


def test_words_that_would_steer_a_terminal_or_break_a_document_are_shown_plain(tmp_path: Path) -> None:
    names = ("$a$ & <b>", "\x1b[31mred\x07", "日本語の名前", "one\ntwo")
    made = plot(BAR, "team n", *((name, 1) for name in names), question="What is <i>it</i>\x1b[2J & $x_1$?")
    assert {"$a$ & <b>", "[31mred", "日本語の名前", "one two", "What is <i>it</i>[2J & $x_1$?"} <= set(
        texts(drawn(made, tmp_path))
    )
    assert not any(char in shown_in_terminal(made) for char in "\x1b\x07")


def test_a_terminal_shows_each_bar_with_its_name_and_number() -> None:
    lines = shown_in_terminal(TEAMS).splitlines()
    assert lines[0] == HOW_MANY
    assert [(line[:13].strip(), line.split()[-1]) for line in lines[2:]] == [
        ("payments team", "2"),
        ("identity team", "1"),
        ("operations", "7"),
    ]
    payments, identity, operations = (line.count("█") for line in lines[2:])
    assert identity < payments < operations
    assert all(len(line) <= 80 for line in lines)


def test_a_terminal_shows_bars_below_nothing_on_the_other_side() -> None:
    less, more = shown_in_terminal(plot(BAR, "team n", ("Bolt", -12), ("Coil", 12))).splitlines()[2:]
    assert less.rindex("█") < more.index("█")


def test_a_terminal_shows_lines_of_several_series_with_other_marks() -> None:
    rows = [(year, unit, year % 7 + len(unit)) for year in range(2015, 2026) for unit in ("Hardware", "Soft")]
    made = plot({"kind": "line", "x": "year", "y": "revenueUsd", "series": "unit"}, "year unit revenueUsd", *rows)
    shown = shown_in_terminal(made)
    assert "● Hardware    x Soft" in shown
    assert all(word in shown for word in ("2015", "2024", "Year", "Revenue (USD)"))
    assert shown.count("x") > 20
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_a_terminal_shows_dots_and_tables() -> None:
    dots = shown_in_terminal(plot({"kind": "scatter", "x": "a", "y": "b"}, "a b", *((x, x * x) for x in range(9))))
    assert dots.count("●") == 9
    table = shown_in_terminal(
        plot({"kind": "table"}, "service label cost", (f"{E}1", "risk", 12), (f"{E}2", "auth", 1234))
    )
    assert table.splitlines()[2:] == ["Service  Cost", "───────  ────", "risk       12", "auth     1234"]


def test_a_wide_table_fits_into_the_terminal() -> None:
    columns = " ".join(f"column{index}" for index in range(7))
    made = plot({"kind": "table"}, columns, *([f"{'words ' * index} end" for index in range(7)] for _ in range(3)))
    assert {columns_of(line) for line in shown_in_terminal(made).splitlines()[2:]} <= set(range(60, 81))


@pytest.mark.parametrize(
    ("chart", "columns", "rows"),
    [
        (LINE, "month n", [("0001-01-01", 3), ("2026-01-01", 4), ("9999-12-31", 2)]),
        ({"kind": "scatter", "x": "a", "y": "n"}, "a n", [(1e308, 1e308), (-1e308, -1e308), (1, 2)]),
        (BAR, "team n", [("a", 1e308), ("b", -1e308), ("c", 1)]),
    ],
)
def test_dates_that_stand_for_never_and_numbers_that_overflow_break_no_picture(
    chart: dict[str, str], columns: str, rows: Sequence[Sequence[object]], tmp_path: Path
) -> None:
    made = plot(chart, columns, *rows)
    assert shown_in_terminal(made)
    draw(made, tmp_path / "out.svg")
    draw(made, tmp_path / "out.png")


def test_rows_without_a_hint_make_no_picture() -> None:
    assert plot_of(answered(None, "team n", ("Sales", 1)), HOW_MANY) is None
    assert plot_of(answered(BAR, "team n"), HOW_MANY) is None
    assert plot_of({"route": {"kind": "history"}}, HOW_MANY) is None


def test_rows_that_the_answer_does_not_show_are_told_of() -> None:
    body = answered(BAR, "team n", ("Sales", 1), ("Legal", 2))
    body["result"]["row_page"] = {"returned": 2, "total": 52}
    made = plot_of(body, HOW_MANY)
    assert made and shown_in_terminal(made).endswith("\n50 more rows are not shown")


VALUES = st.one_of(st.none(), st.text(max_size=30), st.integers(-(10**20), 10**20), st.floats(), st.dates().map(str))
ROWS = st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=30)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=ROWS, kind=st.sampled_from(["bar", "line", "scatter", "table"]), series=st.sampled_from([{}, {"series": "c"}])
)
def test_whatever_the_rows_hold_a_picture_is_drawn_or_there_is_none(
    rows: list[tuple[object, object, object]], kind: str, series: dict[str, str], tmp_path: Path
) -> None:
    made = plot_of(answered({"kind": kind, "x": "a", "y": "b", **series}, "a b c", *rows), "What?")
    if made is not None:
        drawn(made, tmp_path)
        assert all(columns_of(line) <= 80 for line in shown_in_terminal(made).splitlines())


def test_a_person_gets_a_file_or_text_or_is_told_that_there_is_no_picture(tmp_path: Path) -> None:
    body = answered(BAR, "team n", ("Sales", 1), ("Legal", 2))
    file = str(tmp_path / "out.svg")
    check(file)
    check("terminal")
    assert shown(body, HOW_MANY, file) == f"drawn in {file}"
    assert filled(ElementTree.parse(file).getroot()) == 2
    assert "Sales" in shown(body, HOW_MANY, "terminal")
    assert shown(answered(None, "n", (3,)), HOW_MANY, file) == "the rows of this answer make no picture"


@pytest.mark.parametrize("name", ["out.pdf", "out", "missing/out.svg"])
def test_a_file_that_can_not_be_drawn_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"^chart: ") as failure:
        draw(TEAMS, tmp_path / name)
    with pytest.raises(InvalidRequest, match=r"^chart: "):
        check(str(tmp_path / name))
    assert failure.value.param == "chart" and str(tmp_path) not in failure.value.message


@pytest.mark.parametrize("library", ["matplotlib", "plotext"])
def test_where_the_library_is_missing_the_words_to_install_it_are_told(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str, package: str | None = None) -> ModuleType:
        if name.partition(".")[0] == library:
            raise ModuleNotFoundError(name)
        return imported(name, package)

    imported = importlib.import_module
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(InvalidRequest, match=r"install gligabao-mcp\[charts\]"):
        draw(TEAMS, tmp_path / "a.svg") if library == "matplotlib" else shown_in_terminal(
            plot(LINE, "month n", *MONTHS)
        )
    assert "payments team" in shown_in_terminal(TEAMS)


def test_the_libraries_are_imported_where_something_is_drawn() -> None:
    code = "import sys, gligabao_mcp.charts; print([n for n in ('matplotlib', 'plotext', 'numpy') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    ("column", "title"),
    [
        ("n", "Count"),
        ("teamLabel", "Team"),
        ("revenue_eur", "Revenue (EUR)"),
        ("avgWeightKg", "Avg weight (kg)"),
        ("GDP", "GDP"),
        ("label", "Label"),
    ],
)
def test_a_column_is_titled_in_words(column: str, title: str) -> None:
    assert titled(column) == title


def test_numbers_and_names_are_written_as_people_write_them() -> None:
    assert [number(value) for value in (1234567, 0.25, 3.14159, 1234.5, -7, 1e20)] == [
        "1,234,567",
        "0.25",
        "3.142",
        "1,234.50",
        "-7",
        "1e+20",
    ]
    assert clean("a\u202eb\x00c\n d") == "abc d"
    assert distinct(["The long name of A", "The long name of B"], 12) == ["The lon…of A", "The lon…of B"]
