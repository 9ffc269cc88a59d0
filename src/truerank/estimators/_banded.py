"""A likelihood whose outcomes tell ranks apart: 0 but near the ranks that give each of them.

P(outcome | R) of n draws with share p above the target is at most exp(-n KL(p, q)) of its maximum,
q = (R - 1) / (N - 1), and KL(p, q) >= d^2, d the distance of arcsin sqrt p and arcsin sqrt q (the
Bhattacharyya bound). Beyond d = sqrt(-log CUT / n) an entry is below CUT and left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank._types import FloatArray, IntArray

CUT = 1e-30  # of the maximum of a row: what is below counts as 0


@dataclass(frozen=True)
class Band:
    """Some rows of a matrix on a run of columns."""

    rows: IntArray
    columns: slice
    values: FloatArray


class Banded:
    """A matrix in dense blocks, 0 elsewhere. It multiplies from both sides as an array does."""

    __array_ufunc__ = None  # arrays leave products with it to it

    def __init__(self, blocks: list[Band], shape: tuple[int, int]) -> None:
        self.blocks, self.shape = blocks, shape

    def __matmul__(self, other: FloatArray) -> FloatArray:
        found = np.zeros((self.shape[0], *other.shape[1:]))
        for block in self.blocks:
            found[block.rows] = block.values @ other[block.columns]
        return found

    def __rmatmul__(self, other: FloatArray) -> FloatArray:
        found = np.zeros((*other.shape[:-1], self.shape[1]))
        for block in self.blocks:
            found[..., block.columns] += other[..., block.rows] @ block.values
        return found

    def __getitem__(self, key: Any) -> FloatArray:
        """Some rows, or all rows of some columns, as an array."""
        if isinstance(key, tuple):
            return self._dense(np.arange(self.shape[0]), key[1])
        return self._dense(np.arange(self.shape[0])[key], slice(None))

    @property
    def T(self) -> _Turned:
        """Its transpose, to multiply with."""
        return _Turned(self)

    def toarray(self) -> FloatArray:
        """The whole of it."""
        return self[:]

    def _dense(self, rows: IntArray, columns: slice) -> FloatArray:
        begin, end, _ = columns.indices(self.shape[1])
        place = np.full(self.shape[0], -1)
        place[rows] = np.arange(rows.size)
        found = np.zeros((rows.size, max(end - begin, 0)))
        for block in self.blocks:
            low, high = max(begin, block.columns.start), min(end, block.columns.stop)
            mine = np.flatnonzero(place[block.rows] >= 0)
            if low < high and mine.size:
                part = block.values[mine, low - block.columns.start : high - block.columns.start]
                found[place[block.rows[mine]], low - begin : high - begin] = part
        return found


@dataclass(frozen=True)
class _Turned:
    """The transpose of a matrix in blocks."""

    matrix: Banded

    def __matmul__(self, other: FloatArray) -> FloatArray:
        return (other.T @ self.matrix).T


def reach(
    n_items: IntArray, sample_size: IntArray, sampled_rank: IntArray, cut: float
) -> tuple[FloatArray, FloatArray]:
    """First and last global rank at which each outcome may have ``cut`` of its largest chance."""
    draws = sample_size - 1.0
    angle = np.arcsin(np.sqrt((sampled_rank - 1.0) / draws))
    apart = np.sqrt(-np.log(cut) / draws)
    others = n_items - 1.0
    low = 1.0 + others * np.sin(np.maximum(angle - apart, 0.0)) ** 2
    high = 1.0 + others * np.sin(np.minimum(angle + apart, np.pi / 2.0)) ** 2
    return low, high


def bands(
    rank: FloatArray, n_items: IntArray, sample_size: IntArray, sampled_rank: IntArray
) -> tuple[IntArray, IntArray]:
    """First and last column (exclusive) of each outcome on a support of ranks, at least one."""
    low, high = reach(n_items, sample_size, sampled_rank, CUT)
    # A point more on either side: the maximum itself may lie between two.
    first = np.searchsorted(rank, low) - 1
    last = np.searchsorted(rank, high, side="right") + 1
    return np.maximum(first, 0), np.minimum(last, rank.size)


def grouped(rows: IntArray, first: IntArray, last: IntArray) -> list[tuple[IntArray, slice]]:
    """Rows with about the same columns, and the columns of each group."""
    width = np.log2(last - first).round()
    order = np.lexsort((first, width))
    step = int(np.clip(rows.size // 256, 16, 512))
    found = []
    for begin in range(0, rows.size, step):
        at = order[begin : begin + step]
        found.append((rows[at], slice(int(first[at].min()), int(last[at].max()))))
    return found
