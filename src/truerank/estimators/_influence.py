"""How much one outcome moves a fit: first derivatives of estimates in the shares of outcomes.

A share w_o more of outcome o changes masses, and metrics read off them. Derivatives go backwards,
from the metrics to the shares, so that they cost as much as the fit times the number of metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank._types import FloatArray
from truerank.estimators._base import expected_gains, posterior_slope
from truerank.estimators.likelihood import Likelihood
from truerank.estimators.support import RankDistribution, Support
from truerank.metrics import Metric


@dataclass(frozen=True)
class ReadOff:
    """Metrics read off masses, and how they change with those and with the outcomes themselves.

    Attributes
    ----------
    slope : ndarray of float, shape (n_points, n_metrics)
        By how much a mass more at a point raises each metric.
    held : ndarray of float, shape (n_exact, n_metrics)
        By how much more mass at an exact rank does, which is not just anywhere in its cell.
    sampled, exact : ndarray of float, shapes (n_sampled, n_metrics) and (n_exact, n_metrics)
        By how much an outcome raises them of itself, whatever the masses.
    """

    slope: FloatArray
    held: FloatArray
    sampled: FloatArray
    exact: FloatArray


def read_off(
    model: Likelihood, mass: FloatArray, metrics: Sequence[Metric], plug_in: str
) -> ReadOff:
    """The reading of ``metrics`` at ``mass``, (n_points,), exact ranks included."""
    pools = np.concatenate([model.n_items, model.exact_n_items])
    at = model.support.locate(model.exact_rank)
    unmoved = np.zeros(model.weight.size), np.zeros(model.exact_weight.size)
    columns = []
    for metric in metrics:
        known = metric.gain(model.exact_rank, model.exact_n_items)
        if plug_in == "posterior" or (metric.depends_on_pool and (pools != pools[0]).any()):
            own = expected_gains(model, mass, metric)
            columns.append((posterior_slope(model, mass, metric), unmoved[1], own, known))
        else:
            gain = metric.gain(model.support.rank, model.support.n_items)
            columns.append((gain, known - gain[at], *unmoved))
    return ReadOff(*(np.stack(parts, axis=1) for parts in zip(*columns, strict=True)))


def through_em(
    matrix: Any,
    weight: FloatArray,
    exact: FloatArray,
    start: FloatArray,
    steps: int,
    slope: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Derivatives of ``slope``' (sampled + exact masses) after EM steps from ``start``.

    In the shares of sampled outcomes, (n_outcomes, n_metrics), and in the masses ``exact`` that
    stay put, (n_points, n_metrics). Masses are of degree 1 in all shares together, so that the
    derivatives times the shares sum to the value itself (Euler).
    """
    masses = [start]
    for _ in range(steps - 1):
        mass = masses[-1]
        masses.append(mass * ((weight / (matrix @ mass)) @ matrix) + exact)
    moved = np.zeros((weight.size, slope.shape[1]))
    held = slope.copy()
    for step, mass in reversed(list(enumerate(masses))):
        evidence = matrix @ mass
        share = weight / evidence
        expected = (matrix @ (mass[:, None] * slope)) / evidence[:, None]  # given the outcome
        moved += expected
        slope = slope * (share @ matrix)[:, None] - matrix.T @ (share[:, None] * expected)
        if step:  # the first masses are uniform whatever was seen
            held += slope
    return moved, held


def pulled_back(slope: FloatArray, support: Support, grid: Support) -> FloatArray:
    """Slopes in masses on ``support`` as slopes in the masses on ``grid`` that they come from.

    The transpose of `RankDistribution.masses_on`; shapes (n_points, n_metrics).
    """
    if support is grid:
        return slope
    none = np.empty(0)
    each = [RankDistribution(grid, unit, none, none) for unit in np.eye(grid.n_points)]
    return np.stack([one.masses_on(support) for one in each]) @ slope
