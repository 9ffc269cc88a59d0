"""Figures as PNG, all in one style."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from truerank.errors import MissingExtraError
from truerank.outcomes import tables
from truerank_papers.experiments.results import Figure, Line, Panel

# Okabe and Ito's colours, told apart by the colour-blind too.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D3B")
_WIDTH, _HEIGHT = 4.2, 3.1  # of a panel, in inches


def png(figure: Figure, path: Path) -> None:
    """Draw a figure into a PNG file; the same figure gives the same bytes.

    Parameters
    ----------
    figure
        What to draw.
    path
        Where to write it.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise MissingExtraError("figures need matplotlib: pip install matplotlib") from None
    columns = min(figure.columns, len(figure.panels))
    rows = -(-len(figure.panels) // columns)
    canvas = Canvas(figsize=(_WIDTH * columns, _HEIGHT * rows), layout="constrained")
    axes = canvas.subplots(rows, columns, squeeze=False).ravel()
    colours: dict[str, str] = {}
    for panel, axis in zip(figure.panels, axes, strict=False):
        _panel(axis, panel, colours)
    for axis in axes[len(figure.panels) :]:
        axis.set_visible(False)
    with tables.replacing(path) as temporary:
        canvas.savefig(temporary, format="png", dpi=110, metadata={"Software": None})


def _panel(axis: Any, panel: Panel, colours: dict[str, str]) -> None:
    for line in panel.lines:  # one colour a label in all panels, "X exact" like "X"
        name = line.label.removesuffix(" exact")
        _line(axis, line, colours.setdefault(name, _COLOURS[len(colours) % len(_COLOURS)]))
    if panel.log_x:
        axis.set_xscale("log")
    if panel.log_y:
        axis.set_yscale("log")
    if panel.y_limits:
        axis.set_ylim(*panel.y_limits)
    axis.set_title(panel.title, fontsize=10)
    axis.set_xlabel(panel.x_label, fontsize=9)
    axis.set_ylabel(panel.y_label, fontsize=9)
    axis.tick_params(labelsize=8)
    axis.grid(color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(fontsize=7, frameon=False)


def _line(axis: Any, line: Line, colour: str) -> None:
    if line.style == "steps":
        axis.step(line.x, line.y, where="post", color=colour, label=line.label, linewidth=1.3)
    elif line.style == "points":
        axis.plot(line.x, line.y, "o", color=colour, label=line.label, markersize=3)
    else:
        dashes = "--" if line.style == "dashed" else "-"
        axis.plot(line.x, line.y, dashes, color=colour, label=line.label, linewidth=1.4)
