"""Pairs in rectangles: calls for several users with equally many items each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from truerank._types import IntArray


def rectangles(user: IntArray, most: int) -> Iterator[IntArray]:
    """Split pairs, sorted by user, into rectangles: positions, shape (users, items of each).

    A user's pairs are cut into rows of at most ``most``; rows of one length share a rectangle of at
    most ``most`` pairs.
    """
    if not user.size:
        return
    first = np.flatnonzero(np.concatenate([[True], np.diff(user) != 0]))
    count = np.diff(np.append(first, user.size))
    rows = -(-count // most)
    nth = np.arange(rows.sum()) - np.repeat(np.cumsum(rows) - rows, rows)
    begin = np.repeat(first, rows) + nth * most
    length = np.minimum(np.repeat(count, rows) - nth * most, most)
    for width in np.unique(length)[::-1].tolist():
        begins = begin[length == width]
        height = most // width
        for at in range(0, begins.size, height):
            yield begins[at : at + height, None] + np.arange(width)
