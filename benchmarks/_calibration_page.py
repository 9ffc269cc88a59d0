"""The page of `benchmarks.calibrate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from benchmarks.calibrate import Cell

SMALL_BIAS = 0.3  # standard deviations
POOLED = (0.94, 0.96)
ERRORS = 3.5  # binomial standard errors that a cell may be off


@dataclass(frozen=True)
class Row:
    """One metric of one cell: bias and width in standard deviations of the estimate."""

    case: str
    design: str
    estimator: str
    metric: str
    truth: float
    error: float
    bias: float
    width: float
    coverage: float
    resolvable: float
    redraws: int

    @property
    def small_bias(self) -> bool:
        """Whether coverage is promised here."""
        return abs(self.bias) < SMALL_BIAS

    @property
    def right(self) -> bool:
        """Whether coverage is within the binomial error of what it should be."""
        return abs(self.coverage - 0.95) <= ERRORS * np.sqrt(0.95 * 0.05 / self.redraws)


@dataclass(frozen=True)
class Page:
    """What was found, as text."""

    cells: Sequence[Cell]
    metrics: Sequence[str]
    confidence: float
    redraws: int

    @cached_property
    def rows(self) -> list[Row]:
        """One row per metric and cell."""
        return [row for cell in self.cells for row in _rows(cell, self.metrics, self.confidence)]

    @property
    def promised(self) -> list[Row]:
        """The rows of the default estimator with small bias."""
        return [row for row in self.rows if row.estimator == "smooth" and row.small_bias]

    @property
    def pooled(self) -> float:
        """Coverage over all of them."""
        return float(np.mean([row.coverage for row in self.promised]))

    @property
    def met(self) -> bool:
        """Whether both goals are."""
        return POOLED[0] <= self.pooled <= POOLED[1] and all(row.right for row in self.promised)

    def summary(self) -> str:
        """The main figures in a few lines."""
        smooth = [row for row in self.rows if row.estimator == "smooth"]
        wrong = [row for row in self.promised if not row.right]
        biased = [row for row in smooth if not row.small_bias]
        unflagged = [row for row in biased if row.resolvable > 0.5]
        return "\n".join(
            [
                f"{len(smooth)} cells of smooth, {self.redraws} redraws each; measured |bias| is "
                f"under {SMALL_BIAS} standard deviations in {len(self.promised)}.",
                f"There, intervals of {self.confidence:.0%} cover {self.pooled:.1%} pooled (goal: "
                f"{POOLED[0]:.0%} to {POOLED[1]:.0%}); {len(wrong)} cells are off by more than "
                f"{ERRORS} binomial standard errors.",
                f"In the other {len(biased)} they cover {_mean(biased, 'coverage'):.1%}; "
                f"{len(biased) - len(unflagged)} of these are flagged as not resolved (most of "
                f"the time), the rest cover {_mean(unflagged, 'coverage'):.1%}.",
            ]
        )

    def text(self) -> str:
        """The page."""
        wrong = [row for row in self.promised if not row.right]
        poor = [
            row
            for row in self.rows
            if row.estimator == "smooth" and not row.small_bias and row.coverage < 0.9
        ]
        return "\n".join(
            [
                "# Calibration",
                "",
                "Written by `make calibrate`. The users of ml-1m and citeulike (training items "
                "left out) keep their exact ranks; their negatives are drawn again, each time the "
                f"metrics are estimated with intervals of {self.confidence:.0%} for *these users*, "
                "and we look whether the exact metric lies inside. Bias and width are in standard "
                "deviations of the estimate over the redraws; a width of 1 is right.",
                "",
                self.summary(),
                "",
                "## By case and design",
                "",
                "Coverage is that of all 15 metrics (recall, ndcg, ap at 1, 5, 10, 20, 50) and of "
                "those with small bias; flagged is the share of intervals that say that the metric "
                "is not resolved.",
                "",
                *self._by_cell("smooth"),
                "",
                "## By metric",
                "",
                *self._by_metric(),
                "",
                f"## Small bias, yet off by more than {ERRORS} binomial standard errors",
                "",
                *(_list(wrong) if wrong else ["None."]),
                "",
                "## Where coverage fails",
                "",
                "Cells of smooth with a larger bias that cover less than 90 %. Given the ranks of "
                "these very users the bias is one number, which no redraw of the negatives shows; "
                "over users like these it averages out. The error is the root mean squared "
                "one, relative to the metric; unflagged cells are those whose error was taken to "
                "be small, rightly or not.",
                "",
                *(_list(poor) if poor else ["None."]),
                "",
                "## Other estimators",
                "",
                "On citeulike, item-KNN. Where bias dominates, intervals are flagged and stretched "
                "towards where the smooth fit puts the metric.",
                "",
                *self._others(),
                "",
            ]
        )

    def _by_cell(self, estimator: str) -> Iterator[str]:
        yield "| case | design | bias, largest | width | covered | small bias | flagged |"
        yield "| --- | --- | --- | --- | --- | --- | --- |"
        for cell in self.cells:
            if cell.estimator == estimator:
                rows = [r for r in self.rows if (r.case, r.design) == (cell.case, cell.design)]
                rows = [row for row in rows if row.estimator == estimator]
                small = [row for row in rows if row.small_bias]
                yield (
                    f"| {cell.case} | {cell.design} | {max(abs(r.bias) for r in rows):.1f} | "
                    f"{_mean(rows, 'width'):.2f} | {_mean(rows, 'coverage'):.1%} | "
                    f"{_percent(small)} of {len(small)} | {1 - _mean(rows, 'resolvable'):.0%} |"
                )

    def _by_metric(self) -> Iterator[str]:
        designs = list(dict.fromkeys(cell.design for cell in self.cells))
        yield "| metric | " + " | ".join(f"{d}: covered, flagged" for d in designs) + " |"
        yield "| --- |" + " --- |" * len(designs)
        for metric in self.metrics:
            parts = []
            for design in designs:
                rows = [r for r in self.rows if (r.metric, r.design) == (metric, design)]
                rows = [row for row in rows if row.estimator == "smooth"]
                flagged = 1 - _mean(rows, "resolvable")
                parts.append(f"{_mean(rows, 'coverage'):.1%}, {flagged:.0%}")
            yield f"| {metric} | " + " | ".join(parts) + " |"

    def _others(self) -> Iterator[str]:
        yield "| estimator | design | redraws | size of bias, median | covered | flagged |"
        yield "| --- | --- | --- | --- | --- | --- |"
        for cell in self.cells:
            if cell.estimator != "smooth":
                rows = [
                    r for r in self.rows if (r.estimator, r.design) == (cell.estimator, cell.design)
                ]
                bias = float(np.median([abs(row.bias) for row in rows]))
                yield (
                    f"| {cell.estimator} | {cell.design} | {rows[0].redraws} | {bias:.1f} | "
                    f"{_mean(rows, 'coverage'):.0%} | {1 - _mean(rows, 'resolvable'):.0%} |"
                )


def _rows(cell: Cell, metrics: Sequence[str], confidence: float) -> Iterator[Row]:
    from scipy.special import ndtri

    z = 2 * float(ndtri(0.5 + confidence / 2))
    deviation = np.maximum(cell.value.std(axis=0, ddof=1), 1e-300)
    off = cell.value - cell.truth
    inside = (cell.low <= cell.truth) & (cell.truth <= cell.high)
    for i, metric in enumerate(metrics):
        yield Row(
            cell.case,
            cell.design,
            cell.estimator,
            metric,
            float(cell.truth[i]),
            float(np.sqrt((off[:, i] ** 2).mean()) / max(cell.truth[i], 1e-300)),
            float(off[:, i].mean() / deviation[i]),
            float((cell.high - cell.low)[:, i].mean() / z / deviation[i]),
            float(inside[:, i].mean()),
            float(cell.resolvable[:, i].mean()),
            cell.value.shape[0],
        )


def _list(rows: Sequence[Row]) -> Iterator[str]:
    yield "| case | design | metric | error | bias | width | covered | flagged |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        yield (
            f"| {row.case} | {row.design} | {row.metric} | {row.error:.1%} | {row.bias:+.2f} | "
            f"{row.width:.2f} | {row.coverage:.1%} | {1 - row.resolvable:.0%} |"
        )


def _mean(rows: Sequence[Row], name: str) -> float:
    return float(np.mean([getattr(row, name) for row in rows])) if rows else float("nan")


def _percent(rows: Sequence[Row]) -> str:
    return f"{_mean(rows, 'coverage'):.1%}" if rows else "-"
