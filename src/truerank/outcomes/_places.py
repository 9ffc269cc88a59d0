"""Several targets per user: their places among each other, and blocks of users.

All targets of a user stand in one list with the other candidates. A target of rank R among the
non-targets and place i among its user's targets (1 is the best) has position R + i - 1 in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.outcomes._columns import MAX_REPLICATES
from truerank.rng import mix, user_keys

_STREAM = np.uint64(0x626C_6F63_6B73_2D32)  # blocks are no draw of anything else


def places(user: IntArray, best_first: Any, then: Any = None) -> IntArray:
    """The place of each row among those of its user, 1-based.

    Parameters
    ----------
    user : ndarray of int, shape (n_rows,)
        Codes of users.
    best_first : array, shape (n_rows,)
        What orders the rows of a user: ranks, or scores with their signs turned.
    then : array, shape (n_rows,), optional
        What orders equal ones.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        Places.
    """
    order = np.lexsort([best_first, user] if then is None else [then, best_first, user])
    at = np.arange(order.size)
    new = np.ones(order.size, dtype=bool)
    new[1:] = np.diff(user[order]) != 0
    found = np.empty(order.size, dtype=np.int64)
    found[order] = at - np.maximum.accumulate(np.where(new, at, 0)) + 1
    return found


def numbers(user: IntArray) -> IntArray:
    """How many rows the user of each row has."""
    _, code, count = np.unique(user, return_inverse=True, return_counts=True)
    return np.asarray(count[code], dtype=np.int64)


def blocks(user_ids: Any, n_targets: IntArray) -> IntArray:
    """The block of users that each row belongs to, by a hash of the id; 0 with one target.

    Rows of one user are in one block, whatever else is counted and in which order.
    """
    ids = np.asarray(user_ids)
    try:
        keys = user_keys(ids, 0)
    except Exception:  # ids of other kinds: their texts tell them apart
        keys = user_keys(np.array([str(one) for one in ids.tolist()]), 0)
    block = (mix(keys ^ _STREAM) % np.uint64(MAX_REPLICATES)).astype(np.int64) + 1
    return np.where(n_targets > 1, block, 0)


def before_tied(place: IntArray, n_tied_targets: IntArray, n_tied: IntArray) -> FloatArray:
    """Chances that x of the tied others stand before a tied target, shape (n_rows, max n_tied + 1).

    Of a targets and b others of one score in random order, x others stand before the j-th target
    with probability C(x + j - 1, x) C(b - x + a - j, b - x) / C(a + b, b): negative hypergeometric.

    Parameters
    ----------
    place : ndarray of int, shape (n_rows,)
        j, the place of the target among the tied ones, 1-based.
    n_tied_targets : ndarray of int, shape (n_rows,)
        a, the tied targets, itself counted.
    n_tied : ndarray of int, shape (n_rows,)
        b, the tied others.

    Returns
    -------
    ndarray of float
        Each row sums to 1; 0 beyond b.
    """
    # from the mode outwards by ratios of neighbours, none above 1: products alone, no logarithms,
    # so that every machine finds the same bits
    j, a, b = (column[:, None].astype(np.float64) for column in (place, n_tied_targets, n_tied))
    x = np.arange(int(n_tied.max(initial=0)), dtype=np.float64)
    left = np.maximum(b - x, 0.0)
    ahead = (x + j) * left  # p(x + 1) / p(x) = ahead / behind
    behind = (x + 1.0) * (left + a - j)
    rises = ahead > behind
    falls = np.where(rises, 1.0, ahead) / np.where(rises | (left == 0.0), 1.0, behind)
    climbs = np.where(rises, behind, 1.0) / np.where(rises, ahead, 1.0)
    weight = np.ones((len(place), x.size + 1))
    weight[:, 1:] = np.cumprod(falls, axis=1)
    weight[:, :-1] *= np.cumprod(climbs[:, ::-1], axis=1)[:, ::-1]
    return weight / np.cumsum(weight, axis=1)[:, -1:]
