"""draw: a picture as a file, by matplotlib."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from core.errors import InvalidRequest
from gligabao_mcp.charts.plot import Plot

SUFFIXES = (".svg", ".png")
DOTS_PER_INCH = 150
# The same rows make the same file: ids in it are counted from this word, and it names no time.
_SALT = "gligabao"
_STYLE: Mapping[str, Any] = {
    "svg.fonttype": "none",  # text stays text: readers may search it, and their own fonts know more scripts
    "svg.hashsalt": _SALT,
    "text.parse_math": False,
    "font.size": 10,
    "axes.unicode_minus": False,
}

# Where these are on the machine, they draw what DejaVu has no letters for.
_OTHER_SCRIPTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "PingFang SC",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Arial Unicode MS",
)


def drawing_library(file: Path) -> Any:
    """matplotlib. Raises InvalidRequest where it is not installed, for a file that does not end in .svg or .png, and
    for a folder that is not there."""
    if file.suffix.lower() not in SUFFIXES:
        raise InvalidRequest("chart: must be the name of a file that ends in .svg or .png, or terminal", param="chart")
    if not file.absolute().parent.is_dir():
        raise InvalidRequest("chart: the folder of the file is not there", param="chart")
    try:
        return importlib.import_module("matplotlib")
    except ModuleNotFoundError:
        raise InvalidRequest("chart: a file needs matplotlib: install gligabao-mcp[charts]", param="chart") from None


def draw(plot: Plot, file: Path) -> None:
    """Writes the picture as SVG or PNG, by the ending of the file's name.

    Raises InvalidRequest for a file that can't be written, and as drawing_library does.
    """
    matplotlib, suffix = drawing_library(file), file.suffix.lower()
    from gligabao_mcp.charts.figures import figure_of

    fonts = cast("Any", importlib.import_module("matplotlib.font_manager")).fontManager.ttflist
    there = {font.name for font in fonts}
    families = ["DejaVu Sans", *(family for family in _OTHER_SCRIPTS if family in there), "sans-serif"]
    metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
    with matplotlib.rc_context({**_STYLE, "font.family": families}), warnings.catch_warnings():
        # A script that the fonts of this machine lack: the reader of an SVG may have one.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        try:
            figure_of(plot).savefig(file, format=suffix[1:], dpi=DOTS_PER_INCH, metadata=metadata)
        except OSError as failure:
            raise InvalidRequest(f"chart: the file can't be written ({failure.strerror})", param="chart") from None
