"""How far a linear estimator may be off: LJ24 eq. 38-39 and LJ20 eq. 5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank import metrics as metrics_module
from truerank.errors import InputError
from truerank.estimators._base import Estimator
from truerank.estimators.linear import Linear
from truerank.estimators.registry import get
from truerank.estimators.support import RankDistribution, Support
from truerank.metrics import MetricLike
from truerank.outcomes import schemes
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme

__all__ = ["ErrorBound", "error_bound", "sampled_recall_variance"]


@dataclass(frozen=True)
class ErrorBound:
    """The parts of the bound on the mean squared error of an estimate, P(R) the prior.

    ``bias_squared`` is sum_R P(R) (E[m(r)|R] - F(R))^2, at least the squared bias (LJ24 eq. 38).
    ``variance`` is sum_R P(R) Var[m(r)|R] / M, over the drawn negatives; ``variance_bound`` is
    eq. 39's sum_R Var[m(r)|R] / M, which bounds it because P(R) <= 1.
    """

    metric: str
    bias_squared: float
    variance: float
    variance_bound: float


def error_bound(
    counts: RankCounts,
    metric: MetricLike,
    *,
    estimator: str | Estimator = "bv",
    support: str | Support = "auto",
) -> ErrorBound:
    """Bias and variance bounds of a linear estimator on these counts."""
    chosen = get(estimator)
    if not isinstance(chosen, Linear):
        raise InputError(f"estimator {chosen.name!r} is not linear; give one of bv and mn")
    (wanted,) = metrics_module.parse(metric)
    bias = variance = bound = 0.0
    for space, prior, gains in chosen.corrected_gains(counts, [wanted], support):
        share = float(space.observed.sum())
        expected = space.probability @ gains[0]
        spread = np.maximum(space.probability @ gains[0] ** 2 - expected**2, 0.0)
        target = wanted.gain(space.support.rank, space.n_items)
        bias += share * float(prior @ (expected - target) ** 2)
        variance += share * float(prior @ spread)
        bound += share * float(space.support.weight @ spread)
    users = counts.effective_users
    return ErrorBound(wanted.key, bias, variance / users, bound / users)


def sampled_recall_variance(
    distribution: RankDistribution,
    k: int,
    *,
    sample_size: int,
    n_users: float,
    replacement: bool = True,
) -> float:
    """Variance over the drawn negatives of the sampled recall@k (LJ20 eq. 5).

    (1/M) sum_R P(R) p(R) (1 - p(R)), p(R) the chance of a sampled rank of at most k.
    """
    support = distribution.support
    hit = np.exp(
        schemes.log_probability(
            Scheme(replacement),
            np.concatenate([support.rank, distribution.exact_rank]),
            n_items=support.n_items,
            sample_size=sample_size,
            sampled_rank=np.arange(1, k + 1),
        )
    ).sum(axis=0)
    mass = np.concatenate([distribution.mass, distribution.exact_mass])
    return float(mass @ (hit * (1.0 - hit))) / n_users


def __dir__() -> list[str]:
    return sorted(__all__)
