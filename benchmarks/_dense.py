"""The references: plain float64 numpy on every global rank 1..N.

All take the distinct outcomes with their shares of users, so that neither side counts users.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln
from scipy.stats import binom

import truerank as tr
from benchmarks._data import FloatArray


def binomial(counts: tr.RankCounts, n_items: int) -> FloatArray:
    """P(sampled rank | global rank) with replacement, in log space, (n_outcomes, n_items).

    Adaptive outcomes too: EM does not see the constant in which these differ.
    """
    draws = counts.sample_size[:, None] - 1.0
    above = counts.sampled_rank[:, None] - 1.0
    theta = np.arange(n_items) / (n_items - 1.0)
    log_above = np.log(theta, where=theta > 0, out=np.full(n_items, -1e300))
    log_below = np.log1p(-theta, where=theta < 1, out=np.full(n_items, -1e300))
    log_p = above * log_above
    log_p += (draws - above) * log_below
    log_p += gammaln(draws + 1) - gammaln(above + 1) - gammaln(draws - above + 1)
    np.exp(log_p, out=log_p)
    return np.asarray(log_p)


def hypergeometric(counts: tr.RankCounts, n_items: int) -> FloatArray:
    """P(sampled rank | global rank) without replacement, from a table of log factorials."""
    log_factorial = gammaln(np.arange(n_items + 1.0) + 1.0)
    # Index -1 and below (more drawn than there are) ends in a factorial of infinity: P = 0.
    padded = np.concatenate([log_factorial, np.full(int(counts.sample_size.max()) + 1, np.inf)])
    draws = counts.sample_size[:, None] - 1
    above = counts.sampled_rank[:, None] - 1
    better = np.arange(n_items)
    worse = n_items - 1 - better
    log_p = log_factorial[better] + log_factorial[worse] - padded[better - above]
    log_p -= padded[worse - (draws - above)]
    log_p += log_factorial[draws] - log_factorial[above] - log_factorial[draws - above]
    log_p += log_factorial[n_items - 1 - draws] - log_factorial[n_items - 1]
    np.exp(log_p, out=log_p)
    return np.asarray(log_p)


def literal(counts: tr.RankCounts, n_items: int) -> FloatArray:
    """The same as :func:`binomial`, the way it is written down."""
    theta = np.arange(n_items) / (n_items - 1.0)
    return np.asarray(
        binom.pmf(counts.sampled_rank[:, None] - 1, counts.sample_size[:, None] - 1, theta)
    )


def em(probability: FloatArray, counts: tr.RankCounts, steps: int) -> FloatArray:
    """EM from the uniform distribution in two matrix-vector products a step."""
    share = counts.weight / counts.weight.sum()
    mass = np.full(probability.shape[1], 1.0 / probability.shape[1])
    for _ in range(steps):
        mass = mass * ((share / (probability @ mass)) @ probability)
    return mass


def em_broadcast(probability: FloatArray, counts: tr.RankCounts, steps: int) -> FloatArray:
    """EM by JL21 eq. 20 and 21: every posterior, then their weighted mean."""
    share = counts.weight / counts.weight.sum()
    mass = np.full(probability.shape[1], 1.0 / probability.shape[1])
    for _ in range(steps):
        posterior = mass * probability
        posterior /= posterior.sum(axis=1, keepdims=True)
        mass = (share[:, None] * posterior).sum(axis=0)
    return mass
