"""Log-spline rank distributions, and the Gaussian-process priors of their coefficients.

    log P(R) = B(u(R)) c - log Z,      u(R) = Phi^-1((R - 3/8) / (N + 1/4)),

with cubic B-splines B in the normal score u of the rank (Blom's: about the expected value of the
R-th of N normal variables). If items' scores are normal, and targets' too with another mean and
spread (the binormal model of ROC curves), log P is a parabola in u, whatever the scores' scale.
The prior therefore lets a parabola go nearly free, and lets the slope stray from its line by a
Gaussian process (Matern 3/2) of some amplitude and length. The head may be rougher than the rest:
training items kept in the ranking push targets down from the first ranks, memorising models pull
them up. Hence further priors, whose amplitude rises for ranks that samples hardly tell apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from truerank._types import FloatArray
from truerank.estimators.support import Support

DEGREE = 3
# Prior standard deviations of the parabola's coefficients, in u.
LEVEL, SLOPE, CURVATURE = 3.0, 2.0, 0.5
# The grid of hyper-parameters: how far the slope strays, and over which length in u.
AMPLITUDES = (0.1, 0.3, 1.0, 3.0)
LENGTHS = (3.0, 1.5, 0.7)
# With the shortest length also so many times as far in the head: ranks below about HEAD N / n,
# HEAD_EDGE (in u) saying how sharply it ends.
ROUGHER = 21.0
HEAD, HEAD_EDGE = 3.0, 0.2
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
    at = np.clip(_score(support.rank, support.n_items), knots[0], knots[-1])
    basis = BSpline.design_matrix(at, knots, DEGREE).toarray()
    return LogSpline(basis, np.log(support.weight))


@lru_cache(maxsize=64)
def prior_factors(
    n_items: int, n_functions: int, sample_size: int
) -> tuple[tuple[FloatArray, ...], ...]:
    """Square roots L of the prior covariances LL': paths of rising amplitude.

    Covariances are those of the process at the splines' sites (Greville abscissae).
    ``sample_size`` says where the head ends.
    """
    from scipy.special import ndtr, ndtri

    knots = _knots(n_items, n_functions)
    site = np.convolve(knots[1:-1], np.full(DEGREE, 1.0 / DEGREE), mode="valid")
    parabola = (
        LEVEL**2
        + SLOPE**2 * np.outer(site, site)
        + CURVATURE**2 * np.outer(site**2 - 1.0, site**2 - 1.0)
    )
    edge = np.linspace(site[0], site[-1], _FINE + 1)
    middle = (edge[1:] + edge[:-1]) / 2.0
    in_head = ndtr((ndtri(min(HEAD / sample_size, 0.5)) - middle) / HEAD_EDGE)
    rough = 1.0 + (ROUGHER - 1.0) * in_head
    processes = [_matern(middle, length) for length in LENGTHS]
    processes.append(processes[-1] * np.outer(rough, rough))
    wanders = [_integrate(process, edge, site) for process in processes]
    return tuple(
        tuple(_root(parabola + amplitude**2 * wander) for amplitude in AMPLITUDES)
        for wander in wanders
    )


def _score(rank: FloatArray, n_items: int) -> FloatArray:
    from scipy.special import ndtri

    return np.asarray(ndtri((rank - 0.375) / (n_items + 0.25)))


def _knots(n_items: int, n_functions: int) -> FloatArray:
    """Clamped and even in u."""
    low, high = _score(np.array([1.0, float(n_items)]), n_items)
    inner = np.linspace(low, high, n_functions - DEGREE + 1)
    return np.concatenate([[low] * DEGREE, inner, [high] * DEGREE])


def _matern(at: FloatArray, length: float) -> FloatArray:
    """Covariance of a Matern 3/2 process of standard deviation 1."""
    apart = np.sqrt(3.0) * np.abs(at[:, None] - at) / length
    return np.asarray((1.0 + apart) * np.exp(-apart))


def _integrate(process: FloatArray, edge: FloatArray, site: FloatArray) -> FloatArray:
    """Covariance at ``site`` of the integral from 0 of a process constant between edges."""
    width = edge[1] - edge[0]
    covered = np.clip(site[:, None] - edge[:-1], 0.0, width) - np.clip(-edge[:-1], 0.0, width)
    return np.asarray(covered @ process @ covered.T)


def _root(covariance: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 1e-10 * values[-1])))
