"""The compiled kernels: draw, score and count in one pass. Imported by `_fused` only.

All give the same answers as `streams` and `_batched` do in numpy. They run without the
interpreter's lock, so that threads can share the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba  # noqa: TID253 (this module itself loads late)
import numpy as np

from truerank import rng
from truerank.sampling._lanes_numba import PIECE, count_piece, fetch_row, n_bits, row_dot
from truerank.sampling._tie_modes import COUNT, PESSIMISTIC, RANDOM

# Drawn items wait this long for their scoring, and swaps for their turn, while the memory is
# fetching. A power of two.
WAIT = 8

# numba looks whether a signed index counts from the end; ours never does.
_at = np.uint64

_GOLDEN = np.uint64(rng.GOLDEN)
_MIX_1, _MIX_2 = np.uint64(rng._MIX_1), np.uint64(rng._MIX_2)
_ONE, _11, _27, _30, _31 = (np.uint64(number) for number in (1, 11, 27, 30, 31))


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    compiled: Callable[..., Any]
    try:
        compiled = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # nowhere to keep the compiled code: compile in every process
        compiled = numba.njit(nogil=True)(function)
    return compiled


@_compiled
def word(key: Any, number: int) -> Any:
    """rng.draws(key, number)."""
    x = key + (np.uint64(number) + _ONE) * _GOLDEN
    x = (x ^ (x >> _30)) * _MIX_1
    x = (x ^ (x >> _27)) * _MIX_2
    return x ^ (x >> _31)


@_compiled
def below(word: Any, bound: int) -> int:
    """rng.below(word, bound)."""
    return np.int64((np.float64(np.int64(word >> _11)) * 2.0**-53) * np.float64(bound))


@_compiled
def swap_with(key: Any, number: int, catalogue: int) -> int:
    """The place that draw ``number`` of the shuffle swaps with."""
    return number + below(word(key, number), catalogue - number)


@_compiled
def goes_above(mode: int, tie_key: Any, item: int, target: int) -> int:
    """1 if an item of the target's score counts as above it."""
    if mode == RANDOM:
        return np.int64(word(tie_key, item) < word(tie_key, target))
    return np.int64(mode == PESSIMISTIC)


@_compiled
def per_row(
    users: Any,
    items: Any,
    dense: bool,
    row: Any,
    user: Any,
    target: Any,
    key: Any,
    tie_key: Any,
    begin: Any,
    end: Any,
    left_out: Any,
    pool: Any,
    ladder: Any,
    hits: Any,
    replacement: bool,
    mode: int,
    catalogue: int,
    place: Any,
    swaps: Any,
    mark: Any,
    above: Any,
    tied: Any,
    size: Any,
    bad: Any,
) -> None:
    """Sample these rows.

    A row goes on from ``size`` (1: from the beginning) and what it found ``above`` until then: its
    earlier negatives are drawn again, which is quick, but not scored again. Scores are those of
    factors, or ``users[user, item]`` if ``dense``. ``place`` is 0, 1, 2, ..., ``mark`` zero, and so
    they are again afterwards; ``swaps`` has catalogue + WAIT places. ``bad`` is set where scores
    cannot be compared.
    """
    waiting = np.empty(WAIT, np.int64)
    for r in row:
        stream, whose, wanted_item = key[r], user[r], target[r]
        for at in range(begin[r], end[r]):
            mark[_at(left_out[_at(at)])] = 1
        if dense:
            best = users[whose, wanted_item]
            if not np.isfinite(best):
                bad[r] = True
        else:
            best = row_dot(users, whose, items, wanted_item)
        over, same, reached, number = above[r], 0, 1, 0
        if not replacement:
            for ahead in range(min(WAIT, catalogue)):
                swaps[ahead] = swap_with(stream, ahead, catalogue)
                fetch_row(place, np.int64(swaps[ahead]))
        for step in range(-1, ladder.size):
            again = step < 0
            goal = size[r] if again else ladder[step]
            if not replacement:
                goal = min(goal, pool[r])
            n_new = goal - reached
            for turn in range(n_new if again else n_new + WAIT):
                if turn >= WAIT and not again:
                    item = waiting[_at(turn & (WAIT - 1))]
                    if dense:
                        score = users[_at(whose), _at(item)]
                        if not np.isfinite(score):
                            bad[r] = True
                    else:
                        score = row_dot(users, whose, items, item)
                    over += score > best
                    if score == best:
                        same += 1
                        if mode != COUNT:
                            over += goes_above(mode, tie_key[r], item, wanted_item)
                if turn < n_new:
                    while True:  # until an item is not left out
                        if replacement:
                            item = below(word(stream, number), catalogue)
                        else:
                            ahead = number + WAIT
                            if ahead < catalogue:
                                swap = swap_with(stream, ahead, catalogue)
                                swaps[_at(ahead)] = swap
                                fetch_row(place, swap)
                            other = _at(swaps[_at(number)])
                            item = np.int64(place[other])
                            place[other] = place[_at(number)]
                        number += 1
                        if mark[_at(item)] == 0:
                            break
                    if not dense and not again:
                        fetch_row(items, item)
                    waiting[_at(turn & (WAIT - 1))] = item
            reached = goal
            if again:
                continue
            if over >= hits[step] or (not replacement and reached == pool[r]):
                break
        if not replacement:
            for at in range(number):
                place[_at(swaps[_at(at)])] = swaps[_at(at)]
        for at in range(begin[r], end[r]):
            mark[_at(left_out[_at(at)])] = 0
        above[r] = over
        tied[r] = same if mode == COUNT else 0
        size[r] = reached


