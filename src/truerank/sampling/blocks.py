"""Users in blocks that share their negatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank import _checks
from truerank._types import IntArray
from truerank.outcomes.counts import MAX_REPLICATES
from truerank.rng import Keys, below, mix, user_keys
from truerank.scoring.task import Task

# Neither the choice of a block nor its stream is one that a user has alone.
_CHOICE = np.uint64(0x626C_6F63_6B2D_6F66)
_STREAM = np.uint64(0x626C_6F63_6B73_2D31)


@dataclass(frozen=True)
class SharedBlocks:
    """One stream of candidates a block of users; each skips what is left out of its own pool.

    A block is a bucket of a hash of user id and seed: who shares a user's negatives does not
    depend on the order of the test.

    Parameters
    ----------
    users
        Users a block, on average.
    n_blocks
        The number of blocks instead. Say it where a test is evaluated in parts that are to agree
        with the whole: otherwise it follows from the number of users of each part.
    """

    users: int = 64
    n_blocks: int | None = None

    def __post_init__(self) -> None:
        _checks.integer(self.users, "users a block", low=1)
        if self.n_blocks is not None:
            _checks.integer(self.n_blocks, "n_blocks", low=1)

    def assign(self, task: Task, seed: int) -> IntArray:
        """The block of each test row, from 0."""
        n_blocks = self.n_blocks or max(1, round(task.n_users / self.users))
        return below(mix(user_keys(task.user_id, seed) ^ _CHOICE), n_blocks)

    @staticmethod
    def keys(block: IntArray, seed: int) -> Keys:
        """The key of each row's stream."""
        return mix(user_keys(block, seed) ^ _STREAM)

    @staticmethod
    def replicate(block: IntArray) -> IntArray:
        """The replicate group of each row, for counts: whole blocks, at most 100 groups."""
        return np.asarray(block % MAX_REPLICATES + 1)
