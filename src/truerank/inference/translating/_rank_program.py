"""Linear programs over every distribution of global ranks that fits some expectations.

A distribution is a mixture of candidates: single ranks, or, for distributions whose pmf never
rises, the uniform ones on ranks 1..R (each such distribution is a mixture of these, and each
mixture of these is one). Every expectation is linear in the weights of the mixture. A program has
a handful of rows and as many columns as candidates, so columns are generated: solve on a few,
price all candidates by the dual solution, add those that would help, until none does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.errors import TruerankError
from truerank.estimators import support

# Up to this many probabilities P(sampled | global) every rank is a candidate; beyond, a grid.
FULL_ENTRIES = 2**22
# The grid: every rank up to a thousand, then steps of so much of the rank and of so many
# standard deviations of the sampled rank. Bounds then stay within 1e-6 of the full ones (tested).
_DENSE = 1000
_GEOMETRIC = 0.005
_KERNEL = 0.01

_AT_ONCE = 500  # up to so many candidates there is no need to generate columns
_TOLERANCE = 1e-10  # of the solver, and of reduced costs
_ROUNDS = 200


@dataclass(frozen=True)
class Family:
    """Candidates ``rank`` (1-based, whole, increasing, shape (n_candidates,)) of a mixture.

    ``start`` holds the positions of the candidates to begin with.
    """

    rank: IntArray
    n_items: int
    decreasing: bool
    start: IntArray

    def expect(self, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """E[f(R)] of each candidate, shape (n_rows, n_candidates).

        ``function`` takes ranks, shape (n_ranks,), and gives rows of shape (n_rows, n_ranks).
        """
        if not self.decreasing:
            return np.asarray(function(self.rank.astype(np.float64)))
        cells = support.on_cells(self.rank.astype(np.float64), self.n_items)
        total = np.cumsum(function(cells.rank) * cells.weight, axis=1)
        last = np.searchsorted(cells.rank, self.rank + 0.25) - 1
        return np.asarray(total[:, last] / self.rank)


def family(
    n_items: int,
    sample_size: int,
    *,
    replacement: bool,
    decreasing: bool,
    edges: Iterable[int | None],
) -> Family:
    """Every rank where that is affordable, else a fine grid with the cut-offs ``edges`` on it."""
    # theta (1 - theta) / variance of the sampled share: without replacement, up to infinity.
    left = 1.0 if replacement else (n_items - sample_size) / (n_items - 1.0)
    sharpness = sample_size / max(left, 1e-12)
    cuts = [cut for edge in edges if edge for cut in (edge, edge + 1) if cut <= n_items]
    if n_items * sample_size <= FULL_ENTRIES:
        rank = np.arange(1, n_items + 1, dtype=np.int64)
    else:
        dense = min(_DENSE, n_items)
        steps = np.log(n_items / dense) / _GEOMETRIC
        geometric = dense * np.exp(np.linspace(0.0, np.log(n_items / dense), int(steps) + 2))
        turns = int(np.pi / 2 * np.sqrt(sharpness) / _KERNEL) + 2
        if turns < n_items:
            sharp = n_items * np.sin(np.linspace(0.0, np.pi / 2, turns)) ** 2
        else:
            sharp = np.arange(1.0, n_items + 1.0)
        whole = np.rint(np.concatenate([geometric, sharp])).astype(np.int64)
        ends = [*range(1, dense + 1), *cuts, n_items]
        rank = np.unique(np.concatenate([np.array(ends), np.clip(whole, 1, n_items)]))
    if rank.size <= _AT_ONCE:
        return Family(rank, n_items, decreasing, np.arange(rank.size))
    coarse = support.compressed(n_items, sharpness=float(sample_size), edges=cuts).rank
    begin = np.searchsorted(rank, np.concatenate([np.rint(coarse), [1, *cuts, n_items]]))
    return Family(rank, n_items, decreasing, np.unique(np.minimum(begin, rank.size - 1)))


@dataclass(frozen=True)
class Optimum:
    """The least value, and the mixture that has it: ``mass`` on candidates ``at``.

    ``value`` is proven by duality: no candidate, active or not, makes it smaller. ``over`` says
    how much each row exceeds its bounds (all zero unless the program is elastic).
    """

    value: float
    at: IntArray
    mass: FloatArray
    over: FloatArray


@dataclass(frozen=True)
class Program:
    """Mixtures with ``low <= rows @ mass <= high``; rows of shape (n_rows, n_candidates)."""

    rows: FloatArray
    low: FloatArray
    high: FloatArray
    start: IntArray

    def least(self, cost: FloatArray) -> Optimum:
        """The smallest ``cost @ mass``; the program must be feasible on its ``start``."""
        return self._generate(cost, elastic=False)

    def most(self, cost: FloatArray) -> Optimum:
        """The largest."""
        found = self._generate(-cost, elastic=False)
        return Optimum(-found.value, found.at, found.mass, found.over)

    def relaxed(self) -> Optimum:
        """The least total by which bounds must give way; its mass makes a start for the rest."""
        return self._generate(np.zeros(self.rows.shape[1]), elastic=True)

    def _generate(self, cost: FloatArray, *, elastic: bool) -> Optimum:
        rows = np.concatenate([self.rows, -self.rows])
        bound = np.concatenate([self.high, -self.low])
        active = self.start
        for _ in range(_ROUNDS):
            found = _solve(cost[active], rows[:, active], bound, elastic)
            dual = np.minimum(found.ineqlin.marginals, 0.0)
            shift = float(found.eqlin.marginals[0])
            reduced = cost - dual @ rows - shift
            fresh = np.setdiff1d(_dips(reduced), active)
            if not fresh.size:
                break
            active = np.union1d(active, fresh)
        # Weak duality, for all candidates: E[cost] >= dual @ bound + shift + min reduced.
        value = float(dual @ bound) + shift + min(0.0, float(reduced.min()))
        mass = np.maximum(found.x[: active.size], 0.0)
        kept = mass > 1e-9
        over = np.zeros(self.low.size)
        if elastic:
            over = found.x[active.size :].reshape(2, -1).max(axis=0)
        at, mass = active[kept], mass[kept] / mass[kept].sum()
        return Optimum(max(value, float(cost.min())), at, mass, over)


def _solve(cost: FloatArray, rows: FloatArray, bound: FloatArray, elastic: bool) -> Any:
    from scipy.optimize import linprog

    total = np.ones((1, cost.size))
    if elastic:  # one slack a row, at the price of what it gives way
        cost = np.concatenate([cost, np.ones(bound.size)])
        rows = np.concatenate([rows, -np.eye(bound.size)], axis=1)
        total = np.concatenate([total, np.zeros((1, bound.size))], axis=1)
    tolerances = {f"{kind}_feasibility_tolerance": _TOLERANCE for kind in ("primal", "dual")}
    # Some programs defeat one of the algorithms; that all fail has not been seen.
    for method, options in (
        ("highs", tolerances),
        ("highs-ds", {"presolve": False}),
        ("highs", {}),
    ):
        found = linprog(
            cost, A_ub=rows, b_ub=bound, A_eq=total, b_eq=[1.0], method=method, options=options
        )
        if found.status == 0:
            return found
    raise TruerankError(f"the linear program could not be solved: {found.message}")


def _dips(reduced: FloatArray) -> IntArray:
    """The lowest position of every stretch of candidates with negative reduced cost."""
    bad = np.flatnonzero(reduced < -_TOLERANCE)
    if not bad.size:
        return bad
    first = np.concatenate([[0], np.flatnonzero(np.diff(bad) > 1) + 1])
    lowest = np.minimum.reduceat(reduced[bad], first)
    stretch = np.repeat(np.arange(first.size), np.diff(np.append(first, bad.size)))
    hit = np.flatnonzero(reduced[bad] == lowest[stretch])
    return bad[hit[np.unique(stretch[hit], return_index=True)[1]]]
