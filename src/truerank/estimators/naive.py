"""The metric of the sampled rank itself: what most papers report. Kept to show how wrong it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from truerank._types import FloatArray
from truerank.estimators._base import Estimator, Fit
from truerank.estimators.support import Support
from truerank.metrics import Metric, total_gains
from truerank.outcomes.counts import RankCounts


@dataclass(frozen=True)
class Naive(Estimator):
    """Gains at the sampled rank; auc over the sample, (n-r)/(n-1), which alone is unbiased."""

    name: ClassVar[str] = "naive"

    def fit(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: str | Support, plug_in: str
    ) -> Fit:
        share = counts.weight / counts.total_weight
        return Fit(total_gains(metrics, counts.sampled_rank, counts.sample_size, share))

    def gains(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: str | Support
    ) -> FloatArray:
        return np.stack([m.gain(counts.sampled_rank, counts.sample_size) for m in metrics], axis=1)
