"""The grid of global ranks a distribution lives on, compressed so that cost does not grow with N.

A point stands for ``weight`` neighbouring ranks. Ranks up to the largest K asked for are points
of their own. Beyond, ranks are grouped into cells, each carried by three quadrature points whose
first five moments are those of the cell's ranks, so that a sum over ranks of anything smooth is
a sum over points. Cells are at most a fraction of their rank wide (geometric) and at most one
standard deviation of the sampled rank wide: uniform in arcsin(sqrt((R-1)/(N-1))), the scale on
which a binomial is equally sharp everywhere. Hence some hundred points whatever N is. Where pools
differ, each asks for that on its own scale and up to its own end, not beyond.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from truerank import _arguments, _checks
from truerank._types import FloatArray
from truerank.metrics import Metric, total_gains

# Widest cell as a share of its rank, and in standard deviations of the sampled rank. With some
# thousand users, Recall, NDCG and AP at 1..100 stay within 0.1 % of the full support (tested);
# tiny tables (50 users) and nearly empty heads may err by a few percent.
GEOMETRIC_STEP = 0.25
KERNEL_STEP = 1.0
# Ranks beyond this are grouped even when a K lies further out; K is then an edge between cells.
DENSE_LIMIT = 1000


@dataclass(frozen=True)
class Support:
    """The grid of global ranks that a distribution lives on.

    A point stands for ``weight`` neighbouring ranks. Cells end at whole ranks, so that
    ``cumsum(weight)`` passes through every edge.

    Attributes
    ----------
    rank : ndarray of float, shape (n_points,)
        The points: ranks, 1-based, real numbers.
    weight : ndarray of float, shape (n_points,)
        Number of ranks that each point stands for.
    n_items : int
        The largest rank: the size of the pool.

    Examples
    --------
    >>> grid = tr.estimators.Support(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 3.0]), 5)
    >>> grid.n_points, grid.is_full
    (3, False)
    """

    rank: FloatArray
    weight: FloatArray
    n_items: int

    @property
    def n_points(self) -> int:
        """Number of points.

        Examples
        --------
        >>> tr.estimators.Support(np.arange(1.0, 6.0), np.ones(5), 5).n_points
        5
        """
        return int(self.rank.size)

    @property
    def is_full(self) -> bool:
        """Whether every rank is a point of its own.

        Examples
        --------
        >>> tr.estimators.Support(np.arange(1.0, 6.0), np.ones(5), 5).is_full
        True
        """
        return self.n_points == self.n_items

    @cached_property
    def edge(self) -> FloatArray:
        """The last rank that each point stands for, shape (n_points,).

        Examples
        --------
        >>> tr.estimators.Support(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 3.0]), 5).edge
        array([1., 2., 5.])
        """
        edge = np.cumsum(self.weight)
        whole = np.rint(edge)
        # Cells end at whole ranks: undo the rounding of the sum (3e-7 at N = 1e8).
        return np.where(np.abs(edge - whole) < 1e-6, whole, edge)

    def locate(self, rank: Any) -> Any:
        """Indices of the points that stand for whole ranks.

        Parameters
        ----------
        rank : int or array-like of int
            Ranks, 1-based.

        Returns
        -------
        int or ndarray of int
            Indices of points.

        Examples
        --------
        >>> grid = tr.estimators.Support(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 3.0]), 5)
        >>> grid.locate([2, 3, 5])
        array([1, 2, 2])
        """
        return np.searchsorted(self.edge, _checks.numbers(rank, "rank") - 0.5, side="left")


# What a support may be given as. `SupportName | Support` once all who pass it on say so.
SupportLike: TypeAlias = str | Support


def full(n_items: int) -> Support:
    """Every rank from 1 to ``n_items``."""
    n_items = _checks.integer(n_items, "n_items", low=2)
    return Support(np.arange(1.0, n_items + 1.0), np.ones(n_items), n_items)


class Sharp(NamedTuple):
    """Outcomes that tell ranks apart: up to which rank, among how many items, and how sharply.

    ``sharpness`` is 1 / variance of the sampled rank per unit of theta (1 - theta): the sample size
    with replacement, larger without.
    """

    until: float
    pool: int
    sharpness: float


def compressed(
    n_items: int, *, sharpness: float | Iterable[Sharp], edges: Iterable[int] = ()
) -> Support:
    """The compressed grid.

    Parameters
    ----------
    sharpness
        That of the sharpest outcome, see `Sharp`; or those of several kinds of outcomes.
    edges
        Ranks (the K asked for) that must fall between cells.
    """
    n_items = _checks.integer(n_items, "n_items", low=2)
    cuts = sorted({int(edge) for edge in edges if 1 <= edge < n_items})
    dense = min(max([cut for cut in cuts if cut <= DENSE_LIMIT], default=1), n_items)
    if not isinstance(sharpness, Iterable):
        sharpness = [Sharp(n_items, n_items, sharpness)]
    return on_cells(_cell_edges(n_items, dense, sorted(sharpness), cuts), n_items)


def _cell_edges(n_items: int, dense: int, kinds: list[Sharp], cuts: list[int]) -> FloatArray:
    """Last rank of each cell after the dense ones, ending with ``n_items``."""
    steps = [float(KERNEL_STEP / np.sqrt(max(kind.sharpness, 1.0))) for kind in kinds]
    later = [cut for cut in cuts if cut > dense] + [n_items]
    edges = list(range(1, dense + 1))
    at = dense
    for stop in later:
        while at < stop:
            end = at * (1 + GEOMETRIC_STEP)
            for kind, step in zip(kinds, steps, strict=True):
                if kind.until > at:
                    end = min(end, _sharp(at, kind.pool, step))
            at = min(max(at + 1, int(end)), stop)
            edges.append(at)
    return np.array(edges, dtype=np.float64)


def _sharp(at: int, pool: int, step: float) -> float:
    """The rank that lies a step behind ``at`` on the scale of a pool."""
    angle = np.arcsin(np.sqrt(at / pool)) + step
    return float(pool * np.sin(angle) ** 2) if angle < np.pi / 2 else float(pool)


def on_cells(upper: FloatArray, n_items: int) -> Support:
    """Three points for each cell of ranks, the last rank of each given, shape (n_cells,).

    Exact for sums over the ranks of a cell of polynomials up to degree 5.
    """
    lower = np.concatenate([[0.0], upper[:-1]])
    width = upper - lower
    middle = (lower + upper + 1.0) / 2.0
    wide = width > 3
    ends = np.where(width == 2, 0.5, np.where(width == 3, 1.0, 0.0))
    spread = np.sqrt(np.maximum(3.0 * width**2 - 7.0, 0.0) / 20.0)  # c^2 = m4 / m2
    offset = np.where(wide, spread, ends)
    second = (width**2 - 1.0) / 12.0
    side = np.divide(second, 2.0 * offset**2, out=np.zeros_like(width), where=offset > 0) * width
    rank = np.stack([middle - offset, middle, middle + offset], axis=1)
    weight = np.stack([side, width - 2.0 * side, side], axis=1)
    keep = weight > 1e-9  # cells of one or two ranks need fewer points
    return Support(rank[keep], weight[keep], n_items)


@dataclass(frozen=True)
class RankDistribution:
    """An estimated distribution of global ranks, as ``est.distribution`` gives it.

    Attributes
    ----------
    support : Support
        The points that masses live on.
    mass : ndarray of float, shape (n_points,)
        Share of users at each point. Linear estimators may give negative masses.
    exact_rank : ndarray of float, shape (n_exact,)
        Global ranks that were known.
    exact_mass : ndarray of float, shape (n_exact,)
        Share of users at each of them, not part of ``mass``.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> ranks = tr.estimate(counts, "recall@10", confidence=None).distribution
    >>> ranks.cdf([10, 100, 3706]).round(3).tolist()
    [0.216, 0.629, 1.0]
    """

    support: Support
    mass: FloatArray
    exact_rank: FloatArray
    exact_mass: FloatArray

    @property
    def n_items(self) -> int:
        """The largest rank: the size of the largest pool.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> ranks = tr.estimate(counts, "recall@10", confidence=None).distribution
        >>> ranks.n_items
        3706
        """
        return self.support.n_items

    @property
    def negative_mass(self) -> float:
        """Total mass below zero; 0 for a proper distribution.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> ranks = tr.estimate(counts, "recall@10", confidence=None).distribution
        >>> ranks.negative_mass == 0
        True
        """
        return float(-np.minimum(self.mass, 0.0).sum())

    def cdf(self, k: Any) -> FloatArray:
        """Share of users whose global rank is at most k: the estimated recall curve.

        Parameters
        ----------
        k : float or array-like of float
            Ranks, 1-based.

        Returns
        -------
        ndarray of float
            P(global rank <= k).

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> ranks = tr.estimate(counts, "recall@10", confidence=None).distribution
        >>> ranks.cdf([10, 100]).round(3).tolist()
        [0.216, 0.629]
        """
        k = _checks.numbers(k, "k")
        edge = np.concatenate([[0.0], self.support.edge])
        total = np.interp(k, edge, np.concatenate([[0.0], np.cumsum(self.mass)]))
        if self.exact_rank.size:
            order = np.argsort(self.exact_rank, kind="stable")
            steps = np.concatenate([[0.0], np.cumsum(self.exact_mass[order])])
            total = total + steps[np.searchsorted(self.exact_rank[order], k, side="right")]
        return np.asarray(total)

    def pmf(self, k: Any) -> FloatArray:
        """Share of users whose global rank is k; spread evenly inside a cell of the support.

        Parameters
        ----------
        k : float or array-like of float
            Ranks, 1-based.

        Returns
        -------
        ndarray of float
            P(global rank = k).

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> ranks = tr.estimate(counts, "recall@10", confidence=None).distribution
        >>> ranks.pmf([1, 10]).round(3).tolist()
        [0.046, 0.014]
        """
        k = _checks.numbers(k, "k")
        return np.asarray(self.cdf(k) - self.cdf(k - 1.0))

    def expect(self, metrics: Iterable[Metric]) -> dict[str, float]:
        """The value of each metric under this distribution.

        Parameters
        ----------
        metrics : iterable of Metric
            The metrics.

        Returns
        -------
        dict of str to float
            The mean gains, by metric key.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> ranks = tr.estimate(counts, "recall@10", confidence=None).distribution
        >>> found = ranks.expect(tr.metrics.parse("recall@100"))
        >>> round(found["recall@100"], 3)
        0.624
        """
        _arguments.check(RankDistribution.expect, locals())
        rank = np.concatenate([self.support.rank, self.exact_rank])
        mass = np.concatenate([self.mass, self.exact_mass])
        return total_gains(metrics, rank, self.n_items, mass)

    def masses_of_exact(self) -> FloatArray:
        """The share of users with exact ranks at the points that stand for them.

        Returns
        -------
        ndarray of float, shape (n_points,)
            Shares of users.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 40, 7], n_items=3706)
        >>> ranks = tr.estimate(counts, "recall@10", confidence=None).distribution
        >>> round(float(ranks.masses_of_exact().sum()), 6)
        1.0
        """
        at = self.support.locate(self.exact_rank)
        return np.bincount(at, self.exact_mass, minlength=self.support.n_points).astype(np.float64)

    def masses_on(self, support: Support) -> FloatArray:
        """The share of users that falls to each point of another support.

        Parameters
        ----------
        support : Support
            The other grid.

        Returns
        -------
        ndarray of float, shape (n_points,)
            Shares of users, exact ranks included.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> ranks = tr.estimate(counts, "recall@10", confidence=None).distribution
        >>> parts = tr.estimators.Support(np.array([50.0, 1900.0]), np.array([100, 3606]), 3706)
        >>> ranks.masses_on(parts).round(3).tolist()
        [0.629, 0.371]
        """
        _arguments.check(RankDistribution.masses_on, locals())
        return np.diff(self.cdf(np.concatenate([[0.0], support.edge])))


NO_RANKS = np.empty(0)
