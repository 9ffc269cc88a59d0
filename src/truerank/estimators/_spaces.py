"""The outcome spaces in a table of counts: linear estimators solve once for each.

A scheme with a pool and, for fixed samples, a size has one space of possible outcomes: the columns
of A. Pools within 0.5 % of each other may share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.estimators.likelihood import make_support
from truerank.estimators.support import Support, SupportLike
from truerank.metrics import Metric
from truerank.outcomes import schemes
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme

POOL_SHARE = 0.005


@dataclass(frozen=True)
class OutcomeSpace:
    """One outcome space with what was observed in it.

    ``observed`` (n_outcomes,) are shares of all users; ``probability`` (n_points, n_outcomes) is
    A[R, outcome] = P(outcome | R) on the points of ``support``.
    """

    n_items: int
    sample_size: IntArray
    sampled_rank: IntArray
    observed: FloatArray
    support: Support
    probability: FloatArray
    rows: IntArray  # of the counts that belong here
    outcome: IntArray  # which outcome each of them is


def by_outcome(
    counts: RankCounts, metrics: Sequence[Metric], parts: Iterable[tuple[OutcomeSpace, FloatArray]]
) -> FloatArray:
    """Corrected gains (n_metrics, outcomes of a space) laid out for counts, (rows, n_metrics).

    Exact ranks of fixed samples have the gain of the metric itself.
    """
    exact = [metric.gain(counts.sampled_rank, counts.n_items) for metric in metrics]
    gains = np.stack(exact, axis=1)
    for space, corrected in parts:
        gains[space.rows] = corrected[:, space.outcome].T
    return gains


def outcome_spaces(
    counts: RankCounts, metrics: Sequence[Metric], support: SupportLike
) -> Iterator[OutcomeSpace]:
    """Every space of ``counts``, exact ranks of fixed samples left out (A is the identity)."""
    share = counts.weight / counts.total_weight
    whole = support == "full"
    for code, scheme in enumerate(counts.schemes):
        mine = counts.scheme == code
        if not scheme.adaptive and scheme.seen is None:
            mine &= ~counts.is_exact
        sizes = counts.sample_size if not scheme.adaptive else np.zeros_like(counts.sample_size)
        for size in np.unique(sizes[mine]):
            here = np.flatnonzero(mine & (sizes == size))
            for group in _pool_groups(scheme, counts.n_items, share, here, exact=whole):
                yield _outcome_space(counts, scheme, int(size), group, share, metrics, support)


def exact_part(counts: RankCounts) -> tuple[FloatArray, FloatArray, IntArray]:
    """Ranks, shares of users and pools of the exact ranks of fixed samples."""
    plain = [not scheme.adaptive and scheme.seen is None for scheme in counts.schemes]
    fixed = np.array(plain)[counts.scheme]
    exact = counts.is_exact & fixed
    share = counts.weight / counts.total_weight
    return counts.sampled_rank[exact].astype(np.float64), share[exact], counts.n_items[exact]


def _pool_groups(
    scheme: Scheme, n_items: IntArray, share: FloatArray, rows: IntArray, *, exact: bool
) -> Iterator[IntArray]:
    """Rows of outcomes whose pools may share a space."""
    order = rows[np.argsort(n_items[rows], kind="stable")]
    pools = n_items[order]
    # A ladder that ends at the pool has its own outcomes for each pool.
    capped = scheme.adaptive and not scheme.replacement
    start = 0
    while start < order.size:
        alone = exact or (capped and scheme.ladder[-1] >= pools[start])
        limit = pools[start] if alone else int(pools[start] * (1 + POOL_SHARE))
        stop = int(np.searchsorted(pools, limit, side="right"))
        yield order[start:stop]
        start = stop


def _outcome_space(
    counts: RankCounts,
    scheme: Scheme,
    size: int,
    rows: IntArray,
    share: FloatArray,
    metrics: Sequence[Metric],
    support: SupportLike,
) -> OutcomeSpace:
    pool = round(float(np.average(counts.n_items[rows], weights=share[rows])))
    sizes, ranks = scheme.outcomes(pool, size)
    key = {pair: i for i, pair in enumerate(zip(sizes.tolist(), ranks.tolist(), strict=True))}
    at = [
        key[pair]
        for pair in zip(
            counts.sample_size[rows].tolist(), counts.sampled_rank[rows].tolist(), strict=True
        )
    ]
    observed = np.bincount(at, share[rows], minlength=sizes.size).astype(np.float64)
    one = RankCounts.from_outcomes(
        scheme, n_items=pool, sample_size=sizes, sampled_rank=ranks, weight=np.ones(sizes.size)
    )
    grid = (
        support
        if isinstance(support, Support) and support.n_items == pool
        else (make_support(one, metrics, "full" if support == "full" else "auto"))
    )
    log_p = schemes.log_probability(
        scheme, grid.rank, n_items=pool, sample_size=sizes, sampled_rank=ranks
    )
    return OutcomeSpace(
        pool,
        sizes,
        ranks,
        observed,
        grid,
        np.ascontiguousarray(np.exp(log_p).T),
        rows,
        np.array(at),
    )
