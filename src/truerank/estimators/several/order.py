"""The laws of classes that follow from the law of all targets: those of order statistics.

A user's targets are t draws that go together: some users' taste is easy to meet, that of others
is not. Let F be the cumulative distribution of all targets. The normal score of a target, Phi^-1 of
its F(R), is taken as sqrt(rho) z + sqrt(1 - rho) e, z of the user and e of the target, both
standard normal: every target alone follows F, whatever rho is. For a given z targets are
independent, and the i-th best of them has the cumulative distribution I_p(i, t - i + 1), the
incomplete beta function, at p = Phi((Phi^-1(F) - sqrt(rho) z) / sqrt(1 - rho)); its mean over z is
the law of place i. How much targets go together, rho, is what makes the outcomes likeliest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank._types import FloatArray
from truerank.estimators.likelihood import Likelihood
from truerank.estimators.support import RankDistribution
from truerank.outcomes.counts import RankCounts

_PAIRS = 12  # of place and number of targets that stand for all of a class
_PLAIN = 0.05  # share of the law of all targets in that of a class: all of a user's go as one
# Correlations that are tried; the likeliest is sought between neighbours.
_TRIED = (0.0, 0.05, 0.1, 0.2, 0.35, 0.55)
_HIGHEST = 0.8
_RATE = 5.0  # of the exponential prior of the correlation
# Normal scores at which order statistics are tabulated, and users that stand for all.
_SCORES = np.linspace(-8.0, 8.0, 401)
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(31)
_SHARES = _SHARES / _SHARES.sum()


@dataclass(frozen=True)
class OrderLaws:
    """Laws of order statistics, by class, and how they move with the law of all targets.

    Real users differ; fits stray from these laws.

    Attributes
    ----------
    mass
        Of each class on the points of the support, (n_classes, n_points).
    slope
        How much their cumulative distributions rise with F, (n_classes, n_points).
    correlation
        Of the normal scores of a user's targets, rho.
    """

    mass: FloatArray
    slope: FloatArray
    correlation: float

    def pulled(self, number: int, gradient: FloatArray) -> FloatArray:
        """Gains of single targets that move what a class moves, (n_metrics, n_points).

        ``gradient`` says how metrics change with the log of the law of the class, point by point.
        Let every point of the law of all targets change: by that of the mean of these gains.
        """
        each = gradient / self.mass[number]
        step = (each[:, :-1] - each[:, 1:]) * self.slope[number, :-1]
        found = np.zeros_like(gradient)
        found[:, :-1] = np.cumsum(step[:, ::-1], axis=1)[:, ::-1]
        return found


def order_laws(
    parts: Sequence[RankCounts],
    together: RankDistribution,
    seen: Sequence[Likelihood] = (),
    *,
    correlation: float = 0.0,
) -> OrderLaws:
    """The laws of classes.

    Parameters
    ----------
    parts : sequence of RankCounts
        The targets of each class.
    together : RankDistribution
        The law of all targets.
    seen : sequence of Likelihood
        The outcomes of each class, which tell the correlation.
    correlation : float, default 0.0
        The correlation where no outcomes tell it.

    Returns
    -------
    OrderLaws
        Of each class.
    """
    grid = together.support
    below = np.clip(together.cdf(grid.edge), 0.0, 1.0)
    plain = np.maximum(np.diff(below, prepend=0.0), 1e-12 * grid.weight / grid.n_items)
    table = np.stack([_order_statistics(part) for part in parts], axis=2)

    def masses(rho: float) -> FloatArray:
        cumulated = _mean_of_users(below, rho) @ np.concatenate(table)
        cumulated[below >= 1.0] = 1.0
        each: FloatArray = np.maximum(np.diff(cumulated, axis=0, prepend=0.0), 0.0).T
        return (1.0 - _PLAIN) * each + _PLAIN * plain

    if seen:
        correlation = _likeliest(masses, [part.total_weight for part in parts], seen)
    slope = _mean_of_users(below, correlation, slope=True) @ np.concatenate(table)
    return OrderLaws(masses(correlation), (1.0 - _PLAIN) * slope.T + _PLAIN, correlation)


def _order_statistics(counts: RankCounts) -> FloatArray:
    """Cumulative distribution of a class, and its slope, at the normal scores of independent
    targets, (2, n_scores)."""
    from scipy.special import betainc, betaln, log_ndtr, ndtr

    pairs, row = np.unique(np.stack([counts.place, counts.n_targets]), axis=1, return_inverse=True)
    each = counts.weight / np.sqrt(counts.n_targets)
    weight: FloatArray = np.bincount(row.ravel(), each).astype(np.float64)
    if weight.size > _PAIRS:  # some of them, evenly by weight
        middle = np.searchsorted(
            np.cumsum(weight), (np.arange(_PAIRS) + 0.5) / _PAIRS * weight.sum()
        )
        pairs, weight = pairs[:, middle], np.ones(_PAIRS)
    place, rest = pairs[0][:, None], (pairs[1] - pairs[0])[:, None]
    log_density = (place - 1) * log_ndtr(_SCORES) + rest * log_ndtr(-_SCORES)
    log_density = log_density - betaln(place, rest + 1) - 0.5 * (_SCORES**2 + np.log(2.0 * np.pi))
    found = np.stack([betainc(place, rest + 1, ndtr(_SCORES)), np.exp(log_density)])
    return np.asarray(np.tensordot(found, weight / weight.sum(), axes=(1, 0)))


def _mean_of_users(below: FloatArray, rho: float, *, slope: bool = False) -> Any:
    """A matrix that takes tabulated order statistics to their mean over users.

    Their values stand above their slopes; between scores a cubic goes through both. With ``slope``
    it gives by how much the mean rises with ``below``. Shape (n_points, 2 n_scores), sparse.
    """
    from scipy.sparse import csr_array
    from scipy.special import ndtri

    score = np.clip(ndtri(below), _SCORES[0], _SCORES[-1])[:, None]
    user = _NODES if rho else np.zeros(1)
    share = _SHARES if rho else np.ones(1)
    step = _SCORES[1] - _SCORES[0]
    at = (score - np.sqrt(rho) * user) / np.sqrt(1.0 - rho)
    at = np.clip((at - _SCORES[0]) / step, 0.0, _SCORES.size - 1.0)
    low = np.minimum(at.astype(np.int64), _SCORES.size - 2)
    x = at - low
    if slope:
        rise = np.sqrt(2.0 * np.pi / (1.0 - rho)) * np.exp(0.5 * score**2) / step
        share = share * rise
        value, start, end = 6.0 * x * (x - 1.0), (1.0 - x) * (1.0 - 3.0 * x), x * (3.0 * x - 2.0)
        weights = [value, -value, step * start, step * end]
    else:
        value = (1.0 + 2.0 * x) * (1.0 - x) ** 2
        weights = [value, 1.0 - value, step * x * (1.0 - x) ** 2, step * x**2 * (x - 1.0)]
    column = [low, low + 1, low + _SCORES.size, low + _SCORES.size + 1]
    data = np.stack([share * weight for weight in weights], axis=2)
    n_points, width = below.size, data[0].size
    return csr_array(
        (data.ravel(), np.stack(column, axis=2).ravel(), width * np.arange(n_points + 1)),
        shape=(n_points, 2 * _SCORES.size),
    )


def _likeliest(
    masses: Callable[[float], FloatArray], size: Sequence[float], seen: Sequence[Likelihood]
) -> float:
    """The likeliest correlation; its log evidence is read as a parabola between neighbours."""

    def evidence(rho: float) -> float:
        found = -_RATE * rho
        for n_targets, model, law in zip(size, seen, masses(rho), strict=True):
            mean = np.log(np.maximum(model.matrix @ law, 1e-300))
            found += n_targets * float(model.weight @ mean)
        return found

    tried = np.array(_TRIED)
    found = np.array([evidence(rho) for rho in _TRIED])
    middle = int(np.clip(np.argmax(found), 1, tried.size - 2))
    near = slice(middle - 1, middle + 2)
    bent, slope, _ = np.polyfit(tried[near], found[near], 2)
    top = -slope / (2.0 * bent) if bent < 0.0 else tried[np.argmax(found)]
    return float(np.clip(top, 0.0, _HIGHEST))
