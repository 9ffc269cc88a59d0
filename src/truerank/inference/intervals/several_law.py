"""The law of an estimate's error where users have several targets: the user is the unit.

Targets of a user share its taste, and may share its negatives. So what the estimate does not see of
their ranks scatters more than that of as many users with one target each: by how much, the gains of
blocks of users tell (every outcome carries the block that its user is in).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.estimators import Fit
from truerank.estimators._lumps import lumps
from truerank.estimators.likelihood import likelihood
from truerank.estimators.several import FittedPlaces, Places
from truerank.inference.intervals._together import together
from truerank.inference.intervals.error_law import ErrorLaw
from truerank.inference.intervals.misfit import (
    LAW,
    LEARNT,
    LUMPS,
    Stray,
    features,
    mean_variance,
    sides,
)
from truerank.inference.intervals.redraw import MOST_USERS, DrawnUsers, drawn_points
from truerank.metrics import Metric
from truerank.outcomes._columns import MAX_REPLICATES
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme

_TIMES = 6  # redraws that tell a mean gain from its variance


def several_law(
    counts: RankCounts, fit: Fit, reference: Fit, metrics: Sequence[Metric], *, seed: int = 0
) -> ErrorLaw:
    """The law of the errors of mean gains of targets.

    Parameters
    ----------
    counts : RankCounts
        Outcomes of users with several targets.
    fit : Fit
        Their fit, by any estimator.
    reference : Fit
        That of smooth, whose laws ranks are taken to follow; it may be the same.
    metrics : list of Metric
        The metrics whose errors are asked for.
    seed : int, default 0
        Seed of the redraws.

    Returns
    -------
    ErrorLaw
        In mean gains of targets.
    """
    assert fit.places is not None
    none = np.zeros(len(metrics))
    found = ErrorLaw(**{part.name: none for part in fields(ErrorLaw)})
    scatter, more = _clustering(counts, fit.places, metrics)
    if counts.is_exact.all():
        return replace(found, users=np.sqrt(scatter))
    laws = reference.places
    assert isinstance(laws, FittedPlaces)
    bias, negatives, ranks, users = _redrawn(counts, fit.places, laws, metrics, seed)
    if counts.replicate.any():
        # Negatives that targets share: at most as if all of a user's went together.
        negatives = negatives + np.minimum(more, (counts.targets_per_user - 1.0) * negatives)
    design = np.where(scatter > more, scatter / np.maximum(scatter - more, 1e-300), 1.0)
    ranks = ranks * np.maximum(design, 1.0)
    unseen = LAW**2 * np.maximum(laws.variance(metrics) - negatives - ranks, 0.0)
    if fit is reference:  # what its prior pulls towards is in the posterior
        bias = none
    found = replace(
        found,
        negatives=np.sqrt(negatives),
        ranks=np.sqrt(ranks),
        law=np.sqrt(unseen),
        bias=np.where(bias**2 > 4.0 * (ranks + negatives / _TIMES), bias, 0.0),
        users=np.sqrt(np.maximum(scatter - negatives, users)),  # blocks may tell little
    )
    return replace(found, **_learnt(laws, metrics)._asdict())


def of_blocks(counts: RankCounts, places: Places, metrics: Sequence[Metric]) -> FloatArray:
    """What users move mean gains by, added up over blocks of users with several targets.

    Parameters
    ----------
    counts : RankCounts
        Outcomes of users with several targets.
    places : Places
        What is known of them.
    metrics : list of Metric
        The metrics.

    Returns
    -------
    array
        Shape (n_metrics, 100), scaled so that the sum of squares over blocks is the variance of
        mean gains over redraws of these users.
    """
    blocks = _sums_of_blocks(counts, _off(counts, places.gains(counts, metrics)))
    return np.asarray(blocks * np.sqrt(_factor(counts)) / counts.total_weight)


def _off(counts: RankCounts, gain: FloatArray) -> FloatArray:
    """How far gains are from those of the mean user."""
    mean = counts.weight @ gain / (counts.weight / counts.n_targets).sum()  # per user
    return np.asarray(gain - mean / counts.n_targets[:, None])


def _sums_of_blocks(counts: RankCounts, gain: FloatArray) -> FloatArray:
    columns = [np.bincount(counts.block, counts.weight * one, MAX_REPLICATES + 1)[1:]
               for one in gain.T]  # fmt: skip
    return np.stack(columns)


def _factor(counts: RankCounts) -> float:
    """By which the squares of sums over few blocks fall short."""
    n_blocks = max(int(np.unique(counts.block[counts.block > 0]).size), 2)
    return n_blocks / (n_blocks - 1.0)


def _clustering(
    counts: RankCounts, places: Places, metrics: Sequence[Metric]
) -> tuple[FloatArray, FloatArray]:
    """Variance of mean gains over redraws of the users, and how much of it users' targets share."""
    gain = places.gains(counts, metrics)
    weight, total = counts.weight, counts.total_weight
    # Of users with one target each, and of blocks of the others.
    alone, off, factor = counts.block == 0, _off(counts, gain), _factor(counts)
    scatter = weight[alone] @ off[alone] ** 2
    scatter = scatter + factor * (_sums_of_blocks(counts, off) ** 2).sum(axis=1)
    # Beside places and numbers of targets, which are what they are.
    kind = np.unique(
        counts.place * (1 + counts.n_targets.max()) + counts.n_targets, return_inverse=True
    )[1]
    size = np.bincount(kind, weight)
    rest = np.stack(
        [column - (np.bincount(kind, weight * column) / size)[kind] for column in gain.T], axis=1
    )
    shared = factor * (_sums_of_blocks(counts, rest) ** 2).sum(axis=1)
    shared = shared - weight[~alone] @ rest[~alone] ** 2
    return scatter / total**2, np.minimum(np.maximum(shared, 0.0), scatter) / total**2


