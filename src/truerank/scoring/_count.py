"""Counting scores above and near a target's: the inner loops, in numpy or compiled by numba.

Both give the same numbers. Scores are of shape (n_users, n_items), C-ordered.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from truerank._types import FloatArray, IntArray
from truerank.scoring.factors import lane_dot

SWITCH = "TRUERANK_NUMBA"  # environment: 0 never uses numba, 1 always
_WORTH_NUMBA = 2**24  # scores, below which loading numba takes longer than counting without
_PAIRS = 2**16  # scored at a time
_WORDS = 128  # of eight counters of one byte each, added up at a time: fewer than 256


@dataclass(frozen=True)
class Bounds:
    """Scores of users' targets and bounds about them, in layers: the first of each user, then ...

    In layer k user r has target ``offset[k] + r``, if that is below ``offset[k + 1]``.
    A product within ``fixed + slope * |item|`` of the target's score may stand for a higher, an
    equal or a lower score; one without cannot.
    """

    offset: IntArray  # (n_layers + 1,)
    score: FloatArray  # by lane_dot, (n_targets,)
    slope: FloatArray  # (n_targets,)
    fixed: FloatArray  # (n_targets,)
    above: IntArray  # counted so far, (n_targets,)
    tied: IntArray  # (n_targets,)


# (scores, first item, vectors of these items, their largest norm): count a tile. Tiles come in the
# order of the catalogue and are written to.
Tally = Callable[[FloatArray, int, FloatArray, float], None]


class Kernels(Protocol):
    """What numpy and numba both offer."""

    def tile(self, catalogue: int, *, several: bool) -> tuple[int, int]:
        """Users and items of the tiles that they count fastest, by measurement."""

    def count(
        self, scores: FloatArray, target: FloatArray, above: IntArray, tied: IntArray
    ) -> None:
        """Add the scores of each row over its target's and equal to it, for the first rows."""

    def scores(
        self, users: FloatArray, rows: IntArray, items: FloatArray, targets: IntArray
    ) -> FloatArray:
        """The `lane_dot` of ``users[rows]`` and ``items[targets]``."""

    def tally(
        self,
        targets: Bounds,
        first_user: int,
        users: FloatArray,
        left_out: IntArray,
        begin: IntArray,
        end: IntArray,
        width: int,
    ) -> Tally:
        """What counts tiles of ``width`` items (the last may have fewer) for some of the users.

        These are ``first_user`` and those behind it, ``users`` their vectors and
        ``left_out[begin:end]`` the sorted items of each that do not count.
        """


