"""Exact counts for any scorer: all scores of a few users at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.scoring._blocks import Block, Blocks
from truerank.scoring._count import kernels
from truerank.scoring._rectangles import rectangles
from truerank.scoring.ledger import by_pairs, is_function
from truerank.scoring.scorer import Scorer, real_numbers
from truerank.scoring.task import Task

_SCORES = 2**22  # held at a time: 32 MB of float64
_ASKED = 2**20  # pairs asked for in one call of `score`


def count(scorer: Scorer, task: Task, advance: Callable[[int], None]) -> tuple[IntArray, IntArray]:
    """Pool items that score above each target, and those that tie with it, (n_rows,) each."""
    n_pairs = float(task.n_items.sum())
    with by_pairs(scorer, task.n_rows, n_pairs, advance) as (asked, told):
        return _count(asked, task, told)


def _count(scorer: Scorer, task: Task, advance: Callable[[int], None]) -> tuple[IntArray, IntArray]:
    whole = scorer.scores_rows
    score = _catalogue if whole else _candidates
    size = max(1, (_SCORES if whole else _ASKED) // task.catalogue)
    inner = kernels(task.n_users * task.catalogue)
    above = np.zeros(task.n_rows, dtype=np.int64)
    tied = np.zeros(task.n_rows, dtype=np.int64)
    users = Blocks(task)
    for begin in range(0, task.n_users, size):
        block = users[begin : begin + size]
        scores, target = score(scorer, task, block)
        over, equal = np.zeros((2, block.row.size), dtype=np.int64)
        for layer in block.layers:
            inner.count(scores, target[layer], over[layer], equal[layer])
        above[block.row], tied[block.row] = over, equal
        advance(block.row.size)
    return above, tied


def _catalogue(scorer: Scorer, task: Task, block: Block) -> tuple[FloatArray, FloatArray]:
    """Scores of all items, -inf for those that do not count, and of the targets."""
    who, shape = scorer.label, (block.user.size, task.catalogue)
    # A copy: the array may be the scorer's own.
    scores = real_numbers(scorer.score_all(block.user), shape, who).copy()
    target = scores[block.place, task.target[block.row]]
    _check_targets(scorer, task, block, target)
    user, item = task.left_out_of(block.row[block.layers[0]])
    scores[user, item] = -np.inf
    n_left_out = np.bincount(user, minlength=block.user.size)
    bad = np.count_nonzero(~np.isfinite(scores), axis=1) - n_left_out
    _check_candidates(scorer, block, bad)
    return scores, target


def _candidates(scorer: Scorer, task: Task, block: Block) -> tuple[FloatArray, FloatArray]:
    """The same with the items in question only, for scorers that are asked pair by pair.

    A row holds a user's candidates and targets in the order of the catalogue. A function gets all
    users at once, rows filled up with their last item, which it is not asked for twice; other
    scorers get those with equally many items at a time, so that nothing is scored as filling.
    """
    asked = np.ones((block.user.size, task.catalogue), dtype=np.bool_)
    asked[task.left_out_of(block.row[block.layers[0]])] = False
    asked[block.place, task.target[block.row]] = True
    user, item = np.nonzero(asked)
    length = np.bincount(user)
    first = np.cumsum(length) - length
    column = np.arange(int(length.max()))
    filled = np.minimum(first[:, None] + column, (first + length - 1)[:, None])
    scores = np.zeros(filled.shape, dtype=np.float32)
    for at in [filled] if is_function(scorer) else rectangles(user, _ASKED):
        who = block.user[user[at[:, 0]]]
        found = real_numbers(scorer.score(who, item[at]), at.shape, scorer.label)
        scores = scores.astype(np.promote_types(scores.dtype, found.dtype), copy=False)
        scores[user[at], at - first[user[at]]] = found
    _check_candidates(scorer, block, np.count_nonzero(~np.isfinite(scores), axis=1))
    code = block.place * task.catalogue + task.target[block.row]
    mine = np.searchsorted(user * task.catalogue + item, code) - first[block.place]
    target = scores[block.place, mine]
    scores[block.place, mine] = -np.inf
    scores[column >= length[:, None]] = -np.inf
    return scores, target


def _check_targets(scorer: Scorer, task: Task, block: Block, target: FloatArray) -> None:
    bad = ~np.isfinite(target)
    if bad.any():
        at = int(np.argmax(bad))
        user = scorer.user_ids.values(task.user[block.row[at : at + 1]])[0]
        item = scorer.item_ids.values(task.target[block.row[at : at + 1]])[0]
        raise InputError(
            f"the score of user {user} for its target, item {item}, is {target[at]}; such scores "
            "cannot be ranked"
        )


def _check_candidates(scorer: Scorer, block: Block, bad: IntArray) -> None:
    if bad.any():
        at = int(np.argmax(bad > 0))
        user = scorer.user_ids.values(block.user[at : at + 1])[0]
        raise InputError(
            f"user {user} has {bad[at]} candidates whose scores are NaN or infinite; such scores "
            "cannot be ranked (items to be left out belong in train=)"
        )
