"""Ties spread: a target's weight shared by the ranks that it may have, as ties may be broken.

Without replacement the ranks have equal shares. With replacement a tied item that is drawn twice is
one item, above the target both times or not at all: shares lean towards both ends.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank._types import FloatArray, IntArray
from truerank.errors import InputError

MOST_OUTCOMES = 2**24  # of counts with spread ties: a gigabyte
_MANY = 8  # tied items per tied draw from which the sum over them is done by a formula
_LARGE = 2**22  # tied items times tied draws: sums of more numbers are done by it, too


def spread(
    first: IntArray,
    extra: IntArray,
    n_items: IntArray,
    sample_size: IntArray,
    weight: FloatArray,
    *,
    replacement: bool = False,
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """(n_items, sample_size, rank, weight) with weights shared by ranks first+1 .. first+extra+1.

    Shares are equal, or with ``replacement`` those of `tie_shares`. Rows without ties stay as they
    are. The others are added up in one array of ranks for each (n_items, sample_size): rows may tie
    with the whole catalogue, so no rows x ranks.
    """
    plain = extra == 0
    parts = [(n_items[plain], sample_size[plain], first[plain] + 1, weight[plain])]
    rows = np.flatnonzero(~plain)
    cases = np.stack([column[rows] for column in (n_items, sample_size, first, extra)])
    order = np.lexsort(cases[::-1])
    cases = cases[:, order]
    starts = _starts(cases)
    cases = cases[:, starts]
    total = np.add.reduceat(weight[rows][order], starts) if starts.size else np.empty(0)
    designs = _starts(cases[:2])
    n_outcomes = 0
    for begin, end in itertools.pairwise([*designs.tolist(), starts.size]):
        pool, size = cases[:2, begin]
        by_rank = np.zeros(size)
        for above, tied, part in zip(*cases[2:, begin:end].tolist(), total[begin:end], strict=True):
            shares: Any = part / (tied + 1)
            if replacement:
                n_tied = max(1, round(tied * int(pool - 1) / int(size - 1)))
                shares = part * tie_shares(tied, n_tied)
            by_rank[above : above + tied + 1] += shares
        rank = np.flatnonzero(by_rank)
        parts.append((np.full(rank.size, pool), np.full(rank.size, size), rank + 1, by_rank[rank]))
        n_outcomes += rank.size
        if n_outcomes > MOST_OUTCOMES:
            raise too_many_ties()
    pools, sizes, ranks, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return pools, sizes, ranks, weights


def too_many_ties() -> InputError:
    """The error for ties that would take too many outcomes."""
    return InputError(
        f"there are so many ties that sharing them out takes more than {MOST_OUTCOMES:,} outcomes; "
        "say ties='random', which is right on average too"
    )


@functools.lru_cache(maxsize=4096)
def tie_shares(tied: int, n_tied: int) -> FloatArray:
    """The chance that x of ``tied`` draws go above the target, ties broken at random.

    The draws, with replacement, are of ``n_tied`` items that tie with the target. Broken at random,
    g of these items stand above it, g = 0 .. n_tied with equal chances, and each draw is one of
    them with chance g / n_tied: the mean over g of a binomial law. For many tied items it tends to
    equal shares, 1 / (tied + 1).

    How many items tie is not seen in a sample. `spread` takes the share of tied draws for the share
    of tied items, which is exact where all items tie, a constant scorer.

    Parameters
    ----------
    tied : int
        Number of draws that tie with the target, repeated ones counted again.
    n_tied : int
        Number of items that tie with the target, at least 1.

    Returns
    -------
    ndarray of float, shape (tied + 1,)
        For x = 0 .. tied; they sum to 1.
    """
    from scipy.stats import binom

    if n_tied < _MANY * tied and n_tied * tied <= _LARGE:
        above = np.arange(n_tied + 1)[:, None] / n_tied
        return np.asarray(binom.pmf(np.arange(tied + 1), tied, above).mean(axis=0))
    # Sum over g by Euler and Maclaurin: the integral, half of both ends, slopes at the ends. Of a
    # share, less than 1e-6 is left out (less than 1 % where there are as many draws as items).
    total = np.full(tied + 1, n_tied / (tied + 1))
    total[[0, -1]] += 0.5 + tied / (12 * n_tied)
    np.subtract.at(total, [1, -2], tied / (12 * n_tied))  # of two draws, both are the middle
    return total / (n_tied + 1)


def _starts(columns: npt.NDArray[Any]) -> IntArray:
    """Where a new combination of values begins, in sorted columns (n_columns, n)."""
    if not columns.shape[1]:
        return np.empty(0, dtype=np.int64)
    changed = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    return np.concatenate([[0], np.flatnonzero(changed) + 1])
