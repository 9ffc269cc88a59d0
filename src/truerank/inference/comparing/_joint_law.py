"""How errors of two models go together that were ranked among the same negatives.

Each user has a share of its pool above the target by model A, by model B and by both. The law of
these three over users is fitted to the joint counts: a mixture over a grid, by a few steps of EM
from the two models' own fits taken as independent. From that law users are drawn, and for each of
them evaluations in which both models climb their ladders on the same negatives. The gains of these
evaluations vary together as those of the evaluation at hand do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truerank._types import FloatArray, IntArray, SupportName
from truerank.estimators import Estimator, Fit
from truerank.estimators.support import RankDistribution, Support
from truerank.inference.comparing._shared_negatives import UsersOfTwo
from truerank.inference.intervals.error_law import outcome_gains
from truerank.inference.intervals.redraw import MOST_POOLS, distinct
from truerank.metrics import Metric
from truerank.outcomes.paired import PairedCounts
from truerank.outcomes.schemes import Scheme

_POINTS = 18  # shares of the pool from half an item to one half, evenly on the log scale
_UPPER = (0.65, 0.8, 0.92, 0.985)  # shares beyond
# Odds ratios of being above by A and by B; inf: the smaller set lies within the larger one.
_ODDS = np.array([0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0, np.inf])
_MOST_USERS = 3000  # who the law is fitted to
_STEPS = 40  # of EM
_SWEEPS = 10  # that bring the margins back
_DRAWN = 4000  # users drawn from the law
_TIMES = 8  # evaluations of each
_TINY = 1e-12


@dataclass(frozen=True)
class Seen:
    """What was seen of two models, one row per joint outcome, arrays of shape (n_outcomes,).

    ``table`` (n_outcomes, 2, 2) counts negatives of the common sample that are (above, not above)
    by the first model and by the second; ``more`` (n_outcomes, 2, 2) those of the rest of each
    model's own sample, by model and (above, not above). ``scheme`` and ``sample_size`` are of
    shape (n_outcomes, 2).
    """

    table: IntArray
    more: IntArray
    schemes: tuple[Scheme, ...]
    n_items: IntArray
    scheme: IntArray
    sample_size: IntArray
    weight: FloatArray


def seen(paired: PairedCounts, one: str, two: str, rng: np.random.Generator) -> Seen | None:
    """What was seen of a pair, ties broken at random; None for pairs without joint counts."""
    joint = paired.joint_counts(one, two)
    if joint is None:
        return None
    at = [paired.models.index(one), paired.models.index(two)]
    size = paired.sample_size[:, at]
    table = _without_ties(joint, rng)
    rest = size - size.min(axis=1, keepdims=True)
    margin = np.stack([table[:, 0].sum(axis=1), table[:, :, 0].sum(axis=1)], axis=1)
    # Only adaptive samples are longer than the common one, and their ties are broken already.
    more = np.clip(paired.sampled_rank[:, at] - 1 - margin, 0, rest)
    return Seen(
        table,
        np.stack([more, rest - more], axis=2),
        paired.schemes,
        paired.n_items,
        paired.scheme[:, at],
        size,
        paired.weight,
    )


def _without_ties(joint: IntArray, rng: np.random.Generator) -> IntArray:
    """Tables (n, 3, 3) of above, tied, below as (n, 2, 2) of above, not above.

    A target stands at a random place among those of its score, so that each of these is above it
    with a chance that is uniform on 0 to 1, the same for all of them.
    """
    found = joint[:, ::2, ::2].copy()
    if not (joint[:, 1].any() or joint[:, :, 1].any()):
        return found
    chance_one, chance_two = rng.random((2, joint.shape[0]))
    for by_two, column in ((0, 0), (2, 1)):
        up = rng.binomial(joint[:, 1, by_two], chance_one)
        found[:, 0, column] += up
        found[:, 1, column] += joint[:, 1, by_two] - up
    up_one = rng.binomial(joint[:, 1, 1], chance_one)
    for n_tied, row in (
        (joint[:, 0, 1] + up_one, 0),
        (joint[:, 2, 1] + joint[:, 1, 1] - up_one, 1),
    ):
        up = rng.binomial(n_tied, chance_two)
        found[:, row, 0] += up
        found[:, row, 1] += n_tied - up
    return found


@dataclass(frozen=True)
class JointLaw:
    """A law of the shares of a pool that are above the target by two models.

    Attributes
    ----------
    share : array
        The grid of shares, increasing, shape (n_shares,).
    mass : array
        Share of users at each (share by A, share by B, odds ratio), shape
        (n_shares, n_shares, n_odds).
    """

    share: FloatArray
    mass: FloatArray

    def draw(
        self, n_users: int, n_items: IntArray, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Items above the target by A, by B and by both, for users of these pools."""
        flat = self.mass.ravel()
        pick = rng.choice(flat.size, size=n_users, p=flat / flat.sum())
        a, b, odds = np.unravel_index(pick, self.mass.shape)
        edge = _edges(self.share)
        # Where in a cell: alike for both models, so that equal models stay equal.
        place = rng.random(n_users)
        others = n_items - 1
        share_a, share_b = (edge[at] * (edge[at + 1] / edge[at]) ** place for at in (a, b))
        one, two = (np.floor(share * n_items).astype(np.int64) for share in (share_a, share_b))
        one, two = np.minimum(one, others), np.minimum(two, others)
        both = overlap(one / others, two / others, _ODDS[odds]) * others
        both = np.floor(both + rng.random(n_users)).astype(np.int64)
        return one, two, np.clip(both, np.maximum(one + two - others, 0), np.minimum(one, two))


