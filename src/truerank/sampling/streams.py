"""The items a user draws, one after the other: a stream that can be entered anywhere.

Draw number j of a user is the hash of (seed, user id, j), nothing else. So streams do not depend
on batches, order, threads or engines, and a larger sample continues a smaller one.

With replacement, draw j is an item of the catalogue. Without, it is step j of a shuffle of the
catalogue that swaps place j with a random one behind it: uniform, without rejections, and it goes
on to the last item. Items left out of a user's pool are skipped.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from truerank._types import IntArray
from truerank.designs.draws import Draw, Uniform
from truerank.errors import InputError
from truerank.rng import Keys, below, draws
from truerank.scoring.task import Task

_ROOM = 2**20  # draws at a time


def negatives(
    task: Task, rows: IntArray, keys: Keys, begin: int, end: IntArray, *, replacement: bool
) -> IntArray:
    """Uniform negatives number ``begin`` to ``end`` - 1 of each row's stream, as item rows.

    Parameters
    ----------
    rows, keys
        Test rows and the keys of their streams, (n_rows,); equal keys share a stream, from which
        each row skips its own left-out items.
    begin, end
        Negatives are counted from 0; ``end`` is one a row, at most the pool less the target if
        without replacement.

    Returns
    -------
    Shape (n_rows, max(end) - begin); rows with fewer are filled up with their target.
    """
    width = int(end.max()) - begin
    items = np.repeat(task.target[rows][:, None], width, axis=1)
    # How many draws a row needs depends on how often it has to skip.
    needed = end * (task.catalogue / (task.n_items[rows] - 1))
    waiting = np.arange(rows.size)
    n_draws = 0
    while waiting.size:
        guess = int(1.1 * needed[waiting].mean()) + 16
        n_draws = max(guess, n_draws + n_draws // 2)
        if not replacement:
            n_draws = min(n_draws, task.catalogue)
        done = []
        step = max(1, _ROOM // n_draws)
        for at in range(0, waiting.size, step):
            part = waiting[at : at + step]
            drawn = _drawn(keys[part], n_draws, task.catalogue, replacement=replacement)
            free = ~is_left_out(task, rows[part], np.arange(part.size)[:, None], drawn)
            count = np.cumsum(free, axis=1)
            enough = count[:, -1] >= end[part]
            free &= (count > begin) & (count <= end[part][:, None])
            free &= enough[:, None]
            filled = np.arange(width) < (end[part] - begin)[enough, None]
            place = np.flatnonzero(enough)
            block = items[part[place]]
            block[filled] = drawn[free]
            items[part[place]] = block
            done.append(enough)
        waiting = waiting[~np.concatenate(done)]
    return items


Stream = Callable[..., IntArray]
# The stream of each way to draw: takes the draw, then what `negatives` takes.
STREAMS: dict[type[Draw], Stream] = {Uniform: lambda draw, *rows, **how: negatives(*rows, **how)}


def stream_of(draw: Draw) -> Stream:
    """The stream of a way to draw, its options known; it takes what `negatives` takes."""
    if type(draw) not in STREAMS:
        raise InputError(
            f"draw is {draw!r}, for which there is no stream of negatives; there are: "
            f"{', '.join(kind.__name__ for kind in STREAMS)}"
        )
    return functools.partial(STREAMS[type(draw)], draw)


def is_left_out(
    task: Task, rows: IntArray, place: IntArray, items: IntArray
) -> npt.NDArray[np.bool_]:
    """Which items are left out of the pool of rows[place]; place and items broadcast."""
    position, item = task.left_out_of(rows)
    known = position * task.catalogue + item  # sorted
    asked = place * task.catalogue + items
    at = np.searchsorted(known, asked.ravel())
    at[at == known.size] = 0
    return np.asarray(known[at].reshape(asked.shape) == asked)


def _drawn(keys: Keys, n_draws: int, catalogue: int, *, replacement: bool) -> IntArray:
    """The first draws of each stream, left-out items and all, shape (n_keys, n_draws)."""
    distinct, back = np.unique(keys, return_inverse=True)
    number = np.arange(n_draws)
    words = draws(distinct[:, None], number)
    if replacement:
        return below(words, catalogue)[back]
    return _shuffled(number + below(words, catalogue - number))[back]


def _shuffled(swap: IntArray) -> IntArray:
    """The items that a shuffle of 0, 1, 2, ... brings to the places 0, 1, ..., n - 1.

    Step j swaps place j with place ``swap[:, j]`` >= j, and what stands at j then is the item. The
    catalogue itself is not needed: place p holds p until a swap writes to it, and in most rows
    none does.
    """
    number = np.arange(swap.shape[1])
    ordered = np.sort(swap, axis=1)
    written = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    written |= ((swap < number.size) & (swap > number)).any(axis=1)
    items = swap.copy()
    if written.any():
        items[written] = _followed(swap[written])
    return items


def _followed(swap: IntArray) -> IntArray:
    """`_shuffled` where places are written to before they are read.

    Let v(j) be what stands at place j before step j. Step j writes v(j) to place swap[j]. So v(j)
    is v(i) for the last i < j with swap[i] = j, or j if there is none; and the item of step j is
    v(i) for the last i < j with swap[i] = swap[j], or swap[j] if there is none.
    """
    number = np.broadcast_to(np.arange(swap.shape[1]), swap.shape)
    source = np.full(swap.shape, -1)  # v(j) = v(source[j])
    row, at = np.nonzero((swap < swap.shape[1]) & (swap > number))
    np.maximum.at(source, (row, swap[row, at]), at)
    source = np.where(source < 0, number, source)
    while True:
        further = np.take_along_axis(source, source, axis=1)
        if np.array_equal(further, source):
            break
        source = further
    order = np.argsort(swap, axis=1, kind="stable")
    ordered = np.take_along_axis(swap, order, axis=1)
    row, at = np.nonzero(ordered[:, 1:] == ordered[:, :-1])
    items = swap.copy()
    items[row, order[row, at + 1]] = source[row, order[row, at]]
    return items
