"""Exact counts for factors: products in tiles that stay in cache, counted as they come.

A matrix product is fast, but its last bits depend on where in the matrix a pair stands, on the
number of rows, on the library and the machine. So the product only decides where it can: with
the bound on its rounding error it tells surely higher from surely lower scores. The few pairs
in between are scored again by `lane_dot`, whose order of summation is fixed. The counts are those
of the `lane_dot` scores, whatever made the products, and equal items tie exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _blas
from truerank._types import FloatArray, IntArray
from truerank.scoring._blocks import Block, Blocks
from truerank.scoring._count import Bounds, Kernels, Tally, kernels
from truerank.scoring.factors import LANES, Factors, row_norms
from truerank.scoring.task import Task

_TOGETHER = 2048  # users prepared at once, before products drive all else from the caches


def count(scorer: Factors, task: Task, advance: Callable[[int], None]) -> tuple[IntArray, IntArray]:
    """Pool items that score above each target, and those that tie with it, (n_rows,) each."""
    with _blas.one_thread() as workers:
        # Portions of users, as many for every worker.
        rounds = -(-task.n_users // (_TOGETHER * workers))
        size = -(-task.n_users // (rounds * workers))
        portions = [slice(i, i + size) for i in range(0, task.n_users, size)]
        ranker = _Ranker(scorer, task, kernels(task.n_users * task.catalogue))
        if workers == 1:
            for n_rows in map(ranker, portions):
                advance(n_rows)
        else:
            with ThreadPoolExecutor(min(workers, len(portions))) as pool:
                for n_rows in pool.map(ranker, portions):
                    advance(n_rows)
    return ranker.above, ranker.tied


def tile(kernels: Kernels, task: Task) -> tuple[int, int]:
    """Users and items of the largest tile."""
    return kernels.tile(task.catalogue, several=task.several)


class _Ranker:
    """Counts for a portion of the users; may be called by several threads at once."""

    def __init__(self, scorer: Factors, task: Task, kernels: Kernels) -> None:
        self._users = scorer.user_factors
        self._items = scorer.item_factors
        self._task = task
        self._blocks = Blocks(task)
        self._kernels = kernels
        self._n_users, self._n_items = tile(kernels, task)
        self._spare: list[npt.NDArray[Any]] = []  # tiles not in use
        self._norm = [
            float(row_norms(self._items[first : first + self._n_items]).max())
            for first in range(0, task.catalogue, self._n_items)
        ]
        self.above = np.zeros(task.n_rows, dtype=np.int64)
        self.tied = np.zeros(task.n_rows, dtype=np.int64)

    def __call__(self, portion: slice) -> int:
        block = self._blocks[portion]
        n_users = block.user.size
        vectors = _rows(self._users, block.user)
        targets = bounds(self._items, self._task, block, vectors, self._kernels)
        begin, end = self._task.start[block.group], self._task.start[block.group + 1]
        largest = self._n_users * self._n_items
        space = self._spare.pop() if self._spare else np.empty(largest, vectors.dtype)
        step = -(-n_users // -(-n_users // self._n_users))
        for first in range(0, n_users, step):
            at = slice(first, first + step)
            tally = self._kernels.tally(
                targets, first, vectors[at], self._task.left_out, begin[at], end[at], self._n_items
            )
            with np.errstate(all="ignore"):  # some libraries raise flags without cause
                self._rank(vectors[at], tally, space)
        self._spare.append(space)
        self.above[block.row], self.tied[block.row] = targets.above, targets.tied
        return int(block.row.size)

    def _rank(self, vectors: FloatArray, tally: Tally, space: npt.NDArray[Any]) -> None:
        """Count the whole catalogue for these users, tile by tile."""
        for at, first in enumerate(range(0, self._task.catalogue, self._n_items)):
            items = self._items[first : first + self._n_items]
            scores = space[: vectors.shape[0] * items.shape[0]].reshape(-1, items.shape[0])
            np.matmul(vectors, items.T, out=scores)
            tally(scores, first, items, self._norm[at])


def bounds(
    items: FloatArray, task: Task, block: Block, vectors: FloatArray, kernels: Kernels
) -> Bounds:
    """The scores of a block's targets, and how far products may be off."""
    norm = row_norms(vectors).astype(np.float64)[block.place]
    score = kernels.scores(vectors, block.place, items, task.target[block.row])
    # |product - lane_dot| <= slope * |item|: up to d roundings there, d / LANES + log2(LANES)
    # + 1 here, each of half an epsilon of at most |user| |item|, and some room for those of
    # the bounds themselves. fixed: to round score +- doubt, and for underflow.
    info = np.finfo(vectors.dtype)
    width = vectors.shape[1]
    slope = norm * (1.05 * (width + width / LANES + 8) * 0.5 * float(info.eps))
    fixed = np.abs(score).astype(np.float64) * float(info.eps) + 4 * width * float(info.tiny)
    fixed[norm == 0] = 0  # the scores of a user of zeros are 0 without doubt
    above, tied = np.zeros((2, block.row.size), dtype=np.int64)
    return Bounds(block.offset, score, slope, fixed, above, tied)


def _rows(array: npt.NDArray[Any], index: IntArray) -> npt.NDArray[Any]:
    """``array[index]``, without a copy where rows follow each other."""
    if (np.diff(index) == 1).all():
        return array[index[0] : index[0] + index.size]
    return np.asarray(array[index])
