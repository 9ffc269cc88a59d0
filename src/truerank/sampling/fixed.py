"""Samples of one size for every user."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from truerank import _checks
from truerank._types import IntArray
from truerank.errors import InputError
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme
from truerank.progress import Progress
from truerank.sampling._design import Sampled
from truerank.sampling._sample import rank_among, sample
from truerank.sampling._sizes import check_pools, sample_size_of
from truerank.sampling.blocks import SharedBlocks
from truerank.sampling.frozen import FrozenNegatives
from truerank.scoring import ties as _ties
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task, prepare

NEGATIVES = ("per-user", "shared-block")


def sampled_counts(
    scorer: Scorer,
    test: Any,
    *,
    train: Any = None,
    sample_size: int | None = None,
    num_negatives: int | None = None,
    replacement: bool = False,
    seed: int = 0,
    ties: str = "spread",
    negatives: str | SharedBlocks | FrozenNegatives = "per-user",
    keep_target: bool = False,
    progress: Progress = None,
) -> RankCounts:
    """Rank every target among a uniform sample of its pool.

    Parameters
    ----------
    scorer
        The model, as one of `truerank.scoring`.
    test
        A table with user and item columns, a pair (user_ids, item_ids) or a scipy sparse matrix;
        one row a target. A user's several targets each get a sample and share its weight.
    train
        The same for items to leave out of users' pools, usually their training items.
    sample_size, num_negatives
        Give one: the sample size counts the target, the negatives do not. No larger than any
        user's pool if without replacement; of the size of the pool, the ranks are exact.
    replacement
        Whether an item may be drawn twice for a user.
    seed
        A user's negatives depend on it and on the user's id only: not on the order of the test,
        on other users or on the model, whose items must be in the same order. An id that is a
        number and a string that spells it are the same.
    ties
        What a negative of the target's very score does: ``"spread"`` shares the target's weight
        evenly among its tied ranks, the mean over all ways to break the ties (with replacement
        a tied item drawn twice is taken as two items); ``"random"`` breaks them by user, item and
        seed; ``"mid"``, ``"optimistic"`` and ``"pessimistic"``.
    negatives
        ``"per-user"``: every user has its own. ``"shared-block"``: about 64 users share them,
        several times faster for factors. Each user's rank has the same law, but those of a block
        move together: on ml-1m the standard deviation of a sampled hit ratio at 10 of 100 is 1.7
        to 2.1 times that of users' own negatives, with blocks of 256 users 2.8 to 3.7 times. The
        counts carry the blocks as replicate groups, so that intervals can tell. For other blocks
        give `SharedBlocks`. `FrozenNegatives`: exactly those; ``replacement``,
        ``sample_size`` and the like are then theirs.
    keep_target
        Rank targets that are among their user's training items all the same, instead of raising.
    progress
        None shows a bar on a terminal if it takes long, False nothing; a function is called with
        (rows done, rows in all).
    """
    _ties.check(ties)
    size = _size(sample_size, num_negatives, negatives)
    task = prepare(scorer, test, train=train, keep_target=keep_target)
    return count_fixed(
        scorer,
        task,
        sample_size=size,
        replacement=replacement,
        seed=seed,
        ties=ties,
        negatives=negatives,
        progress=progress,
    )


def sampled_ranks(
    scorer: Scorer,
    test: Any,
    *,
    train: Any = None,
    sample_size: int | None = None,
    num_negatives: int | None = None,
    replacement: bool = False,
    seed: int = 0,
    ties: str = "random",
    negatives: str | SharedBlocks | FrozenNegatives = "per-user",
    keep_target: bool = False,
    progress: Progress = None,
) -> Any:
    """The sampled rank of every target, to pair models by user: a pyarrow Table.

    Its columns are user_id, item_id, rank, sample_size and n_items, one row a test row, in its
    order. Parameters as in `sampled_counts`; ties other than ``"spread"``, which shares a target
    among ranks. The same seed gives every model the same negatives.
    """
    import pyarrow as pa

    size = _size(sample_size, num_negatives, negatives)
    task = prepare(scorer, test, train=train, keep_target=keep_target)
    if _ties.check(ties) in ("spread", "mid"):
        raise InputError(
            f"ties is {ties!r}, which gives no whole ranks; say 'random', 'optimistic' or "
            "'pessimistic', or take sampled_counts"
        )
    sampled, _, _ = _draw(scorer, task, size, replacement, seed, ties, negatives, progress)
    return pa.table(
        {
            "user_id": pa.array(task.user_id),
            "item_id": pa.array(scorer.item_ids.values(task.target)),
            "rank": _ties.ranks(sampled.above, sampled.tied, _policy(ties)),
            "sample_size": sampled.sample_size,
            "n_items": task.n_items,
        }
    )


def count_fixed(
    scorer: Scorer,
    task: Task,
    *,
    sample_size: int | None,
    replacement: bool = False,
    seed: int = 0,
    ties: str = "spread",
    negatives: str | SharedBlocks | FrozenNegatives = "per-user",
    progress: Progress = None,
) -> RankCounts:
    """`sampled_counts` of a task that is laid out already; no ``sample_size`` for frozen ones."""
    _ties.check(ties)
    drawn = _draw(scorer, task, sample_size, replacement, seed, ties, negatives, progress)
    sampled, scheme, replicate = drawn
    return counts(task, sampled, _policy(ties), scheme, replicate)


def _size(sample_size: int | None, num_negatives: int | None, negatives: Any) -> int | None:
    """The sample size asked for; none is for frozen negatives."""
    if isinstance(negatives, FrozenNegatives) and (sample_size, num_negatives) == (None, None):
        return None
    return sample_size_of(sample_size, num_negatives)


def _policy(ties: str) -> str:
    """What is left to do with ties: random ones are broken as they are drawn."""
    return "optimistic" if ties == "random" else ties


def _draw(
    scorer: Scorer,
    task: Task,
    sample_size: int | None,
    replacement: bool,
    seed: int,
    ties: str,
    negatives: str | SharedBlocks | FrozenNegatives,
    progress: Progress,
) -> tuple[Sampled, Scheme, IntArray | None]:
    """The samples, how they were drawn, and the replicate group of each row if they have one."""
    check_negatives(negatives)
    scheme = Scheme(replacement)
    mode = "random" if ties == "random" else "count"
    replicate = None
    if isinstance(negatives, FrozenNegatives):
        scheme = Scheme(_agreed(negatives, replacement))
        start, items = negatives.of(task, scorer)
        _check_frozen_size(start, sample_size)
        sampled = rank_among(scorer, task, start, items, seed=seed, ties=mode, progress=progress)
    else:
        size = sample_size_of(sample_size)
        check_pools(task, size, replacement=scheme.replacement)
        stream_keys = None
        if (blocks := _blocks(negatives)) is not None:
            block = blocks.assign(task, seed)
            replicate, stream_keys = blocks.replicate(block), blocks.keys(block, seed)
        sampled = sample(
            scorer,
            task,
            ladder=(size,),
            replacement=scheme.replacement,
            seed=seed,
            ties=mode,
            stream_keys=stream_keys,
            progress=progress,
        )
    return sampled, scheme, replicate


def counts(
    task: Task, sampled: Sampled, ties: str, scheme: Scheme, replicate: IntArray | None = None
) -> RankCounts:
    """Samples as counts; ``replicate`` is the group of each row, None for independent rows."""

    def of(rows: IntArray, n_users: float) -> RankCounts:
        return _ties.counts(
            sampled.above[rows],
            sampled.tied[rows],
            ties,
            scheme=scheme,
            n_items=task.n_items[rows],
            sample_size=sampled.sample_size[rows],
            weight=task.weight[rows],
            n_users=n_users,
        )

    if replicate is None:
        return of(np.arange(task.n_rows), task.n_users)
    parts = []
    for group in np.unique(replicate):
        rows = np.flatnonzero(replicate == group)
        parts.append(of(rows, float(task.weight[rows].sum())).of_replicate(int(group)))
    return functools.reduce(operator.add, parts)


def check_negatives(negatives: Any) -> None:
    """Raise unless these are negatives of a known kind."""
    named = isinstance(negatives, str) and negatives in NEGATIVES
    if not named and not isinstance(negatives, SharedBlocks | FrozenNegatives):
        kinds = (*NEGATIVES, "SharedBlocks", "FrozenNegatives")
        plain = negatives is None or isinstance(negatives, str)
        shown = negatives if plain else type(negatives).__name__
        raise _checks.unknown("negatives", shown, kinds)


def _blocks(negatives: str | SharedBlocks) -> SharedBlocks | None:
    if isinstance(negatives, SharedBlocks):
        return negatives
    return SharedBlocks() if negatives == "shared-block" else None


def _agreed(frozen: FrozenNegatives, replacement: bool) -> bool:
    if replacement and not frozen.replacement:
        raise InputError("replacement is True, but the frozen negatives were drawn without")
    return frozen.replacement


def _check_frozen_size(start: IntArray, sample_size: int | None) -> None:
    if sample_size is None:
        return
    sizes = np.diff(start) + 1
    if (sizes != sample_size).any():
        row = int(np.argmax(sizes != sample_size))
        raise InputError(
            f"sample_size is {sample_size}, but row {row} of the test has {sizes[row] - 1} frozen "
            f"negatives, a sample of {sizes[row]}; leave sample_size out to take them as they are"
        )
