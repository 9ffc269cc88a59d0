"""Evaluating a sample of the users: which ones, by a hash of their ids alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks
from truerank._types import IntArray
from truerank.errors import InputError
from truerank.rng import user_keys

_STREAM = 0x7573657273  # the choice of users is independent of their negatives


def choose(
    user_ids: npt.NDArray[Any], n_users: Any, *, seed: int, activity: IntArray | None = None
) -> npt.NDArray[np.bool_]:
    """Which test rows belong to a random sample of ``n_users`` users, all rows of a user together.

    With ``activity`` (interactions of each row's user) the sample is stratified: users in order of
    activity, every so-many-th taken, which gives every user the same chance and every level of
    activity its share.
    """
    wanted = _checks.integer(n_users, "users", low=1)
    distinct, first, at = np.unique(user_ids, return_index=True, return_inverse=True)
    if wanted > distinct.size:
        raise InputError(f"users is {wanted}; the test has {distinct.size} users")
    lot = user_keys(distinct, seed ^ _STREAM)
    chosen = np.zeros(distinct.size, dtype=bool)
    if activity is None:
        chosen[np.argsort(lot, kind="stable")[:wanted]] = True
    else:
        order = np.lexsort([lot, activity[first]])
        begin = float(np.bitwise_xor.reduce(lot) >> np.uint64(11)) * 2.0**-53
        picks = np.floor((np.arange(wanted) + begin) * distinct.size / wanted).astype(np.int64)
        chosen[order[picks]] = True
    return np.asarray(chosen[at])


def activity(user_ids: npt.NDArray[Any], train_user_ids: npt.NDArray[Any]) -> IntArray:
    """Training interactions of each row's user."""
    users, counts = np.unique(train_user_ids, return_counts=True)
    at = np.minimum(np.searchsorted(users, user_ids), users.size - 1)
    return np.where(users[at] == user_ids, counts[at], 0).astype(np.int64)
