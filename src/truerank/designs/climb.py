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

Where calls of a scorer fail, they are paid for from the same budget. What is really left then falls
behind what the draws alone would leave, and a level is shrunk to what that covers, again for all
who go on. That depends on calls that failed, not on scores: the likelihood stays what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truerank._types import IntArray
from truerank.designs.purse import Purse
from truerank.errors import OutOfBudget, TruerankError
from truerank.outcomes.schemes import Scheme

Draw = Callable[[IntArray, IntArray, IntArray], IntArray]


@dataclass(frozen=True)
class Money:
    """What draws may cost where calls can fail.

    Attributes
    ----------
    purse
        What has been asked for, and may be. A draw raises OutOfBudget if it does not suffice; what
        was answered till then is kept, and not paid for again.
    to_ask
        Called as `Draw` is, returns the pairs that the draw would have to ask for, at most: those
        of the targets, of the first new negatives, of the second ones, ...
    """

    purse: Purse
    to_ask: Callable[[IntArray, IntArray, IntArray], IntArray]


def climb(
    scheme: Scheme,
    n_items: IntArray,
    draw: Draw,
    *,
    total: int | None = None,
    money: Money | None = None,
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
    money
        What the draws are paid from, if calls can fail; OutOfBudget is raised if it does not
        suffice for one negative per user.
    advance
        Told how many users are done.

    Returns
    -------
    The scheme, its ladder cut or its hits raised as the budget had it; and for each user the
    negatives above the target and the sample size, shape (n_users,).
    """
    walk = _Walk(scheme, n_items, draw, total, money)
    n_done, cut = 0, False
    thresholds = (*scheme.thresholds, 0)  # nobody goes on from the last size
    for wanted in scheme.ladder:
        users = np.flatnonzero(walk.level == len(walk.sizes) - 1)
        users = users[walk.open(users)]
        if walk.sizes:
            users = users[walk.above[users] < thresholds[len(walk.sizes) - 1]]
        advance(n_items.size - users.size - n_done)
        n_done = n_items.size - users.size
        size = walk.rise(users, wanted)
        if walk.sizes and size == walk.sizes[-1]:
            cut = True
            break
        walk.sizes.append(size)
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

    def __init__(
        self,
        scheme: Scheme,
        n_items: IntArray,
        draw: Draw,
        total: int | None,
        money: Money | None,
    ) -> None:
        self.top = np.full_like(n_items, scheme.ladder[-1])
        if not scheme.replacement:
            np.minimum(self.top, n_items, out=self.top)
        self.draw = draw
        self.money = money
        self.left = math.inf if total is None else total
        self.sizes: list[int] = []
        self.above = np.zeros(n_items.size, dtype=np.int64)
        self.size = np.ones(n_items.size, dtype=np.int64)
        self.level = np.full(n_items.size, -1, dtype=np.int64)
        self._in_vain = 0  # draws in a row that broke off without an answer

    def open(self, users: IntArray | slice = slice(None)) -> npt.NDArray[np.bool_]:
        """Who has come neither to the end of the ladder nor to that of the pool."""
        return np.asarray(self.size[users] < self.top[users])

    def rise(self, users: IntArray, wanted: int) -> int:
        """Take users from the last level to one of size ``wanted``, or as far as the budget goes.

        All of them stand at one size. Returns the size that they come to, no larger than the pools
        for those whose pools are smaller; if it is the size where they stand, nobody has moved.
        """
        if not users.size:
            return wanted
        begin = size = int(self.size[users[0]])
        end = wanted
        if not math.isinf(self.left):
            end = _affordable(wanted, begin, self.top[users], int(self.left))
        while size < end:
            going = users[self.top[users] > size]
            step = self._payable(going, end) if going.size else end
            if step == size:
                break
            if not going.size or self._drawn(going, step):
                size = step
        if size == 1:
            raise OutOfBudget("what is left does not suffice for one negative per user")
        if size > begin:
            self.level[users] = len(self.sizes)
        return size

    def move(self, users: IntArray, level: int) -> bool:
        """Take users from a level to the next, if what is left suffices; whether it did."""
        if not users.size:
            return True
        size = self.sizes[level + 1]
        if int((np.minimum(size, self.top[users]) - self.size[users]).sum()) > self.left:
            return False
        while self._payable(users, size) == size:
            if self._drawn(users, size):
                self.level[users] = level + 1
                return True
        return False

    def _payable(self, users: IntArray, end: int) -> int:
        """The largest size up to ``end`` to which users can be taken with what is really left.

        Nothing but calls that failed makes that less than ``end``. They are expected to go on
        failing, except where the first negative is at stake. Also sets what is needed for it.
        """
        if self.money is None:
            return end
        purse, before, goal = self.money.purse, self.size[users], np.minimum(end, self.top[users])
        begin = int(before[0])
        if not purse.failed:
            purse.needed = int((goal - before).sum()) + (users.size if begin == 1 else 0)
            return end
        needed = np.cumsum(self.money.to_ask(users, before, goal))
        n_steps = int(np.searchsorted(purse.with_reserve(needed), purse.left, side="right")) - 1
        if begin == 1 and n_steps < 1:
            n_steps = min(1, int(np.searchsorted(needed, purse.left, side="right")) - 1)
        if n_steps < 1:
            return begin
        purse.needed = int(needed[n_steps])
        return end if n_steps == needed.size - 1 else begin + n_steps

    def _drawn(self, users: IntArray, size: int) -> bool:
        """Take users to a size; whether that worked, or has to be thought over: a call failed."""
        before, goal = self.size[users], np.minimum(size, self.top[users])
        answered = 0 if self.money is None else self.money.purse.answered
        try:
            hits = self.draw(users, before, goal)
        except OutOfBudget as error:
            if self.money is None:
                raise
            got_none = self.money.purse.answered == answered
            self._in_vain = self._in_vain + 1 if got_none else 0
            if self._in_vain > self.money.purse.retries:
                why = error.__cause__
                last = "" if why is None else f", the last time with {type(why).__name__}: {why}"
                raise TruerankError(
                    f"the scorer failed {self._in_vain} times in a row without an answer{last}; "
                    f"{self.money.purse.left:,} pairs are left of the budget"
                ) from why
            return False
        self._in_vain = 0
        self.above[users] += hits
        self.left -= int((goal - before).sum())
        self.size[users] = goal
        return True

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
                if not self.move(users, j):
                    return hits
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
