"""Negatives that the targets of a user share, simulated: how many of them beat each target."""

from __future__ import annotations

import numpy as np

from truerank._types import IntArray
from truerank.rng import hypergeometric


class SharedStreams:
    """A stream of negatives per user, known by the numbers of those above each of its targets.

    The sets of items above targets of ranks R_1 <= R_2 <= ... are nested, so that the new negatives
    in each gap between two targets follow a hypergeometric (with replacement: binomial) law, one
    gap after the other. A stream goes on for all targets of its user at once, and what it held at
    each size is kept: a target may follow later.

    Parameters
    ----------
    global_rank, n_items : array of int
        Global ranks among the non-targets (1-based) and pools, shape (n_targets,).
    user : array of int
        The user of each target, from 0; users have one pool.
    replacement : bool
        Whether an item may be drawn twice.
    rng : numpy.random.Generator
        Source of the draws.
    """

    def __init__(
        self,
        global_rank: IntArray,
        n_items: IntArray,
        user: IntArray,
        replacement: bool,
        rng: np.random.Generator,
    ) -> None:
        self._replacement, self._rng = replacement, rng
        self._user = user
        order = np.lexsort([global_rank, user])
        first = np.flatnonzero(np.diff(user[order], prepend=-1))
        length = np.diff(np.append(first, order.size))
        by_length = np.argsort(-length, kind="stable")
        first, length = first[by_length], length[by_length]
        # The targets of place p, of all users that have so many: those with most of them first.
        self._place = [
            order[first[: int((length > place).sum())] + place]
            for place in range(int(length.max(initial=0)))
        ]
        self._better, self._others = global_rank - 1, n_items - 1
        # By a label of the sizes that streams have reached together: hits of each target.
        self._above: dict[int, IntArray] = {1: np.zeros(user.size, dtype=np.int64)}
        self._now = np.zeros(user.size, dtype=np.int64)  # the same, of the stream so far
        self._label, self._drawn = (
            np.full(int(user.max(initial=-1)) + 1, number, dtype=np.int64) for number in (1, 0)
        )

    def draw(self, rows: IntArray, before: IntArray, goal: IntArray) -> IntArray:
        """Hits of targets among negatives beyond ``before`` up to ``goal``, shape of ``rows``.

        All targets of a user stand at one size, and go to one size or to the end of the pool.
        """
        start, label = int(before[0]), int(goal.max())
        self._above.setdefault(label, np.zeros_like(self._above[1]))
        behind = rows[self._label[self._user[rows]] < label]
        if behind.size:
            goal_of = np.zeros_like(self._drawn)
            goal_of[self._user[rows]] = goal - 1
            self._go_on(self._user[behind], goal_of, label)
        return np.asarray(self._above[label][rows] - self._above[start][rows])

    def _go_on(self, users: IntArray, goal: IntArray, label: int) -> None:
        """Take the streams of users to ``goal`` negatives, (n_users,)."""
        going = np.zeros(self._label.size, dtype=bool)
        going[users] = True
        better = above = new = None  # of the target before: items, hits so far, new hits
        for place in self._place:
            here = place[going[self._user[place]]]
            if not here.size:
                break
            user, others = self._user[here], self._others[here]
            known, drawn = self._now[here], self._drawn[user]
            if better is None or above is None or new is None:
                better = above = new = np.zeros_like(here)
            better, above, new = (each[: here.size] for each in (better, above, new))
            left = goal[user] - drawn - new  # new negatives of which nothing is known yet
            gap, rest = self._better[here] - better, others - better
            if self._replacement:
                new = new + self._rng.binomial(left, gap / np.maximum(rest, 1))
            else:
                gap, rest = gap - (known - above), rest - (drawn - above)
                new = new + hypergeometric(self._rng, gap, rest - gap, left)
            better, above = self._better[here], known
            self._now[here] = self._above[label][here] = known + new
        self._label[users], self._drawn[users] = label, goal[users]
