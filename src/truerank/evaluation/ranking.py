"""`rank` and `count`: a model and its test data in, ranks out, by any design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from truerank import _arguments, _checks, designs
from truerank._types import Ties
from truerank.designs import Design
from truerank.errors import InputError
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.paired import PairedCounts, check_several
from truerank.progress import Progress
from truerank.rng import check_seed
from truerank.sampling import users
from truerank.sampling.carry_out import carry_out
from truerank.sampling.counting import (
    check_whole_ranks,
    counts_of,
    paired_counts_of,
    table_of,
)
from truerank.sampling.joint import rank_together
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
    keep_train: bool = False,
    progress: Progress = None,
) -> Any:
    """The rank of every target, as a table with one row per target.

    Parameters
    ----------
    scorer : Scorer
        The model, as one of `truerank.scoring`.
    test : table, pair of arrays or sparse matrix
        The targets: a table with user and item columns, a pair (user_ids, item_ids) or a scipy
        sparse matrix. Every row is one target, whatever its rating or relevance; several targets
        of a user are each ranked among the non-targets.
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
    keep_train : bool, default False
        Keep the items of ``train`` in the ranking: negatives are drawn from the others, and these
        are each scored, which counts as cost. Exact ranks are then those without ``train``.
    progress : callable or bool, optional
        None shows a bar on a terminal if it takes long, False nothing; a function is called with
        (rows done, rows in all).

    Returns
    -------
    pyarrow.Table
        Columns ``user_id``, ``item_id``, ``rank`` (1-based), ``sample_size`` (which counts the
        target) and ``n_items`` (the pool), in the order of the test; ``place`` and ``n_targets``
        where users have several targets, and ``offset``, the kept items above the target, beside a
        sample with ``keep_train``.

    Examples
    --------
    >>> import numpy as np, truerank as tr
    >>> scorer = tr.scoring.Dense(np.array([[0.1, 0.9, 0.5, 0.3], [0.2, 0.1, 0.8, 0.6]]))
    >>> tr.rank(scorer, ([0, 1], [2, 0])).to_pandas()
       user_id  item_id  rank  sample_size  n_items
    0        0        2     2            4        4
    1        1        0     3            4        4
    """
    _arguments.check(rank, locals())
    check_whole_ranks(ties)
    asked = prepared(
        scorer, test, design, train=train, seed=seed, keep_target=keep_target, keep_train=keep_train
    )
    ranked = carry_out(scorer, asked.task, asked.design, seed=seed, ties=ties, progress=progress)
    return table_of(scorer, asked.task, ranked, ties, seed)


@overload
def count(
    scorer: Scorer,
    test: Any,
    design: str | Design = "exact",
    *,
    train: Any = None,
    ties: Ties = "spread",
    seed: int = 0,
    keep_target: bool = False,
    keep_train: bool = False,
    baseline: str | None = None,
    progress: Progress = None,
) -> RankCounts: ...


@overload
def count(
    scorer: Mapping[str, Scorer],
    test: Any,
    design: str | Design = "exact",
    *,
    train: Any = None,
    ties: Ties = "spread",
    seed: int = 0,
    keep_target: bool = False,
    keep_train: bool = False,
    baseline: str | None = None,
    progress: Progress = None,
) -> PairedCounts: ...


def count(
    scorer: Scorer | Mapping[str, Scorer],
    test: Any,
    design: str | Design = "exact",
    *,
    train: Any = None,
    ties: Ties = "spread",
    seed: int = 0,
    keep_target: bool = False,
    keep_train: bool = False,
    baseline: str | None = None,
    progress: Progress = None,
) -> RankCounts | PairedCounts:
    """The ranks of all targets as counts, which is all that an estimator needs.

    Parameters
    ----------
    scorer : Scorer, or dict of str to Scorer
        The model, as one of `truerank.scoring`. Several models by their names are ranked among
        the same negatives, for `truerank.compare`; their items must be in the same order.
    test : table, pair of arrays or sparse matrix
        The targets: a table with user and item columns, a pair (user_ids, item_ids) or a scipy
        sparse matrix. Every row is one target, whatever its rating or relevance; several targets
        of a user are each ranked among the non-targets and share the user's weight.
    design : str or Design, default "exact"
        How negatives are chosen: one of `truerank.designs`, or its name.
    train : table, pair of arrays or sparse matrix, optional
        Items to leave out of the ranking, usually the users' training items.
    ties : {"spread", "random", "mid", "optimistic", "pessimistic"}
        What items of the target's score do. ``"spread"`` shares the target's weight among its
        tied ranks, the mean over all ways to break the ties: evenly, or with replacement, where a
        tied item drawn twice is one item, with more at both ends. Adaptive samples have to know
        at each stage whether to go on: they break such ties at random, by user, item and seed,
        which has the same mean.
    seed : int, default 0
        Seed of all random draws. A user's negatives depend on it and on the user's id only: not on
        the order of the test, on other users or on the model, whose items must be in the same
        order. An id that is a number and a string that spells it are the same.
    keep_target : bool, default False
        Rank targets that are among their user's training items all the same, instead of raising.
    keep_train : bool, default False
        Keep the items of ``train`` in the ranking: negatives are drawn from the others, and these
        are each scored, which counts as cost. Exact ranks are then those without ``train``.
    baseline : str, optional
        Of more than four models, the one whose joint counts with every other are kept, the first
        if not given, beside those of the model whose sampled ranks look best. Of up to four models
        all pairs are kept.
    progress : callable or bool, optional
        None shows a bar on a terminal if it takes long, False nothing; a function is called with
        (rows done, rows in all).

    Returns
    -------
    RankCounts or PairedCounts
        Distinct outcomes with their weights; of several models PairedCounts, with the numbers of
        negatives above the target by both models of a pair, by one or by none.

    Examples
    --------
    >>> import numpy as np, truerank as tr
    >>> scores = np.random.default_rng(0).random((100, 1000))
    >>> test = (np.arange(100), np.arange(100))
    >>> tr.count(tr.scoring.Dense(scores), test, tr.designs.Fixed(num_negatives=99))
    RankCounts(100 users; pools of 1,000 items; sample sizes 100; without replacement; 62 outcomes)
    >>> other = scores + np.random.default_rng(1).random((100, 1000))
    >>> models = {"A": tr.scoring.Dense(scores), "B": tr.scoring.Dense(other)}
    >>> tr.count(models, test, tr.designs.Fixed(num_negatives=99))
    PairedCounts(A, B; 100 users; 100 joint outcomes)
    """
    _arguments.check(count, locals())
    _ties.check(ties)
    if isinstance(scorer, Mapping):
        return _count_together(
            scorer, test, design, train=train, ties=ties, seed=seed,
            keep_target=keep_target, keep_train=keep_train, baseline=baseline, progress=progress,
        )  # fmt: skip
    if baseline is not None:
        raise InputError(
            f"baseline is {baseline!r}, but one scorer is given; it is for several models by name"
        )
    asked = prepared(
        scorer, test, design, train=train, seed=seed, keep_target=keep_target, keep_train=keep_train
    )
    ranked = carry_out(scorer, asked.task, asked.design, seed=seed, ties=ties, progress=progress)
    return counts_of(asked.task, ranked, ties, seed)


def _count_together(
    scorers: Mapping[str, Scorer],
    test: Any,
    design: str | Design,
    *,
    train: Any,
    ties: Ties,
    seed: int,
    keep_target: bool,
    keep_train: bool,
    baseline: str | None,
    progress: Progress,
) -> PairedCounts:
    models = {str(name): scorer for name, scorer in scorers.items()}
    check_several(models)
    first, *others = models
    if baseline is not None and baseline not in models:
        raise _checks.unknown("baseline", baseline, models)
    if keep_train and not isinstance(designs.get(design), designs.Exact):
        raise InputError(
            "keep_train is True, and several models are counted together by a sample; their "
            "joint counts are of negatives alone: count each model on its own, or by 'exact'"
        )
    asked = {
        name: prepared(
            scorer, test, design, train=train, seed=seed, keep_target=keep_target,
            keep_train=keep_train,
        )
        for name, scorer in models.items()
    }  # fmt: skip
    for other in others:
        _check_same_items(models[first], models[other], first, other)
    found = rank_together(
        models,
        {name: one.task for name, one in asked.items()},
        asked[first].design,
        baseline=baseline or first,
        seed=seed,
        ties=ties,
        progress=progress,
    )
    return paired_counts_of(asked[first].task, found, ties, seed)


def _check_same_items(one: Scorer, two: Scorer, first: str, other: str) -> None:
    """Raise unless row numbers mean the same items: negatives are drawn by row number."""
    if one.n_items != two.n_items:
        raise InputError(
            f"{first} has {one.n_items:,} items and {other} {two.n_items:,}; models are ranked "
            "among the same negatives if they have the same items in the same order"
        )
    rows = np.arange(one.n_items)
    ids = [scorer.item_ids.values(rows).astype(str) for scorer in (one, two)]
    if (ids[0] != ids[1]).any():
        row = int(np.argmax(ids[0] != ids[1]))
        raise InputError(
            f"item {row} is {ids[0][row]} for {first} and {ids[1][row]} for {other}; models are "
            "ranked among the same negatives if they have the same items in the same order"
        )


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
    keep_train: bool = False,
) -> Prepared:
    """Check what the verbs are given, take the users that the design asks for, lay out the task."""
    chosen = designs.get(design)
    if isinstance(scorer, Mapping):
        raise InputError(
            "scorer is a mapping; several models go to truerank.count, whose counts "
            "truerank.compare takes"
        )
    if not isinstance(scorer, Scorer):
        raise InputError(
            f"scorer is of type {type(scorer).__name__}; wrap your model in one of "
            "truerank.scoring, such as Factors(U, V), Dense(S) or Callable(function)"
        )
    check_seed(seed)
    if keep_train and train is None:
        raise InputError(
            "keep_train is True, but train is not given; without it nothing is left out"
        )
    rows, population = users.take(test, train, chosen, seed)
    task = prepare(scorer, rows, train=train, keep_target=keep_target, keep_train=keep_train)
    return Prepared(task, chosen, task.n_users if population is None else population)
