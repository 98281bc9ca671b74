"""shown: the picture of an answer where a person asked for it, a file or the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gligabao_mcp.charts.files import draw, drawing_library
from gligabao_mcp.charts.plot import plot_of
from gligabao_mcp.charts.terminal import dotting_library, shown_in_terminal

TERMINAL = "terminal"
NO_PICTURE = "the rows of this answer make no picture"


def check(to: str) -> None:
    """Raises InvalidRequest where nothing could be drawn there. To be asked before a question is paid for."""
    if to == TERMINAL:
        dotting_library()
    else:
        drawing_library(Path(to))


def shown(body: Mapping[str, Any], question: str, to: str) -> str:
    """What to print: the picture where `to` is terminal, apart from what stands around it, else in which file it is; in
    words where there is none.

    `body` is the response to a question. Raises InvalidRequest as draw and shown_in_terminal do.
    """
    plot = plot_of(body, question)
    if plot is None:
        return NO_PICTURE
    if to == TERMINAL:
        return f"\n{shown_in_terminal(plot, shutil.get_terminal_size().columns)}\n"
    draw(plot, Path(to))
    return f"drawn in {to}"
