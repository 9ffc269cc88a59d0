"""The users of a task in blocks, for rankers that score every item of many users at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from truerank._checks import IntArray
from truerank.scoring.task import Task


@dataclass(frozen=True)
class Block:
    """Some users of a task, those with most targets first, and their targets in layers.

    A layer holds one target each of the first users: layer 0 the first target of every user, layer
    k the k-th of those who have more than k.
    """

    group: IntArray  # of the task, (n_users,)
    user: IntArray  # row of the user, (n_users,)
    row: IntArray  # test rows, layer by layer, (n_rows,)
    offset: IntArray  # where layers begin in ``row``, and its length, (n_layers + 1,)

    @property
    def layers(self) -> list[slice]:
        """The part of ``row`` that is each layer."""
        return [slice(*bounds) for bounds in itertools.pairwise(self.offset.tolist())]

    @property
    def place(self) -> IntArray:
        """Which of the users each row is of, (n_rows,)."""
        return np.concatenate([np.arange(n) for n in np.diff(self.offset)])


def blocks(task: Task, size: int) -> Iterator[Block]:
    """Blocks of at most ``size`` users that cover the task."""
    n_targets = np.bincount(task.group, minlength=task.n_users)
    by_group = np.argsort(task.group, kind="stable")
    order = np.argsort(-n_targets, kind="stable")
    first = (np.cumsum(n_targets) - n_targets)[order]
    n_targets = n_targets[order]
    user = task.user[by_group[first]]
    for begin in range(0, order.size, size):
        here = slice(begin, begin + size)
        n_layers = int(n_targets[begin])
        n_users = np.searchsorted(-n_targets[here], -np.arange(n_layers))  # in each layer
        row = np.concatenate([by_group[first[here][:n] + k] for k, n in enumerate(n_users)])
        yield Block(order[here], user[here], row, np.append(0, np.cumsum(n_users)))