def overlap(one: FloatArray, two: FloatArray, odds: FloatArray) -> FloatArray:
    """The share above by both, given those above by each and the odds ratio (Plackett's law)."""
    whole = np.isinf(odds)
    excess = np.where(whole, 1.0, odds) - 1.0
    near = np.abs(excess) < 1e-9
    safe = np.where(near, 1.0, excess)
    s = 1.0 + safe * (one + two)
    root = np.sqrt(np.maximum(s**2 - 4.0 * safe * (safe + 1.0) * one * two, 0.0))
    # The smaller root, written so that nothing cancels.
    plackett = 2.0 * (safe + 1.0) * one * two / (s + root)
    found = np.where(near, one * two, plackett)
    found = np.where(whole, np.minimum(one, two), found)
    return np.clip(found, np.maximum(one + two - 1.0, 0.0), np.minimum(one, two))


def grid(n_items: int) -> FloatArray:
    """Shares of a pool, from half an item to nearly all."""
    return np.concatenate([np.geomspace(0.5 / n_items, 0.5, _POINTS), _UPPER])


def _edges(share: FloatArray) -> FloatArray:
    """Where the cells of a grid begin and end, (n_shares + 1,)."""
    return np.concatenate(
        [[share[0] * 0.5], np.sqrt(share[1:] * share[:-1]), [min(1.0, share[-1] / 0.985)]]
    )


def fit(found: Seen, laws: Sequence[RankDistribution], rng: np.random.Generator) -> JointLaw:
    """Fit the joint law, the margins being those of the models' own fits."""
    if found.weight.size > _MOST_USERS:
        kept = rng.choice(
            found.weight.size, _MOST_USERS, replace=False, p=found.weight / found.weight.sum()
        )
        weight = np.full(_MOST_USERS, 1.0 / _MOST_USERS)
    else:
        kept, weight = np.arange(found.weight.size), found.weight / found.weight.sum()
    n_items = int(found.n_items.max())
    share = grid(n_items)
    margins = [_masses(law, share) for law in laws]
    mass = margins[0][:, None, None] * margins[1][:, None] * np.full(_ODDS.size, 1 / _ODDS.size)
    seen_there = _likelihood(found, kept, share)
    flat = mass.ravel()
    for _ in range(_STEPS):
        evidence = seen_there @ flat.astype(np.float32)
        pull = (weight / np.maximum(evidence, 1e-30)).astype(np.float32)
        flat = np.maximum(flat * (pull @ seen_there), 1e-15 * mass.ravel())
    mass = flat.reshape(mass.shape)
    for _ in range(_SWEEPS):
        mass = mass * (margins[0] / mass.sum(axis=(1, 2)))[:, None, None]
        mass = mass * (margins[1] / mass.sum(axis=(0, 2)))[:, None]
    return JointLaw(share, mass / mass.sum())


def _masses(law: RankDistribution, share: FloatArray) -> FloatArray:
    """Share of users in each cell of the grid."""
    edge = _edges(share) * law.n_items + 1.0  # a share s of the pool above means rank 1 + s N
    edge[0], edge[-1] = 0.0, law.n_items
    mass = np.diff(law.cdf(np.maximum(edge - 0.5, 0.0)))
    mass = np.maximum(mass, 0.0) + 1e-9
    return np.asarray(mass / mass.sum())


def _likelihood(found: Seen, rows: IntArray, share: FloatArray) -> FloatArray:
    """P(what was seen | cell of the grid), scaled by row, shape (n_rows, n_cells)."""
    a, b = share[:, None, None], share[:, None]
    both = overlap(*np.broadcast_arrays(a, b, _ODDS))
    cells = [both, a - both, b - both, 1.0 - a - b + both]
    alone = [a + 0 * both, 1.0 - a + 0 * both, b + 0 * both, 1.0 - b + 0 * both]
    logs = np.stack([np.log(np.maximum(cell, _TINY)).ravel() for cell in cells + alone])
    counts = np.concatenate(
        [found.table[rows].reshape(rows.size, 4), found.more[rows].reshape(rows.size, 4)], axis=1
    ).astype(np.float64)
    # As if drawn with replacement. A sample that is a large part of its pool tells more, but to
    # say so made the law worse: the cells of the grid are wide.
    log_p = counts @ logs
    log_p -= log_p.max(axis=1, keepdims=True)
    # Single precision: a mixture of thousands of cells is not known better than that.
    return np.asarray(np.exp(np.maximum(log_p, -80.0).astype(np.float32)))


