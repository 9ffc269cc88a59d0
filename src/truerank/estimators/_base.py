"""What every estimator is and gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from truerank._checks import FloatArray
from truerank.counts import RankCounts
from truerank.likelihood import Likelihood
from truerank.metrics import Metric
from truerank.support import RankDistribution, Support

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


def outcome_mean(counts: RankCounts, gain: FloatArray) -> float:
    """The weighted mean of a gain per outcome."""
    return float(counts.weight @ gain / counts.total_weight)


def posterior_mean(likelihood: Likelihood, mass: FloatArray, metric: Metric) -> float:
    """Mean over outcomes of E[gain | outcome] when global ranks have prior ``mass``.

    It is exact for exact ranks whatever the prior is, and handles gains that depend on the pool.
    Negative masses (linear estimators) count as 0.
    """
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
    value = likelihood.weight @ (expected / evidence)
    known = metric.gain(likelihood.exact_rank, likelihood.exact_n_items)
    return float(value + likelihood.exact_weight @ known)
