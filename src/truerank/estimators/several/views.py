"""Views: outcomes of several targets whose gains are one function of the rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

_NEAR, _STEP = 50, 0.02  # places up to which each counts as it is; then steps of log place


@dataclass(frozen=True)
class View:
    """Outcomes of one place and offset, and gains: ``level + scale * E[shape(R) | outcome]``.

    Attributes
    ----------
    rows
        Which outcomes.
    columns
        Which metrics.
    place, offset, n_targets
        Of these outcomes; the number of targets only where a cut-off depends on it.
    """

    rows: IntArray
    columns: IntArray
    place: int
    offset: int
    n_targets: int
    scale: FloatArray  # (n_rows, n_columns)
    level: FloatArray  # (n_rows, n_columns)

    def shapes(self, metrics: Sequence[Metric], rank: FloatArray) -> FloatArray:
        """(n_ranks, n_columns)."""
        return np.stack(
            [
                1.0 - rank
                if metrics[at].depends_on_pool and metrics[at].k is None
                else metrics[at].shape(
                    rank, rank[-1], place=self.place, offset=self.offset, n_targets=self.n_targets
                )
                for at in self.columns.tolist()
            ],
            axis=1,
        )


def views(counts: RankCounts, metrics: Sequence[Metric], rows: IntArray) -> Iterator[View]:
    """The views of some outcomes; those beyond all cut-offs are in none."""
    place, offset = counts.place[rows], counts.offset[rows]
    n_targets = counts.n_targets[rows]
    first = np.ones_like(place)
    # Gains without a cut-off change slowly with places far down.
    far = np.where(place <= _NEAR, place, np.rint(np.exp(_STEP * np.rint(np.log(place) / _STEP))))
    kinds: dict[str, tuple[IntArray, ...]] = {
        "pool": (first, first - 1, first),
        "targets": (first, first - 1, n_targets - place - offset + 1),  # the last rank that counts
        "cut": (place, offset, first),
        "whole": (far.astype(np.int64), offset, first),
    }
    for kind, columns in _kinds(metrics).items():
        if not columns.size:
            continue
        at = np.arange(rows.size)
        if kind == "cut":
            last = max(metrics[one].k or 0 for one in columns.tolist())
            at = np.flatnonzero(place + offset <= last)
        elif kind == "targets":
            at = np.flatnonzero(kinds[kind][2] >= 1)
        key = np.stack([column[at] for column in kinds[kind]])
        order = np.lexsort(key)
        new = (np.diff(key[:, order], axis=1) != 0).any(axis=0)
        for part in np.split(order, np.flatnonzero(new) + 1) if order.size else ():
            here = [int(value) for value in key[:, part[0]]]
            kept = columns
            if kind == "cut":
                kept = columns[[here[0] + here[1] <= (metrics[c].k or 0) for c in columns.tolist()]]
            yield _view(counts, metrics, rows[at[part]], kept, *here)


def _kinds(metrics: Sequence[Metric]) -> dict[str, IntArray]:
    """The numbers of the metrics by what their gains depend on beside the rank."""
    found: dict[str, list[int]] = {"pool": [], "targets": [], "cut": [], "whole": []}
    for at, metric in enumerate(metrics):
        whole = "pool" if metric.depends_on_pool else "whole"
        kind = "targets" if metric.cuts_at_targets else whole
        found[kind if metric.k is None else "cut"].append(at)
    return {kind: np.array(numbers, dtype=np.int64) for kind, numbers in found.items()}


def _view(
    counts: RankCounts,
    metrics: Sequence[Metric],
    rows: IntArray,
    columns: IntArray,
    place: int,
    offset: int,
    n_targets: int,
) -> View:
    scale = np.stack([metrics[at].share(counts.n_targets[rows]) for at in columns.tolist()], axis=1)
    level = np.zeros_like(scale)
    for column, at in enumerate(columns.tolist()):
        if metrics[at].depends_on_pool and metrics[at].k is None:  # auc: 1 - (R - 1) / (N - 1)
            level[:, column] = scale[:, column]
            scale[:, column] = scale[:, column] / (counts.n_items[rows] - 1.0)
    return View(rows, columns, place, offset, n_targets, scale, level)
