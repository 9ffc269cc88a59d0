"""The metric at an unbiased estimate of the global rank (KR20 eq. 20)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from truerank import _arguments
from truerank._types import FloatArray
from truerank.errors import InputError
from truerank.estimators._base import Estimator, Fit, mean_gains
from truerank.estimators.support import SupportLike
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts


@dataclass(frozen=True)
class RankEstimate(Estimator):
    """The metric at an unbiased estimate of the global rank (KR20 eq. 20).

    That is 1 + (N-1)(r-1)/(n-1), rounded down as in KR20. KR20's printed AUC (85.48 for Y) divides
    by n, not n-1; eq. 20, which this follows, gives 85.33.

    Parameters
    ----------
    interpolate : bool
        Read the gain linearly between whole ranks instead of rounding down.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> est = tr.estimate(counts, "recall@10", estimator="rank-estimate", confidence=None)
    >>> round(est["recall@10"].value, 4)
    0.4
    """

    interpolate: bool = False

    def __post_init__(self) -> None:
        _arguments.check_fields(self)

    name: ClassVar[str] = "rank-estimate"

    def fit(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike, plug_in: str
    ) -> Fit:
        gains = self.gains(counts, metrics=metrics, support=support)
        return Fit(mean_gains(counts, metrics, gains))

    def gains(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike
    ) -> FloatArray:
        if counts.censored:
            raise InputError(
                "rank-estimate needs ranks; some of these lists ended before their target"
            )
        above = (counts.n_items - 1) * (counts.sampled_rank - 1)
        lower = 1 + above // (counts.sample_size - 1)
        fraction = (above % (counts.sample_size - 1)) / (counts.sample_size - 1)
        gains = []
        for metric in metrics:
            gain = metric.gain(lower, counts.n_items)
            if self.interpolate:
                upper = metric.gain(np.minimum(lower + 1, counts.n_items), counts.n_items)
                gain = gain + fraction * (upper - gain)
            gains.append(gain)
        return np.stack(gains, axis=1)
