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

The targets of one user share its negatives: each of them climbs as far as its own hits tell, and
what a user costs is its longest sample. So a target may go on for nothing where another one of its
user does. Under a budget the hits that end a level are raised while that is nearly always so.

Where calls of a scorer fail, they are paid for from the same budget. What is really left then falls
behind what the draws alone would leave, and a level is shrunk to what that covers, again for all
who go on. That depends on calls that failed, not on scores: the likelihood stays what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from truerank._types import IntArray
from truerank.designs.purse import Purse
from truerank.errors import OutOfBudget, TruerankError
from truerank.outcomes.schemes import Scheme

Draw = Callable[[IntArray, IntArray, IntArray], IntArray]
# Of ten targets that a raised threshold lets go on, nine cost nothing: others of their users go on.
_FREE = 10


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
    user: IntArray | None = None,
    total: int | None = None,
    money: Money | None = None,
    advance: Callable[[int], None] = lambda n_users: None,
) -> tuple[Scheme, IntArray, IntArray]:
    """Take the targets of all users up the ladder of a scheme, level by level.

    Parameters
    ----------
    n_items
        The pools, shape (n_rows,).
    draw
        Called with (rows, their sizes so far, all equal, their sizes to come), returns how many of
        the new negatives are above the target; all three and the answer of one shape.
    user
        The user of each row, from 0, where users have several targets; these share its negatives.
    total
        Negatives to draw for all users together, at most; None for as many as it takes.
    money
        What the draws are paid from, if calls can fail; OutOfBudget is raised if it does not
        suffice for one negative per user.
    advance
        Told how many rows are done.

    Returns
    -------
    The scheme, its ladder cut or its hits raised as the budget had it; and for each row the
    negatives above the target and the sample size, shape (n_rows,).
    """
    walk = _Walk(scheme, n_items, draw, user, total, money)
    n_done, cut = 0, False
    hits: list[int] = []
    for wanted, least in zip(scheme.ladder, (0, *scheme.thresholds), strict=True):
        there = np.flatnonzero(walk.level == len(walk.sizes) - 1)
        rows = there = there[walk.open(there)]
        ends = least
        if walk.sizes:
            ends = least if total is None else walk.worth_raising(there, least)
            rows = there[walk.above[there] < ends]
        advance(n_items.size - rows.size - n_done)
        n_done = n_items.size - rows.size
        size = walk.rise(rows, wanted)
        if walk.sizes and size == walk.sizes[-1]:
            cut = True
            break
        if ends > least and rows.size == there.size:  # no level for anybody to end at
            walk.sizes[-1] = size
            walk.level[rows] -= 1
        else:
            hits += [ends] if walk.sizes else []
            walk.sizes.append(size)
        if size < wanted:
            cut = True
            break
    if total is not None and not cut:
        hits = walk.spend(hits)
    advance(n_items.size - n_done)
    sizes = tuple(walk.sizes)
    if (sizes, tuple(hits)) != (scheme.ladder, scheme.thresholds):
        scheme = replace(scheme, ladder=sizes, hits=tuple(hits))
    return scheme, walk.above, walk.size


