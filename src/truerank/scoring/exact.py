"""Exact ranks: every target among all items of its pool."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from truerank import progress as _progress
from truerank._types import IntArray
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme
from truerank.progress import Progress
from truerank.scoring import _tiles, _whole, task
from truerank.scoring import ties as _ties
from truerank.scoring.factors import Factors
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task


def exact_ranks(
    scorer: Scorer,
    test: Any,
    *,
    train: Any = None,
    ties: str = "random",
    seed: int = 0,
    keep_target: bool = False,
    progress: Progress = None,
) -> npt.NDArray[Any]:
    """The global rank of every target, 1-based, one a test row in the order of the test.

    Parameters
    ----------
    scorer
        The model, as one of `truerank.scoring`.
    test
        A table with user and item columns, a pair (user_ids, item_ids) or a scipy sparse matrix;
        one row a target. Several targets of a user are each ranked among the non-targets.
    train
        The same for items to leave out of the ranking, usually a user's training items; None
        leaves out nothing.
    ties
        The rank among items of the very same score: ``"random"`` (each of the tied ranks alike, by
        user and ``seed``), ``"mid"`` (their mean, a float), ``"optimistic"`` or ``"pessimistic"``.
    seed
        For random ties.
    keep_target
        Rank targets that are among their user's training items all the same, instead of raising.
    progress
        None shows a bar on a terminal if it takes long, False nothing; a function is called with
        (rows done, rows in all).
    """
    _ties.check(ties)
    plan = task.prepare(scorer, test, train=train, keep_target=keep_target)
    keys = plan.keys(seed) if ties == "random" else None
    if ties == "spread":
        _ties.ranks(plan.target, plan.target, ties)  # raises, before the work
    above, tied = count(scorer, plan, progress=progress)
    return _ties.ranks(above, tied, ties, keys)


def exact_counts(
    scorer: Scorer,
    test: Any,
    *,
    train: Any = None,
    ties: str = "spread",
    seed: int = 0,
    keep_target: bool = False,
    progress: Progress = None,
) -> RankCounts:
    """The global ranks of all targets as counts; a user counts once, however many targets it has.

    Parameters as in `exact_ranks`, and ``ties="spread"``: a target's weight is shared evenly by its
    tied ranks, which is the mean over all ways to break the ties.
    """
    _ties.check(ties)
    plan = task.prepare(scorer, test, train=train, keep_target=keep_target)
    return count_exact(scorer, plan, ties=ties, seed=seed, progress=progress)


def count_exact(
    scorer: Scorer, plan: Task, *, ties: str = "spread", seed: int = 0, progress: Progress = None
) -> RankCounts:
    """`exact_counts` of a task that is laid out already."""
    _ties.check(ties)
    keys = plan.keys(seed) if ties == "random" else None
    above, tied = count(scorer, plan, progress=progress)
    return _ties.counts(
        above,
        tied,
        ties,
        scheme=Scheme(replacement=False),
        n_items=plan.n_items,
        sample_size=plan.n_items,
        weight=plan.weight,
        n_users=plan.n_users,
        keys=keys,
    )


def count(scorer: Scorer, plan: Task, *, progress: Progress = None) -> tuple[IntArray, IntArray]:
    """Items of its pool that score above each target, and that tie with it: int64, (n_rows,) each.

    The target itself is not counted. What is counted does not depend on which other users are in
    the task, nor on threads or libraries.
    """
    with _progress.reporting(progress, plan.n_rows, "ranking") as advance:
        if isinstance(scorer, Factors):
            return _tiles.count(scorer, plan, advance)
        return _whole.count(scorer, plan, advance)
