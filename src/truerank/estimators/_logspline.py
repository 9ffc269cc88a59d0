"""Log-spline rank distributions, and the Gaussian-process priors of their coefficients.

    log P(R) = B(u(R)) c - log Z,      u(R) = Phi^-1((R - 1 + h) / (N - 1 + 2 h)),

with cubic B-splines B in the normal quantile u of the rank and half a rank or so of room h at
either end. If items' scores are normal, and targets' too with another mean and spread (the
binormal model of ROC curves), log P is a parabola in u, whatever the scores' scale. The prior
therefore lets a parabola go nearly free, and lets the slope stray from its line by a stationary
process (Matern 3/2) of some amplitude and length.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from truerank._checks import FloatArray
from truerank.support import Support

DEGREE = 3
END_ROOM = 0.75  # h, in ranks
# Prior standard deviations of the parabola's coefficients, in u.
LEVEL, SLOPE, CURVATURE = 3.0, 2.0, 0.5
# The grid of hyper-parameters: how far the slope strays, and over which length in u.
AMPLITUDES = (0.1, 0.3, 1.0, 3.0)
LENGTHS = (3.0, 1.5, 0.7)
_FINE = 120  # intervals on which the process of slopes is integrated


@dataclass(frozen=True)
class LogSpline:
    """The family on a support: ``basis`` (n_points, n_functions), ``log_weight`` (n_points,)."""

    basis: FloatArray
    log_weight: FloatArray

    def log_masses(self, coefficients: FloatArray) -> FloatArray:
        """log of the mass at each point, for coefficients (..., n_functions)."""
        level = coefficients @ self.basis.T + self.log_weight
        top = level.max(axis=-1, keepdims=True)
        norm = np.log(np.exp(level - top).sum(axis=-1, keepdims=True)) + top
        return np.asarray(level - norm)

    def masses(self, coefficients: FloatArray) -> FloatArray:
        """The mass at each point, for coefficients (..., n_functions)."""
        return np.asarray(np.exp(self.log_masses(coefficients)))


def log_spline(support: Support, n_functions: int) -> LogSpline:
    """The family of ``n_functions`` splines on the points of ``support``."""
    from scipy.interpolate import BSpline

    knots = _knots(support.n_items, n_functions)
    at = np.clip(_quantile(support.rank, support.n_items), knots[0], knots[-1])
    basis = BSpline.design_matrix(at, knots, DEGREE).toarray()
    return LogSpline(basis, np.log(support.weight))


@lru_cache(maxsize=64)
def prior_factors(n_items: int, n_functions: int) -> tuple[tuple[FloatArray, ...], ...]:
    """Square roots L of the prior covariance LL', by length (long ones first), then amplitude.

    Covariances are those of the process at the splines' sites (Greville abscissae).
    """
    knots = _knots(n_items, n_functions)
    site = np.convolve(knots[1:-1], np.full(DEGREE, 1.0 / DEGREE), mode="valid")
    parabola = (
        LEVEL**2
        + SLOPE**2 * np.outer(site, site)
        + CURVATURE**2 * np.outer(site**2 - 1.0, site**2 - 1.0)
    )
    return tuple(
        tuple(_root(parabola + amplitude**2 * wander) for amplitude in AMPLITUDES)
        for wander in (_integrated_matern(site, length) for length in LENGTHS)
    )


def _quantile(rank: FloatArray, n_items: int) -> FloatArray:
    from scipy.special import ndtri

    return np.asarray(ndtri((rank - 1.0 + END_ROOM) / (n_items - 1.0 + 2.0 * END_ROOM)))


def _knots(n_items: int, n_functions: int) -> FloatArray:
    """Clamped and even in u."""
    low, high = _quantile(np.array([1.0, float(n_items)]), n_items)
    inner = np.linspace(low, high, n_functions - DEGREE + 1)
    return np.concatenate([[low] * DEGREE, inner, [high] * DEGREE])


def _integrated_matern(site: FloatArray, length: float) -> FloatArray:
    """Covariance at ``site`` of the integral, from the middle, of a Matern 3/2 process of sd 1."""
    edge = np.linspace(site[0], site[-1], _FINE + 1)
    middle = (edge[1:] + edge[:-1]) / 2.0
    apart = np.sqrt(3.0) * np.abs(middle[:, None] - middle) / length
    covered = np.clip(site[:, None] - edge[:-1], 0.0, edge[1] - edge[0])
    covered = covered - np.clip((edge[0] + edge[-1]) / 2.0 - edge[:-1], 0.0, edge[1] - edge[0])
    return np.asarray(covered @ ((1.0 + apart) * np.exp(-apart)) @ covered.T)


def _root(covariance: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 1e-10 * values[-1])))
