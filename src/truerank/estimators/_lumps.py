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
from dataclasses import dataclass

import numpy as np

from truerank._types import FloatArray
from truerank.estimators._posterior import Component, Posterior
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


def lumps(
    posterior: Posterior,
    metrics: Sequence[Metric],
    sizes: Sequence[float],
    *,
    gradient: FloatArray | None = None,
) -> Lumps:
    """Variances that lumps of several sizes add to metrics, and the evidence for each size.

    Parameters
    ----------
    posterior : Posterior
        What the smooth fit knows.
    metrics : list of Metric
        The metrics.
    sizes : list of float
        Standard deviations of the log of P(R) about the smooth law, at each rank.
    gradient : array, optional
        How the metrics move with the log of the law at each point, shape (n_metrics, n_points), if
        not as means of their gains do.

    Returns
    -------
    Lumps
        For each size.
    """
    n_lumps = int(np.searchsorted(posterior.support.rank, LAST, side="right"))
    gain = posterior._gains(metrics)
    parts = sorted(posterior.components, key=lambda part: part.weight)[-_COMPONENTS:]
    stiff = 1.0 / np.square(np.asarray(sizes, dtype=np.float64))[:, None]  # 1 / s^2
    variance = np.zeros((len(stiff), len(metrics)))
    evidence = np.zeros(len(stiff))
    for part in parts:
        pull, across, among, slope, reach = _derivatives(posterior, part, gain, n_lumps)
        if gradient is not None:
            slope = gradient @ posterior.spline.basis
            reach = gradient[:, :n_lumps] / np.sqrt(posterior.support.weight[:n_lumps])
        given = part.covariance @ across  # how the spline gives way
        told, axes = np.linalg.eigh(among - across.T @ given)
        told = np.maximum(told, 0.0)  # away from the mode with lumps it need not be positive
        known = told + stiff  # (n_sizes, n_lumps)
        share = part.weight / sum(one.weight for one in parts)
        variance += share * ((1.0 / known) @ np.square((reach - slope @ given) @ axes).T)
        push = np.square(axes.T @ pull)
        evidence += share * 0.5 * (push / known - np.log1p(told / stiff)).sum(axis=1)
    return Lumps(variance, evidence)


def _derivatives(
    posterior: Posterior, part: Component, gain: FloatArray, n_lumps: int
) -> tuple[FloatArray, ...]:
    """At a component's mode, with the first ``n_lumps`` points lumps.

    The gradient of the log-likelihood by lumps; minus its Hessian by coefficients and lumps, and by
    lumps; the gradients of metrics by coefficients and by lumps. As `Mixture.derivatives` and
    `Posterior.covariance` have them, for a basis of which each lump is one point.
    """
    model, basis = posterior.likelihood, posterior.spline.basis
    # A point that stands for several ranks has the mean of their lumps.
    scale = 1.0 / np.sqrt(posterior.support.weight[:n_lumps])
    law = posterior.spline.masses(part.mode)
    evidence = model.matrix @ law
    within = (model.matrix @ (law[:, None] * np.hstack([basis, gain]))) / evidence[:, None]
    of_basis, of_gain = np.split(within, [basis.shape[1]], axis=1)
    at_lump = model.matrix[:, :n_lumps] * (law[:n_lumps] * scale) / evidence[:, None]
    stepped = posterior.given_outcomes(law)
    mass, seen = law[:n_lumps] * scale, stepped[:n_lumps] * scale
    weighted = model.weight[:, None] * at_lump
    pull = seen + model.exact_mass[:n_lumps] * scale - mass
    # What complete data would tell less what is missing.
    across = basis[:n_lumps].T * (mass - seen) - np.outer(law @ basis, mass) + of_basis.T @ weighted
    among = np.diag((mass - seen) * scale) - np.outer(mass, mass) + at_lump.T @ weighted
    slope = (gain * stepped[:, None]).T @ basis - of_gain.T @ (model.weight[:, None] * of_basis)
    reach = gain[:n_lumps].T * seen - of_gain.T @ weighted
    users = posterior.n_users
    return users * pull, users * across, users * among, slope, reach
