"""Training items that stay in the ranking: each is scored, none is drawn.

A sample of the other items says how many of those are above a target. How many of the kept items
are is known, and is added to the target's position: `RankCounts.offset`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.rng import Keys
from truerank.sampling import _tie_modes
from truerank.scoring._rectangles import rectangles
from truerank.scoring.scorer import Scorer, checked
from truerank.scoring.task import Task

_PAIRS = 2**20  # scored and compared at a time


@dataclass(frozen=True)
class KeptItems:
    """What is known of the kept items of a task.

    Attributes
    ----------
    offset
        Kept items above each target, (n_rows,).
    target_score
        The targets' own scores, (n_rows,).
    pairs
        Kept items that were scored, in all; targets apart.
    """

    offset: IntArray
    target_score: FloatArray
    pairs: int


def above(scorer: Scorer, task: Task, ties: int, tie_keys: Keys) -> KeptItems:
    """Score the kept items of every user, and count those above each of its targets.

    Parameters
    ----------
    scorer : Scorer
        The model; asked once for each kept item and each target.
    task : Task
        Its kept items.
    ties : int
        A number of `_tie_modes`, not that of counting: items of the target's score have to be
        judged as those are that are drawn.
    tie_keys : ndarray of uint64, shape (n_rows,)
        By which users break ties.

    Returns
    -------
    KeptItems
        Counts and scores.
    """
    assert task.kept is not None
    assert ties != _tie_modes.COUNT
    offset = np.zeros(task.n_rows, dtype=np.int64)
    target_score: FloatArray = np.empty(task.n_rows)
    by_group = np.argsort(task.group, kind="stable")
    first = np.searchsorted(task.group[by_group], np.arange(task.n_users + 1))  # rows of each user
    n_kept = np.add.reduceat(np.append(task.kept, False).astype(np.int64), task.start[:-1])
    compared = (n_kept + 1) * np.diff(first)
    for groups in np.split(
        np.arange(task.n_users), np.flatnonzero(np.diff(np.cumsum(compared) // _PAIRS)) + 1
    ):
        rows = by_group[first[groups[0]] : first[groups[-1] + 1]]
        held = slice(task.start[groups[0]], task.start[groups[-1] + 1])
        item = task.left_out[held][task.kept[held]]
        user = np.repeat(task.user[by_group[first[groups]]], n_kept[groups])
        own = target_score[rows] = _scores(scorer, task.user[rows], task.target[rows])
        score = _scores(scorer, user, item)
        # Each target beside each kept item of its user.
        begin = np.cumsum(n_kept[groups]) - n_kept[groups]
        length = n_kept[task.group[rows]]
        at = np.repeat(np.arange(rows.size), length)
        place = np.arange(at.size) - np.repeat(np.cumsum(length) - length, length)
        place += begin[task.group[rows] - groups[0]][at]
        over, same = score[place] > own[at], score[place] == own[at]
        over |= _tie_modes.goes_above(
            same[:, None], ties, tie_keys[rows[at]], item[place][:, None], task.target[rows[at]]
        )[:, 0]
        offset[rows] = np.bincount(at[over], minlength=rows.size)
    return KeptItems(offset, target_score, int(n_kept.sum()))


def _scores(scorer: Scorer, user: IntArray, item: IntArray) -> FloatArray:
    """The scores of pairs, those of a user next to each other; nothing is asked for as filling."""
    found = np.empty(user.size)
    for at in rectangles(user, _PAIRS):
        found[at] = checked(scorer.score(user[at[:, 0]], item[at]), at.shape, scorer.label)
    return found
