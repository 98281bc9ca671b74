"""The picture of an answer: plot_of reads it, draw writes it into a file and shown_in_terminal into text. For a
person, check says whether that can be done, and shown does it."""

from gligabao_mcp.charts.files import draw
from gligabao_mcp.charts.picture import check, shown
from gligabao_mcp.charts.plot import Plot, plot_of
from gligabao_mcp.charts.terminal import shown_in_terminal

__all__ = ["Plot", "check", "draw", "plot_of", "shown", "shown_in_terminal"]
