"""Sampling for any scorer: draws in numpy, scores in large batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from truerank import designs
from truerank._types import IntArray
from truerank.rng import Keys
from truerank.sampling import _tie_modes, streams
from truerank.sampling._design import Design, Sampled
from truerank.scoring.scorer import Scorer, checked
from truerank.scoring.task import Task

_PAIRS = 2**18  # asked for in one call


def sample(scorer: Scorer, task: Task, design: Design, advance: Callable[[int], None]) -> Sampled:
    """Stage by stage for all rows that go on, so that the calls stay large."""
    tied, n_scored = np.zeros((2, task.n_rows), dtype=np.int64)

    def draw(going_on: IntArray, before: IntArray, goal: IntArray) -> IntArray:
        reached = int(before[0])  # by all that go on
        hits = np.zeros(going_on.size, dtype=np.int64)
        for part in _batches(np.arange(going_on.size), goal - before):
            rows, n_new = going_on[part], goal[part] - reached
            items = streams.negatives(
                task,
                rows,
                design.keys[rows],
                reached - 1,
                goal[part] - 1,
                replacement=design.scheme.replacement,
            )
            hits[part], tied[rows] = _count(
                scorer, task, rows, items, n_new, design.ties, design.tie_keys[rows]
            )
            n_scored[rows] += n_new + 1
        return hits

    scheme, above, size = designs.climb(
        design.scheme, task.n_items, draw, budget=design.budget, advance=advance
    )
    return Sampled(above, tied, size, n_scored, scheme)


def given(
    scorer: Scorer,
    task: Task,
    start: IntArray,
    negatives: IntArray,
    ties: int,
    tie_keys: Keys,
    advance: Callable[[int], None],
) -> Sampled:
    """Rank each row's target among negatives[start[row]:start[row + 1]]."""
    above, tied = np.zeros((2, task.n_rows), dtype=np.int64)
    length = np.diff(start)
    for rows in _batches(np.arange(task.n_rows), length):
        items = np.repeat(task.target[rows][:, None], length[rows].max(), axis=1)
        filled = np.arange(items.shape[1]) < length[rows, None]
        place = start[rows, None] + np.arange(items.shape[1])
        items[filled] = negatives[place[filled]]
        above[rows], tied[rows] = _count(
            scorer, task, rows, items, length[rows], ties, tie_keys[rows]
        )
        advance(rows.size)
    return Sampled(above, tied, length + 1, length + 1)


def _batches(rows: IntArray, length: IntArray) -> Iterator[IntArray]:
    """Rows in batches of about _PAIRS negatives, those of similar length together."""
    if rows.size and np.ptp(length[rows]):
        rows = rows[np.argsort(-length[rows], kind="stable")]
    begin = 0
    while begin < rows.size:
        n_rows = max(1, _PAIRS // (int(length[rows[begin]]) + 1))
        yield rows[begin : begin + n_rows]
        begin += n_rows


def _count(
    scorer: Scorer,
    task: Task,
    rows: IntArray,
    items: IntArray,
    length: IntArray,
    ties: int,
    tie_keys: Keys,
) -> tuple[IntArray, IntArray]:
    """Items above and tied with the target, of the first ``length`` of each row's items."""
    target = task.target[rows]
    # The target is scored together with the items: another call might round otherwise.
    asked = np.concatenate([target[:, None], items], axis=1)
    scores = checked(scorer.score(task.user[rows], asked), asked.shape, type(scorer).__name__)
    real = np.arange(items.shape[1]) < length[:, None]
    over = (scores[:, 1:] > scores[:, :1]) & real
    same = (scores[:, 1:] == scores[:, :1]) & real
    if ties == _tie_modes.COUNT:
        return over.sum(axis=1), same.sum(axis=1)
    over |= _tie_modes.goes_above(same, ties, tie_keys, items, target)
    return over.sum(axis=1), np.zeros(rows.size, dtype=np.int64)
