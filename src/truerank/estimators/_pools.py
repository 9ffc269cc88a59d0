"""Pools of many sizes made few, so that a likelihood costs no more than that of some pools.

The log-likelihood log f(N) of an outcome of pool N is smooth in log N. Read between two grid
pools by a straight line it is that of the outcome's weight shared out between them, and off by
the square of the grid's step only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truerank._checks import IntArray
from truerank.counts import RankCounts
from truerank.schemes import Scheme

MANY_POOLS = 8  # as many are left alone
STEP = 1.01  # ratio of neighbouring grid pools


def near_pools(counts: RankCounts) -> RankCounts:
    """``counts`` with the weight of each outcome shared by the two nearest of a few pools.

    Sizes above half the smallest pool stay as they are (exact ranks among them), and so do
    tables of few pools. Ladders are forgotten: to a fit their likelihood is that of fixed sizes.
    """
    smallest, largest = int(counts.n_items.min()), int(counts.n_items.max())
    if np.unique(counts.n_items).size <= MANY_POOLS:
        return counts
    n_steps = max(1, round(np.log(largest / smallest) / np.log(STEP)))
    grid = np.unique(np.rint(np.geomspace(smallest, largest, n_steps + 1)).astype(np.int64))
    shared = counts.sample_size <= smallest // 2
    parts = [counts.select(~shared)]
    for code, scheme in enumerate(counts.schemes):
        mine = shared & (counts.scheme == code)
        if mine.any():
            parts.append(_on_grid(counts, mine, scheme, grid))
    total = sum(part for part in parts if part is not None)
    assert isinstance(total, RankCounts)
    return total


def _on_grid(
    counts: RankCounts, mine: npt.NDArray[np.bool_], scheme: Scheme, grid: IntArray
) -> RankCounts:
    pool = counts.n_items[mine]
    upper = np.clip(np.searchsorted(grid, pool), 1, grid.size - 1)
    low, high = np.log(grid[upper - 1]), np.log(grid[upper])
    part = (np.log(pool) - low) / (high - low)
    weight = counts.weight[mine]
    return RankCounts.from_outcomes(
        Scheme(replacement=scheme.replacement),
        n_items=np.concatenate([grid[upper - 1], grid[upper]]),
        sample_size=np.tile(counts.sample_size[mine], 2),
        sampled_rank=np.tile(counts.sampled_rank[mine], 2),
        weight=np.concatenate([weight * (1.0 - part), weight * part]),
    )
