"""What is known of several targets by their outcomes: gains, whose mean is the estimate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.estimators._base import Estimator
from truerank.estimators.likelihood import make_support
from truerank.estimators.several.views import View, views
from truerank.estimators.support import RankDistribution, SupportLike
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts


class Places:
    """What is known of targets by their outcomes: gains whose mean over targets is the estimate."""

    converged: bool | None = None
    n_iter: int | None = None
    distribution: RankDistribution | None = None

    def gains(self, counts: RankCounts, metrics: Sequence[Metric]) -> FloatArray:
        """Expected gains of outcomes, (n_outcomes, n_metrics)."""
        raise NotImplementedError  # a base class

    def influence(self, counts: RankCounts, metrics: Sequence[Metric]) -> FloatArray:
        """Gains whose mean is, to first order, the estimate from other users, too."""
        return self.gains(counts, metrics)


class ExactPlaces(Places):
    """Nothing was sampled."""

    def __init__(self, counts: RankCounts) -> None:
        single = counts.single()
        few = make_support(single, [], "auto")
        self.distribution = RankDistribution(
            few,
            np.zeros(few.n_points),
            single.sampled_rank.astype(np.float64),
            single.weight / single.total_weight,
        )

    def gains(self, counts: RankCounts, metrics: Sequence[Metric]) -> FloatArray:
        return known_gains(counts, metrics, np.arange(counts.n_outcomes))


class LinearPlaces(Places):
    """An estimator that gives gains to outcomes, whoever else was evaluated."""

    def __init__(self, estimator: Estimator, support: SupportLike) -> None:
        self._estimator, self._support = estimator, support

    def gains(self, counts: RankCounts, metrics: Sequence[Metric]) -> FloatArray:
        found = np.zeros((counts.n_outcomes, len(metrics)))
        for view in views(counts, metrics, np.arange(counts.n_outcomes)):
            distinct, row = counts.single_rows(view.rows)
            wanted = [metrics[at] for at in view.columns.tolist()]
            own = self._estimator.gains(
                distinct,
                metrics=[_shaped(metric, view) for metric in wanted],
                support=self._support,
            )
            assert own is not None
            share = [metric.share(counts.n_targets[view.rows]) for metric in wanted]
            found[np.ix_(view.rows, view.columns)] = np.stack(share, axis=1) * own[row]
        return found


def _shaped(metric: Metric, view: View) -> Metric:
    """The metric of one place as that of a user with one target."""
    if metric.depends_on_pool:
        return metric
    return Metric(
        metric.key,
        None,
        lambda rank: metric.shape(
            rank, 2.0, place=view.place, offset=view.offset, n_targets=view.n_targets
        ),
    )


def known_gains(counts: RankCounts, metrics: Sequence[Metric], rows: IntArray) -> FloatArray:
    """Gains of exact outcomes, (n_rows, n_metrics)."""
    return np.stack(
        [
            metric.gain(
                counts.sampled_rank[rows],
                counts.n_items[rows],
                place=counts.place[rows],
                n_targets=counts.n_targets[rows],
                offset=counts.offset[rows],
            )
            for metric in metrics
        ],
        axis=1,
    )
