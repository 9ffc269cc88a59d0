"""Does the fitted law fit? Observed against expected numbers of sampled ranks.

Whatever the global ranks are, uniform draws give sampled ranks whose distribution is smooth on the
scale of a binomial. Ranks counted from 0, cut off, made up or drawn among other negatives than
stated often are not, and then no estimate means anything. Pearson's chi-square over bins of
outcomes shows it; it costs a fraction of the fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from truerank import _blas
from truerank._types import FloatArray, IntArray
from truerank.errors import ConvergenceWarning
from truerank.estimators import MLE, Fit, Smooth
from truerank.estimators import Estimator as _Estimator
from truerank.estimators._neighbours import on_grid
from truerank.estimators.support import RankDistribution
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme, log_probability

# A misfit counts if chance hardly gives it and if it is not small: with users enough, any law that
# is a little off is refuted.
SIGNIFICANT = 1e-4
DISTANCE = 0.02  # chi-square per user beyond that of chance
# One law for pools that differ is off by some of the variance of log N: ranks may grow with the
# pool or not, and it cannot do both.
_POOLS = 2.0

_LEAST_EXPECTED = 5.0  # users in a bin
_POOL_STEP = 0.35  # between pools that stand for those between them, in log N
_MOST_SIZES = 8  # sample sizes of fixed samples looked at, the most common ones

IMPOSSIBLE = (
    "The sampled ranks do not look like ranks among uniform draws of the stated size and pool: no "
    "rank distribution gives them, so no estimate from them can be trusted."
)
UNFOLLOWED = (
    "The fitted law cannot follow these ranks: their distribution has edges or spikes that it "
    "rounds off, so values and intervals may be off."
)
CHECK = (
    "Check that ranks are 1-based and neither cut off nor repeated, that sample_size and n_items "
    "are right, and that negatives are drawn uniformly (truerank audit looks closer)."
)
OTHER = (
    "Compare with estimator='mle', use more negatives, or look at the ranks for ties and limits."
)
FINE = "The sampled ranks are what uniform draws of this size can give."
EXACT = "All ranks are exact: nothing was sampled."
UNTESTED = "There are too few sampled ranks to tell whether the law fits."


@dataclass(frozen=True)
class FitTest:
    """Whether sampled ranks agree with the law fitted to them.

    Attributes
    ----------
    statistic : float
        Pearson's chi-square of observed against expected numbers of users, over bins of outcomes,
        divided by how much users who share negatives, or have several targets, scatter more, and
        less what pools that differ may explain.
    degrees_of_freedom : int
        Number of bins less one; 0 if there was too little to test.
    p_value : float
        The chance of so large a statistic if the law holds. The fitted coefficients are not taken
        off the degrees of freedom, so it is on the safe side.
    distance : float
        The statistic per user beyond that of chance: how far off the law is.
    fits : bool
        False if the p-value is below 1e-4 and the distance above 0.02.
    verdict : str
        What that means and what to do.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ranks = 1 + rng.binomial(99, rng.beta(0.4, 4.0, size=2000))
    >>> counts = tr.RankCounts.from_ranks(ranks, n_items=3706, num_negatives=99, replacement=True)
    >>> test = tr.estimate(counts, "recall@100").fit_test
    >>> test.fits, test.verdict
    (True, 'The sampled ranks are what uniform draws of this size can give.')
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    distance: float
    fits: bool
    verdict: str


@_blas.one_thread()
def fit_test(counts: RankCounts, estimator: _Estimator, fit: Fit) -> FitTest:
    """Test whether the sampled ranks agree with a fit.

    The laws of smooth and of mle are their own. For other estimators, which have none or one that
    is not meant to fit, the question is whether there is any law at all.

    Parameters
    ----------
    counts : RankCounts
        The outcomes that were fitted.
    estimator : Estimator
        The estimator of ``fit``.
    fit : Fit
        The fit.

    Returns
    -------
    FitTest
        With a verdict.
    """
    if counts.is_exact.all():
        return FitTest(0.0, 0, 1.0, 0.0, True, EXACT)
    own = isinstance(estimator, Smooth) or estimator == MLE()  # fewer steps are not meant to fit
    law = fit.distribution if own else None
    found = misfit(counts, _most_likely(counts) if law is None else law)
    verdict = FINE if found[1] else UNTESTED
    if significant(*found):
        best = misfit(counts, _most_likely(counts, steps=None))
        if significant(*best):
            verdict = f"{IMPOSSIBLE} {CHECK}"
        elif own:
            verdict = f"{UNFOLLOWED} {OTHER}"
        else:
            found = best
    statistic, freedom, distance = found
    fits = verdict in (FINE, UNTESTED)
    return FitTest(statistic, freedom, _p_value(statistic, freedom), distance, fits, verdict)


