"""What an experiment gives: tables of ours beside published, and figures as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from truerank_papers.experiments.published import Numbers, Published


@dataclass(frozen=True)
class Cell:
    """One number of a table, ours and the published one.

    Parameters
    ----------
    key
        Which number it is, one entry per key column of its table.
    ours, ours_sd
        Our number, and its standard deviation over repeats.
    published, published_sd
        The printed ones.
    note
        What is to be said about it.
    bound
        ``"<"`` or ``">"`` if the printed number is a bound; else empty.
    """

    key: tuple[str, ...]
    ours: float | None = None
    ours_sd: float | None = None
    published: float | None = None
    published_sd: float | None = None
    note: str = ""
    bound: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus published; None if there is only one, or a bound."""
        if self.ours is None or self.published is None or self.bound:
            return None
        return self.ours - self.published

    @property
    def holds(self) -> bool | None:
        """Whether ours keeps the printed bound; None if there is none."""
        if self.ours is None or self.published is None or not self.bound:
            return None
        return self.ours < self.published if self.bound == "<" else self.ours > self.published

    @property
    def in_sds(self) -> float | None:
        """The difference in printed standard deviations; None if none is printed."""
        if self.difference is None or not self.published_sd:
            return None
        return self.difference / self.published_sd


@dataclass(frozen=True)
class Table:
    """Cells by key; where a page is wide, the last key is spread over columns.

    Parameters
    ----------
    name
        Name of its files, such as ``"table3"``.
    keys
        Names of the key columns.
    cells
        The numbers.
    unit
        Their unit.
    source
        Where the published ones come from.
    digits
        Digits after the point on pages.
    """

    name: str
    keys: tuple[str, ...]
    cells: tuple[Cell, ...]
    unit: str = ""
    source: str = ""
    digits: int = 2

    @classmethod
    def beside(
        cls,
        name: str,
        published: Published | None,
        ours: Numbers,
        *,
        keys: Sequence[str] | None = None,
        unit: str | None = None,
        digits: int = 2,
    ) -> Table:
        """Set our numbers beside a published table.

        What only one of them has stands there, too. The order is the published one; what only we
        have follows what it follows among ours.

        Parameters
        ----------
        name
            Name of its files.
        published
            The printed table; None if there is none.
        ours
            Our numbers by key.
        keys
            Names of the key columns, if nothing is published.
        unit
            Instead of that of the published table.
        digits
            Digits after the point on pages.

        Returns
        -------
        Table
            A cell for each key of either.
        """
        theirs = published.numbers if published else {}
        cells = []
        for key in _merged(list(theirs), list(ours)):
            number, printed = ours.get(key), theirs.get(key)
            cells.append(
                Cell(
                    key,
                    number.value if number else None,
                    number.sd if number else None,
                    printed.value if printed else None,
                    printed.sd if printed else None,
                    (printed.note if printed else "") or (number.note if number else ""),
                    printed.bound if printed else "",
                )
            )
        return cls(
            name,
            tuple(published.keys if published else keys or ()),
            tuple(cells),
            published.unit if published and unit is None else unit or "",
            published.source if published else "",
            digits,
        )

    def __getitem__(self, key: tuple[str, ...]) -> Cell:
        """Find the cell of a key."""
        return next(cell for cell in self.cells if cell.key == key)


@dataclass(frozen=True)
class Line:
    """A curve, points, or the steps of a histogram.

    Parameters
    ----------
    label
        What the legend says.
    x, y
        Coordinates, lists or arrays of one length.
    style
        How it is drawn.
    """

    label: str
    x: Any
    y: Any
    style: Literal["line", "dashed", "points", "steps"] = "line"


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Parameters
    ----------
    title, x_label, y_label
        What stands above, below and beside it.
    lines
        What is drawn.
    log_x, log_y
        Whether an axis is logarithmic.
    y_limits
        Ends of the y axis; by default as the lines need.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    y_limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Figure:
    """Panels side by side.

    Parameters
    ----------
    name
        Name of its file, such as ``"figure3"``.
    panels
        The panels, row by row.
    columns
        Number of panels per row.
    """

    name: str
    panels: tuple[Panel, ...]
    columns: int = 2


@dataclass(frozen=True)
class Result:
    """What an experiment gives.

    Parameters
    ----------
    tables, figures
        The tables, and the figures as data.
    notes
        What is to be said about them: paragraphs of Markdown, whose numbers come from the run.
    facts
        Numbers behind the notes, by name, as JSON takes them.
    """

    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Turn the result into lists and dicts; coordinates are rounded to 5 digits.

        Returns
        -------
        dict
            As JSON takes it.
        """
        content = asdict(self)
        for figure in content["figures"]:
            for panel in figure["panels"]:
                for line in panel["lines"]:
                    for axis in ("x", "y"):
                        line[axis] = [float(f"{value:.5g}") for value in np.asarray(line[axis])]
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Result:
        """Read what `to_json` gave.

        Parameters
        ----------
        content
            The content of a JSON file.

        Returns
        -------
        Result
            The result.
        """
        return cls(
            tuple(_table(table) for table in content["tables"]),
            tuple(_figure(figure) for figure in content["figures"]),
            tuple(content["notes"]),
            content["facts"],
        )


def _table(content: Mapping[str, Any]) -> Table:
    cells = tuple(Cell(**{**cell, "key": tuple(cell["key"])}) for cell in content["cells"])
    return Table(**{**content, "keys": tuple(content["keys"]), "cells": cells})


def _figure(content: Mapping[str, Any]) -> Figure:
    panels = tuple(
        Panel(
            **{
                **panel,
                "lines": tuple(Line(**line) for line in panel["lines"]),
                "y_limits": tuple(panel["y_limits"]) if panel["y_limits"] else None,
            }
        )
        for panel in content["panels"]
    )
    return Figure(**{**content, "panels": panels})


def _merged(first: list[Any], second: list[Any]) -> list[Any]:
    """All of both, each once: the first in order, others behind what they follow in the second."""
    found = list(first)
    for i, key in enumerate(second):
        if key not in found:
            before = next((k for k in reversed(second[:i]) if k in found), None)
            found.insert(found.index(before) + 1 if before is not None else 0, key)
    return found
