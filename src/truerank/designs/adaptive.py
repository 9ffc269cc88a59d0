"""Samples that grow where the top of the ranking is decided: ours, and LJ24's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from truerank import _arguments, _checks
from truerank.designs.design import Design, check_budget, check_replacement
from truerank.designs.draws import Draw, Uniform, read_draw
from truerank.outcomes.schemes import Scheme


@dataclass(frozen=True, kw_only=True, repr=False)
class Adaptive(Design):
    """Rank every target among a sample that grows until enough negatives beat it.

    All users begin with a sample of ``start``. Those with fewer than ``hits`` negatives above the
    target go on to ``growth`` times the size, and so on up to ``stop``: effort goes where the top
    of the ranking is decided. A larger sample continues a smaller one: who goes on to a size has
    the negatives that `Fixed` draws with that size and seed. The targets of a user share its
    negatives, each of which is scored once: a user costs as much as its longest sample.

    Parameters
    ----------
    budget : float or None, default 200
        Scored pairs per user averaged over users, at most; the targets' own scores count. All
        users who go on take a level together while the budget covers it; the level that it does not
        cover is shrunk to what is left and is the last. If all have ended before the budget is
        spent, more hits are asked for. None for as many pairs as the ladder takes. Calls of a
        `Callable` scorer that fail are paid from the budget, too: samples are smaller then.
    start : int, default 32
        The first sample size, which counts the target.
    growth : float, default 1.5
        Each sample size over the one before.
    hits : int, default 1
        Negatives above the target that end a user's sampling, to begin with.
    stop : float, optional
        The largest sample size; below 1, a share of the catalogue; None for all of it. Without
        replacement a user's sample ends at its pool in any case, where the rank is exact.
    replacement : bool, default False
        Whether an item may be drawn twice for a target.
    draw : Draw, default Uniform()
        How a negative is drawn.
    users : int, optional
        Evaluate a random sample of this many users.
    stratified : bool, default False
        Stratify that sample by the users' numbers of training items.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.designs.Adaptive()
    Adaptive()
    >>> tr.designs.Adaptive(budget=100, stop=0.2).ladder(1000)
    (32, 48, 72, 108, 162, 200)
    """

    name: ClassVar[str] = "adaptive"

    budget: float | None = 200
    start: int = 32
    growth: float = 1.5
    hits: int = 1
    stop: float | None = None
    replacement: bool = False
    draw: Draw = Uniform()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget is not None:
            check_budget(self.budget)
        _checks.integer(self.start, "start", low=2, why="it counts the target")
        _checks.real(self.growth, "growth", low=1.0, open_low=True)
        _checks.integer(self.hits, "hits", low=1)
        if self.stop is not None and _checks.real(self.stop, "stop", low=0.0, open_low=True) >= 1:
            _checks.integer(self.stop, "stop", low=self.start, why="no less than start")
        object.__setattr__(self, "replacement", check_replacement(self.replacement))
        object.__setattr__(self, "draw", read_draw(self.draw))
        self.draw.check(replacement=self.replacement, adaptive=True)

    def ladder(self, catalogue: int) -> tuple[int, ...]:
        """The sample sizes, in increasing order.

        Parameters
        ----------
        catalogue : int
            Number of items in the catalogue.

        Returns
        -------
        tuple of int
            Sample sizes, which count the target.

        Examples
        --------
        >>> tr.designs.Adaptive(stop=100).ladder(5000)
        (32, 48, 72, 100)
        """
        _arguments.check(Adaptive.ladder, locals())
        stop = self.stop
        if stop is None or stop < 1:
            stop = max(self.start, int(catalogue * (1.0 if stop is None else stop)))
        return make_ladder(self.start, int(stop), self.growth)

    def scheme(self, catalogue: int) -> Scheme:
        return Scheme(self.replacement, self.ladder(catalogue), self.hits)

    def pairs(self, n_items: float, targets: float = 1.0) -> float | None:
        return None if self.budget is None else float(min(self.budget, n_items - 1 + targets))


@dataclass(frozen=True, kw_only=True, repr=False)
class LJ24(Adaptive):
    """The adaptive design of LJ24, algorithm 1: doubling, up to a tenth of the catalogue.

    It has no budget: how many pairs it takes depends on the model.

    Parameters
    ----------
    budget : float, optional
        Scored pairs per user averaged over users, at most.
    start : int, default 100
        The first sample size, which counts the target.
    growth : float, default 2
        Each sample size over the one before.
    hits : int, default 1
        Negatives above the target that end a user's sampling.
    stop : float, default 0.1
        The largest sample size; below 1, a share of the catalogue.
    replacement : bool, default False
        Whether an item may be drawn twice for a target.
    draw : Draw, default Uniform()
        How a negative is drawn.
    users : int, optional
        Evaluate a random sample of this many users.
    stratified : bool, default False
        Stratify that sample by the users' numbers of training items.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.designs.LJ24().ladder(10_000)
    (100, 200, 400, 800, 1000)
    """

    name: ClassVar[str] = "lj24"

    budget: float | None = None
    start: int = 100
    growth: float = 2.0
    stop: float | None = 0.1


def make_ladder(start: int, stop: int, growth: float = 2.0) -> tuple[int, ...]:
    """The sizes start, ceil(growth * start), ... up to ``stop``, which ends it in any case.

    Parameters
    ----------
    start : int
        The first sample size, which counts the target.
    stop : int
        The largest.
    growth : float, default 2
        Each size over the one before.

    Returns
    -------
    tuple of int
        Sample sizes, in increasing order.
    """
    start = _checks.integer(start, "start", low=2, why="it counts the target")
    stop = _checks.integer(stop, "stop", low=start, why="no less than start")
    growth = _checks.real(growth, "growth", low=1.0, open_low=True)
    ladder = [start]
    while ladder[-1] < stop:
        # Rounded: 1.1 * 10 is a little more than 11.
        larger = math.ceil(round(min(growth * ladder[-1], float(stop)), 6))
        ladder.append(min(max(larger, ladder[-1] + 1), stop))
    return tuple(ladder)