@_compiled
def given(
    users: Any,
    items: Any,
    dense: bool,
    row: Any,
    user: Any,
    target: Any,
    tie_key: Any,
    begin: Any,
    end: Any,
    negatives: Any,
    mode: int,
    above: Any,
    tied: Any,
    bad: Any,
) -> None:
    """Rank the targets of these rows among negatives[begin:end] of each."""
    for r in row:
        if dense:
            best = users[user[r], target[r]]
            if not np.isfinite(best):
                bad[r] = True
        else:
            best = row_dot(users, user[r], items, target[r])
        over, same = 0, 0
        for at in range(begin[r], end[r]):
            item = negatives[at]
            if dense:
                score = users[user[r], item]
                if not np.isfinite(score):
                    bad[r] = True
            else:
                fetch_row(items, negatives[min(at + WAIT, end[r] - 1)])
                score = row_dot(users, user[r], items, item)
            over += score > best
            if score == best:
                same += 1
                if mode != COUNT:
                    over += goes_above(mode, tie_key[r], item, target[r])
        above[r] = over
        tied[r] = same if mode == COUNT else 0


@_compiled
def shared(
    users: Any,
    items: Any,
    cuts: Any,
    block_key: Any,
    user: Any,
    target: Any,
    tie_key: Any,
    begin: Any,
    end: Any,
    left_out: Any,
    n_negatives: int,
    replacement: bool,
    mode: int,
    place: Any,
    mark: Any,
    first_at: Any,
    candidate: Any,
    again: Any,
    columns: Any,
    barred: Any,
    free: Any,
    above: Any,
    tied: Any,
    short: Any,
) -> None:
    """Sample blocks of rows, from cuts[b] to cuts[b + 1], each with one key and so one stream.

    ``short`` is set, and nothing counted, for rows that must skip so many candidates that
    ``candidate.size`` of them are too few. ``place`` is 0, 1, 2, ..., ``mark`` (bits by item) and
    ``first_at`` zero, and so they are again afterwards; the rest is room to work in.
    """
    n_rows = cuts[-1]
    for block in range(block_key.size):
        n_drawn = draw_block(
            items, block_key[block], n_negatives, replacement, place, candidate, again
        )
        # Whether an item was drawn, where (counted from 1), and where again.
        for number in range(n_drawn - 1, -1, -1):
            item = np.int64(candidate[number])
            again[number] = first_at[item]
            first_at[item] = number + 1
            mark[item >> 3] |= np.uint8(1 << (item & 7))
        n_columns = 0  # candidates copied so far
        for r in range(cuts[block], cuts[block + 1]):
            soon = min(r + 2, n_rows - 1)
            fetch_row(users, user[soon])
            fetch_row(items, target[soon])
            for at in range(begin[soon], min(end[soon], begin[soon] + 64), 8):
                fetch_row(left_out, at)
            n_barred = 0
            for at in range(begin[r], end[r]):
                item = left_out[_at(at)]
                if mark[_at(item >> 3)] & (1 << (item & 7)) != 0:
                    number = np.int64(first_at[item])
                    while number > 0:
                        barred[n_barred] = number - 1
                        n_barred += 1
                        number = np.int64(again[number - 1])
            # The first so many candidates, and one more for each that the row must skip.
            stop, before = 0, n_negatives
            while stop != before:
                stop, before = before, n_negatives
                for at in range(n_barred):
                    before += barred[at] < stop
            if stop > n_drawn:
                short[r] = True
                continue
            while n_columns < stop:
                which, part = _at(candidate[n_columns]), _at(n_columns // PIECE)
                column = _at(n_columns % PIECE)
                for dimension in range(items.shape[1]):
                    columns[part, _at(dimension), column] = items[which, _at(dimension)]
                n_columns += 1
            n_pieces = (stop + PIECE - 1) // PIECE
            for piece in range(n_pieces):
                free[_at(piece)] = (1 << PIECE) - 1
            free[n_pieces - 1] >>= n_pieces * PIECE - stop
            for at in range(n_barred):
                free[barred[at] // PIECE] &= ~(1 << (barred[at] % PIECE))
            best = row_dot(users, user[r], items, target[r])
            over, same = 0, 0
            for piece in range(n_pieces):
                found = count_piece(users, user[r], columns, piece, best)
                over += n_bits(found & free[_at(piece)])
                ties = (found >> PIECE) & free[_at(piece)]
                if ties != 0:
                    same += n_bits(ties)
                    for k in range(PIECE):
                        if mode != COUNT and (ties >> k) & 1 != 0:
                            item = np.int64(candidate[piece * PIECE + k])
                            over += goes_above(mode, tie_key[r], item, target[r])
            above[r] = over
            tied[r] = same if mode == COUNT else 0
        for number in range(n_drawn):
            first_at[candidate[number]] = 0
            mark[candidate[number] >> 3] = 0


@_compiled
def draw_block(
    items: Any,
    key: Any,
    n_negatives: int,
    replacement: bool,
    place: Any,
    candidate: Any,
    again: Any,
) -> int:
    """Fill ``candidate`` from a stream, left-out items and all; returns how many there are."""
    catalogue = items.shape[0]
    n_drawn = candidate.size if replacement else min(candidate.size, catalogue)
    for number in range(n_drawn):
        if replacement:
            candidate[number] = below(word(key, number), catalogue)
        else:
            other = swap_with(key, number, catalogue)
            candidate[number] = place[other]
            place[other] = place[number]
            again[number] = other
        if number < n_negatives:  # few rows need more
            fetch_row(items, np.int64(candidate[number]))
    if not replacement:
        for number in range(n_drawn):
            place[again[number]] = again[number]
    return n_drawn
