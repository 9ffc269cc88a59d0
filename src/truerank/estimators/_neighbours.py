"""Many outcomes made few, so that a likelihood costs no more than some hundred of them.

The log-likelihood of an outcome is smooth in log N, N its pool, and in its sampled rank where that
is large. Read between two neighbours on a grid by a straight line, it is the log-likelihood of the
outcome's weight shared out between them, and off by the square of the grid's step only.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from truerank._types import FloatArray, IntArray
from truerank.outcomes._columns import Radix
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme

STEP = 0.01  # between neighbours, of the pool and of the ranks from either end
MANY_POOLS = 8  # as many are left alone
_EVERY = int(1.5 / STEP)  # ranks from either end of which each is on the grid
_COUNTED = 2**21  # possible rows that are counted rather than sorted


_kept: dict[int, tuple[weakref.ref[RankCounts], RankCounts]] = {}  # while the counts live


def on_grid(counts: RankCounts) -> RankCounts:
    """``counts`` with the weight of each outcome shared by its neighbours on the grid.

    Sizes above half the smallest pool stay as they are, exact ranks among them, and so do lists
    that may end before their target. Ladders are
    forgotten: to a fit their likelihood is that of fixed sizes.
    """
    number = id(counts)
    known = _kept.get(number)
    if known is not None and known[0]() is counts:
        return known[1]
    found = _shared_out(counts)
    _kept[number] = weakref.ref(counts, lambda _: _kept.pop(number, None)), found
    return found


def distinct_pools(counts: RankCounts) -> IntArray:
    """The pool sizes that occur, rising; outcomes mostly come sorted by them."""
    pools = np.sort(counts.n_items, kind="stable")
    return np.asarray(pools[np.flatnonzero(np.diff(pools, prepend=pools[0] - 1))])


def _shared_out(counts: RankCounts) -> RankCounts:
    few = counts.sample_size <= counts.n_items.min() // 2
    # What stands for many ranks has no neighbours.
    few &= np.array([scheme.seen is None for scheme in counts.schemes])[counts.scheme]
    parts = [counts.select(~few)]
    grid = _pool_grid(distinct_pools(counts))
    for replacement in (False, True):
        schemes = [scheme.replacement == replacement for scheme in counts.schemes]
        mine = few & np.array(schemes)[counts.scheme]
        if mine.any():
            parts.append(_share(counts, mine, replacement, grid))
    first, *others = (part for part in parts if part is not None)
    return sum(others, first)


def _share(
    counts: RankCounts, mine: npt.NDArray[np.bool_], replacement: bool, grid: IntArray
) -> RankCounts:
    pool, size, rank = (a[mine] for a in (counts.n_items, counts.sample_size, counts.sampled_rank))
    low_pool, high_pool, pool_part = _between(np.log(grid), np.log(pool))
    low_rank, high_rank, rank_part = np.empty_like(rank), np.empty_like(rank), np.empty(rank.size)
    for each in np.unique(size):
        at, ranks = size == each, _rank_grid(int(each))
        low, high, rank_part[at] = _between(ranks, rank[at])
        low_rank[at], high_rank[at] = ranks[low], ranks[high]
    share = counts.weight[mine]
    parts = (
        ((size, pools, ranks), share * in_pool * in_rank)
        for pools, in_pool in ((low_pool, 1.0 - pool_part), (high_pool, pool_part))
        for ranks, in_rank in ((low_rank, 1.0 - rank_part), (high_rank, rank_part))
    )
    (sizes, pools, ranks), weight = _added_up(
        parts, Radix.of((size, np.array([0, grid.size - 1]), np.stack([low_rank, high_rank])))
    )
    return RankCounts.from_outcomes(
        Scheme(replacement=replacement),
        n_items=grid[pools],
        sample_size=sizes,
        sampled_rank=ranks,
        weight=weight,
        # A share of each rank is no rank of its own: as many are independent as before.
        squared_weight=counts.squared_weight * float(weight.sum()) / counts.total_weight,
    )


def _added_up(
    parts: Iterable[tuple[tuple[IntArray, ...], FloatArray]], radix: Radix
) -> tuple[Sequence[IntArray], FloatArray]:
    """Rows of all parts and their weights, equal ones added up where few are possible."""
    if radix.n_possible > _COUNTED:
        rows, weights = zip(*parts, strict=True)
        columns = [np.concatenate(column) for column in zip(*rows, strict=True)]
        return columns, np.concatenate(weights)
    total = np.zeros(radix.n_possible)
    for key, weight in parts:
        total += np.bincount(radix.numbers(key), weight, minlength=total.size)
    seen = np.flatnonzero(total)
    return radix.columns(seen), total[seen]


def _between(
    grid: IntArray | FloatArray, value: IntArray | FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Neighbours of each value on a grid, as indices, and how far it is towards the second."""
    if grid.size == 1:
        none = np.zeros(value.size, dtype=np.int64)
        return none, none, np.zeros(value.size)
    high = np.clip(np.searchsorted(grid, value), 1, grid.size - 1).astype(np.int64)
    part = (value - grid[high - 1]) / (grid[high] - grid[high - 1])
    return high - 1, high, part


def _pool_grid(pools: IntArray) -> IntArray:
    """The pools themselves if they are few."""
    if pools.size <= MANY_POOLS:
        return pools
    n_steps = max(1, round(np.log(pools[-1] / pools[0]) / STEP))
    return np.unique(np.rint(np.geomspace(pools[0], pools[-1], n_steps + 1)).astype(np.int64))


@lru_cache(maxsize=1024)
def _rank_grid(sample_size: int) -> IntArray:
    """Every rank near either end, then steps in proportion to the distance from it."""
    head = _rising(sample_size.bit_length())
    # The first half is that of all samples, the last ranks are every one; in between, step by step.
    half = int(np.searchsorted(head, sample_size // 2, side="right"))
    rest = sample_size - int(head[half])
    steps = [rest]
    while rest > _EVERY:
        rest -= int(STEP * rest) or 1
        steps.append(rest)
    last = np.arange(sample_size - rest + 1, sample_size + 1)
    grid = np.concatenate([head[:half], sample_size - np.array(steps), last])
    return np.asarray(grid[grid <= sample_size], dtype=np.int64)


@lru_cache(maxsize=64)
def _rising(bits: int) -> IntArray:
    """Ranks from 1 on in steps of proportion to them, beyond 2^bits."""
    ranks = [1]
    while ranks[-1] <= 2**bits:
        ranks.append(ranks[-1] + max(1, int(STEP * ranks[-1])))
    return np.array(ranks, dtype=np.int64)
