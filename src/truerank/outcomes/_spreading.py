"""Ties spread: a target's weight shared evenly by the ranks that it may have."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank._types import FloatArray, IntArray
from truerank.errors import InputError

MOST_OUTCOMES = 2**24  # of counts with spread ties: a gigabyte


def spread(
    first: IntArray, extra: IntArray, n_items: IntArray, sample_size: IntArray, weight: FloatArray
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """(n_items, sample_size, rank, weight) with weights shared by ranks first+1 .. first+extra+1.

    Rows without ties stay as they are. The others are added up in one array of ranks for each
    (n_items, sample_size): rows may tie with the whole catalogue, so no rows x ranks.
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
    share = total / (cases[3] + 1)
    designs = _starts(cases[:2])
    n_outcomes = 0
    for begin, end in itertools.pairwise([*designs.tolist(), starts.size]):
        pool, size = cases[:2, begin]
        by_rank = np.zeros(size)
        for above, tied, part in zip(*cases[2:, begin:end].tolist(), share[begin:end], strict=True):
            by_rank[above : above + tied + 1] += part
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
        f"ties are so many that to share them out takes over {MOST_OUTCOMES:,} outcomes; "
        "say ties='random', which is right in the mean too"
    )


def _starts(columns: npt.NDArray[Any]) -> IntArray:
    """Where a new combination of values begins, in sorted columns (n_columns, n)."""
    if not columns.shape[1]:
        return np.empty(0, dtype=np.int64)
    changed = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    return np.concatenate([[0], np.flatnonzero(changed) + 1])
