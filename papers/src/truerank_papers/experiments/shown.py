"""A result as text for a terminal: ours beside published, what is to be said, and the files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from truerank_papers.experiments import pages
from truerank_papers.experiments.registry import Experiment
from truerank_papers.experiments.results import Result, Table

if TYPE_CHECKING:
    from rich.console import Console


def show(console: Console, experiment: Experiment, result: Result, out: Path) -> None:
    """Print what an experiment gave.

    Parameters
    ----------
    console
        Where to print.
    experiment
        The experiment.
    result
        What it gave.
    out
        Folder of the results.
    """
    head = f"{experiment.paper.upper()} {experiment.label.lower()}. {experiment.title}"
    console.print(head, style="bold", highlight=False, markup=False)
    for table in result.tables:
        console.print(drawn(table))
        about = " ".join(
            part for part in (table.source, f"Unit: {table.unit}." * bool(table.unit)) if part
        )
        if about:
            console.print(_plain(about), style="dim", highlight=False, markup=False)
    for note in result.notes:
        console.print()
        console.print(_plain(note), highlight=False, markup=False)
    console.print()
    console.print("Files:", highlight=False)
    for file in pages.files(experiment, result, out):
        console.print(f"  {file}", highlight=False, markup=False, soft_wrap=True)


def drawn(table: Table) -> object:
    """Make a table for a terminal: one cell per row, ours, published and how far they are apart.

    Parameters
    ----------
    table
        The table.

    Returns
    -------
    rich.table.Table
        What rich prints.
    """
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, title=table.name, title_justify="left")
    printed = any(cell.published is not None for cell in table.cells)
    sds = any(cell.in_sds is not None for cell in table.cells)
    notes = any(cell.note for cell in table.cells)
    for key in table.keys:
        grid.add_column(key, overflow="fold")
    for name in ["ours"] + ["published", "difference"] * printed + ["in printed sd"] * sds:
        grid.add_column(name, justify="right", no_wrap=True)
    if notes:
        grid.add_column("note", overflow="fold")
    before: tuple[str, ...] = ()
    for cell in table.cells:
        # A key that is that of the row above, with all before it, is said once.
        same = next(
            (i for i, (a, b) in enumerate(zip(before, cell.key, strict=False)) if a != b),
            len(before),
        )
        row = [""] * same + list(cell.key[same:])
        row += pages.shown(cell, table.digits)[: 1 + 2 * printed]
        if sds:
            row.append("" if cell.in_sds is None else f"{round(cell.in_sds, 1) + 0.0:+.1f}")
        if notes:
            row.append(cell.note)
        grid.add_row(*(Text(part) for part in row))
        before = cell.key
    return grid


def _plain(text: str) -> str:
    """A paragraph of Markdown without its marks."""
    return re.sub(r"[`*]", "", text)
