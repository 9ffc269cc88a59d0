"""Users to plan for: a pilot's, those of a rank distribution, or those of a power law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank import _checks
from truerank._types import IntArray
from truerank.errors import InputError
from truerank.estimators import Smooth, support
from truerank.estimators.support import NO_RANKS, RankDistribution
from truerank.inference.intervals.fitting import Fitted, bound, reference
from truerank.inference.intervals.redraw import RankedUsers
from truerank.inference.planning.simulate import crowd
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

POWER = 0.3
_SHARPNESS = 10_000.0  # of the grid that a power law is put on
_SLACK = 1.1  # pools may lack some of the catalogue: training items are left out


@dataclass(frozen=True)
class Several:
    """The metric of users with several targets, beside that of their targets, each for itself.

    Attributes
    ----------
    value : float
        The metric of the users of the pilot.
    harder : float
        How many times as large its relative error is, by the outcomes of the pilot.
    variance : float
        Its variance over users, as a share of its square.
    """

    value: float
    harder: float
    variance: float


@dataclass(frozen=True)
class Like:
    """Global ranks and pools of users such as those to come.

    Attributes
    ----------
    distribution : RankDistribution
        The distribution of their global ranks.
    catalogue : int
        The largest pool.
    n_items : float
        The mean pool.
    source : str
        Where the distribution comes from, in words.
    n_users : float or None
        The number of users of a pilot.
    pilot : RankedUsers or None
        The users of a pilot, with ranks by their outcomes.
    targets_per_user : float
        Mean number of targets per user; where it is above 1, users stand for single targets.
    several : Several or None
        What the users of a pilot tell beyond single targets, where they have several.
    """

    distribution: RankDistribution
    catalogue: int
    n_items: float
    source: str
    n_users: float | None = None
    pilot: RankedUsers | None = None
    targets_per_user: float = 1.0
    several: Several | None = None

    def users(self, n_users: int) -> Callable[[np.random.Generator], tuple[IntArray, IntArray]]:
        """A function that draws users.

        Parameters
        ----------
        n_users : int
            The number of users to draw.

        Returns
        -------
        callable
            From a random generator to global ranks and pools, each of shape (n_users,).
        """
        if self.pilot is None:
            return crowd(self.distribution, n_users)
        pilot = self.pilot

        def draw(rng: np.random.Generator) -> tuple[IntArray, IntArray]:
            seen = pilot.draw(rng)
            pick = rng.integers(seen.n_users, size=n_users)
            return seen.global_rank[pick], seen.n_items[pick]

        return draw

    def moments(self, metric: Metric) -> tuple[float, float]:
        """Mean and variance of a metric's gain over users.

        Parameters
        ----------
        metric : Metric
            The metric.

        Returns
        -------
        tuple of float
            Mean, which is the metric itself, and variance.
        """
        law = self.distribution
        rank = np.concatenate([law.support.rank, law.exact_rank])
        mass = np.maximum(np.concatenate([law.mass, law.exact_mass]), 0.0)
        mass /= mass.sum()
        gain = metric.gain(rank, round(self.n_items))
        mean = float(mass @ gain)
        return mean, max(float(mass @ gain**2) - mean**2, 0.0)


def read(like: Any, n_items: int | None, metric: Metric) -> Like:
    """What users may be like.

    Parameters
    ----------
    like : RankCounts, Estimates, RankDistribution, float or None
        Counts of a pilot, something that has them, a distribution, or the exponent of a power law.
    n_items : int or None
        Items a target is ranked among; a pilot knows them.
    metric : Metric
        The metric that is planned for.

    Returns
    -------
    Like
        The users.
    """
    counts = like if isinstance(like, RankCounts) else getattr(like, "counts", None)
    if isinstance(counts, RankCounts):
        _check_cut(metric, int(counts.n_items.max()))
        (metric,) = bound([metric], counts)
        return _from_counts(counts, n_items, metric)
    if isinstance(like, RankDistribution):
        _check_pool(n_items, like.n_items, "the distribution's ranks go")
        _check_cut(metric, like.n_items)
        return Like(like, like.n_items, like.n_items, "the distribution given")
    if like is not None and (isinstance(like, (bool, str)) or not np.isscalar(like)):
        raise InputError(
            f"like is of type {type(like).__name__}; give RankCounts of a pilot, its estimates, a "
            "RankDistribution or the exponent of a power law"
        )
    power = _checks.real(POWER if like is None else like, "like", low=0.0, open_low=True)
    if n_items is None:
        raise InputError("n_items is missing: how many items a target is ranked among")
    n_items = _checks.integer(n_items, "n_items", low=2)
    _check_cut(metric, n_items)
    law = power_law(n_items, power, metric)
    return Like(law, n_items, n_items, f"the law P(R <= K) = (K / {n_items:,})^{power:g}")


def power_law(n_items: int, power: float, metric: Metric) -> RankDistribution:
    """The rank distribution P(R <= K) = (K / N)^power.

    Parameters
    ----------
    n_items : int
        The number of items, N.
    power : float
        The exponent.
    metric : Metric
        A metric whose cut-off the grid of ranks should resolve.

    Returns
    -------
    RankDistribution
        On a fine grid.
    """
    edges = [] if metric.k is None else [metric.k]
    grid = support.compressed(n_items, sharpness=_SHARPNESS, edges=edges)
    below = np.concatenate([[0.0], (grid.edge / n_items) ** power])
    return RankDistribution(grid, np.diff(below), NO_RANKS, NO_RANKS)


def _from_counts(counts: RankCounts, n_items: int | None, metric: Metric) -> Like:
    pooled = counts.pooled().single()
    largest = int(pooled.n_items.max())
    _check_pool(n_items, largest, "the pilot's pools go")
    fit = reference(pooled, [metric])
    assert fit.distribution is not None
    return Like(
        fit.distribution,
        largest,
        float(pooled.weight @ pooled.n_items / pooled.total_weight),
        f"a pilot of {counts.n_users:,.0f} users",
        counts.n_users,
        RankedUsers(pooled, fit.distribution),
        counts.targets_per_user if counts.several else 1.0,
        _several(counts, pooled, metric) if counts.several else None,
    )


def _several(counts: RankCounts, pooled: RankCounts, metric: Metric) -> Several:
    """What users with several targets tell; ``pooled`` are their targets, each for itself."""
    users, targets = (Fitted.of(one, Smooth(), [metric]) for one in (counts, pooled))
    value, each = (one.fit.values[metric.key] for one in (users, targets))
    if min(value, each) <= 0.0:
        return Several(value * counts.targets_per_user, 1.0, 0.0)
    total, scatter = (
        [float(getattr(one.law, part)[0]) / mean for one, mean in ((users, value), (targets, each))]
        for part in ("total", "users")
    )
    part = total if min(total) > 0.0 else scatter  # exact ranks err by nothing
    return Several(
        value * counts.targets_per_user,
        part[0] / part[1] if min(part) > 0.0 else 1.0,
        counts.n_users * scatter[0] ** 2,
    )


def _check_pool(n_items: int | None, largest: int, what: str) -> None:
    if n_items is None:
        return
    n_items = _checks.integer(n_items, "n_items", low=2)
    if not largest <= n_items <= _SLACK * largest:
        raise InputError(
            f"n_items is {n_items}; {what} up to {largest}: leave n_items out, or give a pilot of "
            "that catalogue"
        )


def _check_cut(metric: Metric, largest: int) -> None:
    if metric.k is not None and metric.k > largest:
        raise InputError(f"k is {metric.k} in {metric.key}; the largest pool has {largest} items")
