"""Log-spline rank distributions.

    log P(R) = B(x(R)) c - log Z,      x(R) = log R - log(N - R + N / 100),

with cubic B-splines B, even in x: about the logarithm of the rank at the head, and that of the
distance from the last rank at the tail. A power law is a straight line at the head.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from truerank._types import FloatArray
from truerank.estimators.support import Support

DEGREE = 3
_MANY_POINTS = 1024  # from which on it pays to leave out splines that are 0
_LAST = 0.01  # how far from the last rank, as a share of N, ranks stop being told apart


@dataclass(frozen=True)
class LogSpline:
    """The family on a support: ``basis`` (n_points, n_functions), ``log_weight`` (n_points,)."""

    basis: FloatArray
    log_weight: FloatArray

    def log_masses(self, coefficients: FloatArray) -> FloatArray:
        """log of the mass at each point, for coefficients (..., n_functions)."""
        level = np.asarray(coefficients @ self.basis.T + self.log_weight)
        level -= level.max(axis=-1, keepdims=True)
        level -= np.log(np.exp(level).sum(axis=-1, keepdims=True))
        return level

    def gram(self, weight: FloatArray) -> FloatArray:
        """sum_j weight_j B_j B_j' over the points, shape (n_functions, n_functions)."""
        if weight.size < _MANY_POINTS:
            return np.asarray(self.basis.T @ (weight[:, None] * self.basis))
        # Between two knots there are DEGREE + 1 splines that are not 0.
        found = np.zeros((self.basis.shape[1],) * 2)
        for rows, columns in self._runs:
            part = self.basis[rows, columns]
            found[columns, columns] += part.T @ (weight[rows, None] * part)
        return found

    @cached_property
    def _runs(self) -> list[tuple[slice, slice]]:
        """Points between two knots, and the splines that are not 0 there."""
        first = np.minimum(np.argmax(self.basis != 0.0, axis=1), self.basis.shape[1] - DEGREE - 1)
        ends = [*(np.flatnonzero(np.diff(first)) + 1).tolist(), first.size]
        begins = [0, *ends[:-1]]
        return [
            (slice(begin, end), slice(int(first[begin]), int(first[begin]) + DEGREE + 1))
            for begin, end in zip(begins, ends, strict=True)
        ]

    def masses(self, coefficients: FloatArray) -> FloatArray:
        """The mass at each point, for coefficients (..., n_functions)."""
        return np.asarray(np.exp(self.log_masses(coefficients)))


def log_spline(support: Support, n_functions: int) -> LogSpline:
    """The family of ``n_functions`` splines on the points of ``support``."""
    knots = _knots(support.n_items, n_functions)
    at = np.clip(coordinate(support.rank, support.n_items), knots[0], knots[-1])
    return LogSpline(splines(at, knots), np.log(support.weight))


def splines(at: FloatArray, knots: FloatArray) -> FloatArray:
    """Cubic B-splines at points between the first and the last knot, (n_points, n_functions).

    The recursion of de Boor, by which `scipy.interpolate.BSpline` finds them too; importing that
    takes longer than a fit.
    """
    n_functions = knots.size - DEGREE - 1
    # The interval of each point; the last knot belongs to the last one.
    interval = np.clip(np.searchsorted(knots, at, side="right") - 1, DEGREE, n_functions - 1)
    value = np.ones((1, at.size))  # of the splines that are not 0 there, degree by degree
    for degree in range(1, DEGREE + 1):
        before, value = value, np.zeros((degree + 1, at.size))
        for number in range(degree):
            high = knots[interval + number + 1]
            low = knots[interval + number + 1 - degree]
            share = before[number] / (high - low)
            value[number] += share * (high - at)
            value[number + 1] = share * (at - low)
    found = np.zeros((at.size, n_functions))
    columns = interval[:, None] + np.arange(-DEGREE, 1)
    np.put_along_axis(found, columns, value.T, axis=1)
    return found


def coordinate(rank: FloatArray, n_items: int) -> FloatArray:
    """x(R), for ranks from 1 to N."""
    return np.asarray(np.log(rank) - np.log(n_items - rank + _LAST * n_items))


def rank_at(x: FloatArray, n_items: int) -> FloatArray:
    """The rank at a coordinate, no whole number in general."""
    odds = np.exp(x)
    return np.asarray(odds / (1.0 + odds) * (1.0 + _LAST) * n_items)


def sites(n_items: int, n_functions: int) -> FloatArray:
    """Where a coefficient is about the value of the spline (Greville abscissae), rising."""
    knots = _knots(n_items, n_functions)
    return np.convolve(knots[1:-1], np.full(DEGREE, 1.0 / DEGREE), mode="valid")


def enough_functions(n_items: int, n_users: float) -> int:
    """Two per unit of x, and two more for each doubling of users from some thousand on."""
    low, high = coordinate(np.array([1.0, float(n_items)]), n_items)
    more = max(0, round(2.0 * np.log2(max(n_users, 1.0) / 8192.0)))
    return int(np.clip(round(2.0 * (high - low)) + more, 20, 48))


def _knots(n_items: int, n_functions: int) -> FloatArray:
    """Clamped and even in x."""
    low, high = coordinate(np.array([1.0, float(n_items)]), n_items)
    inner = np.linspace(low, high, n_functions - DEGREE + 1)
    return np.concatenate([[low] * DEGREE, inner, [high] * DEGREE])
