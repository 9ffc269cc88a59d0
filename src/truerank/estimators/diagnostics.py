"""How far linear estimators may be off: LJ24 eq. 38-39 and LJ20 eq. 5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank import _arguments, _checks
from truerank import metrics as metrics_module
from truerank.errors import InputError
from truerank.estimators._base import Estimator
from truerank.estimators.linear import Linear
from truerank.estimators.registry import get
from truerank.estimators.support import RankDistribution, SupportLike
from truerank.metrics import MetricLike
from truerank.outcomes import schemes
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme

__all__ = ["ErrorBound", "error_bound", "sampled_recall_variance"]


@dataclass(frozen=True)
class ErrorBound:
    """The parts of a bound on the mean squared error of an estimate, P(R) the prior.

    Attributes
    ----------
    metric : str
        The metric that is estimated.
    bias_squared : float
        sum_R P(R) (E[m(r)|R] - F(R))^2, at least the squared bias (LJ24 eq. 38).
    variance : float
        sum_R P(R) Var[m(r)|R] / M, the variance over the drawn negatives.
    variance_bound : float
        sum_R Var[m(r)|R] / M (LJ24 eq. 39), which bounds it because P(R) <= 1.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> bound = tr.estimators.diagnostics.error_bound(counts, "recall@10")
    >>> bound.variance <= bound.variance_bound
    True
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
    support: SupportLike = "auto",
) -> ErrorBound:
    """Bounds on the bias and variance of a linear estimator for these counts.

    Parameters
    ----------
    counts : RankCounts
        The outcomes of the evaluation.
    metric : str or Metric
        What is estimated.
    estimator : str or Estimator
        One of the bv and mn families.
    support : {"auto", "full"} or Support
        The grid of global ranks: compressed, all ranks, or one of your own.

    Returns
    -------
    ErrorBound
        The parts of the bound.

    Raises
    ------
    InputError
        If the estimator is not linear.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> bound = tr.estimators.diagnostics.error_bound(counts, "recall@10", estimator="bv")
    >>> round(bound.bias_squared, 5)
    0.00074
    """
    _arguments.check(error_bound, locals())
    chosen = get(estimator)
    if not isinstance(chosen, Linear):
        raise InputError(f"estimator {chosen.name!r} is not linear; give one of bv and mn")
    wanted, *more = metrics_module.parse(metric)
    if more:
        raise InputError(f"metric is {_checks.shown(metric)}, which is several; give one")
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
    """Variance of the sampled recall@k over the drawn negatives (LJ20 eq. 5).

    (1/M) sum_R P(R) p(R) (1 - p(R)), p(R) the chance of a sampled rank of at most k.

    Parameters
    ----------
    distribution : RankDistribution
        The distribution of global ranks.
    k : int
        The cut-off of the sampled recall.
    sample_size : int
        Candidates ranked, the target included.
    n_users : float
        Number of users M.
    replacement : bool
        Whether negatives are drawn with replacement.

    Returns
    -------
    float
        The variance; its root is the standard error.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> ranks = tr.estimate(counts, "recall@10", confidence=None).distribution
    >>> variance = tr.estimators.diagnostics.sampled_recall_variance(
    ...     ranks, 1, sample_size=100, n_users=5
    ... )
    >>> round(variance, 3)
    0.02
    """
    _arguments.check(sampled_recall_variance, locals())
    size = _checks.integer(sample_size, "sample_size", low=2)
    k = _checks.integer(k, "k", low=1, high=size)
    _checks.real(n_users, "n_users", low=0.0, open_low=True)
    support = distribution.support
    hit = np.exp(
        schemes.log_probability(
            Scheme(replacement),
            np.concatenate([support.rank, distribution.exact_rank]),
            n_items=support.n_items,
            sample_size=size,
            sampled_rank=np.arange(1, k + 1),
        )
    ).sum(axis=0)
    mass = np.concatenate([distribution.mass, distribution.exact_mass])
    return float(mass @ (hit * (1.0 - hit))) / n_users


def __dir__() -> list[str]:
    return sorted(__all__)
