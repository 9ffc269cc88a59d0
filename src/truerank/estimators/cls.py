"""Constrained least squares (KR20 eq. 21): least bias with gains that fall as the rank grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from truerank._types import FloatArray
from truerank.estimators._base import Estimator, Fit, mean_gains
from truerank.estimators._spaces import OutcomeSpace, by_outcome, outcome_spaces
from truerank.estimators.likelihood import make_support
from truerank.estimators.support import SupportLike
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts


@dataclass(frozen=True)
class CLS(Estimator):
    """Constrained least squares: least bias with gains that fall as the rank grows (KR20 eq. 21).

    Minimises sum_R (E[m(r) | R] - F(R))^2 over gains m(1) >= m(2) >= ..., with uniform weights of
    the ranks. (KR20 prints the inequality the other way round.) Adaptive outcomes are ordered by
    their share of hits, (r-1)/(n-1).

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> est = tr.estimate(counts, "recall@10", estimator="cls", confidence=None)
    >>> round(est["recall@10"].value, 4)
    0.1856
    """

    name: ClassVar[str] = "cls"

    def fit(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike, plug_in: str
    ) -> Fit:
        gains = self.gains(counts, metrics=metrics, support=support)
        return Fit(mean_gains(counts, metrics, gains))

    def gains(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike
    ) -> FloatArray:
        grid = make_support(counts, metrics, support)
        return by_outcome(
            counts,
            metrics,
            (
                (space, np.stack(corrected_gains(space, metrics)))
                for space in outcome_spaces(counts, metrics, "full" if support == "full" else grid)
            ),
        )


def corrected_gains(space: OutcomeSpace, metrics: Sequence[Metric]) -> list[FloatArray]:
    """The corrected gain of each outcome, one array per metric."""
    from scipy.optimize import nnls

    share = space.support.weight / space.support.n_items
    hits = (space.sampled_rank - 1) / (space.sample_size - 1)
    order = np.lexsort([-space.sample_size, hits])
    # In steps d_j = m_j - m_{j+1} >= 0 the columns are P(outcome among the j best | R). The last
    # gain is a free level: columns and targets less their means leave it out of the problem.
    steps = np.cumsum(space.probability[:, order[:-1]], axis=1)
    targets = np.column_stack(
        [metric.gain(space.support.rank, space.n_items) for metric in metrics]
    )
    step_mean, target_mean = share @ steps, share @ targets
    centred = np.column_stack([steps - step_mean, targets - target_mean])
    # The problem in as few rows as it has columns: QR keeps the distances up to a constant.
    reduced = np.asarray(np.linalg.qr(centred * np.sqrt(share)[:, None], mode="r"))
    n_steps = steps.shape[1]
    gains: list[FloatArray] = []
    for i in range(len(metrics)):
        drop, _ = nnls(reduced[:, :n_steps], reduced[:, n_steps + i], maxiter=50 * n_steps)
        level = float(target_mean[i] - step_mean @ drop)
        gain = np.empty(order.size)
        gain[order] = level + np.concatenate([np.cumsum(drop[::-1])[::-1], [0.0]])
        gains.append(gain)
    return gains
