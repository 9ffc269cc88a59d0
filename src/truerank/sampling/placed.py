"""Where a model puts every drawn negative: kept, so that a later model meets the same ones.

`joint` compares models that are all there at once. A model in training is not: what its best epoch
said of each negative is kept in one byte, and the next epoch is compared with that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truerank._types import IntArray
from truerank.designs import Design, Exact
from truerank.sampling import joint
from truerank.sampling._drawing import Ranked
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task

_PAIRS = 2**18  # scored at a time
_CELLS = 2**22  # compared at a time


@dataclass(frozen=True)
class Placed:
    """Where the negatives of each test row stand, in the order in which they were drawn.

    Attributes
    ----------
    start
        Row r has the places ``start[r]`` to ``start[r + 1]``; shape (n_rows + 1,).
    place
        0 above the target, 1 tied with it, 2 below; int8, shape (start[-1],).
    """

    start: IntArray
    place: npt.NDArray[np.int8]

    def joint(self, other: Placed) -> IntArray:
        """Negatives of the smaller sample by where both put them, shape (n_rows, 3, 3)."""
        common = np.minimum(np.diff(self.start), np.diff(other.start))
        found = np.empty((common.size, 9), dtype=np.int64)
        step = max(1, _CELLS // max(1, int(common.max(initial=1))))
        for begin in range(0, common.size, step):
            length = common[begin : begin + step]
            row = np.repeat(np.arange(length.size), length)
            number = np.arange(row.size) - np.repeat(np.cumsum(length) - length, length)
            one, two = (
                each.place[np.repeat(each.start[begin : begin + length.size], length) + number]
                for each in (self, other)
            )
            cell = 9 * row + 3 * one.astype(np.int64) + two
            found[begin : begin + length.size] = np.bincount(
                cell, minlength=9 * length.size
            ).reshape(-1, 9)
        return found.reshape(-1, 3, 3)


def placed(
    scorer: Scorer, task: Task, ranked: Ranked, design: Design, *, seed: int, ties: str
) -> Placed | None:
    """Draw the negatives of a design again and see where the model puts each.

    Parameters
    ----------
    scorer
        The model; one that is asked for scores should remember them.
    task
        The targets that were ranked.
    ranked
        What carrying out the design has found.
    design
        That design.
    seed, ties
        As they were then.

    Returns
    -------
    Placed or None
        None for exact ranks, which leave nothing to chance.
    """
    if isinstance(design, Exact):
        return None
    drawing = joint.drawing_again(design, task, seed, ties)
    negatives = joint.negatives_again(scorer, task, design, drawing, seed)
    wanted = ranked.sample_size - 1
    start = np.concatenate([[0], np.cumsum(wanted)])
    place = np.empty(int(start[-1]), dtype=np.int8)
    order = np.argsort(-wanted, kind="stable")
    begin = 0
    while begin < order.size:
        rows = order[begin : begin + max(1, _PAIRS // max(1, int(wanted[order[begin]])))]
        begin += rows.size
        items = negatives(rows, wanted[rows])
        found = joint.places(scorer, task, rows, items, wanted[rows], drawing)
        number = np.arange(items.shape[1])
        kept = number < wanted[rows, None]
        place[(start[rows, None] + number)[kept]] = found[kept]
    return Placed(start, place)
