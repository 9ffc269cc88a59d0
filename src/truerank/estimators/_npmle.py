"""The maximum of the mixture likelihood, to a certified distance, by an interior-point method.

EM needs tens of thousands of steps to get there. The problem is concave:

    max over masses pi >= 0, sum 1, of sum_o w_o log (A pi)_o,

and its dual (Lindsay; Koenker & Mizera 2014) has one unknown nu_o = w_o / (A pi)_o an outcome:
max sum_o w_o log nu_o with A' nu <= 1. Newton's method on the dual with a logarithmic barrier
mu sum log(1 - A' nu), mu shrinking, is sure to get there (the barrier is self-concordant), and
mu / (1 - A' nu) are the masses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank._types import FloatArray

_MAX_STEPS = 500


@dataclass(frozen=True)
class Maximum:
    """Masses summing to 1; ``gap`` bounds how far the mean log-likelihood is below its maximum."""

    mass: FloatArray
    gap: float
    n_iter: int
    converged: bool


def maximise(matrix: FloatArray, weight: FloatArray, *, tolerance: float) -> Maximum:
    """The maximum for ``matrix`` (n_outcomes, n_points) and outcome weights summing to 1.

    Where several distributions attain it, the one nearest the centre of their set is found.
    """
    even = np.full(matrix.shape[1], 1.0 / matrix.shape[1])
    dual = weight / (matrix @ even)
    dual /= 2.0 * float((dual @ matrix).max())  # strictly feasible: A' nu <= 1/2
    slack = 1.0 - dual @ matrix  # kept up to date by its steps: recomputed it would cancel
    barrier = 1.0 / matrix.shape[1]
    best = Maximum(even, np.inf, 0, False)
    for step in range(1, _MAX_STEPS + 1):
        dual, slack, decrement = _newton_step(matrix, weight, dual, slack, barrier)
        mass = barrier / slack
        mass /= mass.sum()
        gap = float(((weight / (matrix @ mass)) @ matrix).max() - 1.0)
        if gap < best.gap:
            best = Maximum(mass, gap, step, gap <= tolerance)
        if best.converged or barrier < 1e-15:
            break
        if decrement <= 0.01 * barrier:  # near the central path: go on along it
            barrier *= 0.2
    return best


def _newton_step(
    matrix: FloatArray, weight: FloatArray, dual: FloatArray, slack: FloatArray, barrier: float
) -> tuple[FloatArray, FloatArray, float]:
    """One damped Newton step of -w.log nu - mu 1.log(1 - A' nu); and its squared decrement."""

    def objective(nu: FloatArray, room: FloatArray) -> float:
        return -float(weight @ np.log(nu)) - barrier * float(np.log(room).sum())

    slope = matrix @ (barrier / slack) - weight / dual
    move = -_normal_solve(matrix, barrier / slack**2, weight / dual**2, slope)
    decrement = -float(slope @ move)
    pull = move @ matrix
    # The longest step that stays inside, then back until the barrier function falls.
    length = min(1.0, 0.99 * _longest(slack, -pull), 0.99 * _longest(dual, move))
    start = objective(dual, slack)
    for _ in range(50):
        nu, room = dual + length * move, slack - length * pull
        if objective(nu, room) <= start - 0.1 * length * decrement:
            return nu, room, decrement
        length *= 0.5
    return dual, slack, 0.0  # no descent left at this precision


def _longest(value: FloatArray, change: FloatArray) -> float:
    """The longest step that keeps ``value`` positive."""
    falling = change < 0
    with np.errstate(over="ignore"):  # some fall so slowly that they never get there
        return float((-value[falling] / change[falling]).min()) if falling.any() else np.inf


def _normal_solve(
    matrix: FloatArray, inner: FloatArray, outer: FloatArray, right: FloatArray
) -> FloatArray:
    """(A diag(inner) A' + diag(outer))^-1 right, in outcomes or in points, whichever are fewer."""
    half: FloatArray
    system: FloatArray
    n_outcomes, n_points = matrix.shape
    if n_outcomes <= n_points:
        scale = 1.0 / np.sqrt(outer)
        half = matrix * np.sqrt(inner)[None, :] * scale[:, None]
        system = half @ half.T
        return np.asarray(scale * _solve_one_plus(system, scale * right))
    half = np.asarray(matrix * np.sqrt(inner)[None, :])
    weighted = half * (1.0 / outer)[:, None]
    system = half.T @ weighted
    solved = _solve_one_plus(system, weighted.T @ right)
    return np.asarray(right / outer - weighted @ solved)


def _solve_one_plus(system: FloatArray, right: FloatArray) -> FloatArray:
    """(I + system)^-1 right; near the end ``system`` may be too large for the I to count."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

    try:
        shifted = system + np.eye(system.shape[0])
        return np.asarray(cho_solve(cho_factor(shifted), right))
    except LinAlgError:
        values, vectors = eigh(system)
        return np.asarray(vectors @ ((vectors.T @ right) / (1.0 + np.maximum(values, 0.0))))