@dataclass(frozen=True)
class Together:
    """Correlations of the errors of two models, arrays of shape (n_metrics,).

    Attributes
    ----------
    negatives : array
        Of what the drawn negatives cause.
    ranks : array
        Of what the estimates do not see of these users' ranks.
    """

    negatives: FloatArray
    ranks: FloatArray


def together(
    paired: PairedCounts,
    models: tuple[str, str],
    fits: Sequence[Fit],
    laws: Sequence[RankDistribution],
    estimator: Estimator,
    metrics: Sequence[Metric],
    support: SupportName | Support,
    seed: int,
) -> Together | None:
    """How the errors of two models go together; None where it cannot be told.

    Parameters
    ----------
    paired : PairedCounts
        The joint counts.
    models : tuple of str
        The two models.
    fits : sequence of Fit
        Their fits, by the estimator.
    laws : sequence of RankDistribution
        The distributions that their ranks are taken to follow.
    estimator : Estimator
        The estimator; it must be a mean of gains per outcome, at least to first order.
    metrics : sequence of Metric
        The metrics.
    support : {"auto", "full"} or Support
        The grid of global ranks.
    seed : int
        Seed of the draws.

    Returns
    -------
    Together or None
        None for pairs without joint counts and for estimators without gains.
    """
    rng = np.random.default_rng([seed, 2])
    found = seen(paired, *models, rng)
    if found is None:
        return None
    users = _users(found, fit(found, laws, rng), rng)
    drawn = np.stack([users.evaluate(rng) for _ in range(_TIMES)], axis=2)
    gains, offs = [], []
    for at, own in enumerate(fits):
        outcomes, row = distinct(users.schemes, drawn[at].reshape(4, -1))
        gain = outcome_gains(outcomes, own, estimator, metrics, support)
        if gain is None:
            return None
        gains.append(gain[row].reshape(_TIMES, -1, len(metrics)))
        true = [metric.gain(users.global_rank[:, at], users.n_items) for metric in metrics]
        offs.append(gains[-1].mean(axis=0) - np.stack(true, axis=1))
    within = _moments(*(gain - gain.mean(axis=0) for gain in gains)) * _TIMES / (_TIMES - 1)
    between = _moments(*(off - off.mean(axis=0) for off in offs)) - within / _TIMES
    return Together(_correlation(within), _correlation(between))


def _moments(one: FloatArray, two: FloatArray) -> FloatArray:
    """Mean squares of both and mean product, over all but the last axis, (3, n_metrics)."""
    axes = tuple(range(one.ndim - 1))
    return np.stack([(one * one).mean(axes), (two * two).mean(axes), (one * two).mean(axes)])


def _correlation(moments: FloatArray) -> FloatArray:
    one, two, product = moments
    scale = np.sqrt(np.maximum(one, 0.0) * np.maximum(two, 0.0))
    found = np.divide(product, scale, out=np.zeros_like(product), where=scale > _TINY)
    return np.asarray(np.clip(found, -1.0, 1.0))


def _users(found: Seen, law: JointLaw, rng: np.random.Generator) -> UsersOfTwo:
    """Users drawn from the law, with pools and schemes of users that were seen."""
    row = rng.choice(found.weight.size, size=_DRAWN, p=found.weight / found.weight.sum())
    pool = _few_pools(found)[row]
    one, two, both = law.draw(_DRAWN, pool, rng)
    above = np.stack([both, one - both, two - both, pool - 1 - one - two + both], axis=1)
    size = found.sample_size[row].min(axis=1)
    return UsersOfTwo(found.schemes, found.scheme[row], pool, size, above)


def _few_pools(found: Seen) -> IntArray:
    """The pool of each outcome, or that of a group of neighbouring ones if there are many.

    Samples that reach the end of their pools still do, and no others.
    """
    if np.unique(found.n_items).size <= MOST_POOLS:
        return found.n_items
    top = np.array([max(scheme.ladder, default=0) for scheme in found.schemes])[found.scheme]
    without = np.array([not scheme.replacement for scheme in found.schemes])[found.scheme[:, 0]]
    reach = np.where(without, np.maximum(top.max(axis=1), found.sample_size.max(axis=1)), 0)
    pool = found.n_items.copy()
    for whole in (True, False):
        those = np.flatnonzero((reach >= found.n_items) == whole)
        order = those[np.argsort(found.n_items[those], kind="stable")]
        for group in np.array_split(order, MOST_POOLS):
            if group.size:
                pool[group] = round(float(found.n_items[group].mean()))
                if not whole:
                    pool[group] = np.maximum(pool[group], reach[group] + 1)
    return pool
