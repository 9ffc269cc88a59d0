"""Evaluations drawn again for the users of a table of counts.

Each user gets a global rank R* from its own posterior (its outcome under the fitted distribution),
and from R* sampled ranks r* by the design it was evaluated with. The law of the error, the estimate
from r* less the metric of R*, is the one mechanism behind every interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.estimators._neighbours import distinct_pools
from truerank.estimators.likelihood import likelihood
from truerank.estimators.support import RankDistribution, Support
from truerank.inference.planning.simulate import sampled_ranks
from truerank.metrics import Metric
from truerank.outcomes._columns import Radix
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme

MOST_USERS = 20_000  # drawn; the spread of more follows from theirs
MOST_POOLS = 12  # pool sizes told apart in redrawn evaluations
_ENTRIES = 2**22  # of the posterior at a time


@dataclass(frozen=True)
class DrawnUsers:
    """Targets that evaluations can be drawn for; arrays are of shape (n_targets,).

    Attributes
    ----------
    schemes : tuple of Scheme
        The laws that samples follow.
    scheme : array of int
        The law of each target, as an index of ``schemes``.
    n_items : array of int
        The pool of each target.
    sample_size : array of int
        The sample size of targets with fixed samples.
    global_rank : array of int
        The rank of each target among all items, 1-based.
    user : array of int, optional
        The user of each target, from 0; None where users have one target each.
    """

    schemes: tuple[Scheme, ...]
    scheme: IntArray
    n_items: IntArray
    sample_size: IntArray
    global_rank: IntArray
    user: IntArray | None = None

    @property
    def n_users(self) -> int:
        """The number of targets, who stand for users.

        Returns
        -------
        int
            Those of the arrays.
        """
        return int(self.global_rank.size)

    def gains(self, metrics: Sequence[Metric]) -> FloatArray:
        """The gain of each metric at each global rank.

        Parameters
        ----------
        metrics : list of Metric
            The metrics.

        Returns
        -------
        array
            Shape (n_users, n_metrics).
        """
        return np.stack([metric.gain(self.global_rank, self.n_items) for metric in metrics], 1)

    def evaluate(self, rng: np.random.Generator) -> IntArray:
        """Draw one evaluation of these targets; those of a user share negatives if they did.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the draws.

        Returns
        -------
        array of int
            Scheme, pool, sample size and sampled rank of each target, shape (4, n_targets).
        """
        found = np.stack([self.scheme, self.n_items, self.sample_size, self.global_rank])
        for code, scheme in enumerate(self.schemes):
            at = np.flatnonzero(self.scheme == code)
            user = None
            if scheme.shared and self.user is not None and at.size:
                user = np.unique(self.user[at], return_inverse=True)[1]
            _, *found[2:, at] = sampled_ranks(
                self.global_rank[at], self.n_items[at], scheme, self.sample_size[at], rng, user=user
            )
        return found


def distinct(schemes: tuple[Scheme, ...], found: IntArray) -> tuple[RankCounts, IntArray]:
    """The distinct ones of drawn outcomes.

    Parameters
    ----------
    schemes : tuple of Scheme
        The laws that the first row of ``found`` indexes.
    found : array of int
        Scheme, pool, sample size and sampled rank of n outcomes, shape (4, n).

    Returns
    -------
    tuple of (RankCounts, array of int)
        The distinct outcomes with weight 1, and which of them each given one is, shape (n,).
    """
    kept, row = _sorted_columns(found)
    parts = []
    for code, scheme in enumerate(schemes):
        _, pool, size, rank = kept[:, kept[0] == code]
        if pool.size:
            one = np.ones(pool.size)
            parts.append(
                RankCounts.from_outcomes(
                    scheme, n_items=pool, sample_size=size, sampled_rank=rank, weight=one
                )
            )
    # Counts sort their outcomes the same way: by scheme, pool, size and rank.
    return sum(parts[1:], parts[0]), row


def _sorted_columns(found: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct columns in order, and which of them each column is."""
    key = list(found)
    radix = Radix.of(key)
    if radix.n_possible <= 2 * found.shape[1]:  # few: counted rather than sorted
        number = radix.numbers(key)
        seen = np.zeros(radix.n_possible, dtype=np.bool_)
        seen[number] = True
        kept = np.stack(radix.columns(np.flatnonzero(seen)))
        return kept, (np.cumsum(seen) - 1)[number]
    return _by_sorting(found)


def _by_sorting(found: IntArray) -> tuple[IntArray, IntArray]:
    order = np.lexsort(found[::-1])
    new = np.ones(order.size, dtype=bool)
    new[1:] = (np.diff(found[:, order], axis=1) != 0).any(axis=0)
    row = np.empty(order.size, dtype=np.int64)
    row[order] = np.cumsum(new) - 1
    return found[:, order[new]], row


def occurrences(table: IntArray, row: IntArray, shape: tuple[int, int]) -> FloatArray:
    """How often each row occurs in each table.

    Parameters
    ----------
    table, row : array of int
        The table and the row of each occurrence, shape (n,).
    shape : tuple of int
        (n_tables, n_rows).

    Returns
    -------
    array
        Numbers of occurrences, of that shape.
    """
    flat = np.bincount(table * shape[1] + row, minlength=shape[0] * shape[1])
    return flat.reshape(shape).astype(np.float64)


