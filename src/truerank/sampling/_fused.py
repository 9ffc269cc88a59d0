"""Sampling for factors and score matrices in compiled code: draw, score and count in one pass."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank._types import IntArray
from truerank.designs.climb import climb, shared_pairs
from truerank.errors import InputError
from truerank.sampling._drawing import Drawing, Ranked
from truerank.scoring._count import SWITCH
from truerank.scoring.dense import Dense
from truerank.scoring.factors import Factors
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task

_WORTH_NUMBA = 2**20  # pairs, below which loading numba takes longer than sampling without
_PAIRS = 2**17  # of one call

Matrices = tuple[npt.NDArray[Any], npt.NDArray[Any], bool]


def matrices(scorer: Scorer, n_pairs: int) -> Matrices | None:
    """What the kernels need of a scorer: (users, items, dense); None if they are not for it."""
    wish = os.environ.get(SWITCH, "")
    if wish == "0" or (wish != "1" and n_pairs < _WORTH_NUMBA and "numba" not in sys.modules):
        return None
    found: Matrices
    if not scorer.is_matrix:
        return None
    if isinstance(scorer, Factors):
        found = scorer.user_factors, scorer.item_factors, False
    elif isinstance(scorer, Dense):
        scores = np.asarray(scorer.scores)
        found = scores, scores[:0], True
    else:
        return None
    native = all(array.dtype in (np.float32, np.float64) for array in found[:2])
    return found if native and _kernels() is not None else None


class Fused:
    """Draws negatives for the rows of a task in compiled code, as `_batched.Batched` does.

    Attributes
    ----------
    tied
        Negatives of the target's score, (n_rows,).
    """

    def __init__(self, found: Matrices, scorer: Scorer, task: Task, drawing: Drawing) -> None:
        self._found, self._scorer, self._task, self._drawing = found, scorer, task, drawing
        self.above, self.tied = np.zeros((2, task.n_rows), dtype=np.int64)
        self.size = np.ones(task.n_rows, dtype=np.int64)
        self._bad = np.zeros(task.n_rows, dtype=np.bool_)
        # What a user leaves out, once for all levels.
        self._left_out = task.start[task.group], task.start[task.group + 1], task.left_out
        self._rooms = _Rooms(self._room)

    def draw(self, rows: IntArray, before: IntArray, goal: IntArray) -> IntArray:
        """Take rows from samples of ``before``, equal for all, to ``goal``; the new hits."""
        self.size[rows] = before
        known = self.above[rows]
        self.climb(rows, (int(goal.max()),), (), lambda n_rows: None)
        return np.asarray(self.above[rows] - known)

    def climb(
        self,
        rows: IntArray,
        ladder: tuple[int, ...],
        thresholds: tuple[int, ...],
        advance: Callable[[int], None],
    ) -> None:
        """Take rows up a ladder from where they are; no row waits for the others."""
        sizes = np.array(ladder, dtype=np.int64)
        hits = np.array([*thresholds, 1], dtype=np.int64)  # nobody goes on from the last size

        def run(part: IntArray) -> int:
            task, drawing = self._task, self._drawing
            space = self._rooms.take()
            _kernels().per_row(
                *self._found, part, task.user, task.target, drawing.keys, drawing.tie_keys,
                *self._left_out, task.n_items, sizes, hits, drawing.scheme.replacement,
                drawing.ties, task.catalogue, *space, self.above, self.tied, self.size, self._bad,
            )  # fmt: skip
            self._rooms.give_back(space)
            return int(part.size)

        step = max(1, _PAIRS // ladder[0])
        _threads(run, [rows[at : at + step] for at in range(0, rows.size, step)], advance)
        _check(self._bad, self._scorer, self._task)

    def _room(self) -> tuple[Any, ...]:
        shuffled = 0 if self._drawing.scheme.replacement else self._task.catalogue
        return (
            np.arange(shuffled, dtype=np.int32),  # place
            np.empty(shuffled + _kernels().WAIT, dtype=np.int32),  # swaps
            np.zeros(self._task.catalogue, dtype=np.uint8),  # mark
        )


def sample(
    found: Matrices, scorer: Scorer, task: Task, drawing: Drawing, advance: Callable[[int], None]
) -> Ranked:
    """Each row on its own stream, in compiled code."""
    sampler, scheme = Fused(found, scorer, task, drawing), drawing.scheme
    if drawing.total is None:  # no row waits for the others
        sampler.climb(np.arange(task.n_rows), scheme.ladder, scheme.thresholds, advance)
    else:
        scheme, _, _ = climb(
            scheme, task.n_items, sampler.draw, user=task.group if task.several else None,
            total=drawing.total, advance=advance,
        )  # fmt: skip
    above, tied, size = sampler.above, sampler.tied, sampler.size
    return Ranked(above, tied, size, shared_pairs(task.group, size), scheme, drawing.breaks_ties)


def sample_shared(
    found: Matrices, scorer: Scorer, task: Task, drawing: Drawing, advance: Callable[[int], None]
) -> Ranked:
    """Factors, a fixed size, streams shared by many rows: a small matrix product each."""
    kernels = _kernels()
    users, items, _ = found
    n_negatives = drawing.scheme.ladder[0] - 1
    # Some more than needed: rows skip what is left out of their pools.
    n_pieces = -(-(n_negatives + n_negatives // 8 + 32) // kernels.PIECE)
    n_drawn = n_pieces * kernels.PIECE

    def room() -> tuple[Any, ...]:
        return (
            np.arange(task.catalogue, dtype=np.int32),  # place
            np.zeros(task.catalogue // 8 + 1, dtype=np.uint8),  # mark
            np.zeros(task.catalogue, dtype=np.int32),  # first_at
            np.empty(n_drawn, dtype=np.int32),  # candidate
            np.empty(n_drawn, dtype=np.int32),  # again
            np.zeros((n_pieces, items.shape[1], kernels.PIECE), dtype=items.dtype),  # columns
            np.empty(n_drawn, dtype=np.int32),  # barred
            np.empty(n_pieces, dtype=np.int64),  # free
        )

    rooms = _Rooms(room)
    # By their upper bits only, which is fast: should two blocks mix, each comes in several parts.
    order = np.argsort((drawing.keys >> np.uint64(48)).astype(np.uint16), kind="stable")
    keys = drawing.keys[order]
    cuts = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1, [order.size]])
    group = task.group[order]
    by_row = (
        task.user[order],
        task.target[order],
        drawing.tie_keys[order],
        task.start[group],
        task.start[group + 1],
    )
    above, tied = np.zeros((2, task.n_rows), dtype=np.int64)
    short = np.zeros(task.n_rows, dtype=np.bool_)

    def run(blocks: slice) -> int:
        space = rooms.take()
        here = cuts[blocks.start : blocks.stop + 1]
        kernels.shared(
            users, items, here, keys[here[:-1]], *by_row, task.left_out, n_negatives,
            drawing.scheme.replacement, drawing.ties, *space, above, tied, short,
        )  # fmt: skip
        rooms.give_back(space)
        return int(here[-1] - here[0])

    n_blocks = cuts.size - 1
    step = max(1, _PAIRS * n_blocks // (task.n_rows * (n_negatives + 1)))
    _threads(run, [slice(at, at + step) for at in range(0, n_blocks, step)], advance)
    back = np.empty_like(order)
    back[order] = np.arange(order.size)
    above, tied, short = above[back], tied[back], short[back]
    size = np.full(task.n_rows, n_negatives + 1)
    if short.any():  # few users, with most of the catalogue left out
        rest = Fused(found, scorer, task, drawing)
        rest.above, rest.tied, rest.size[~short] = above, tied, size[~short]
        rest.climb(np.flatnonzero(short), drawing.scheme.ladder, (), lambda n_rows: None)
    n_pairs = shared_pairs(task.group, size)
    return Ranked(above, tied, size, n_pairs, drawing.scheme, drawing.breaks_ties)


def given(
    found: Matrices,
    scorer: Scorer,
    task: Task,
    start: IntArray,
    negatives: IntArray,
    drawing: Drawing,
    advance: Callable[[int], None],
) -> Ranked:
    """Rank each row's target among negatives[start[row]:start[row + 1]]."""
    kernels = _kernels()
    above, tied = np.zeros((2, task.n_rows), dtype=np.int64)
    bad = np.zeros(task.n_rows, dtype=np.bool_)
    size = np.diff(start) + 1

    def run(rows: IntArray) -> int:
        kernels.given(
            *found, rows, task.user, task.target, drawing.tie_keys, start[:-1], start[1:],
            negatives, drawing.ties, above, tied, bad,
        )  # fmt: skip
        return int(rows.size)

    step = max(1, _PAIRS // int(size.mean()))
    rows = np.arange(task.n_rows)
    _threads(run, [rows[at : at + step] for at in range(0, rows.size, step)], advance)
    _check(bad, scorer, task)
    return Ranked(above, tied, size, int(size.sum()), drawing.scheme, drawing.breaks_ties)


class _Rooms:
    """Room to work in for each thread, made when first needed, kept for its next call."""

    def __init__(self, make: Callable[[], tuple[Any, ...]]) -> None:
        self._make = make
        self._free: list[tuple[Any, ...]] = []

    def take(self) -> tuple[Any, ...]:
        try:
            return self._free.pop()
        except IndexError:
            return self._make()

    def give_back(self, space: tuple[Any, ...]) -> None:
        self._free.append(space)


def _threads(
    run: Callable[[Any], int], parts: Iterable[Any], advance: Callable[[int], None]
) -> None:
    """Run all parts, on as many threads as numba would use."""
    work = list(parts)
    n_threads = min(_n_threads(), len(work))
    if n_threads == 1:
        for part in work:
            advance(run(part))
        return
    with ThreadPoolExecutor(n_threads) as pool:
        for n_rows in pool.map(run, work):
            advance(n_rows)


def _n_threads() -> int:
    import numba

    return int(numba.get_num_threads())


def _check(bad: npt.NDArray[np.bool_], scorer: Scorer, task: Task) -> None:
    if bad.any():
        raise InputError(
            f"{int(bad.sum())} rows of the test (the first: user "
            f"{task.user_id[int(np.argmax(bad))]}) have scores that are NaN or infinite; such "
            "scores cannot be ranked"
        )


@functools.cache
def _kernels() -> Any:
    """The compiled kernels; None without numba."""
    try:
        from truerank.sampling import _fused_numba
    except ImportError:  # not installed, or not made for this numpy
        return None
    return _fused_numba