def _redrawn(
    counts: RankCounts,
    places: Places,
    laws: FittedPlaces,
    metrics: Sequence[Metric],
    seed: int,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Bias of mean gains, and their variances over redraws of negatives, ranks and users."""
    rng = np.random.default_rng(seed)
    row, user = together(counts, MOST_USERS, rng)
    exact = counts.is_exact[row]
    rank = counts.sampled_rank[row]
    mass, of = laws.masses(counts)
    for number in np.unique(of[row]):
        at = np.flatnonzero((of[row] == number) & ~exact)
        if at.size:
            distinct, which = counts.single_rows(row[at], near=0.01)
            matrix = likelihood(distinct, laws.support).matrix
            order = np.argsort(which, kind="stable")
            rank[at[order]] = drawn_points(matrix, mass[number], laws.support, which[order], rng)
    rank = np.minimum(rank, counts.n_items[row])
    users = DrawnUsers(
        counts.schemes, counts.scheme[row], counts.n_items[row], counts.sample_size[row], rank, user
    )
    drawn = np.stack([users.evaluate(rng) for _ in range(_TIMES)], axis=1)
    outcomes, back = _distinct(counts, row, drawn)
    gains = places.influence(outcomes, metrics)[back].reshape(_TIMES, row.size, len(metrics))
    known = np.stack(
        [
            metric.gain(
                rank,
                users.n_items,
                place=counts.place[row],
                n_targets=counts.n_targets[row],
                offset=counts.offset[row],
            )
            for metric in metrics
        ],
        axis=1,
    )
    mean, within = gains.mean(axis=0), gains.var(axis=0, ddof=1)
    off = mean - known
    ranks = np.maximum(off.var(axis=0) - within.mean(axis=0) / _TIMES, 0.0)
    # Targets that share negatives go up and down together: the user is the unit.
    of_users = np.zeros((int(user.max()) + 1, *gains.shape[::2]))
    np.add.at(of_users, user, gains.swapaxes(0, 1))
    by_negatives = of_users.var(axis=1, ddof=1).sum(axis=0) / row.size
    n_users = of_users.shape[0]
    by_users = np.zeros_like(by_negatives)
    if n_users > 1:
        by_users = of_users.mean(axis=1).var(axis=0, ddof=1) * n_users / row.size
        by_users = np.maximum(by_users - by_negatives / _TIMES, 0.0)
    total = counts.total_weight
    return off.mean(axis=0), by_negatives / total, ranks / total, by_users / total


def _distinct(counts: RankCounts, row: IntArray, drawn: IntArray) -> tuple[RankCounts, IntArray]:
    """Distinct redrawn outcomes with all columns about targets, and which each one is."""
    found = drawn.reshape(4, -1)
    targets = np.stack([counts.place[row], counts.n_targets[row], counts.offset[row]])
    table = np.concatenate([found, np.tile(targets, drawn.shape[1])])
    order = np.lexsort(table[::-1])
    new = np.ones(order.size, dtype=bool)
    new[1:] = (np.diff(table[:, order], axis=1) != 0).any(axis=0)
    back = np.empty(order.size, dtype=np.int64)
    back[order] = np.cumsum(new) - 1
    kept = table[:, order[new]]
    parts = []
    for code, scheme in enumerate(counts.schemes):
        _, pool, size, rank, place, n_targets, offset = kept[:, kept[0] == code]
        if pool.size:
            parts.append(_of_scheme(scheme, pool, size, rank, place, n_targets, offset))
    # Counts sort their outcomes the same way.
    return sum(parts[1:], parts[0]), back


def _of_scheme(
    scheme: Scheme,
    pool: IntArray,
    size: IntArray,
    rank: IntArray,
    place: IntArray,
    n_targets: IntArray,
    offset: IntArray,
) -> RankCounts:
    return RankCounts.from_outcomes(
        scheme, n_items=pool, sample_size=size, sampled_rank=rank, weight=np.ones(pool.size),
        place=place, n_targets=n_targets, offset=offset,
    )  # fmt: skip


def _learnt(laws: FittedPlaces, metrics: Sequence[Metric]) -> Stray:
    """What real evaluations stray from smooth laws, as learnt for users with one target.

    It is about the law of all targets, each for itself: metrics move with it as the means of gains
    of single targets do.
    """
    known = laws.known
    assert known is not None
    gains = known.single_gains(laws.expected_gradient(metrics))
    size = np.maximum(np.abs(gains).max(axis=1), 1e-300)
    rank = laws.support.rank
    single = [
        Metric(metric.key, None, partial(np.interp, xp=rank, fp=gain))
        for metric, gain in zip(metrics, np.abs(gains) / size[:, None], strict=True)
    ]
    found = lumps(known.all.posterior, single, list(LUMPS), gradient=laws.moved(metrics).single)
    of_lumps = np.sqrt(mean_variance(found.variance, found.log_evidence[:, None]))
    share = np.abs(gains) @ known.mass / size
    told = features(known.targets, known.together, single)
    learnt = LEARNT.of(told.columns)
    worse, better = sides(learnt, told)
    better = np.hypot(learnt, better)  # places and numbers of targets err to either side
    worse, better = (misfit * share * (1.0 - share) * size for misfit in (worse, better))
    return Stray(of_lumps, worse, better)
