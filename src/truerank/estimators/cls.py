"""Constrained least squares (KR20 eq. 21): least bias with gains that fall as the rank grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from truerank import _arguments
from truerank._types import FloatArray
from truerank.estimators import _given_prior
from truerank.estimators._base import Estimator, Fit, mean_gains
from truerank.estimators._given_prior import Prior
from truerank.estimators._spaces import OutcomeSpace, by_outcome, outcome_spaces
from truerank.estimators.likelihood import make_support
from truerank.estimators.support import RankDistribution, Support, SupportLike
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts


@dataclass(frozen=True)
class CLS(Estimator):
    """Constrained least squares: least bias with gains that fall as the rank grows (KR20 eq. 21).

    Minimises sum_R p(R) (E[m(r) | R] - F(R))^2 over gains m(1) >= m(2) >= .... (KR20 prints the
    inequality the other way round.) Adaptive outcomes are ordered by their share of hits,
    (r-1)/(n-1).

    Parameters
    ----------
    nonnegative : bool
        Whether gains must also be at least 0, as those of every metric here are. KR20 does not
        say so; its printed figures are those of gains that are.
    prior : {"mle", "mes"}, Estimator, RankDistribution or None
        The p(R) of the equation, as in :class:`BV`: None for uniform, as published; ``"mle"``,
        ``"mes"`` or any estimator of a distribution for what it finds in the same sample; or a
        distribution.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> est = tr.estimate(counts, "recall@10", estimator="cls", confidence=None)
    >>> round(est["recall@10"].value, 4)
    0.1856
    >>> cls = tr.estimators.CLS(nonnegative=True)
    >>> est = tr.estimate(counts, "recall@10", estimator=cls, confidence=None)
    >>> round(est["recall@10"].value, 4)
    0.186
    """

    nonnegative: bool = False
    prior: Prior = None
    name: ClassVar[str] = "cls"

    def __post_init__(self) -> None:
        _arguments.check_fields(self)
        object.__setattr__(self, "prior", _given_prior.checked(self.prior))

    def fit(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike, plug_in: str
    ) -> Fit:
        grid = make_support(counts, metrics, support)
        prior, fitted = _given_prior.find(self.prior, counts, metrics, grid)
        gains = self._gains(counts, metrics, support, grid, prior)
        converged, n_iter = (fitted.converged, fitted.n_iter) if fitted else (None, None)
        return Fit(mean_gains(counts, metrics, gains), converged=converged, n_iter=n_iter)

    def gains(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike
    ) -> FloatArray | None:
        if isinstance(self.prior, Estimator):
            return None
        grid = make_support(counts, metrics, support)
        prior, _ = _given_prior.find(self.prior, counts, metrics, grid)
        return self._gains(counts, metrics, support, grid, prior)

    def _gains(
        self,
        counts: RankCounts,
        metrics: Sequence[Metric],
        support: SupportLike,
        grid: Support,
        prior: RankDistribution | None,
    ) -> FloatArray:
        return by_outcome(
            counts,
            metrics,
            (
                (space, np.stack(self._space_gains(space, metrics, prior)))
                for space in outcome_spaces(counts, metrics, "full" if support == "full" else grid)
            ),
        )

    def _space_gains(
        self, space: OutcomeSpace, metrics: Sequence[Metric], prior: RankDistribution | None
    ) -> list[FloatArray]:
        """The corrected gain of each outcome of a space, one array per metric."""
        from scipy.optimize import nnls

        share = _given_prior.masses(prior, space.support)
        hits = (space.sampled_rank - 1) / (space.sample_size - 1)
        order = np.lexsort([-space.sample_size, hits])
        # In steps d_j = m_j - m_{j+1} >= 0 the columns are P(outcome among the j best | R), and the
        # last, of the last gain itself, is 1. Where that gain is a free level, columns and targets
        # less their means leave it out of the problem.
        columns = np.cumsum(space.probability[:, order], axis=1)
        # Mean ranks are measured from that of the last rank, so that they too are at least 0 and
        # fall with the rank.
        way = np.array([-1.0 if metric.lower_is_better else 1.0 for metric in metrics])
        last = np.array(
            [
                float(metric.gain(space.n_items, space.n_items)) if metric.of_mean_rank else 0.0
                for metric in metrics
            ]
        )
        targets = np.column_stack(
            [metric.gain(space.support.rank, space.n_items) for metric in metrics]
        )
        targets = way * (targets - last)
        if not self.nonnegative:
            columns = columns[:, :-1]
            column_mean, target_mean = share @ columns, share @ targets
            columns, targets = columns - column_mean, targets - target_mean
        # The problem in as few rows as it has columns: QR keeps the distances up to a constant.
        both = np.column_stack([columns, targets])
        reduced = np.asarray(np.linalg.qr(both * np.sqrt(share)[:, None], mode="r"))
        n_steps = columns.shape[1]
        gains: list[FloatArray] = []
        for i in range(len(metrics)):
            drop = np.empty(0)  # of a single outcome there are no steps
            if n_steps:
                drop, _ = nnls(reduced[:, :n_steps], reduced[:, n_steps + i], maxiter=50 * n_steps)
            if not self.nonnegative:
                drop = np.append(drop, float(target_mean[i] - column_mean @ drop))
            gain = np.empty(order.size)
            gain[order] = np.cumsum(drop[::-1])[::-1]
            gains.append(last[i] + way[i] * gain)
        return gains
