"""Frozen negatives as item rows of a task, and the drawing of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank import _checks
from truerank._types import IntArray
from truerank.designs.fixed import Fixed
from truerank.designs.frozen import FrozenNegatives, check_repeated, raise_if, starts
from truerank.errors import InputError
from truerank.sampling import streams
from truerank.sampling.pools import check_pools
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task, prepare

_DRAWS = 2**20  # at a time


def matched(frozen: FrozenNegatives, task: Task, scorer: Scorer) -> tuple[IntArray, IntArray]:
    """(start, items): the negatives of each row of a task, as item rows.

    Every row must have some; they may not be items that the task leaves out.
    """
    where = "the frozen negatives"
    user = scorer.user_ids.rows(frozen.user_id, where)
    target = scorer.item_ids.rows(frozen.item_id, where)
    known = user * task.catalogue + target
    order = np.argsort(known, kind="stable")
    asked = task.user * task.catalogue + task.target
    at = np.searchsorted(known[order], asked)
    missing = np.append(known[order], -1)[at] != asked  # -1: beyond the last
    if missing.any():
        row = int(np.argmax(missing))
        raise InputError(
            f"{int(missing.sum())} of {task.n_rows} test rows have no frozen negatives (the "
            f"first: user {task.user_id[row]}, item "
            f"{scorer.item_ids.values(task.target[row : row + 1])[0]})"
        )
    mine = order[at]
    length = np.diff(frozen.start)[mine]
    start = starts(length)
    place = np.arange(start[-1]) - np.repeat(start[:-1] - frozen.start[mine], length)
    items = scorer.item_ids.rows(frozen.negative[place], where)
    row_of = np.repeat(np.arange(task.n_rows), length)
    raise_if(
        streams.is_left_out(task, np.arange(task.n_rows), row_of, items),
        frozen,
        mine[row_of],
        "are targets or training items of their user",
        "freeze with the same train=, or leave train out here to rank among them",
    )
    check_repeated(frozen, mine, start, items)
    return start, items


def freeze(
    scorer: Scorer,
    test: Any,
    design: Fixed,
    *,
    train: Any = None,
    seed: int = 0,
    keep_target: bool = False,
) -> FrozenNegatives:
    """Draw the negatives that a fixed design draws, to keep them in a file.

    Parameters
    ----------
    scorer : Scorer
        Only its users and items are used: nothing is scored.
    test : table, pair of arrays or sparse matrix
        The targets, as in `truerank.count`.
    design : Fixed
        How many negatives per target, with or without replacement.
    train : table, pair of arrays or sparse matrix, optional
        Items to leave out of users' pools.
    seed : int, default 0
        Seed of the draws: `truerank.count` with the same seed draws the same.
    keep_target : bool, default False
        Rank targets that are among their user's training items all the same, instead of raising.

    Returns
    -------
    FrozenNegatives
        The negatives of each test row, for `truerank.designs.Frozen`.

    Examples
    --------
    >>> import numpy as np, truerank as tr
    >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((3, 50)))
    >>> tr.sampling.freeze(scorer, ([0, 1, 2], [4, 5, 6]), tr.designs.Fixed(num_negatives=9))
    FrozenNegatives(3 test rows; 9 negatives each, without replacement; a57f06d79e1a)
    """
    if not isinstance(design, Fixed) or design.shared_by is not None or design.users is not None:
        raise InputError(
            f"design is {design!r}; negatives are frozen by a Fixed design without shared_by and "
            "users, such as Fixed(num_negatives=99)"
        )
    assert design.sample_size is not None
    size = design.sample_size
    task = prepare(scorer, test, train=train, keep_target=keep_target)
    check_pools(task, size, replacement=design.replacement)
    keys = task.keys(seed)
    end = np.full(task.n_rows, size - 1)
    stream = streams.stream_of(design.draw)
    items = np.concatenate(
        [
            stream(
                task,
                np.arange(task.n_rows)[rows],
                keys[rows],
                0,
                end[rows],
                replacement=design.replacement,
            )
            for rows in task.blocks(max(1, _DRAWS // size))
        ]
    )
    protocol = {
        "sample_size": size,
        "n_items": task.catalogue,
        "training_items_left_out": train is not None,
    }
    return FrozenNegatives(
        _checks.ids(task.user_id, "user_id"),
        scorer.item_ids.values(task.target),
        np.arange(task.n_rows + 1) * (size - 1),
        scorer.item_ids.values(items.ravel()),
        design.replacement,
        seed,
        protocol,
    )