def shared_pairs(user: IntArray, sample_size: IntArray) -> int:
    """Pairs that samples take: each target, and once the negatives that a user's targets share.

    Parameters
    ----------
    user : ndarray of int, shape (n_rows,)
        Codes of users, from 0.
    sample_size : ndarray of int, shape (n_rows,)
        The target and its negatives; 1 for targets that were not ranked.
    """
    longest = np.zeros(int(user.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(longest, user, sample_size - 1)
    return int(longest.sum() + (sample_size > 1).sum())


class _Walk:
    """Where the targets of a climb stand: hits ``above``, ``size`` and ``level`` on ``sizes``.

    ``longest`` is the largest sample of each user, which all of its targets share.
    """

    def __init__(
        self,
        scheme: Scheme,
        n_items: IntArray,
        draw: Draw,
        user: IntArray | None,
        total: int | None,
        money: Money | None,
    ) -> None:
        self.top = np.full_like(n_items, scheme.ladder[-1])
        if not scheme.replacement:
            np.minimum(self.top, n_items, out=self.top)
        self.several = user is not None
        self.user = np.arange(n_items.size) if user is None else user
        self.longest = np.ones(n_items.size, dtype=np.int64)  # more places than there are users
        self.draw = draw
        self.money = money
        self.left = math.inf if total is None else total
        self.sizes: list[int] = []
        self.above = np.zeros(n_items.size, dtype=np.int64)
        self.size = np.ones(n_items.size, dtype=np.int64)
        self.level = np.full(n_items.size, -1, dtype=np.int64)
        self._in_vain = 0  # draws in a row that broke off without an answer

    def open(self, rows: IntArray | slice = slice(None)) -> npt.NDArray[np.bool_]:
        """Who has come neither to the end of the ladder nor to that of the pool."""
        return np.asarray(self.size[rows] < self.top[rows])

    def worth_raising(self, rows: IntArray, hits: int) -> int:
        """The hits to end a level with: more than so many, where nearly all who go on are free."""
        if not self.several or not rows.size:
            return hits
        above = self.above[rows]
        order = np.lexsort([above, self.user[rows]])
        best = above[order][np.diff(self.user[rows][order], prepend=-1) != 0]  # of each user
        going, paying = (np.cumsum(np.bincount(each, minlength=above.max() + 1))
                         for each in (above, best))  # fmt: skip
        going, paying = (each - (each[hits - 1] if hits <= each.size else each[-1])
                         for each in (going, paying))  # fmt: skip
        worth = np.flatnonzero((_FREE * paying <= going)[hits:] & (going[hits:] > 0))
        return hits + 1 + int(worth[-1]) if worth.size else hits

    def rise(self, rows: IntArray, wanted: int) -> int:
        """Take rows from the last level to one of size ``wanted``, or as far as the budget goes.

        All of them stand at one size. Returns the size that they come to, no larger than the pools
        for those whose pools are smaller; if it is the size where they stand, nobody has moved.
        """
        if not rows.size:
            return wanted
        begin = size = int(self.size[rows[0]])
        end = wanted
        if not math.isinf(self.left):
            each = self._one_per_user(rows)
            longest = self.longest[self.user[each]]
            end = _affordable(wanted, begin, longest, self.top[each], int(self.left))
        while size < end:
            going = rows[self.top[rows] > size]
            step = self._payable(going, end) if going.size else end
            if step == size:
                break
            if not going.size or self._drawn(going, step):
                size = step
        if size == 1:
            raise OutOfBudget("what is left does not suffice for one negative per user")
        if size > begin:
            self.level[rows] = len(self.sizes)
        return size

    def move(self, rows: IntArray, level: int) -> bool:
        """Take rows from a level to the next, if what is left suffices; whether it did."""
        if not rows.size:
            return True
        size = self.sizes[level + 1]
        if self._negatives(rows, size) > self.left:
            return False
        while self._payable(rows, size) == size:
            if self._drawn(rows, size):
                self.level[rows] = level + 1
                return True
        return False

    def _one_per_user(self, rows: IntArray) -> IntArray:
        """One of the rows of each user."""
        if not self.several:
            return rows
        return np.asarray(rows[np.unique(self.user[rows], return_index=True)[1]])

    def _negatives(self, rows: IntArray, size: int) -> int:
        """New negatives that it takes users to have samples of a size for these rows."""
        each = self._one_per_user(rows)
        return _more(size, self.longest[self.user[each]], self.top[each])

    def _payable(self, rows: IntArray, end: int) -> int:
        """The largest size up to ``end`` to which rows can be taken with what is really left.

        Nothing but calls that failed makes that less than ``end``. They are expected to go on
        failing, except where the first negative is at stake. Also sets what is needed for it.
        """
        if self.money is None:
            return end
        purse, before, goal = self.money.purse, self.size[rows], np.minimum(end, self.top[rows])
        begin = int(before[0])
        if not purse.failed:
            purse.needed = self._negatives(rows, end) + (rows.size if begin == 1 else 0)
            return end
        needed = np.cumsum(self.money.to_ask(rows, before, goal))
        n_steps = int(np.searchsorted(purse.with_reserve(needed), purse.left, side="right")) - 1
        if begin == 1 and n_steps < 1:
            n_steps = min(1, int(np.searchsorted(needed, purse.left, side="right")) - 1)
        if n_steps < 1:
            return begin
        purse.needed = int(needed[n_steps])
        return end if n_steps == needed.size - 1 else begin + n_steps

    def _drawn(self, rows: IntArray, size: int) -> bool:
        """Take rows to a size; whether that worked, or has to be thought over: a call failed."""
        before, goal = self.size[rows], np.minimum(size, self.top[rows])
        answered = 0 if self.money is None else self.money.purse.answered
        try:
            hits = self.draw(rows, before, goal)
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
        self.above[rows] += hits
        self.left -= self._negatives(rows, size)
        self.size[rows] = goal
        longest = self.longest[self.user[rows]]
        self.longest[self.user[rows]] = np.maximum(longest, goal)  # users have one pool
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
                rows = np.flatnonzero((self.level == j) & (self.above < high) & self.open())
                if not self.move(rows, j):
                    return hits
                hits[j] = max(high, hits[j])
            if first:
                break
        return hits

    def _expected(self, level: int, low: int, high: int) -> float:
        """Negatives that it may take rows at a level to go on until they have ``high`` hits.

        What share of better items a target with ``low`` hits may have is judged by the shares that
        were seen among all. A guess: it decides where to begin, not how much is spent.
        """
        rows = np.flatnonzero((self.level == level) & (self.above < high) & self.open())
        n_users = self._one_per_user(rows).size
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


def _affordable(wanted: int, begin: int, longest: IntArray, tops: IntArray, budget: int) -> int:
    """The largest size up to ``wanted`` that ``budget`` negatives take users to.

    Some target of each stands at ``begin``; the user's sample is as long as ``longest`` by then,
    and never longer than its top.
    """
    low, high = begin, min(wanted, int(tops.max()))
    while low < high:
        middle = (low + high + 1) // 2
        if _more(middle, longest, tops) <= budget:
            low = middle
        else:
            high = middle - 1
    return wanted if low == tops.max() else low


def _more(size: int, longest: IntArray, tops: IntArray) -> int:
    """Negatives that samples of users lack to a size."""
    return int(np.maximum(np.minimum(size, tops) - longest, 0).sum())
