"""What every estimator is and gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from truerank._types import FloatArray
from truerank.estimators.likelihood import Likelihood
from truerank.estimators.support import RankDistribution, Support
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

if TYPE_CHECKING:
    from truerank.estimators._posterior import Posterior


@dataclass(frozen=True)
class Fit:
    """What an estimator found.

    ``values`` are mean gains per unit of weight, by metric key, raw: a linear estimator may stray
    below 0 or above the metric's best. ``converged`` and ``n_iter`` are None for closed forms.
    ``posterior`` is what intervals are made of, where the estimator has one (smooth).
    """

    values: Mapping[str, float]
    distribution: RankDistribution | None = None
    converged: bool | None = None
    n_iter: int | None = None
    details: Mapping[str, float] = field(default_factory=dict)
    posterior: Posterior | None = None


@dataclass(frozen=True)
class Estimator(ABC):
    """An estimator of global metrics. Frozen: options are its fields, fitting changes nothing."""

    name: ClassVar[str]

    def supports(self, metric: Metric) -> bool:
        """Whether this estimator is defined for the metric."""
        return True

    @abstractmethod
    def fit(
        self,
        counts: RankCounts,
        *,
        metrics: Sequence[Metric],
        support: str | Support,
        plug_in: str,
    ) -> Fit:
        """Estimate ``metrics`` from ``counts``."""

    def gains(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: str | Support
    ) -> FloatArray | None:
        """A gain for each outcome, (n_outcomes, n_metrics), whose mean over users is the estimate.

        None for estimators that are no such mean: their gains depend on the weights of others.
        """
        return None

    def refit(
        self,
        outcomes: RankCounts,
        weight: FloatArray,
        *,
        metrics: Sequence[Metric],
        support: str | Support,
        plug_in: str,
    ) -> FloatArray:
        """The values of many tables of the same outcomes, (n_tables, n_metrics).

        ``weight`` (n_tables, n_outcomes) takes the place of the weights of ``outcomes``; it may
        be 0.
        """
        values = np.empty((weight.shape[0], len(metrics)))
        gains = self.gains(outcomes, metrics=metrics, support=support)
        if gains is not None:
            return np.asarray(weight @ gains / weight.sum(axis=1, keepdims=True))
        for table, weights in enumerate(weight):
            fit = self.fit(
                outcomes.reweighted(weights), metrics=metrics, support=support, plug_in=plug_in
            )
            values[table] = [fit.values[metric.key] for metric in metrics]
        return values


def mean_gains(
    counts: RankCounts, metrics: Sequence[Metric], gains: FloatArray
) -> dict[str, float]:
    """The weighted means of gains per outcome, (n_outcomes, n_metrics), by metric key."""
    means = (counts.weight @ gains / counts.total_weight).tolist()
    return dict(zip((metric.key for metric in metrics), means, strict=True))


def posterior_mean(likelihood: Likelihood, mass: FloatArray, metric: Metric) -> float:
    """Mean over outcomes of E[gain | outcome] when global ranks have prior ``mass``.

    It is exact for exact ranks whatever the prior is, and handles gains that depend on the pool.
    Negative masses (linear estimators) count as 0.
    """
    value = likelihood.weight @ expected_gains(likelihood, mass, metric)
    known = metric.gain(likelihood.exact_rank, likelihood.exact_n_items)
    return float(value + likelihood.exact_weight @ known)


def expected_gains(likelihood: Likelihood, mass: FloatArray, metric: Metric) -> FloatArray:
    """E[gain | outcome] for each sampled outcome, shape (n_outcomes,)."""
    prior = np.maximum(mass, 0.0)
    evidence = likelihood.matrix @ prior
    # An outcome that the prior rules out says nothing but its likelihood.
    lost = evidence <= 0
    if lost.any():
        prior = prior + 1e-300 * likelihood.support.weight
        evidence = likelihood.matrix @ prior
    rank = likelihood.support.rank
    if metric.depends_on_pool:
        # Such a gain is a + b / (pool - 1): two evaluations give both terms for every pool.
        slope = 2.0 * (metric.gain(rank, 2) - metric.gain(rank, 3))
        level = metric.gain(rank, 2) - slope
        expected = likelihood.matrix @ (prior * level)
        expected += (likelihood.matrix @ (prior * slope)) / (likelihood.n_items - 1.0)
    else:
        expected = likelihood.matrix @ (prior * metric.gain(rank, likelihood.support.n_items))
    return np.asarray(expected / evidence)
