"""Draw evaluations from an estimated rank distribution: global ranks R*, then sampled ranks r*.

The one mechanism behind predicted errors: the law of T^(r*) - T(R*), the estimate from a sample
less the metric of the same simulated users, is that of the error of an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from truerank import _blas
from truerank._types import IntArray, SupportName
from truerank.designs import Adaptive, Design, Exact, Fixed
from truerank.designs.climb import Draw, climb, shared_pairs
from truerank.errors import InputError
from truerank.estimators import Estimator, Smooth
from truerank.estimators._lean import lean_counts, lean_support
from truerank.estimators.support import RankDistribution, Support
from truerank.inference.intervals.misfit import stray
from truerank.inference.planning._streams import SharedStreams
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme
from truerank.rng import hypergeometric


@dataclass(frozen=True)
class PredictedError:
    """Error of an estimate over simulated evaluations.

    Attributes
    ----------
    metric : str
        The metric.
    value : float
        Its value, on average over the simulated users.
    bias : float
        Mean of the error.
    std_error : float
        Standard deviation of the error.
    pairs_per_user : float
        Scored pairs per user, the target's own included.
    sample_size : int
        The largest sample that there was, the target included.
    """

    metric: str
    value: float
    bias: float
    std_error: float
    pairs_per_user: float
    sample_size: int

    @property
    def relative(self) -> float:
        """Relative root mean squared error.

        Returns
        -------
        float
            As a share of the metric.
        """
        return float(np.hypot(self.bias, self.std_error)) / max(abs(self.value), 1e-300)


def global_ranks(
    distribution: RankDistribution, n_users: int, rng: np.random.Generator
) -> IntArray:
    """Draw global ranks from a distribution, negative masses taken as 0.

    Parameters
    ----------
    distribution : RankDistribution
        The distribution.
    n_users : int
        The number of users.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    array of int
        1-based, shape (n_users,).
    """
    support = distribution.support
    mass = np.concatenate([np.maximum(distribution.mass, 0.0), distribution.exact_mass])
    pick = rng.choice(mass.size, size=n_users, p=mass / mass.sum())
    known = pick >= support.n_points
    point = np.where(known, 0, pick)
    # A point stands for the ranks between two edges: spread evenly over them.
    upper = support.edge[point]
    rank = np.ceil(upper - rng.random(n_users) * support.weight[point])
    if known.any():
        rank[known] = distribution.exact_rank[pick[known] - support.n_points]
    return np.clip(rank, 1, support.n_items).astype(np.int64)


def crowd(
    distribution: RankDistribution, n_users: int, n_items: IntArray | None = None
) -> Callable[[np.random.Generator], tuple[IntArray, IntArray]]:
    """A function that draws users: their global ranks from a distribution, and their pools.

    Parameters
    ----------
    distribution : RankDistribution
        The distribution of global ranks.
    n_users : int
        The number of users to draw.
    n_items : array of int, optional
        Pool sizes to draw from; the distribution's if not given.

    Returns
    -------
    callable
        From a random generator to global ranks and pools, each of shape (n_users,).
    """

    def draw(rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        rank = global_ranks(distribution, n_users, rng)
        if n_items is None:
            return rank, np.full(n_users, distribution.n_items)
        return rank, np.maximum(rng.choice(n_items, size=n_users), rank)

    return draw


def sampled_ranks(
    global_rank: IntArray,
    n_items: IntArray,
    scheme: Scheme,
    sample_size: IntArray,
    rng: np.random.Generator,
    total: int | None = None,
    user: IntArray | None = None,
) -> tuple[Scheme, IntArray, IntArray]:
    """Draw samples for targets with these global ranks and pools.

    Parameters
    ----------
    global_rank, n_items : array of int
        Global ranks (1-based) and pools, shape (n_targets,).
    scheme : Scheme
        The law of the samples; adaptive ones follow its ladder.
    sample_size : array of int
        The sizes of fixed samples, shape (n_targets,).
    rng : numpy.random.Generator
        Source of the draws.
    total : int, optional
        Negatives that adaptive samples may draw in all.
    user : array of int, optional
        The user of each target, from 0, where targets of a user share its negatives.

    Returns
    -------
    tuple of (Scheme, array of int, array of int)
        The scheme as the budget cut it, sample sizes and sampled ranks, each of shape
        (n_targets,).
    """
    better, worse = global_rank - 1, n_items - global_rank
    above = np.zeros(global_rank.size, dtype=np.int64)  # so far

    def alone(users: IntArray, before: IntArray, goal: IntArray) -> IntArray:
        if scheme.replacement:
            return rng.binomial(goal - before, better[users] / (n_items[users] - 1))
        left = better[users] - above[users]
        below = worse[users] - (before - 1 - above[users])
        hits = hypergeometric(rng, left, below, goal - before)
        above[users] += hits
        return hits

    draw: Draw = alone
    if user is not None:
        draw = SharedStreams(global_rank, n_items, user, scheme.replacement, rng).draw
    if scheme.adaptive:
        scheme, found, size = climb(scheme, n_items, draw, user=user, total=total)
    else:
        size = sample_size if scheme.replacement else np.minimum(sample_size, n_items)
        found = draw(np.arange(global_rank.size), np.ones_like(size), size)
        if scheme.seen is not None:  # the list ends there
            found = np.minimum(found, scheme.seen)
    return scheme, size, found + 1


def simulated_ranks(
    global_rank: IntArray,
    n_items: IntArray,
    design: Design,
    rng: np.random.Generator,
    *,
    catalogue: int | None = None,
    user: IntArray | None = None,
) -> tuple[Scheme, IntArray, IntArray]:
    """Simulate one evaluation by a design.

    Parameters
    ----------
    global_rank, n_items : array of int
        Global ranks (1-based) and pools of the targets, shape (n_targets,).
    design : Design
        How negatives are chosen: exact, fixed or adaptive.
    rng : numpy.random.Generator
        Source of the draws.
    catalogue : int, optional
        The number of items that a share of the catalogue refers to; the largest pool if not given.
    user : array of int, optional
        The user of each target, from 0, where users have several, which share negatives.

    Returns
    -------
    tuple of (Scheme, array of int, array of int)
        The law of the ranks (as a budget cut it), sample sizes and sampled ranks.
    """
    n_targets = global_rank.size
    n_users = n_targets if user is None else int(user.max()) + 1
    scheme = design.scheme(int(n_items.max()) if catalogue is None else catalogue)
    sizes, total = n_items, None
    if isinstance(design, Fixed):
        sizes = np.full(n_targets, design.sample_size)
    elif isinstance(design, Adaptive):
        if design.budget is not None:
            total = math.floor(design.budget * n_users) - n_targets
    elif not isinstance(design, Exact):
        raise InputError(f"design is {design!r}, which depends on more than ranks; simulate others")
    return sampled_ranks(global_rank, n_items, scheme, sizes, rng, total, user)


def simulated_counts(
    global_rank: IntArray,
    n_items: IntArray,
    design: Design,
    rng: np.random.Generator,
    *,
    catalogue: int | None = None,
    user: IntArray | None = None,
) -> RankCounts:
    """Simulate one evaluation by a design, as counts in which targets stand for users.

    Parameters
    ----------
    global_rank, n_items : array of int
        Global ranks (1-based) and pools of the targets, shape (n_targets,).
    design : Design
        How negatives are chosen: exact, fixed or adaptive.
    rng : numpy.random.Generator
        Source of the draws.
    catalogue : int, optional
        The number of items that a share of the catalogue refers to; the largest pool if not given.
    user : array of int, optional
        As in `simulated_ranks`.

    Returns
    -------
    RankCounts
        Outcomes of the targets.
    """
    drawn = simulated_ranks(global_rank, n_items, design, rng, catalogue=catalogue, user=user)
    return _counts(n_items, *drawn)


def _counts(
    n_items: IntArray, scheme: Scheme, sample_size: IntArray, sampled_rank: IntArray
) -> RankCounts:
    return RankCounts.from_outcomes(
        scheme,
        n_items=n_items,
        sample_size=sample_size,
        sampled_rank=sampled_rank,
        weight=np.ones(n_items.size),
    )


def _pairs_per_user(sample_size: IntArray, user: IntArray | None) -> float:
    """Scored pairs per user; ``user`` as in `simulated_ranks`."""
    if user is None:
        return float(sample_size.mean())
    return float(shared_pairs(user, sample_size) / (user.max() + 1))


@_blas.one_thread()
def predict_error(
    draw: Callable[[np.random.Generator], tuple[IntArray, IntArray]],
    metric: Metric,
    *,
    design: Design,
    estimator: Estimator,
    catalogue: int | None = None,
    repeats: int | None = None,
    seed: int = 0,
    support: SupportName | Support = "auto",
    targets: float = 1.0,
) -> PredictedError:
    """The error that an estimator would make on users sampled by a design.

    Smooth says itself how far off it may be: one fit of several evaluations, as if they were one,
    gives its variance, a bias if there is one beyond their scatter, and the lumps and misfit of
    real data. Of other estimators the errors themselves are collected.

    Parameters
    ----------
    draw : callable
        From a random generator to global ranks and pools of targets, each of shape (n_targets,).
    metric : Metric
        The metric.
    design : Design
        How negatives are chosen.
    estimator : Estimator
        The estimator.
    catalogue : int, optional
        As in `simulated_counts`.
    repeats : int, optional
        Number of simulated evaluations; 6 for smooth and 20 for others unless stated.
    seed : int, default 0
        Seed of the simulations.
    support : {"auto", "full"} or Support, default "auto"
        The grid of global ranks.
    targets : float, default 1
        Targets per user, which share negatives. The metric is that of targets, each for itself.

    Returns
    -------
    PredictedError
        Bias and standard error, and what a sample costs.
    """
    # Users of their own, so that designs are compared on the same ones.
    crowds, rng = (np.random.default_rng([seed, part]) for part in range(2))
    has_posterior = isinstance(estimator, Smooth)
    errors: list[float] = []
    tables: list[RankCounts] = []
    values: list[float] = []
    costs: list[float] = []
    for _ in range(repeats or (6 if has_posterior else 20)):
        rank, pool = draw(crowds)
        user = None
        if targets > 1.0:
            user = np.floor(np.arange(rank.size) / targets).astype(np.int64)
            pool = pool[np.searchsorted(user, user)]  # users have one
            rank = np.minimum(rank, pool)
        drawn = simulated_ranks(rank, pool, design, rng, catalogue=catalogue, user=user)
        tables.append(_counts(pool, *drawn))
        costs.append(_pairs_per_user(drawn[1], user))
        values.append(float(metric.gain(rank, pool).mean()))
        if not has_posterior:
            fit = estimator.fit(tables[-1], metrics=[metric], support=support, plug_in="plain")
            errors.append(fit.values[metric.key] - values[-1])
    if has_posterior:
        whole = sum(tables[1:], tables[0])
        one = lean_counts(whole, metric).as_users(rank.size)
        grid = lean_support(one, [metric]) if support == "auto" else support
        fit = estimator.fit(one, metrics=[metric], support=grid, plug_in="plain")
        assert fit.posterior is not None
        variance = float(fit.posterior.variance([metric])[0])
        off = fit.values[metric.key] - float(np.mean(values))
        # Real data follow no such law quite; that does not shrink with users, as a bias does not.
        of_real = stray(one, fit, [metric], np.array([variance])).mean_square[0]
        seen = max(off**2 - variance / len(tables), 0.0)
        bias = float(np.sqrt(seen + of_real))
    else:
        variance = float(np.var(errors, ddof=min(1, len(errors) - 1)))
        bias = float(np.mean(errors))
    sizes = [int(table.sample_size.max()) for table in tables]
    std_error = float(np.sqrt(variance))
    return PredictedError(
        metric.key, float(np.mean(values)), bias, std_error, float(np.mean(costs)), max(sizes)
    )
