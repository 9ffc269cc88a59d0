"""Ranked targets as counts, or as a table with one row per target."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.outcomes._places import blocks
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.paired import PairedCounts
from truerank.outcomes.tables import SCHEME_KEY
from truerank.rng import Keys, draws, user_keys
from truerank.sampling import _tie_modes
from truerank.sampling._drawing import Ranked
from truerank.sampling.joint import RankedTogether
from truerank.scoring import ties as _ties
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task


def counts_of(task: Task, ranked: Ranked, ties: str, seed: int) -> RankCounts:
    """The counts of ranked targets.

    Parameters
    ----------
    task : Task
        The targets.
    ranked : Ranked
        Where they stand.
    ties : str
        What negatives of the target's score do, as asked for; those broken already stay so.
    seed : int
        Seed of random ties.

    Returns
    -------
    RankCounts
        Distinct outcomes with their weights.
    """
    task = ranked.of_task(task)
    policy, keys = _left_to_do(task, ranked, ties, seed)

    def of(task: Task, ranked: Ranked, keys: Keys | None) -> RankCounts:
        return _ties.counts(
            ranked.above,
            ranked.tied,
            policy,
            scheme=ranked.scheme,
            n_items=task.n_items,
            sample_size=ranked.sample_size,
            n_users=task.n_users,
            keys=keys,
            targets=targets_of(task, ranked, seed),
            offset=ranked.offset,
        )

    if ranked.replicate is None:
        return of(task, ranked, keys)
    parts = []
    for group in np.unique(ranked.replicate):  # whole users
        rows = np.flatnonzero(ranked.replicate == group)
        part = of(task.take(rows), ranked.of(rows), None if keys is None else keys[rows])
        parts.append(part.of_replicate(int(group)))
    return functools.reduce(operator.add, parts)


def targets_of(task: Task, ranked: Ranked, seed: int) -> _ties.Targets | None:
    """Where several targets of a user stand among each other; None if all users have one.

    Parameters
    ----------
    task : Task
        The targets.
    ranked : Ranked
        Where they stand. Without their scores, targets of a user met the same items.
    seed : int
        Seed of random ties.

    Returns
    -------
    Targets or None
        Their places.
    """
    if not task.several:
        return None
    tie_keys = tie_keys_of(task, seed)
    return _ties.Targets.of(
        task.group,
        task.n_targets,
        blocks(task.user_id, task.n_targets),
        ordering(ranked.above, ranked.tied, ranked.target_score),
        draws(tie_keys, task.target),
        tie_keys,
    )


def tie_keys_of(task: Task, seed: int) -> Keys:
    """The keys by which the users of a task break ties, (n_rows,)."""
    return _tie_modes.keys(user_keys(task.user_id, seed))


def ordering(above: IntArray, tied: IntArray, target_score: FloatArray | None) -> Any:
    """What orders the targets of a user, the best first.

    Without scores they met the same items, and so are in the order of these: with tied items,
    targets of equal numbers are of one score; without, it does not matter.
    """
    if target_score is not None:
        return -target_score
    return above * (int(tied.max(initial=0)) + 1) + tied


def paired_counts_of(task: Task, found: RankedTogether, ties: str, seed: int) -> PairedCounts:
    """The joint counts of targets ranked by several models.

    Parameters
    ----------
    task : Task
        The targets.
    found : RankedTogether
        Where each model puts them, and what pairs of models say of negatives.
    ties : str
        As in `counts_of`.
    seed : int
        Seed of random ties.

    Returns
    -------
    PairedCounts
        Distinct joint outcomes with their weights; those of one model are what `counts_of` gives.
    """
    task = next(iter(found.ranked.values())).of_task(task)
    if task.several:
        raise InputError(
            f"users have up to {int(task.n_targets.max())} targets; models are counted together "
            "for one target per user: count each model on its own, and compare these counts"
        )
    rank, tied = [], []
    for ranked in found.ranked.values():
        policy, keys = _left_to_do(task, ranked, ties, seed)
        first, extra = _ties.shared_ranks(ranked.above, ranked.tied, policy, keys)
        rank.append(first)
        tied.append(extra)
    each = list(found.ranked.values())
    return PairedCounts._build(
        tuple(found.ranked),
        [ranked.scheme for ranked in each],
        np.broadcast_to(np.arange(len(each)), (task.n_rows, len(each))),
        task.n_items,
        np.stack([ranked.sample_size for ranked in each], axis=1),
        np.stack(rank, axis=1),
        np.ones(task.n_rows),
        n_users=float(task.n_users),
        squared_weight=float(task.n_rows),
        tied=np.stack(tied, axis=1),
        pairs=found.pairs,
        joint=found.joint,
    )


def table_of(scorer: Scorer, task: Task, ranked: Ranked, ties: str, seed: int) -> Any:
    """The rank of every target: a pyarrow Table, one row per test row, in their order.

    Parameters
    ----------
    scorer : Scorer
        The model, for the ids of items.
    task : Task
        The targets.
    ranked : Ranked
        Where they stand.
    ties : str
        Any policy but ``"spread"``, which gives a target several ranks.
    seed : int
        Seed of random ties.

    Returns
    -------
    pyarrow.Table
        Columns user_id, item_id, rank, sample_size, n_items and, where users have several targets,
        place and n_targets, where training items are kept beside a sample, offset; its metadata
        names the scheme.
    """
    import pyarrow as pa

    task = ranked.of_task(task)
    policy, keys = _left_to_do(task, ranked, ties, seed)
    targets = targets_of(task, ranked, seed)
    rank = _ties.ranks if targets is None else targets.ranks
    columns: dict[str, Any] = {
        "user_id": pa.array(task.user_id),
        "item_id": pa.array(scorer.item_ids.values(task.target)),
        "rank": rank(ranked.above, ranked.tied, policy, keys),
        "sample_size": ranked.sample_size,
        "n_items": task.n_items,
    }
    if targets is not None:
        columns |= {"place": targets.place, "n_targets": targets.n_targets}
    if ranked.offset is not None:
        columns["offset"] = ranked.offset
    return pa.table(columns, metadata={SCHEME_KEY: ranked.scheme.name.encode()})


def check_whole_ranks(ties: str) -> str:
    """A policy that gives every target one rank; raise for others.

    Parameters
    ----------
    ties : str
        The policy.

    Returns
    -------
    str
        The policy.
    """
    if _ties.check(ties) == "spread":
        raise InputError(
            "ties='spread' shares a target among all its tied ranks and so gives counts, not "
            "ranks; for one rank per target take 'random', 'mid', 'optimistic' or 'pessimistic', "
            "or truerank.count"
        )
    return ties


def _left_to_do(task: Task, ranked: Ranked, ties: str, seed: int) -> tuple[str, Keys | None]:
    """The policy for the ties that are still there, and the keys of random ones."""
    if ranked.ties_broken:
        return "optimistic", None
    return ties, task.keys(seed) if ties == "random" else None
