"""P(outcome | global rank) for every outcome of a table, as a matrix over a support.

This is where counts and support meet: what every estimator of a rank distribution works with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from truerank import _memory
from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.estimators._banded import Band, Banded, bands, grouped
from truerank.estimators.support import Sharp, Support, SupportLike, compressed, full
from truerank.metrics import Metric
from truerank.outcomes import schemes
from truerank.outcomes.counts import RankCounts

_BLOCK = 2**20  # entries built at a time
_DENSE_UP_TO = 2**24
# From how many entries on, and up to which share of them near the ranks that give an outcome, the
# others are left out.
_BANDED_ABOVE = 2**17
_FILLED = 0.5
_VECTORS = 6  # over the support, that a fit holds beside the matrix


def make_support(counts: RankCounts, metrics: Iterable[Metric], support: SupportLike) -> Support:
    """The support a fit of ``counts`` needs: ``"auto"`` (compressed), ``"full"`` or one given."""
    largest = int(counts.n_items.max())
    if isinstance(support, Support):
        if support.n_items < largest:
            raise InputError(
                f"support ends at rank {support.n_items}; the largest pool is {largest}"
            )
        return support
    if support == "full":
        _check_memory(largest, int(np.count_nonzero(~counts.is_exact)))
        return full(largest)
    if support != "auto":
        raise InputError(f"support is {support!r}; it must be 'auto', 'full' or a Support")
    edges = [metric.k for metric in metrics if metric.k is not None]
    pools = np.unique(counts.n_items)
    if pools.size <= 8:  # a few pools: let none end inside a cell
        edges += pools.tolist()
    return compressed(largest, sharpness=_sharpness(counts), edges=edges)


def _check_memory(n_items: int, n_outcomes: int) -> None:
    """Refuse a full support whose matrix of likelihoods does not fit."""
    _memory.check(
        8 * n_items * (n_outcomes + _VECTORS),
        f"support='full' takes {n_items:,} ranks for each of {n_outcomes:,} outcomes",
        "support='auto' gives the same values within 0.1 % on a compressed grid",
    )


def _sharpness(counts: RankCounts) -> list[Sharp]:
    """The sharpest outcomes not exact of each pool, up to its end.

    Pools within a factor of 2 share cells, which are laid out for the largest of them.
    """
    sharp = each_sharpness(counts)
    pool = counts.n_items[~counts.is_exact].astype(np.float64)
    if not pool.size:
        return [Sharp(int(counts.n_items.max()), int(counts.n_items.max()), 1.0)]
    octave = np.floor(np.log2(pool.max() / pool)).astype(np.int64)
    found = []
    for one in np.unique(octave):
        here = octave == one
        largest = pool[here].max()
        value = float(np.max(sharp[here] * (largest / pool[here])))
        found.append(Sharp(int(largest), int(largest), value))
    return found


def each_sharpness(counts: RankCounts) -> FloatArray:
    """theta (1 - theta) / variance of (r-1)/(n-1) of each outcome that is not exact."""
    sampled = ~counts.is_exact
    size = counts.sample_size[sampled].astype(np.float64)
    pool = counts.n_items[sampled].astype(np.float64)
    with_replacement = np.array([scheme.replacement for scheme in counts.schemes])
    left = np.where(
        with_replacement[counts.scheme[sampled]], 1.0, (pool - size) / np.maximum(pool - 2.0, 1.0)
    )
    return np.asarray(size / np.maximum(left, 1e-12))


@dataclass(frozen=True)
class Likelihood:
    """Sampled outcomes against support points, and exact ranks apart.

    ``matrix`` (n_outcomes, n_points), an array or `Banded`, holds P(outcome | rank) with each row
    divided by ``exp(log_scale)``, its maximum, so that nothing underflows. ``weight`` are shares
    of the users (with ``exact_weight`` they sum to 1).
    """

    support: Support
    matrix: Any
    log_scale: FloatArray
    weight: FloatArray
    n_items: IntArray
    exact_rank: IntArray
    exact_weight: FloatArray
    exact_n_items: IntArray

    @cached_property
    def exact_mass(self) -> FloatArray:
        """Share of users known to be at each support point, shape (n_points,)."""
        at = self.support.locate(self.exact_rank)
        return np.bincount(at, self.exact_weight, minlength=self.support.n_points).astype(
            np.float64
        )


def likelihood(counts: RankCounts, support: Support) -> Likelihood:
    """The likelihood of every outcome of ``counts`` on ``support``."""
    exact = counts.is_exact
    sampled = np.flatnonzero(~exact)
    share = counts.weight / counts.total_weight
    matrix, log_scale = _matrix(counts, sampled, support)
    return Likelihood(
        support,
        matrix,
        log_scale,
        share[sampled],
        counts.n_items[sampled],
        counts.sampled_rank[exact],
        share[exact],
        counts.n_items[exact],
    )


def in_parts(counts: RankCounts, support: Support) -> Iterator[tuple[slice, Likelihood]]:
    """The likelihood of some outcomes at a time, few enough for a dense matrix, and which.

    Products with many columns are several times faster with a dense one.
    """
    step = max(1, _DENSE_UP_TO // support.n_points)
    for first in range(0, counts.n_outcomes, step):
        rows = slice(first, min(first + step, counts.n_outcomes))
        at = np.zeros(counts.n_outcomes, dtype=np.bool_)
        at[rows] = True
        part = counts.select(at)
        assert part is not None
        yield rows, likelihood(part, support)


def _matrix(counts: RankCounts, rows: IntArray, support: Support) -> tuple[Any, FloatArray]:
    """P(outcome | rank) of some rows of ``counts``, scaled, and the logs of the scales."""
    log_scale = np.empty(rows.size)
    if rows.size * support.n_points > _BANDED_ABOVE:
        groups = _groups(counts, rows, support)
        area = sum(at.size * (columns.stop - columns.start) for at, columns in groups)
        if area < _FILLED * rows.size * support.n_points or area > _DENSE_UP_TO:
            blocks = []
            for at, columns in groups:
                values, log_scale[at] = _scaled(counts, rows[at], support.rank[columns])
                blocks.append(Band(at, columns, values))
            return Banded(blocks, (rows.size, support.n_points)), log_scale
    matrix = np.empty((rows.size, support.n_points))
    step = max(1, _BLOCK // support.n_points)
    for mine in _by_scheme(counts, rows):
        for start in range(0, mine.size, step):
            at = mine[start : start + step]
            matrix[at], log_scale[at] = _scaled(counts, rows[at], support.rank)
    return matrix, log_scale


def _by_scheme(counts: RankCounts, rows: IntArray) -> Iterator[IntArray]:
    """Places in ``rows`` of the outcomes of each scheme."""
    for code in range(len(counts.schemes)):
        mine = np.flatnonzero(counts.scheme[rows] == code)
        if mine.size:
            yield mine


def _groups(counts: RankCounts, rows: IntArray, support: Support) -> list[tuple[IntArray, slice]]:
    """Places in ``rows`` of outcomes of one scheme with about the same columns, and these."""
    found = []
    for mine in _by_scheme(counts, rows):
        at = rows[mine]
        first, last = bands(
            support.rank, counts.n_items[at], counts.sample_size[at], counts.sampled_rank[at]
        )
        last[counts.is_censored[at]] = support.n_points  # any rank behind those seen
        found += grouped(mine, first, last)
    return found


def _scaled(counts: RankCounts, at: IntArray, rank: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows of one scheme, each divided by its maximum, and the logs of these."""
    scheme = counts.schemes[counts.scheme[at[0]]]
    outcome = counts.n_items[at], counts.sample_size[at], counts.sampled_rank[at]
    block = schemes.log_outcome(scheme, rank, *outcome)
    top = block.max(axis=1)
    block -= top[:, None]
    np.exp(block, out=block)
    return block, top + schemes.log_ways(scheme, *outcome)
