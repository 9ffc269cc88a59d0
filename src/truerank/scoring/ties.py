"""What rank a target gets among items of the very same score.

Shared by exact and sampled ranks: `above` items scored higher than the target, `tied` scored the
same (itself not counted), among `sample_size` ranked ones of which the target is one.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt

from truerank import _checks
from truerank._types import FloatArray, IntArray, Ties
from truerank.errors import InputError
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme
from truerank.rng import Keys, below, draws, mix

POLICIES: tuple[str, ...] = get_args(Ties)
# Keys of tie-breaks are others than those that negatives are drawn by.
_STREAM = np.uint64(0x7469_6573_2D31_2E30)
_MOST_OUTCOMES = 2**24  # of counts with spread ties: a gigabyte


def check(policy: Any) -> Ties:
    """``policy`` if it is known, or an InputError with the nearest that is."""
    if policy not in POLICIES:
        raise _checks.unknown("ties", policy, POLICIES)
    return cast(Ties, str(policy))


def ranks(
    above: IntArray, tied: IntArray, policy: str, keys: Keys | None = None
) -> npt.NDArray[Any]:
    """One rank per row, 1-based.

    Parameters
    ----------
    above : ndarray of int, shape (n_rows,)
        Items that scored higher than the target.
    tied : ndarray of int, shape (n_rows,)
        Items that scored the same, the target not counted.
    policy : {"random", "mid", "optimistic", "pessimistic"}
        One of the tied ranks at random (by ``keys``), their mean, the first or the last.
        ``"spread"`` is for counts only.
    keys : ndarray of uint64, shape (n_rows,), optional
        Random keys, for ``"random"``.

    Returns
    -------
    ndarray of int or float, shape (n_rows,)
        The ranks, int64; float64 for ``"mid"``.
    """
    policy = check(policy)
    if policy == "optimistic":
        return above + 1
    if policy == "pessimistic":
        return above + tied + 1
    if policy == "mid":
        return above + 1 + tied / 2
    if policy == "spread":
        raise InputError(
            "ties='spread' shares a target among all its tied ranks and so gives counts, not "
            "ranks; for one rank per target say 'random', 'mid', 'optimistic' or 'pessimistic'"
        )
    if keys is None:
        raise TypeError("random ties need keys")
    return above + 1 + below(draws(mix(keys ^ _STREAM), 0), tied + 1)


def counts(
    above: IntArray,
    tied: IntArray,
    policy: str,
    *,
    scheme: Scheme,
    n_items: IntArray,
    sample_size: IntArray,
    weight: FloatArray,
    n_users: float,
    keys: Keys | None = None,
) -> RankCounts:
    """The ranks as counts; all arrays of shape (n_rows,), each row one independent ranking.

    ``spread`` gives each of a row's tied ranks the same share of its weight, which is the mean over
    all ways to break the ties. A middle between two ranks (``mid``) counts half for each.
    """
    policy = check(policy)
    make = functools.partial(
        RankCounts.from_outcomes,
        scheme,
        n_users=n_users,
        squared_weight=float(weight @ weight),
    )
    if policy in ("spread", "mid"):
        first, extra = above, tied
        if policy == "mid":
            first, extra = above + tied // 2, tied % 2
        pool, size, rank, share = _shared(first, extra, n_items, sample_size, weight)
        return make(n_items=pool, sample_size=size, sampled_rank=rank, weight=share)
    rank = ranks(above, tied, policy, keys)
    return make(n_items=n_items, sample_size=sample_size, sampled_rank=rank, weight=weight)


def _shared(
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
        if n_outcomes > _MOST_OUTCOMES:
            raise InputError(
                f"ties are so many that to share them out takes over {_MOST_OUTCOMES:,} outcomes; "
                "say ties='random', which is right in the mean too"
            )
    pools, sizes, ranks, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return pools, sizes, ranks, weights


def _starts(columns: npt.NDArray[Any]) -> IntArray:
    """Where a new combination of values begins, in sorted columns (n_columns, n)."""
    if not columns.shape[1]:
        return np.empty(0, dtype=np.int64)
    changed = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    return np.concatenate([[0], np.flatnonzero(changed) + 1])