class Numpy:
    """The kernels in plain numpy."""

    def __init__(self) -> None:
        self._local = threading.local()

    def tile(self, catalogue: int, *, several: bool) -> tuple[int, int]:
        return 256, 4096

    def count(
        self, scores: FloatArray, target: FloatArray, above: IntArray, tied: IntArray
    ) -> None:
        for compare, sums in ((np.greater, above), (np.equal, tied)):
            hit, _ = self._space(target.size, scores.shape[1])
            compare(scores[: target.size], target[:, None], out=hit[:, : scores.shape[1]])
            sums += _row_sums(hit)

    def scores(
        self, users: FloatArray, rows: IntArray, items: FloatArray, targets: IntArray
    ) -> FloatArray:
        return lane_dot(users[rows], items[targets])

    def tally(
        self,
        targets: Bounds,
        first_user: int,
        users: FloatArray,
        left_out: IntArray,
        begin: IntArray,
        end: IntArray,
        width: int,
    ) -> Tally:
        row, item, bound = _by_tile(left_out, begin, end, width)

        def count(scores: FloatArray, first: int, items: FloatArray, norm: float) -> None:
            tile = first // width
            if tile + 1 < bound.size:
                here = slice(bound[tile], bound[tile + 1])
                flat = row[here] * scores.shape[1] + (item[here] - first)
                scores.reshape(-1)[flat] = -np.inf
            for layer, end in itertools.pairwise((targets.offset + first_user).tolist()):
                at = slice(layer, min(layer + users.shape[0], end - first_user))
                if at.start < at.stop:
                    self._layer(targets, at, scores, users, items, norm)

        return count

    def _layer(
        self,
        targets: Bounds,
        at: slice,
        scores: FloatArray,
        users: FloatArray,
        items: FloatArray,
        norm: float,
    ) -> None:
        target, above, tied = targets.score[at], targets.above[at], targets.tied[at]
        doubt = targets.fixed[at] + targets.slope[at] * norm
        low, high = (bound.astype(target.dtype) for bound in (target - doubt, target + doubt))
        n_rows, width = target.size, scores.shape[1]
        over, reach = self._space(n_rows, width)
        np.greater(scores[:n_rows], high[:, None], out=over[:, :width])
        np.greater_equal(scores[:n_rows], low[:, None], out=reach[:, :width])
        n_over = _row_sums(over)
        near = _row_sums(reach) - n_over
        above += n_over
        tied += np.where(doubt == 0, near, 0)
        rows = np.flatnonzero((near > 0) & (doubt > 0))
        # As many rows at a time as hold _PAIRS doubtful scores.
        parts = np.flatnonzero(np.diff(np.cumsum(near[rows]) // _PAIRS)) + 1
        for some in np.split(rows, parts) if rows.size else ():
            row, column = _nonzero(over[some].view(np.uint64) ^ reach[some].view(np.uint64))
            row = some[row]
            score = lane_dot(users[row], items[column])
            above += np.bincount(row[score > target[row]], minlength=n_rows)
            tied += np.bincount(row[score == target[row]], minlength=n_rows)

    def _space(self, n_rows: int, width: int) -> tuple[npt.NDArray[np.bool_], ...]:
        """Two arrays for answers, this thread's own; columns from ``width`` on are False.

        Their rows do not touch: numpy then compares three times as fast.
        """
        width8 = width + -width % 8 + 8
        size = n_rows * width8
        if getattr(self._local, "size", 0) < size:
            self._local.size = size
            self._local.arrays = [np.empty(size, dtype=np.bool_) for _ in range(2)]
        arrays = tuple(array[:size].reshape(n_rows, width8) for array in self._local.arrays)
        for array in arrays:
            array[:, width:] = False
        return arrays


class Numba:
    """The kernels compiled: a few seconds the first time, from disk later."""

    def __init__(self) -> None:
        from truerank.scoring import _count_numba

        self.count = _count_numba.count
        self._tally = _count_numba.tally
        self._scores = _count_numba.scores

    def tile(self, catalogue: int, *, several: bool) -> tuple[int, int]:
        if several:  # what is done for each target of a row is done less often for wide ones
            return (256, 4096) if catalogue <= 8192 else (512, 2048)
        return (512, 4096) if catalogue <= 8192 else (1024, 1024)

    def scores(
        self, users: FloatArray, rows: IntArray, items: FloatArray, targets: IntArray
    ) -> FloatArray:
        result = np.empty(rows.size, dtype=users.dtype)
        self._scores(users, rows, items, targets, result)
        return result

    def tally(
        self,
        targets: Bounds,
        first_user: int,
        users: FloatArray,
        left_out: IntArray,
        begin: IntArray,
        end: IntArray,
        width: int,
    ) -> Tally:
        at = begin.copy()

        def count(scores: FloatArray, first: int, items: FloatArray, norm: float) -> None:
            self._tally(
                scores,
                first,
                norm,
                first_user,
                users,
                items,
                left_out,
                at,
                end,
                targets.offset,
                targets.score,
                targets.slope,
                targets.fixed,
                targets.above,
                targets.tied,
            )

        return count


def kernels(n_scores: int) -> Kernels:
    """The fastest kernels at hand to count ``n_scores`` scores."""
    wish = os.environ.get(SWITCH, "")
    if wish == "0":
        return Numpy()
    if wish != "1" and n_scores < _WORTH_NUMBA and "numba" not in sys.modules:
        return Numpy()
    return _compiled() or Numpy()


@functools.cache
def _compiled() -> Numba | None:
    try:
        return Numba()
    except ImportError:  # not installed, or not made for this numpy
        return None


def _row_sums(hit: npt.NDArray[np.bool_]) -> IntArray:
    """How many of each row are True; rows are of whole words, eight bytes added as one."""
    words = hit.view(np.uint64)
    sums = np.add.reduceat(words, np.arange(0, words.shape[1], _WORDS), axis=1)
    return np.asarray(np.add.reduce(sums.view(np.uint8), axis=1, dtype=np.int64))


def _nonzero(words: npt.NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
    """Rows and columns of the few bytes that are not 0."""
    row, word = np.divmod(np.flatnonzero(words != 0), words.shape[1])
    at, byte = np.nonzero(words[row, word].view(np.bool_).reshape(-1, 8))
    return row[at], word[at] * 8 + byte


def _by_tile(
    left_out: IntArray, begin: IntArray, end: IntArray, width: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Row and item of all left-out items, tile by tile; tile t has ``bound[t]:bound[t + 1]``."""
    length = end - begin
    row = np.repeat(np.arange(begin.size), length)
    offset = np.arange(row.size) + np.repeat(begin - np.cumsum(length) + length, length)
    item = left_out[offset]
    if item.max(initial=0) < width:
        return row, item, np.array([0, row.size])
    tile = item // width
    bound = np.concatenate([[0], np.cumsum(np.bincount(tile))])
    # Small integers are sorted by radix.
    order = np.argsort(tile.astype(np.min_scalar_type(bound.size)), kind="stable")
    return row[order], item[order], bound
