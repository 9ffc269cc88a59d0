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
        mean = self.likelihood.matrix @ np.exp(log_mass)
        if not (mean > 0).all():
            return -np.inf
        total = self.likelihood.weight @ np.log(mean)
        return float(self.n_users * (total + self.likelihood.exact_mass @ log_mass))

    def derivatives(self, coefficients: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """l, its gradient and minus its Hessian."""
        model, basis = self.likelihood, self.spline.basis
        log_mass = self.spline.log_masses(coefficients)
        mass = np.exp(log_mass)
        weighted = mass[:, None] * basis
        evidence = model.matrix @ mass
        within = (model.matrix @ weighted) / evidence[:, None]  # E_o B
        share = model.weight / evidence
        stepped = mass * (share @ model.matrix)
        mean = mass @ basis
        known = model.exact_mass
        value = model.weight @ np.log(evidence) + known @ log_mass
        gradient = model.weight @ within + known @ basis - mean
        # Complete data, Cov B, less what is missing, sum_o w_o Cov_o B.
        information = self.spline.gram(mass - stepped) - np.outer(mean, mean)
        information += within.T @ (model.weight[:, None] * within)
        return float(self.n_users * value), self.n_users * gradient, self.n_users * information


@dataclass(frozen=True)
class Mode:
    """The mode of the posterior and the Gaussian around it.

    ``root`` (n_functions, n_functions) is a square root of its covariance; ``log_evidence`` the
    log of the marginal likelihood, up to a constant common to all priors.
    """

    coefficients: FloatArray
    root: FloatArray
    log_evidence: float
    n_iter: int
    converged: bool


def find_mode(
    seen: LogLikelihood, factor: FloatArray, start: FloatArray, *, centre: FloatArray | float = 0.0
) -> Mode:
    """The mode for a prior N(``centre``, ``factor`` ``factor``'), by damped Newton steps from
    ``start``, in the coordinates z of c = centre + factor z, whose prior is standard normal."""
    z = np.linalg.solve(factor, start - centre)
    n_iter, converged = 0, False
    while n_iter < _MAX_STEPS and not converged:
        n_iter += 1
        value, gradient, curvature = seen.derivatives(centre + factor @ z)
        value -= 0.5 * float(z @ z)
        slope = factor.T @ gradient - z
        bent = factor.T @ curvature @ factor
        step = _newton(bent, slope)
        gain = float(slope @ step)
        if gain < _TOLERANCE:  # Newton's last step squares what is left: no need to look again
            z, value, converged = z + step, value + 0.5 * gain, True
            break
        length = _rise(seen, factor, centre, z, step, value, gain)
        if not length:  # the value is as high as its rounding lets it be
            converged = gain < 1e-12 * abs(value)
            break
        z = z + length * step
    values, vectors = _curvatures(bent)
    return Mode(
        centre + factor @ z,
        factor @ (vectors / np.sqrt(values)),
        value - 0.5 * float(np.log(values).sum()),
        n_iter,
        converged,
    )


def _newton(bent: FloatArray, slope: FloatArray) -> FloatArray:
    """Newton's step where the log-likelihood has curvature ``bent`` and the prior that of I."""
    one = np.eye(slope.size)
    try:  # passes where no eigenvalue is too small, and costs a tenth of them
        np.linalg.cholesky(bent + (1.0 - _LEAST_CURVATURE) * one)
    except np.linalg.LinAlgError:
        values, vectors = _curvatures(bent)
        return np.asarray(vectors @ ((vectors.T @ slope) / values))
    return np.linalg.solve(bent + one, slope)


def _curvatures(bent: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues of ``bent`` + I, kept away from 0, and their vectors."""
    values, vectors = np.linalg.eigh(bent)
    return np.maximum(np.abs(values + 1.0), _LEAST_CURVATURE), vectors


def _rise(
    seen: LogLikelihood,
    factor: FloatArray,
    centre: FloatArray | float,
    z: FloatArray,
    step: FloatArray,
    value: float,
    gain: float,
) -> float:
    """How much of ``step`` to take so that the log posterior rises; 0 if none does."""
    largest = float(np.abs(seen.spline.basis @ (factor @ step)).max())
    length = min(1.0, _LONGEST / max(largest, 1e-300))
    for _ in range(40):
        moved = z + length * step
        reached = seen.value(centre + factor @ moved) - 0.5 * float(moved @ moved)
        if reached >= value + 1e-4 * length * gain:
            return length
        length *= 0.5
    return 0.0
