"""Users with several targets, put together again from counts that tell no user from another.

Counts say of each outcome its place, its user's number of targets, its pool and the block of users
that its user is in. Where a block has one user of such numbers, these are its very targets. Where
it has several, the best target of one may stand beside the second of another: users are put
together in the order of their ranks, as those of like users go together.
"""

from __future__ import annotations

import numpy as np

from truerank._types import IntArray
from truerank.outcomes.counts import RankCounts


def together(
    counts: RankCounts, n_targets: float, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Users with a target at each of their places, about so many targets in all.

    Parameters
    ----------
    counts : RankCounts
        Outcomes of users with several targets.
    n_targets : float
        Targets to take at most, about; those of all users if there are no more.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    tuple of two arrays of int
        The outcome and the user (from 0) of each target that was taken, shape (n,).
    """
    about = (counts.block, counts.n_targets, counts.n_items, counts.replicate)
    share = counts.sampled_rank / counts.sample_size
    order = np.lexsort([share, counts.place, *about])
    kind = np.stack([column[order] for column in about])
    place = counts.place[order]
    new = np.ones(order.size, dtype=bool)
    new[1:] = (np.diff(kind, axis=1) != 0).any(axis=0)
    cell = np.cumsum(new) - 1  # users of like numbers
    new[1:] |= np.diff(place) != 0
    first = np.flatnonzero(new)  # of a place in its cell
    total = np.add.reduceat(counts.weight[order], first)
    before = np.cumsum(counts.weight[order]) - np.repeat(
        np.cumsum(total) - total, np.diff(first, append=order.size)
    )
    # Up to which share of the weight of its place in its cell each outcome reaches, one after the
    # other.
    number = np.cumsum(new) - 1
    reach = number + before / total[number]
    cell_of = cell[first]
    users = np.maximum.reduceat(total, np.flatnonzero(np.diff(cell_of, prepend=-1)))
    unit = max(1.0, counts.total_weight / n_targets)
    edge = np.floor(np.cumsum(users) / unit + rng.random())
    taken = np.diff(edge, prepend=0.0).astype(np.int64)
    # Every user takes one outcome at each place of its cell, all at one share of the weight.
    start = np.cumsum(taken) - taken
    each = taken[cell_of]
    at = np.repeat(np.arange(first.size), each)
    nth = np.arange(at.size) - np.repeat(np.cumsum(each) - each, each)
    where = at + (nth + 0.5) / each[at]
    row = np.minimum(np.searchsorted(reach, where), order.size - 1)
    return order[row], start[cell_of[at]] + nth
