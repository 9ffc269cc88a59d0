"""What lumps in the rank distribution, finer than any spline, would do to an estimate.

Ranks are items: one item that sells is a lump at its rank, and in a list of best sellers every rank
is one. Say that the log of P(R) strays from the spline by lumps, independent from rank to rank, of
standard deviation s. The posterior of spline and lumps together, by one Newton step from the mode
without them, then has a closed form: with C the covariance of the coefficients c, and minus the
Hessian of the log-likelihood in blocks, B for c and lumps and D for lumps,

    T = D - B' C B          what the sample tells of lumps when the spline may give way,
    q = g - h C B           what a lump does to a metric of gradients h and g,

metrics gain the variance q (T + 1 / s^2)^-1 q', and the evidence tells how likely each s is.
Where the sample tells ranks apart, T is large and lumps add nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from truerank._types import FloatArray
from truerank.estimators._laplace import Mixture
from truerank.estimators._logspline import LogSpline
from truerank.estimators._posterior import Posterior
from truerank.metrics import Metric

LAST = 100.0  # lumps beyond this rank are too small to matter
_COMPONENTS = 3  # of the posterior, the heaviest: they differ little in this


@dataclass(frozen=True)
class Lumps:
    """What lumps of each size do.

    Attributes
    ----------
    variance : array
        What they add to the variance of each metric, shape (n_sizes, n_metrics).
    log_evidence : array
        Log of the evidence for the size, against no lumps, shape (n_sizes,).
    """

    variance: FloatArray
    log_evidence: FloatArray


def lumps(posterior: Posterior, metrics: Sequence[Metric], sizes: Sequence[float]) -> Lumps:
    """Variances that lumps of several sizes add to metrics, and the evidence for each size.

    Parameters
    ----------
    posterior : Posterior
        What the smooth fit knows.
    metrics : list of Metric
        The metrics.
    sizes : list of float
        Standard deviations of the log of P(R) about the smooth law, at each rank.

    Returns
    -------
    Lumps
        For each size.
    """
    support, basis = posterior.support, posterior.spline.basis
    first = int(np.searchsorted(support.rank, LAST, side="right"))
    n_functions = basis.shape[1]
    own = np.zeros((support.n_points, first))
    # A point that stands for several ranks has the mean of their lumps.
    own[np.arange(first), np.arange(first)] = 1.0 / np.sqrt(support.weight[:first])
    spline = LogSpline(np.concatenate([basis, own], axis=1), posterior.spline.log_weight)
    mixture = Mixture(posterior.likelihood, spline, posterior.n_users)
    both = replace(posterior, spline=spline)
    gain = both._gains(metrics)
    parts = sorted(posterior.components, key=lambda part: part.weight)[-_COMPONENTS:]
    stiff = 1.0 / np.square(np.asarray(sizes, dtype=np.float64))[:, None]  # 1 / s^2
    variance = np.zeros((len(stiff), len(metrics)))
    evidence = np.zeros(len(stiff))
    for part in parts:
        mode = np.concatenate([part.mode, np.zeros(first)])
        _, pull, curvature = mixture.derivatives(mode)
        across, among = curvature[:n_functions, n_functions:], curvature[n_functions:, n_functions:]
        given = part.covariance @ across  # how the spline gives way
        told, axes = np.linalg.eigh(among - across.T @ given)
        told = np.maximum(told, 0.0)  # away from the mode with lumps it need not be positive
        slope, _ = both._slopes(replace(part, mode=mode), gain, "these-users")
        reach = (slope[:, n_functions:] - slope[:, :n_functions] @ given) @ axes
        push = axes.T @ pull[n_functions:]
        known = told + stiff  # (n_sizes, n_lumps)
        share = part.weight / sum(one.weight for one in parts)
        variance += share * ((1.0 / known) @ (reach**2).T)
        evidence += share * 0.5 * ((push**2 / known) - np.log1p(told / stiff)).sum(axis=1)
    return Lumps(variance, evidence)
