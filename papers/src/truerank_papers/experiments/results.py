"""What an experiment gives: tables of ours beside published, and figures as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from truerank_papers.experiments.published import Numbers, Published


@dataclass(frozen=True)
class Cell:
    """One number, ours and theirs; ``key`` says which, one entry a key column of its table."""

    key: tuple[str, ...]
    ours: float | None = None
    ours_sd: float | None = None
    published: float | None = None
    published_sd: float | None = None
    note: str = ""

    @property
    def difference(self) -> float | None:
        """Ours less published."""
        if self.ours is None or self.published is None:
            return None
        return self.ours - self.published

    @property
    def in_sds(self) -> float | None:
        """The difference in printed standard deviations."""
        if self.difference is None or not self.published_sd:
            return None
        return self.difference / self.published_sd


@dataclass(frozen=True)
class Table:
    """Cells under named keys; the last key is spread over columns where a page is wide."""

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
        """Ours by key beside a published table; what only one of them has stands there too.

        The order is the published one, with what only we have in its place among ours.
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
        return next(cell for cell in self.cells if cell.key == key)


@dataclass(frozen=True)
class Line:
    """A curve, its points, or the steps of a histogram; x and y are lists or arrays."""

    label: str
    x: Any
    y: Any
    style: str = "line"  # line, dashed, points, steps


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    y_limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Figure:
    """Panels side by side, ``columns`` in a row."""

    name: str
    panels: tuple[Panel, ...]
    columns: int = 2


@dataclass(frozen=True)
class Result:
    """Tables and figures, and what is to be said about them (Markdown paragraphs)."""

    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain lists and dicts."""
        content = asdict(self)
        for figure in content["figures"]:
            for panel in figure["panels"]:
                for line in panel["lines"]:
                    for axis in ("x", "y"):
                        line[axis] = [float(f"{value:.5g}") for value in np.asarray(line[axis])]
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Result:
        """What `to_json` gave."""
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