def significant(statistic: float, freedom: int, distance: float) -> bool:
    """Whether a misfit is more than chance and not small.

    Parameters
    ----------
    statistic : float
        Chi-square.
    freedom : int
        Its degrees of freedom.
    distance : float
        Its excess per user.

    Returns
    -------
    bool
        True if it is both.
    """
    return freedom > 0 and distance > DISTANCE and _p_value(statistic, freedom) < SIGNIFICANT


def misfit(counts: RankCounts, law: RankDistribution) -> tuple[float, int, float]:
    """Chi-square of sampled outcomes against a law.

    Parameters
    ----------
    counts : RankCounts
        The outcomes.
    law : RankDistribution
        The distribution of global ranks.

    Returns
    -------
    tuple of (float, int, float)
        Chi-square, degrees of freedom, and the excess of chi-square per user.
    """
    parts = [part for part in _bins(counts, law) if part[0].size > 1]
    freedom = sum(observed.size - 1 for observed, _ in parts)
    if not freedom:
        return 0.0, 0, 0.0
    statistic = sum(float(((o - e) ** 2 / e).sum()) for o, e in parts) / _clustering(counts)
    users = sum(float(observed.sum()) for observed, _ in parts)
    log = np.log(counts.n_items)
    differ = counts.weight @ (log - counts.weight @ log / counts.total_weight) ** 2
    known = _POOLS * float(differ) / counts.total_weight
    statistic = max(statistic - known * users, 0.0)
    return statistic, freedom, max(statistic - freedom, 0.0) / users


def _clustering(counts: RankCounts) -> float:
    """How many times more than single users' the numbers of users scatter, at least 1.

    By uneven weights, by several targets per user, and by negatives that users share.
    """
    uneven = counts.squared_weight / counts.total_weight
    targets = counts.total_weight / counts.n_users
    shared = 1.0
    if counts.replicate.any():
        place = counts.sampled_rank / counts.sample_size
        off = counts.weight * (place - counts.weight @ place / counts.total_weight)
        together = np.bincount(counts.replicate, off)[1:] ** 2
        alone = off[counts.replicate > 0] @ (off / counts.weight)[counts.replicate > 0]
        shared = float(together.sum() / max(float(alone), 1e-300))
    return max(uneven, targets, 1.0) * max(shared, 1.0)


def _p_value(statistic: float, freedom: int) -> float:
    from scipy.special import gammaincc

    return float(gammaincc(freedom / 2.0, statistic / 2.0)) if freedom else 1.0


def _most_likely(counts: RankCounts, steps: int | None = 100) -> RankDistribution:
    """What mle finds, on a grid of outcomes so that many of them cost little.

    The maximum itself (``steps=None``) takes longer: it is for ranks that look wrong.
    """
    few = on_grid(counts.pooled())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mle = MLE(steps=steps, tolerance=1e-4)
        found = mle.fit(few, metrics=[], support="auto", plug_in="plain")
    assert found.distribution is not None
    return found.distribution


