"""Users in blocks that share one stream of negatives; each skips what its own pool leaves out."""

from __future__ import annotations

import numpy as np

from truerank._types import IntArray
from truerank.outcomes.counts import MAX_REPLICATES
from truerank.rng import Keys, below, mix, user_keys
from truerank.scoring.task import Task

# Neither the choice of a block nor its stream is one that a user has alone.
_CHOICE = np.uint64(0x626C_6F63_6B2D_6F66)
_STREAM = np.uint64(0x626C_6F63_6B73_2D31)


def assign(task: Task, shared_by: int, n_users: int, seed: int) -> IntArray:
    """The block of each test row, from 0: a bucket of a hash of user id and seed.

    Who shares a user's negatives so does not depend on the order of the test, nor, given
    ``n_users``, on which part of it this is.

    Parameters
    ----------
    task
        The test rows.
    shared_by
        Users per block, on average.
    n_users
        Users of the whole evaluation, of which the task may be a part.
    seed
        Seed of the choice.
    """
    n_blocks = max(1, round(n_users / shared_by))
    return below(mix(user_keys(task.user_id, seed) ^ _CHOICE), n_blocks)


def stream_keys(block: IntArray, seed: int) -> Keys:
    """The key of the stream of each row's block."""
    return mix(user_keys(block, seed) ^ _STREAM)


def replicate_groups(block: IntArray) -> IntArray:
    """The replicate group of each row, for counts: whole blocks, at most 100 groups."""
    return np.asarray(block % MAX_REPLICATES + 1)
