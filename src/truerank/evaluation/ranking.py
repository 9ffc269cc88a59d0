"""`rank` and `count`: a model and its test data in, ranks out, by any design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from truerank import designs
from truerank._types import Ties
from truerank.designs import Design
from truerank.errors import InputError
from truerank.outcomes.counts import RankCounts
from truerank.progress import Progress
from truerank.rng import check_seed
from truerank.sampling import users
from truerank.sampling.carry_out import carry_out
from truerank.sampling.counting import check_whole_ranks, counts_of, table_of
from truerank.scoring import ties as _ties
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task, prepare


def rank(
    scorer: Scorer,
    test: Any,
    design: str | Design = "exact",
    *,
    train: Any = None,
    ties: Ties = "random",
    seed: int = 0,
    keep_target: bool = False,
    progress: Progress = None,
) -> Any:
    """The rank of every target, as a table with one row per target.

    Parameters
    ----------
    scorer : Scorer
        The model, as one of `truerank.scoring`.
    test : table, pair of arrays or sparse matrix
        The targets: a table with user and item columns, a pair (user_ids, item_ids) or a scipy
        sparse matrix. Several targets of a user are each ranked among the non-targets.
    design : str or Design, default "exact"
        How negatives are chosen: one of `truerank.designs`, or its name.
    train : table, pair of arrays or sparse matrix, optional
        Items to leave out of the ranking, usually the users' training items.
    ties : {"random", "mid", "optimistic", "pessimistic"}
        The rank among items of the same score: each of the tied ranks alike, by user and ``seed``;
        their mean, which is no whole number; the first; the last.
    seed : int, default 0
        Seed of all random draws. A user's negatives depend on it and on the user's id only: the
        same seed gives every model the same negatives.
    keep_target : bool, default False
        Rank targets that are among their user's training items all the same, instead of raising.
    progress : callable or bool, optional
        None shows a bar on a terminal if it takes long, False nothing; a function is called with
        (rows done, rows in all).

    Returns
    -------
    pyarrow.Table
        Columns ``user_id``, ``item_id``, ``rank`` (1-based), ``sample_size`` (which counts the
        target) and ``n_items`` (the pool), in the order of the test.

    Examples
    --------
    >>> import numpy as np, truerank as tr
    >>> scorer = tr.scoring.Dense(np.array([[0.1, 0.9, 0.5, 0.3], [0.2, 0.1, 0.8, 0.6]]))
    >>> tr.rank(scorer, ([0, 1], [2, 0])).to_pandas()
       user_id  item_id  rank  sample_size  n_items
    0        0        2     2            4        4
    1        1        0     3            4        4
    """
    check_whole_ranks(ties)
    asked = prepared(scorer, test, design, train=train, seed=seed, keep_target=keep_target)
    ranked = carry_out(scorer, asked.task, asked.design, seed=seed, ties=ties, progress=progress)
    return table_of(scorer, asked.task, ranked, ties, seed)


def count(
    scorer: Scorer,
    test: Any,
    design: str | Design = "exact",
    *,
    train: Any = None,
    ties: Ties = "spread",
    seed: int = 0,
    keep_target: bool = False,
    progress: Progress = None,
) -> RankCounts:
    """The ranks of all targets as counts, which is all that an estimator needs.

    Parameters
    ----------
    scorer : Scorer
        The model, as one of `truerank.scoring`.
    test : table, pair of arrays or sparse matrix
        The targets: a table with user and item columns, a pair (user_ids, item_ids) or a scipy
        sparse matrix. Several targets of a user are each ranked among the non-targets and share
        the user's weight.
    design : str or Design, default "exact"
        How negatives are chosen: one of `truerank.designs`, or its name.
    train : table, pair of arrays or sparse matrix, optional
        Items to leave out of the ranking, usually the users' training items.
    ties : {"spread", "random", "mid", "optimistic", "pessimistic"}
        What items of the target's score do. ``"spread"`` shares the target's weight evenly among
        its tied ranks, the mean over all ways to break the ties (with replacement a tied item
        drawn twice is taken as two items). Adaptive samples have to know at each stage whether to
        go on: they break such ties at random, by user, item and seed, which has the same mean.
    seed : int, default 0
        Seed of all random draws. A user's negatives depend on it and on the user's id only: not on
        the order of the test, on other users or on the model, whose items must be in the same
        order. An id that is a number and a string that spells it are the same.
    keep_target : bool, default False
        Rank targets that are among their user's training items all the same, instead of raising.
    progress : callable or bool, optional
        None shows a bar on a terminal if it takes long, False nothing; a function is called with
        (rows done, rows in all).

    Returns
    -------
    RankCounts
        Distinct outcomes with their weights.

    Examples
    --------
    >>> import numpy as np, truerank as tr
    >>> scores = np.random.default_rng(0).random((100, 1000))
    >>> test = (np.arange(100), np.arange(100))
    >>> tr.count(tr.scoring.Dense(scores), test, tr.designs.Fixed(num_negatives=99))
    RankCounts(100 users; pools of 1,000 items; sample sizes 100; without replacement; 62 outcomes)
    """
    _ties.check(ties)
    asked = prepared(scorer, test, design, train=train, seed=seed, keep_target=keep_target)
    ranked = carry_out(scorer, asked.task, asked.design, seed=seed, ties=ties, progress=progress)
    return counts_of(asked.task, ranked, ties, seed)


@dataclass(frozen=True)
class Prepared:
    """A task with the users that the design takes, and how many users there are in all."""

    task: Task
    design: Design
    population: int


def prepared(
    scorer: Any,
    test: Any,
    design: str | Design,
    *,
    train: Any,
    seed: int,
    keep_target: bool,
) -> Prepared:
    """Check what the verbs are given, take the users that the design asks for, lay out the task."""
    chosen = designs.get(design)
    if not isinstance(scorer, Scorer):
        raise InputError(
            f"scorer is of type {type(scorer).__name__}; wrap your model in one of "
            "truerank.scoring, such as Factors(U, V), Dense(S) or Callable(function)"
        )
    check_seed(seed)
    rows, population = users.take(test, train, chosen, seed)
    task = prepare(scorer, rows, train=train, keep_target=keep_target)
    return Prepared(task, chosen, task.n_users if population is None else population)
