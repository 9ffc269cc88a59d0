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

from truerank import designs
from truerank._types import IntArray
from truerank.errors import InputError
from truerank.rng import Keys
from truerank.sampling._design import Design, Sampled
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
    # What overrides `score` is no longer what its fields say.
    if isinstance(scorer, Factors) and type(scorer).score is Factors.score:
        found = scorer.user_factors, scorer.item_factors, False
    elif isinstance(scorer, Dense) and type(scorer).score is Dense.score:
        scores = np.asarray(scorer.scores)
        found = scores, scores[:0], True
    else:
        return None
    native = all(array.dtype in (np.float32, np.float64) for array in found[:2])
    return found if native and _kernels() is not None else None


def sample(
    found: Matrices, scorer: Scorer, task: Task, design: Design, advance: Callable[[int], None]
) -> Sampled:
    """Each row on its own stream, in compiled code."""
    above, tied = np.zeros((2, task.n_rows), dtype=np.int64)
    size = np.ones(task.n_rows, dtype=np.int64)
    bad = np.zeros(task.n_rows, dtype=np.bool_)

    def draw(rows: IntArray, ladder: tuple[int, ...], done: Callable[[int], None]) -> None:
        run = _per_row(found, task, design, ladder, thresholds, above, tied, size, bad)
        step = max(1, _PAIRS // ladder[0])
        _threads(run, [rows[at : at + step] for at in range(0, rows.size, step)], done)
        _check(bad, scorer, task)

    scheme = design.scheme
    thresholds = scheme.thresholds
    if design.budget is None:  # no row waits for the others
        draw(np.arange(task.n_rows), scheme.ladder, advance)
        return Sampled(above, tied, size, size, scheme)

    def level(rows: IntArray, before: IntArray, goal: IntArray) -> IntArray:
        known = above[rows]
        draw(rows, (int(goal.max()),), lambda n_rows: None)
        return np.asarray(above[rows] - known)

    scheme, _, _ = designs.climb(scheme, task.n_items, level, budget=design.budget, advance=advance)
    return Sampled(above, tied, size, size, scheme)


def sample_shared(
    found: Matrices, scorer: Scorer, task: Task, design: Design, advance: Callable[[int], None]
) -> Sampled:
    """Factors, a fixed size, streams shared by many rows: a small matrix product each."""
    kernels = _kernels()
    users, items, _ = found
    n_negatives = design.scheme.ladder[0] - 1
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
    order = np.argsort((design.keys >> np.uint64(48)).astype(np.uint16), kind="stable")
    keys = design.keys[order]
    cuts = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1, [order.size]])
    group = task.group[order]
    by_row = (
        task.user[order],
        task.target[order],
        design.tie_keys[order],
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
            design.scheme.replacement, design.ties, *space, above, tied, short,
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
        bad = np.zeros(task.n_rows, dtype=np.bool_)
        size[short] = 1
        run_one = _per_row(found, task, design, design.scheme.ladder, (), above, tied, size, bad)
        run_one(np.flatnonzero(short))
    return Sampled(above, tied, size, size, design.scheme)


def given(
    found: Matrices,
    scorer: Scorer,
    task: Task,
    start: IntArray,
    negatives: IntArray,
    ties: int,
    tie_keys: Keys,
    advance: Callable[[int], None],
) -> Sampled:
    """Rank each row's target among negatives[start[row]:start[row + 1]]."""
    kernels = _kernels()
    above, tied = np.zeros((2, task.n_rows), dtype=np.int64)
    bad = np.zeros(task.n_rows, dtype=np.bool_)
    size = np.diff(start) + 1

    def run(rows: IntArray) -> int:
        kernels.given(
            *found, rows, task.user, task.target, tie_keys, start[:-1], start[1:], negatives, ties,
            above, tied, bad,
        )  # fmt: skip
        return int(rows.size)

    step = max(1, _PAIRS // int(size.mean()))
    rows = np.arange(task.n_rows)
    _threads(run, [rows[at : at + step] for at in range(0, rows.size, step)], advance)
    _check(bad, scorer, task)
    return Sampled(above, tied, size, size)


def _per_row(
    found: Matrices,
    task: Task,
    design: Design,
    sizes: tuple[int, ...],
    thresholds: tuple[int, ...],
    above: IntArray,
    tied: IntArray,
    size: IntArray,
    bad: npt.NDArray[np.bool_],
) -> Callable[[IntArray], int]:
    """A function that takes some rows up ``sizes``, from where they are, and says how many."""
    kernels = _kernels()
    begin, end = task.start[task.group], task.start[task.group + 1]
    ladder = np.array(sizes, dtype=np.int64)
    hits = np.array([*thresholds, 1], dtype=np.int64)  # nobody goes on from the last size

    def room() -> tuple[Any, ...]:
        shuffled = 0 if design.scheme.replacement else task.catalogue
        return (
            np.arange(shuffled, dtype=np.int32),  # place
            np.empty(shuffled + kernels.WAIT, dtype=np.int32),  # swaps
            np.zeros(task.catalogue, dtype=np.uint8),  # mark
        )

    rooms = _Rooms(room)

    def run(rows: IntArray) -> int:
        space = rooms.take()
        kernels.per_row(
            *found, rows, task.user, task.target, design.keys, design.tie_keys, begin, end,
            task.left_out, task.n_items, ladder, hits, design.scheme.replacement,
            design.ties, task.catalogue, *space, above, tied, size, bad,
        )  # fmt: skip
        rooms.give_back(space)
        return int(rows.size)

    return run


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
