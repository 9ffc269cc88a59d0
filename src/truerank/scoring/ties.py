"""What rank a target gets among items of the very same score.

Shared by exact and sampled ranks: `above` items scored higher than the target, `tied` scored the
same (itself not counted), among `sample_size` ranked ones of which the target is one.
"""

from __future__ import annotations

import functools
from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt

from truerank import _checks
from truerank._types import FloatArray, IntArray, Ties
from truerank.errors import InputError
from truerank.outcomes._spreading import spread
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme
from truerank.rng import Keys, below, draws, mix

POLICIES: tuple[str, ...] = get_args(Ties)
# Keys of tie-breaks are others than those that negatives are drawn by.
_STREAM = np.uint64(0x7469_6573_2D31_2E30)


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

    ``spread`` gives each of a row's tied ranks its share of the weight, which is the mean over all
    ways to break the ties: the same for all, or with replacement, where a tied item drawn twice is
    one item, more at both ends. A middle between two ranks (``mid``) counts half for each.
    """
    policy = check(policy)
    make = functools.partial(
        RankCounts.from_outcomes,
        scheme,
        n_users=n_users,
        squared_weight=float(weight @ weight),
    )
    first, extra = shared_ranks(above, tied, policy, keys)
    if policy in ("spread", "mid"):
        pool, size, rank, share = spread(
            first - 1, extra, n_items, sample_size, weight, replacement=scheme.replacement
        )
        return make(n_items=pool, sample_size=size, sampled_rank=rank, weight=share)
    return make(n_items=n_items, sample_size=sample_size, sampled_rank=first, weight=weight)


def shared_ranks(
    above: IntArray, tied: IntArray, policy: str, keys: Keys | None = None
) -> tuple[IntArray, IntArray]:
    """The ranks that share a row's weight: the first of them, and how many there are beyond it.

    Parameters
    ----------
    above, tied, policy, keys
        As in `ranks`, and ``"spread"`` too.

    Returns
    -------
    tuple of two ndarrays of int, shape (n_rows,)
        The first rank, 1-based, and the number of ranks behind it with the same share.
    """
    policy = check(policy)
    if policy == "spread":
        return above + 1, tied
    if policy == "mid":
        return above + tied // 2 + 1, tied % 2
    return ranks(above, tied, policy, keys), np.zeros_like(tied)
