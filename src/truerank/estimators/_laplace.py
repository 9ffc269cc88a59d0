"""Modes and evidence of a log-spline rank distribution under a Gaussian prior.

The log-likelihood of coefficients c, M users, shares w_o of outcomes o and e_R of exact ranks is

    l(c) = M [ sum_o w_o log sum_j P(o | R_j) p_j(c) + sum_R e_R log p_R(c) ].

With E the mean under p and E_o that under the posterior of outcome o,

    l'  = M [ sum_o w_o E_o B + sum_R e_R B_R - E B ],
    -l'' = M [ Cov B - sum_o w_o Cov_o B ]:

what complete data would tell less what is missing. It need not be positive definite away from the
mode, hence eigenvalues are kept away from 0 in the steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from truerank._types import FloatArray
from truerank.estimators._logspline import LogSpline
from truerank.estimators.likelihood import Likelihood

_MAX_STEPS = 100
_TOLERANCE = 1e-3  # nats that a step gains when it is the last one
_LONGEST = 5.0  # a step changes no log-mass by more
_LEAST_CURVATURE = 0.25  # of the log posterior, where the prior alone gives 1


class LogLikelihood(Protocol):
    """What was seen, as a log-likelihood of the coefficients of a log-spline law."""

    @property
    def spline(self) -> LogSpline:
        """The family of laws."""
        ...

    def value(self, coefficients: FloatArray) -> float:
        """l(c), up to a constant."""
        ...

    def derivatives(self, coefficients: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """l, its gradient and minus its Hessian."""
        ...


@dataclass(frozen=True)
class Mixture:
    """The likelihood of a log-spline law: ``n_users`` is the effective number of users."""

    likelihood: Likelihood
    spline: LogSpline
    n_users: float

    def value(self, coefficients: FloatArray) -> float:
        """l(c), up to a constant."""
        log_mass = self.spline.log_masses(coefficients)
        evidence = self.likelihood.matrix @ np.exp(log_mass)
        if not evidence.min(initial=1.0) > 0.0:
            return -np.inf
        total = self.likelihood.weight @ np.log(evidence)
        return float(self.n_users * (total + self.likelihood.exact_mass @ log_mass))

    def derivatives(self, coefficients: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """l, its gradient and minus its Hessian; only l where it is minus infinity."""
        model, basis = self.likelihood, self.spline.basis
        log_mass = self.spline.log_masses(coefficients)
        mass = np.exp(log_mass)
        evidence = model.matrix @ mass
        if not evidence.min(initial=1.0) > 0.0:
            return -np.inf, np.zeros(basis.shape[1]), np.zeros((basis.shape[1],) * 2)
        stepped = mass * ((model.weight / evidence) @ model.matrix)
        known = model.exact_mass
        value = model.weight @ np.log(evidence) + known @ log_mass
        gradient = (stepped + known - mass) @ basis
        # Complete data, Cov B, less what is missing, sum_o w_o Cov_o B.
        mean = mass @ basis
        within = model.matrix @ (mass[:, None] * basis)
        within *= (self._root_weight / evidence)[:, None]  # sqrt(w_o) E_o B
        information = self.spline.gram(mass - stepped)
        information -= mean[:, None] * mean
        information += within.T @ within
        return float(self.n_users * value), self.n_users * gradient, self.n_users * information

    @cached_property
    def _root_weight(self) -> FloatArray:
        return np.sqrt(self.likelihood.weight)


@dataclass(frozen=True)
class Mode:
    """The mode of the posterior and the Gaussian around it.

    ``log_evidence`` is the log of the marginal likelihood, up to a constant common to all priors.
    """

    coefficients: FloatArray
    log_evidence: float
    n_iter: int
    converged: bool
    factor: FloatArray
    bent: FloatArray
    definite: bool

    @cached_property
    def root(self) -> FloatArray:
        """A square root of the covariance, (n_functions, n_functions)."""
        if self.definite:
            lower = np.linalg.cholesky(_raised(self.bent, 1.0))
            return np.asarray(np.linalg.solve(lower, self.factor.T).T)
        values, vectors = _curvatures(self.bent)
        return np.asarray(self.factor @ (vectors / np.sqrt(values)))


def find_mode(
    seen: LogLikelihood, factor: FloatArray, start: FloatArray, *, centre: FloatArray | float = 0.0
) -> Mode:
    """The mode for a prior N(``centre``, ``factor`` ``factor``'), by damped Newton steps from
    ``start``, in the coordinates z of c = centre + factor z, whose prior is standard normal."""
    z = np.linalg.solve(factor, start - centre)
    here = seen.derivatives(centre + factor @ z)
    n_iter, converged = 0, False
    while True:
        n_iter += 1
        value, gradient, curvature = here
        value -= 0.5 * float(z @ z)
        slope = factor.T @ gradient - z
        bent = factor.T @ curvature @ factor
        step, definite = _newton(bent, slope)
        gain = float(slope @ step)
        if gain < _TOLERANCE:  # Newton's last step squares what is left: no need to look again
            z, value, converged = z + step, value + 0.5 * gain, True
            break
        length, there = _rise(seen, factor, centre, z, step, value, gain)
        if not length:  # the value is as high as its rounding lets it be
            converged = gain < 1e-12 * abs(value)
            break
        z = z + length * step
        if n_iter == _MAX_STEPS:
            break
        here = there or seen.derivatives(centre + factor @ z)
    evidence = value - 0.5 * _log_determinant(bent, definite=definite)
    return Mode(centre + factor @ z, evidence, n_iter, converged, factor, bent, definite)


def _newton(bent: FloatArray, slope: FloatArray) -> tuple[FloatArray, bool]:
    """Newton's step where the log-likelihood has curvature ``bent`` and the prior that of I.

    And whether no curvature of the log posterior is too small: a tenth of the cost of them all.
    """
    raised = _raised(bent, 1.0 - _LEAST_CURVATURE)
    try:
        np.linalg.cholesky(raised)
    except np.linalg.LinAlgError:
        values, vectors = _curvatures(bent)
        return np.asarray(vectors @ ((vectors.T @ slope) / values)), False
    raised.flat[:: slope.size + 1] += _LEAST_CURVATURE
    return np.linalg.solve(raised, slope), True


def _log_determinant(bent: FloatArray, *, definite: bool) -> float:
    """The log of the determinant of the log posterior's curvatures."""
    if definite:
        root = np.linalg.cholesky(_raised(bent, 1.0))
        return 2.0 * float(np.log(np.diag(root)).sum())
    return float(np.log(_curvatures(bent)[0]).sum())


def _raised(bent: FloatArray, by: float) -> FloatArray:
    """``bent`` and ``by`` times the identity."""
    found = bent.copy()
    found.flat[:: bent.shape[0] + 1] += by
    return found


def _curvatures(bent: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues of ``bent`` + I, kept away from 0, and their vectors."""
    values, vectors = np.linalg.eigh(bent)
    return np.maximum(np.abs(values + 1.0), _LEAST_CURVATURE), vectors


_Derivatives = tuple[float, FloatArray, FloatArray]


def _rise(
    seen: LogLikelihood,
    factor: FloatArray,
    centre: FloatArray | float,
    z: FloatArray,
    step: FloatArray,
    value: float,
    gain: float,
) -> tuple[float, _Derivatives | None]:
    """How much of ``step`` to take so that the log posterior rises; 0 if none does.

    And the derivatives there, if they are known: the first length mostly does, so that they are
    taken with the value.
    """
    change = factor @ step
    length = 1.0
    if np.abs(change).max() > _LONGEST:  # splines are at least 0 and add up to 1
        largest = float(np.abs(seen.spline.basis @ change).max())
        length = min(1.0, _LONGEST / max(largest, 1e-300))
    for attempt in range(40):
        moved = z + length * step
        at = centre + factor @ moved
        there = seen.derivatives(at) if attempt == 0 else None
        reached = there[0] if there is not None else seen.value(at)
        if reached - 0.5 * float(moved @ moved) >= value + 1e-4 * length * gain:
            return length, there
        length *= 0.5
    return 0.0, None
