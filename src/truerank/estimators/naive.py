"""The metric of the sampled rank itself, as most papers report it: to show how wrong it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from truerank._types import FloatArray
from truerank.estimators._base import Estimator, Fit, mean_gains
from truerank.estimators.support import SupportLike
from truerank.metrics import Metric, total_gains
from truerank.outcomes.counts import RankCounts


@dataclass(frozen=True)
class Naive(Estimator):
    """The metric of the sampled ranks themselves, as most papers report it.

    This is unbiased for AUC, taken over the sample as (n-r)/(n-1), and for no other metric.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> est = tr.estimate(counts, "recall@10", estimator="naive", confidence=None)
    >>> round(est["recall@10"].value, 4)
    0.8
    """

    name: ClassVar[str] = "naive"

    def fit(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike, plug_in: str
    ) -> Fit:
        share = counts.weight / counts.total_weight
        metrics = _of_samples(metrics, counts)
        if counts.censored:
            gains = self.gains(counts, metrics=metrics, support=support)
            return Fit(mean_gains(counts, metrics, gains))
        return Fit(total_gains(metrics, counts.sampled_rank, counts.sample_size, share))

    def gains(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike
    ) -> FloatArray:
        metrics = _of_samples(metrics, counts)
        gains = np.stack([m.gain(counts.sampled_rank, counts.sample_size) for m in metrics], axis=1)
        for row in np.flatnonzero(counts.is_censored):  # any of the ranks that were not seen
            size = int(counts.sample_size[row])
            rank = np.arange(counts.sampled_rank[row], size + 1)
            gains[row] = [metric.gain(rank, size).mean() for metric in metrics]
        return gains


def _of_samples(metrics: Sequence[Metric], counts: RankCounts) -> list[Metric]:
    """The metrics as if samples were pools, in the means of pools too."""
    return [metric.bound(counts.sample_size, counts.weight) for metric in metrics]
