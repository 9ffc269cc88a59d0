"""Evaluating a sample of the users: which ones, by a hash of their ids alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks
from truerank._types import IntArray
from truerank.designs import Design
from truerank.errors import InputError
from truerank.rng import Keys, user_keys
from truerank.scoring.task import Task, interactions

_STREAM = 0x7573657273  # the choice of users is independent of their negatives


def take(
    test: Any, train: Any, design: Design, seed: int
) -> tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], int | None]:
    """The test rows of the users that a design evaluates, and of how many users it chose them.

    None if it takes all of them: they are not counted here.
    """
    user_id, item_id = interactions(test, "test")
    if design.users is None:
        return (user_id, item_id), None
    by_activity = None
    if design.stratified:
        if train is None:
            raise InputError("stratified needs train: users are stratified by their activity there")
        by_activity = activity(user_id, interactions(train, "train")[0])
    rows = choose(user_id, design.users, seed=seed, activity=by_activity)
    return (user_id[rows], item_id[rows]), int(np.unique(user_id).size)


def fewer(task: Task, design: Design, seed: int) -> Task:
    """The task of the users that a design takes, if these are fewer."""
    if design.users is None or design.users >= task.n_users:
        return task
    return task.take(np.flatnonzero(choose(task.user_id, design.users, seed=seed)))


def choose(
    user_ids: npt.NDArray[Any], n_users: Any, *, seed: int, activity: IntArray | None = None
) -> npt.NDArray[np.bool_]:
    """Which test rows belong to a random sample of ``n_users`` users, all rows of a user together.

    With ``activity`` (interactions of each row's user) the sample is stratified.
    """
    distinct, first, at = np.unique(user_ids, return_index=True, return_inverse=True)
    by_user = None if activity is None else activity[first]
    return np.asarray(pick(lots(distinct, seed), n_users, by_user)[at])


def lots(user_ids: npt.NDArray[Any], seed: int) -> Keys:
    """The lot that each user draws: those with the lowest are evaluated."""
    return user_keys(user_ids, seed ^ _STREAM)


def pick(lot: Keys, n_users: Any, activity: IntArray | None = None) -> npt.NDArray[np.bool_]:
    """Which users are evaluated, by their lots; all arrays have one entry per user.

    With ``activity`` users are put in order of it and every so-many-th is taken, which gives every
    user the same chance and every level of activity its share.
    """
    wanted = _checks.integer(n_users, "users", low=1)
    if wanted > lot.size:
        raise InputError(f"users is {wanted}; the test has {lot.size} users")
    chosen = np.zeros(lot.size, dtype=bool)
    if activity is None:
        chosen[np.argsort(lot, kind="stable")[:wanted]] = True
    else:
        order = np.lexsort([lot, activity])
        begin = float(np.bitwise_xor.reduce(lot) >> np.uint64(11)) * 2.0**-53
        picks = np.floor((np.arange(wanted) + begin) * lot.size / wanted).astype(np.int64)
        chosen[order[picks]] = True
    return chosen


def activity(user_ids: npt.NDArray[Any], train_user_ids: npt.NDArray[Any]) -> IntArray:
    """Training interactions of each row's user."""
    users, counts = np.unique(train_user_ids, return_counts=True)
    at = np.minimum(np.searchsorted(users, user_ids), users.size - 1)
    return np.where(users[at] == user_ids, counts[at], 0).astype(np.int64)
