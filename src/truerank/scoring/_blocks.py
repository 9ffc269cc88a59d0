"""The users of a task in blocks, for rankers that score every item of many users at once."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from truerank._types import IntArray
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
    place: IntArray  # which of the users each row is of, (n_rows,)
    offset: IntArray  # where layers begin in ``row``, and its length, (n_layers + 1,)

    @property
    def layers(self) -> list[slice]:
        """The part of ``row`` that is each layer."""
        return [slice(*bounds) for bounds in itertools.pairwise(self.offset.tolist())]


class Blocks:
    """The users of a task in the order of their number of targets, to be cut into blocks."""

    def __init__(self, task: Task) -> None:
        n_targets = np.bincount(task.group, minlength=task.n_users)
        self._by_group = np.argsort(task.group, kind="stable")
        self._group = np.argsort(-n_targets, kind="stable")
        self._first = (np.cumsum(n_targets) - n_targets)[self._group]
        self._row = self._by_group[self._first]  # of the first target
        self._user = task.user[self._row]
        self._n_targets = n_targets[self._group]

    def __getitem__(self, at: slice) -> Block:
        """The block of these users."""
        n_targets = self._n_targets[at]
        row, place = self._row[at], np.arange(n_targets.size)
        offset = np.array([0, row.size])
        if n_targets[0] > 1:
            n_users = np.searchsorted(-n_targets, -np.arange(n_targets[0]))  # in each layer
            offset = np.append(0, np.cumsum(n_users))
            first = self._first[at]
            row = np.concatenate([self._by_group[first[:n] + k] for k, n in enumerate(n_users)])
            place = np.concatenate([place[:n] for n in n_users])
        return Block(self._group[at], self._user[at], row, place, offset)