def _bins(counts: RankCounts, law: RankDistribution) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Observed and expected numbers of users, design by design."""
    for code, scheme in enumerate(counts.schemes):
        mine = counts.scheme == code
        mass = np.maximum(law.mass, 0.0)
        if scheme.adaptive:
            yield from _of_design(counts, mine, scheme, 0, law, mass + law.masses_of_exact())
            continue
        mine &= ~counts.is_exact
        sizes, users = np.unique(counts.sample_size[mine], return_inverse=True)
        weight = np.bincount(users, counts.weight[mine], minlength=sizes.size)
        for size in sizes[np.argsort(-weight, kind="stable")[:_MOST_SIZES]]:
            here = mine & (counts.sample_size == size)
            yield from _of_design(counts, here, scheme, int(size), law, mass)


def _of_design(
    counts: RankCounts,
    mine: IntArray,
    scheme: Scheme,
    size: int,
    law: RankDistribution,
    mass: FloatArray,
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Bins of one scheme and, for fixed samples, one size."""
    weight, pool = counts.weight[mine], counts.n_items[mine]
    if not weight.sum() >= 2.0 * _LEAST_EXPECTED:
        return
    nodes, users = _nodes(pool, weight)
    # Samples of most of a pool are sharper than pools and ranks are read here.
    sharp = int(pool.min()) // 2
    if size > sharp and nodes.size > 1:
        return
    stages = scheme.stages(int(nodes[-1]), size)
    stage = np.minimum(np.searchsorted(stages, counts.sample_size[mine]), len(stages) - 1)
    rank = counts.sampled_rank[mine]
    reached = np.unique(stage)
    if scheme.adaptive:  # those who went further are one outcome
        reached = reached[np.array(stages)[reached] <= sharp]
    if not reached.size:
        return
    if scheme.seen is not None:
        # What was not seen is the one outcome more.
        if scheme.seen == 0 or not (rank <= scheme.seen).any():
            return
        rank = np.where(rank <= scheme.seen, rank, 0)
    top = [int(rank[stage == j].max()) for j in reached]
    at = [_rank_nodes(most, stages[j]) for most, j in zip(top, reached, strict=True)]
    chance = np.zeros(sum(ranks.size for ranks in at))
    for node, share in zip(nodes, users, strict=True):
        own = scheme.stages(int(node), size)  # smaller pools may end earlier
        here = np.flatnonzero(mass * (law.support.rank <= node) > 0.0)
        log_p = log_probability(
            scheme,
            law.support.rank[here],
            n_items=int(node),
            sample_size=np.repeat(
                [(*own, *stages[len(own) :])[j] for j in reached], [a.size for a in at]
            ),
            sampled_rank=np.concatenate(at),
        )
        chance += share * (np.exp(log_p) @ mass[here]) / max(float(mass[here].sum()), 1e-300)
    chances = np.split(chance, np.cumsum([ranks.size for ranks in at])[:-1])
    every = zip(reached, top, at, chances, strict=True)
    observed, expected = [], []
    for j, most, ranks, each in every:
        here = (stage == j) & (rank > 0)
        observed.append(np.bincount(rank[here] - 1, weight[here], minlength=most))
        expected.append(np.interp(np.arange(1, most + 1), ranks, each))
    if reached[0] == 0 and top[0] == stages[0]:
        # Last of all, as failures are, is left out: one law cannot put targets there in pools that
        # differ, nor a grid whose last cell has some width.
        weight = np.where((stage == 0) & (rank == top[0]), 0.0, weight)
        last = expected[0][-1]
        observed[0], expected[0] = observed[0][:-1], expected[0][:-1]
        expected = [
            part * weight.sum() / max(float(users.sum() - last), 1e-300) for part in expected
        ]
    # What was never seen, and who went further, is one outcome more.
    seen: FloatArray = np.concatenate(observed)
    hoped: FloatArray = np.concatenate(expected)
    if not weight.sum() >= 2.0 * _LEAST_EXPECTED:
        return
    seen = np.append(seen, max(float(weight.sum() - seen.sum()), 0.0))
    hoped = np.append(hoped, max(float(weight.sum() - hoped.sum()), 0.0))
    yield _grouped(seen, hoped)


def _nodes(pool: IntArray, weight: FloatArray) -> tuple[IntArray, FloatArray]:
    """Pools that stand for all, and the users of each: shared by neighbours, linear in log N."""
    low, high = int(pool.min()), int(pool.max())
    n_steps = int(np.ceil(np.log(high / low) / _POOL_STEP))
    if not n_steps:
        return np.array([low]), np.array([float(weight.sum())])
    nodes = np.unique(np.rint(np.geomspace(low, high, n_steps + 1)).astype(np.int64))
    if nodes.size == 1:
        return nodes, np.array([float(weight.sum())])
    right = np.clip(np.searchsorted(nodes, pool), 1, nodes.size - 1)
    log = np.log(nodes)
    part = (np.log(pool) - log[right - 1]) / (log[right] - log[right - 1])
    users: FloatArray = np.zeros(nodes.size)
    np.add.at(users, right, weight * part)
    np.add.at(users, right - 1, weight * (1.0 - part))
    return nodes, users


def _rank_nodes(top: int, size: int) -> IntArray:
    """Ranks at which chances are computed: half a standard deviation of the rank apart."""
    ranks = [1]
    while ranks[-1] < top:
        spread = np.sqrt(ranks[-1] * max(1.0 - ranks[-1] / size, 0.0))
        ranks.append(min(ranks[-1] + max(1, int(spread / 2.0)), top))
    return np.array(ranks, dtype=np.int64)


def _grouped(seen: FloatArray, hoped: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Neighbouring outcomes together until as many users are expected as chi-square needs."""
    total = np.cumsum(hoped)
    least = max(_LEAST_EXPECTED, total[-1] / 100.0)
    group = np.floor(total / least - 1e-12).astype(np.int64)
    group = np.unique(group, return_inverse=True)[1]
    observed: FloatArray = np.bincount(group, seen).astype(np.float64)
    expected: FloatArray = np.bincount(group, hoped).astype(np.float64)
    # The last group may have stayed small, and groups before large outcomes, too.
    while expected.size > 1 and expected.min() < _LEAST_EXPECTED:
        small = int(np.argmin(expected))
        to = small - 1 if small else 1
        observed[to] += observed[small]
        expected[to] += expected[small]
        observed, expected = np.delete(observed, small), np.delete(expected, small)
    return observed, expected
