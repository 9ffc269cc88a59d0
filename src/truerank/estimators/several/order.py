"""The laws that targets of each class would follow if all were independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truerank._types import FloatArray
from truerank.estimators.support import RankDistribution, Support
from truerank.outcomes.counts import RankCounts

_PAIRS = 32  # of place and number of targets that stand for all of a class
_PLAIN = 0.05  # share of the law of all targets in that of a class


@dataclass(frozen=True)
class OrderLaws:
    """Laws of order statistics, by class, and how they move with the law of all targets.

    The i-th best of t independent draws with cumulative distribution F has that of
    I_F(i, t - i + 1), the incomplete beta function. Real users differ; fits stray from it.

    Attributes
    ----------
    mass
        Of each class on the points of the support, (n_classes, n_points).
    slope
        How much their cumulative distributions rise with F, (n_classes, n_points).
    """

    mass: FloatArray
    slope: FloatArray

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


def order_laws(parts: Sequence[RankCounts], together: RankDistribution) -> OrderLaws:
    """The laws of classes, the law of all targets being ``together``."""
    grid = together.support
    below = np.clip(together.cdf(grid.edge), 0.0, 1.0)
    plain = np.maximum(np.diff(below, prepend=0.0), 1e-12 * grid.weight / grid.n_items)
    found = [_order_law(part, below, grid) for part in parts]
    mass = np.stack([each for each, _ in found])
    slope = np.stack([each for _, each in found])
    return OrderLaws((1.0 - _PLAIN) * mass + _PLAIN * plain, (1.0 - _PLAIN) * slope + _PLAIN)


def _order_law(
    counts: RankCounts, below: FloatArray, grid: Support
) -> tuple[FloatArray, FloatArray]:
    """Masses, and the density of the beta distribution, of the targets of a class."""
    from scipy.special import betainc, betaln, xlog1py, xlogy

    pairs, row = np.unique(np.stack([counts.place, counts.n_targets]), axis=1, return_inverse=True)
    each = counts.weight / np.sqrt(counts.n_targets)
    weight: FloatArray = np.bincount(row.ravel(), each).astype(np.float64)
    if weight.size > _PAIRS:  # some of them, evenly by weight
        middle = np.searchsorted(
            np.cumsum(weight), (np.arange(_PAIRS) + 0.5) / _PAIRS * weight.sum()
        )
        pairs, weight = pairs[:, middle], np.ones(_PAIRS)
    mass, slope = np.zeros((2, grid.n_points))
    for (place, n_targets), share in zip(pairs.T.tolist(), weight / weight.sum(), strict=True):
        rest = n_targets - place
        mass += share * np.diff(betainc(place, rest + 1, below), prepend=0.0)
        density = xlogy(place - 1, below) + xlog1py(rest, -below) - betaln(place, rest + 1)
        slope += share * np.exp(density)
    return np.maximum(mass, 0.0), slope
