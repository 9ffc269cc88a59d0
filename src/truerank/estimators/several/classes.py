"""Classes of targets: by place, by the number of their user's targets, and by offset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank._types import IntArray
from truerank.outcomes.counts import RankCounts

LEAST = 120  # targets of a class; thinner ones are pooled with their neighbours of like places
FEWEST = 50  # targets of like places; fewer are pooled with those of better ones
# Both are so many times smaller where laws differ by offset, too, which they do a lot.
_FINER = 3.0
_BINS = 64  # of numbers of targets, and more than there ever are


@dataclass(frozen=True)
class Classes:
    """Which class a target belongs to, by its place and what else tells its law, in bins."""

    table: IntArray  # (bins of place, bins of offset and n_targets): the class

    def of(self, counts: RankCounts) -> IntArray:
        """The class of each outcome."""
        place, other = _bins(counts)
        return np.asarray(
            self.table[
                np.minimum(place, self.table.shape[0] - 1),
                np.minimum(other, self.table.shape[1] - 1),
            ]
        )


def _bins(counts: RankCounts) -> tuple[IntArray, IntArray]:
    """Bins of places, and of offsets and numbers of targets, each wider by a half than the last.

    Where many known items are above a target, many others are: the law of its rank is another.
    """
    place, n_targets, offset = (
        np.floor(np.log(column) / np.log(1.5) + 1e-9).astype(np.int64)
        for column in (counts.place, counts.n_targets, counts.offset + 1)
    )
    return place, _BINS * offset + n_targets


def classes_of(counts: RankCounts, last: float) -> Classes:
    """Classes of targets, thin ones pooled with their neighbours; places beyond ``last`` as one."""
    place, other = _bins(counts)
    place = np.minimum(place, int(np.log(min(last, 1e6)) / np.log(1.5)) + 1)
    shape = int(place.max()) + 1, int(other.max()) + 1
    weight = np.bincount(place * shape[1] + other, counts.weight, minlength=shape[0] * shape[1])
    weight = weight.reshape(shape)
    finer = _FINER if counts.offset.any() else 1.0
    table = np.empty(shape, dtype=np.int64)
    number = 0
    for at, row in enumerate(weight):  # places apart: the best of many and the rest of few differ
        if at and row.sum() < FEWEST / finer:
            table[at] = table[at - 1]
            continue
        number += int(at > 0)
        held, left = 0.0, float(row.sum())
        for column, more in enumerate(row.tolist()):
            table[at, column] = number
            held, left = held + more, left - more
            if min(held, left) >= LEAST / finer:
                number, held = number + 1, 0.0
    return Classes(table)
