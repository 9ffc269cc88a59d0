"""The climb of a ladder of sample sizes, which all who draw adaptive samples share.

All users begin with a sample of the first size of a ladder. Those with fewer than ``hits``
negatives above the target go on to the next (LJ24, algorithm 1, with one hit).

Under a budget all users take a level together as long as the budget covers it; the level that it
does not cover is shrunk to what is left, the same size for all who go on, and is the last. If all
are up before the budget is gone, the hits needed are raised, and users who have fewer go on from
where they stand: at all sizes if the budget seems to suffice, else at the larger ones, where the
top ranks are told apart.

How far a user is taken is then decided by what was drawn, of all users, and by nothing else. So
the likelihood of the global ranks given all draws is a product over users of
P(n_u - 1 draws with r_u - 1 hits | R_u), as without a budget: it does not matter to it why the
drawing stopped. Estimators that rest on the likelihood (mle, smooth) need no more. The linear ones
take ladder and hits as if they had been fixed beforehand; that holds as far as one user does not
sway the sum over all.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from truerank._types import IntArray
from truerank.outcomes.schemes import Scheme

Draw = Callable[[IntArray, IntArray, IntArray], IntArray]


def climb(
    scheme: Scheme,
    n_items: IntArray,
    draw: Draw,
    *,
    total: int | None = None,
    advance: Callable[[int], None] = lambda n_users: None,
) -> tuple[Scheme, IntArray, IntArray]:
    """Take all users up the ladder of a scheme, level by level.

    Parameters
    ----------
    n_items
        The pools, shape (n_users,).
    draw
        Called with (users, their sizes so far, all equal, their sizes to come), returns how many of
        the new negatives are above the target; all three and the answer of one shape.
    total
        Negatives to draw for all users together, at most; None for as many as it takes.
    advance
        Told how many users are done.

    Returns
    -------
    The scheme, its ladder cut or its hits raised as the budget had it; and for each user the
    negatives above the target and the sample size, shape (n_users,).
    """
    walk = _Walk(scheme, n_items, draw, total)
    n_done, cut = 0, False
    thresholds = (*scheme.thresholds, 0)  # nobody goes on from the last size
    for wanted in scheme.ladder:
        users = np.flatnonzero(walk.level == len(walk.sizes) - 1)
        users = users[walk.open(users)]
        if walk.sizes:
            users = users[walk.above[users] < thresholds[len(walk.sizes) - 1]]
        advance(n_items.size - users.size - n_done)
        n_done = n_items.size - users.size
        size = walk.affordable(users, wanted)
        if walk.sizes and size == walk.sizes[-1]:
            cut = True
            break
        walk.sizes.append(size)
        walk.move(users)
        if size < wanted:
            cut = True
            break
    hits = list(scheme.thresholds[: len(walk.sizes) - 1])
    if total is not None and not cut:
        hits = walk.spend(hits)
    advance(n_items.size - n_done)
    sizes = tuple(walk.sizes)
    if (sizes, tuple(hits)) != (scheme.ladder, scheme.thresholds):
        scheme = Scheme(scheme.replacement, sizes, tuple(hits))
    return scheme, walk.above, walk.size


class _Walk:
    """Where the users of a climb stand: hits ``above``, ``size`` and ``level`` on ``sizes``."""

    def __init__(self, scheme: Scheme, n_items: IntArray, draw: Draw, total: int | None) -> None:
        self.top = np.full_like(n_items, scheme.ladder[-1])
        if not scheme.replacement:
            np.minimum(self.top, n_items, out=self.top)
        self.draw = draw
        self.left = math.inf if total is None else total
        self.sizes: list[int] = []
        self.above = np.zeros(n_items.size, dtype=np.int64)
        self.size = np.ones(n_items.size, dtype=np.int64)
        self.level = np.full(n_items.size, -1, dtype=np.int64)

    def open(self, users: IntArray | slice = slice(None)) -> npt.NDArray[np.bool_]:
        """Who has come neither to the end of the ladder nor to that of the pool."""
        return np.asarray(self.size[users] < self.top[users])

    def goal(self, users: IntArray, level: int) -> IntArray:
        """Sizes at a level, no larger than the pools."""
        return np.minimum(self.sizes[level], self.top[users])

    def affordable(self, users: IntArray, wanted: int) -> int:
        """The largest size up to ``wanted`` that the budget takes these users to."""
        if not users.size or math.isinf(self.left):
            return wanted
        return _affordable(wanted, int(self.size[users[0]]), self.top[users], int(self.left))

    def move(self, users: IntArray) -> None:
        """Take users who stand at one level to the next."""
        if users.size:
            level = int(self.level[users[0]]) + 1
            before, goal = self.size[users], self.goal(users, level)
            self.above[users] += self.draw(users, before, goal)
            self.left -= int((goal - before).sum())
            self.size[users] = goal
            self.level[users] = level

    def spend(self, hits: list[int]) -> list[int]:
        """Raise the hits needed, one number a level, as the budget allows."""
        levels = range(len(hits))
        while self.open().any() and levels:
            low = min(hits)
            high = low + max(1, low // 2)
            # From the lowest level that the budget seems to reach from; upwards, so that what a
            # step costs is known before it is taken.
            expected = np.cumsum([self._expected(j, hits[j], high) for j in levels][::-1])[::-1]
            first = int(np.searchsorted(-expected, -self.left, side="left"))
            for j in levels[first:]:
                users = np.flatnonzero((self.level == j) & (self.above < high) & self.open())
                if int((self.goal(users, j + 1) - self.size[users]).sum()) > self.left:
                    return hits
                self.move(users)
                hits[j] = max(high, hits[j])
            if first:
                break
        return hits

    def _expected(self, level: int, low: int, high: int) -> float:
        """Negatives that it may take users at a level to go on until they have ``high`` hits.

        What share of better items a user with ``low`` hits may have is judged by the shares that
        were seen among all users. A guess: it decides where to begin, not how much is spent.
        """
        n_users = int(((self.level == level) & (self.above < high) & self.open()).sum())
        if not n_users:
            return 0.0
        seen = (self.above + 0.5) / self.size
        frequency, edges = np.histogram(np.log(seen), bins=64)
        share = np.exp((edges[1:] + edges[:-1]) / 2).clip(max=1 - 1e-12)
        # log of (how many users have this share) * P(low hits among the first draws | share)
        log_p = np.log(np.maximum(frequency, 1e-9)) + low * np.log(share)
        log_p += (self.sizes[level] - 1 - low) * np.log1p(-share)
        p = np.exp(log_p - log_p.max())
        sizes = np.array(self.sizes[level:])
        still = np.exp(np.outer(sizes[:-1] - sizes[0], np.log1p(-share))) @ (p / p.sum())
        return float(still @ np.diff(sizes)) * n_users


def _affordable(wanted: int, reached: int, tops: IntArray, budget: int) -> int:
    """The largest size up to ``wanted`` that ``budget`` negatives take users to.

    All of them stand at ``reached``; none goes beyond its top.
    """
    low, high = reached, min(wanted, int(tops.max()))
    while low < high:
        middle = (low + high + 1) // 2
        if int((np.minimum(middle, tops) - reached).sum()) <= budget:
            low = middle
        else:
            high = middle - 1
    return wanted if low == tops.max() else low
