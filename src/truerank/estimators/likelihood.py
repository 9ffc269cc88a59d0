"""P(outcome | global rank) for every outcome of a table, as a matrix over a support.

This is where counts and support meet: what every estimator of a rank distribution works with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.estimators.support import Support, SupportLike, compressed, full
from truerank.metrics import Metric
from truerank.outcomes import schemes
from truerank.outcomes.counts import RankCounts

# Entries built at a time, and above how many the matrix is kept sparse (row maximum is 1).
_BLOCK = 2**20
_SPARSE_ABOVE = 2**24
_SPARSE_CUT = 1e-30


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
        return full(largest)
    if support != "auto":
        raise InputError(f"support is {support!r}; it must be 'auto', 'full' or a Support")
    edges = [metric.k for metric in metrics if metric.k is not None]
    pools = np.unique(counts.n_items)
    if pools.size <= 8:  # a few pools: let none end inside a cell
        edges += pools.tolist()
    return compressed(largest, sharpness=_sharpness(counts), edges=edges)


def _sharpness(counts: RankCounts) -> float:
    """theta (1 - theta) / variance of (r-1)/(n-1), at the sharpest outcome not exact."""
    sampled = ~counts.is_exact
    if not sampled.any():
        return 1.0
    size = counts.sample_size[sampled].astype(np.float64)
    pool = counts.n_items[sampled].astype(np.float64)
    with_replacement = np.array([scheme.replacement for scheme in counts.schemes])
    left = np.where(
        with_replacement[counts.scheme[sampled]], 1.0, (pool - size) / np.maximum(pool - 2.0, 1.0)
    )
    # The same cells serve all pools, laid out for the largest one.
    return float(np.max(size / np.maximum(left, 1e-12) * (counts.n_items.max() / pool)))


@dataclass(frozen=True)
class Likelihood:
    """Sampled outcomes against support points, and exact ranks apart.

    ``matrix`` (n_outcomes, n_points), dense or scipy CSR, holds P(outcome | rank) with each row
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

    @property
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
    step = max(1, _SPARSE_ABOVE // support.n_points)
    for first in range(0, counts.n_outcomes, step):
        rows = slice(first, min(first + step, counts.n_outcomes))
        at = np.zeros(counts.n_outcomes, dtype=np.bool_)
        at[rows] = True
        part = counts.select(at)
        assert part is not None
        yield rows, likelihood(part, support)


def _matrix(counts: RankCounts, rows: IntArray, support: Support) -> tuple[Any, FloatArray]:
    """P(outcome | rank) of some rows of ``counts``, scaled, and the logs of the scales."""
    parts = list(_blocks(counts, rows, support))
    log_scale = np.concatenate([scale for _, scale in parts]) if parts else np.empty(0)
    if rows.size * support.n_points > _SPARSE_ABOVE:
        from scipy.sparse import vstack

        return vstack([block for block, _ in parts], format="csr"), log_scale
    blocks = [block for block, _ in parts] or [np.empty((0, support.n_points))]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks), log_scale


def _blocks(
    counts: RankCounts, rows: IntArray, support: Support
) -> Iterator[tuple[Any, FloatArray]]:
    """Scaled rows and their log scales, block by block, each of one scheme (rows are sorted)."""
    sparse = rows.size * support.n_points > _SPARSE_ABOVE
    step = max(1, _BLOCK // support.n_points)
    for code, scheme in enumerate(counts.schemes):
        mine = rows[counts.scheme[rows] == code]
        for start in range(0, mine.size, step):
            at = mine[start : start + step]
            outcome = counts.n_items[at], counts.sample_size[at], counts.sampled_rank[at]
            block = schemes.log_sequence(scheme.replacement, support.rank, *outcome)
            top = block.max(axis=1)
            block -= top[:, None]
            np.exp(block, out=block)
            if sparse:
                from scipy.sparse import csr_array

                block[block < _SPARSE_CUT] = 0.0
                yield csr_array(block), top + schemes.log_ways(scheme, *outcome)
            else:
                yield block, top + schemes.log_ways(scheme, *outcome)
