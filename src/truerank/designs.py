"""Samples that grow: sizes, stopping rule, budget, and the climb that all who draw them share.

All users begin with a sample of the first size of a ladder. Those with fewer than ``hits``
negatives above the target go on to the next (LJ24, algorithm 1, with one hit).

Under a budget all users take a level together, the cheapest first, as long as the budget covers
it; the level that it does not cover is shrunk to what is left, the same size for all who go on,
and is the last. Where the ladder ends is then decided by what was drawn, of all users, and by
nothing else. So the likelihood of the global ranks given all draws is a product over users of
P(n_u - 1 draws with r_u - 1 hits | R_u), as without a budget: it does not matter to it why the
drawing stopped. Estimators that rest on the likelihood (mle, smooth) need no more. The linear ones
take the ladder as if it had been fixed beforehand; that holds as far as one user does not sway
the sum over all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from truerank import _checks
from truerank._checks import IntArray
from truerank.errors import InputError
from truerank.schemes import Scheme

USUAL_BUDGET = 200.0


@dataclass(frozen=True, kw_only=True)
class Adaptive:
    """How samples grow.

    Attributes
    ----------
    start
        The first sample size, which counts the target.
    growth
        A sample size over the one before.
    hits
        Negatives above the target that end a user's sampling.
    stop
        The largest sample size; below 1, a share of the catalogue; None for all of it. Without
        replacement a user's sample ends at its pool in any case, where the rank is exact.
    """

    start: int = 32
    growth: float = 2.0
    hits: int = 1
    stop: float | None = None

    def __post_init__(self) -> None:
        _checks.integer(self.start, "start", low=2, why="it counts the target")
        _checks.real(self.growth, "growth", low=1.0, open_low=True)
        _checks.integer(self.hits, "hits", low=1)
        if self.stop is not None and _checks.real(self.stop, "stop", low=0.0, open_low=True) >= 1:
            _checks.integer(self.stop, "stop", low=self.start, why="no less than start")

    def within(self, budget: float | None) -> float | None:
        """The budget to keep: as given, or the usual one if nothing else bounds the cost."""
        if budget is not None:
            return check_budget(budget)
        return USUAL_BUDGET if self.stop is None else None

    def ladder(self, catalogue: int) -> tuple[int, ...]:
        """The sample sizes for a catalogue of so many items."""
        stop = self.stop
        if stop is None or stop < 1:
            stop = max(self.start, int(catalogue * (1.0 if stop is None else stop)))
        return make_ladder(self.start, int(stop), self.growth)


DEFAULT = "truerank"
PRESETS = {
    DEFAULT: Adaptive(),
    "lj24": Adaptive(start=100, stop=0.1),  # LJ24: doubling from 100 to 10 to 15 % of the items
}


def adaptive(design: str | Adaptive = DEFAULT, **changes: Any) -> Adaptive:
    """A design by name or as given, with those of its fields that are not None changed."""
    if isinstance(design, str):
        if design not in PRESETS:
            raise _checks.unknown("design", design, PRESETS)
        design = PRESETS[design]
    elif not isinstance(design, Adaptive):
        raise InputError(
            f"design is of type {type(design).__name__}; give a name ({', '.join(PRESETS)}) or "
            "an Adaptive"
        )
    return replace(design, **{name: value for name, value in changes.items() if value is not None})


def make_ladder(start: int, stop: int, growth: float = 2.0) -> tuple[int, ...]:
    """The sizes start, ceil(growth * start), ... up to ``stop``, which ends it in any case."""
    start = _checks.integer(start, "start", low=2, why="it counts the target")
    stop = _checks.integer(stop, "stop", low=start, why="no less than start")
    growth = _checks.real(growth, "growth", low=1.0, open_low=True)
    ladder = [start]
    while ladder[-1] < stop:
        # Rounded: 1.1 * 10 is a little more than 11.
        larger = math.ceil(round(min(growth * ladder[-1], float(stop)), 6))
        ladder.append(min(max(larger, ladder[-1] + 1), stop))
    return tuple(ladder)


def check_budget(budget: float) -> float:
    """A budget in scored negatives a target, the target's own score not counted."""
    return _checks.real(budget, "budget", low=1.0)


Draw = Callable[[IntArray, IntArray, IntArray], IntArray]


def climb(
    scheme: Scheme,
    n_items: IntArray,
    draw: Draw,
    *,
    budget: float | None = None,
    advance: Callable[[int], None] = lambda n_users: None,
) -> tuple[Scheme, IntArray, IntArray]:
    """Take all users up the ladder of a scheme, level by level.

    Parameters
    ----------
    n_items
        The pools, shape (n_users,).
    draw
        Called with (users, their sizes so far, their sizes to come), returns how many of the new
        negatives are above the target; all three and the answer of one shape.
    budget
        Negatives to draw in the mean over all users, at the most; None for as many as it takes.
    advance
        Told how many users are done.

    Returns
    -------
    The scheme, its ladder cut where the budget ended; and for each user the negatives above the
    target and the sample size, shape (n_users,).
    """
    above = np.zeros(n_items.size, dtype=np.int64)
    size = np.ones(n_items.size, dtype=np.int64)
    left = math.inf if budget is None else math.floor(check_budget(budget) * n_items.size)
    going_on = np.arange(n_items.size)
    levels: list[int] = []
    for wanted in scheme.ladder:
        reached = levels[-1] if levels else 1
        level = wanted
        if going_on.size and math.isfinite(left):
            pools = None if scheme.replacement else n_items[going_on]
            level = _affordable(wanted, reached, pools, going_on.size, int(left))
            if level == reached:
                break
        if going_on.size:
            goal = np.full(going_on.size, level, dtype=np.int64)
            if not scheme.replacement:
                np.minimum(goal, n_items[going_on], out=goal)
            before = size[going_on]
            above[going_on] += draw(going_on, before, goal)
            size[going_on] = goal
            left -= int((goal - before).sum())
            ended = above[going_on] >= scheme.hits
            if not scheme.replacement:
                ended |= goal == n_items[going_on]
            going_on = going_on[~ended]
            advance(int(ended.sum()))
        levels.append(level)
        if level < wanted:
            break
    advance(int(going_on.size))
    return replace(scheme, ladder=tuple(levels)), above, size


def _affordable(
    wanted: int, reached: int, pools: IntArray | None, n_users: int, budget: int
) -> int:
    """The largest size up to ``wanted`` that ``budget`` negatives take these users to.

    All of them stand at ``reached``; none goes beyond its pool.
    """
    if pools is None:
        return min(wanted, reached + budget // n_users)
    low, high = reached, min(wanted, int(pools.max()))
    while low < high:
        middle = (low + high + 1) // 2
        if int((np.minimum(middle, pools) - reached).sum()) <= budget:
            low = middle
        else:
            high = middle - 1
    return wanted if low == pools.max() else low