class RankedUsers:
    """The users of a table of counts, whose global ranks follow their outcomes and a law.

    Parameters
    ----------
    counts : RankCounts
        The users' outcomes.
    law : RankDistribution
        The distribution of global ranks before an outcome is seen.
    """

    def __init__(self, counts: RankCounts, law: RankDistribution) -> None:
        self._counts = counts
        self._support = law.support
        mass = np.maximum(law.mass, 0.0) + law.masses_of_exact()
        self._mass = mass + 1e-12 * law.support.weight / law.support.n_items
        unit = counts.squared_weight / counts.total_weight
        unit = max(unit, counts.total_weight / MOST_USERS)
        self.scale = counts.effective_users / (counts.total_weight / unit)
        edge = np.rint(np.cumsum(counts.weight) / unit)
        number = np.diff(edge, prepend=0).astype(int)
        self._row = np.repeat(np.arange(counts.n_outcomes), number)
        drawn = number > 0
        some = counts.select(drawn)
        assert some is not None
        self._matrix = likelihood(some, law.support).matrix
        # Of each sampled outcome in the likelihood.
        self._place = np.cumsum(drawn & ~counts.is_exact) - 1
        self._pool = merged_pools(counts, MOST_POOLS)

    @property
    def n_users(self) -> int:
        """The number of users that are drawn.

        Returns
        -------
        int
            At most 20,000; the spread of more follows from theirs.
        """
        return int(self._row.size)

    def draw(
        self, rng: np.random.Generator, *, resample: bool = False, copies: int = 1
    ) -> DrawnUsers:
        """Draw one set of users.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the draws.
        resample : bool, default False
            Whether the users themselves are random: drawn with replacement.
        copies : int, default 1
            Ranks drawn for each of them.

        Returns
        -------
        DrawnUsers
            With a global rank each.
        """
        counts, row = self._counts, np.repeat(self._row, copies)
        if resample:
            row = np.sort(rng.choice(row, size=row.size))
        rank = counts.sampled_rank[row]
        sampled = np.flatnonzero(~counts.is_exact[row])
        rank[sampled] = self._ranks(self._place[row[sampled]], rng)
        pool = self._pool[row]
        return DrawnUsers(
            counts.schemes,
            counts.scheme[row],
            pool,
            counts.sample_size[row],
            np.minimum(rank, pool),
        )

    def _ranks(self, row: IntArray, rng: np.random.Generator) -> IntArray:
        """A global rank for each user, given the (sorted) row of its outcome."""
        return drawn_points(self._matrix, self._mass, self._support, row, rng)


def drawn_points(
    matrix: Any, mass: FloatArray, support: Support, row: IntArray, rng: np.random.Generator
) -> IntArray:
    """Global ranks drawn given outcomes and a law.

    Parameters
    ----------
    matrix : array or Banded
        The likelihood of outcomes, shape (n_outcomes, n_points).
    mass : array
        The law, shape (n_points,).
    support : Support
        The points that both live on.
    row : array of int
        The outcome of each rank to draw, sorted.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    array of int
        Ranks, shape (n,).
    """
    point = np.empty(row.size, dtype=np.int64)
    step = max(1, _ENTRIES // support.n_points)
    for first in range(0, matrix.shape[0], step):
        begin, end = np.searchsorted(row, [first, first + step])
        part = matrix[first : first + step]
        joint = np.cumsum(part * mass, axis=1)
        joint /= joint[:, -1:]
        at = row[begin:end] - first
        # One search for all: row i of the cumulated shares lies between i and i + 1.
        flat = (joint + np.arange(joint.shape[0])[:, None]).ravel()
        found = np.searchsorted(flat, at + rng.random(at.size))
        point[begin:end] = np.clip(found, at * support.n_points, (at + 1) * support.n_points - 1)
        point[begin:end] -= at * support.n_points
    # A point stands for the ranks between two edges.
    rank = np.ceil(support.edge[point] - rng.random(row.size) * support.weight[point])
    return np.clip(rank, 1, support.n_items).astype(np.int64)


def merged_pools(counts: RankCounts, most: int) -> IntArray:
    """The pool of each outcome, or the mean of a group of neighbouring ones if there are many.

    No ladder or sample may reach beyond a merged pool that it did not reach beyond before, and
    ladders that did still do.

    Parameters
    ----------
    counts : RankCounts
        The outcomes.
    most : int
        Pool sizes to tell apart.

    Returns
    -------
    array of int
        The pool of each outcome, shape (n_outcomes,).
    """
    if distinct_pools(counts).size <= most:
        return counts.n_items
    ladders = np.array([max(scheme.ladder, default=0) for scheme in counts.schemes])[counts.scheme]
    without = np.array([not scheme.replacement for scheme in counts.schemes])[counts.scheme]
    reach = np.where(without, np.maximum(ladders, counts.sample_size), 0)
    capped = reach >= counts.n_items
    order = np.argsort(counts.n_items, kind="stable")
    share = np.cumsum(counts.weight[order]) / counts.total_weight
    group = np.empty(order.size, dtype=np.int64)
    group[order] = np.minimum(share * most, most - 1).astype(np.int64)
    total = np.bincount(group, counts.weight, minlength=most)
    mean = np.bincount(group, counts.weight * counts.n_items, minlength=most)
    pool = np.rint(mean / np.maximum(total, 1e-300)).astype(np.int64)[group]
    adaptive = np.array([scheme.adaptive for scheme in counts.schemes])[counts.scheme]
    ended = np.where(adaptive, np.minimum(pool, reach), counts.n_items)  # ladders end at any pool
    return np.where(capped, ended, np.maximum(pool, reach))
