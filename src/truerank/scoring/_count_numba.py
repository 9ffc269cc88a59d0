"""The kernels of `_count`, compiled. Imported by `_count.kernels` only, and only with numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba  # noqa: TID253 (this module itself loads late)
import numpy as np

from truerank.scoring.factors import LANES

_STRIP = 64  # scores looked through at a time for doubtful ones
_FEW = 8  # doubtful ones that are looked for one by one
_MANY = 4  # targets of a user from which on scores are compared as small integers
_SPAN, _LARGEST = 31_000, 32_000  # of these integers: between the targets, and beyond


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    compiled: Callable[..., Any]
    try:
        compiled = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # nowhere to keep the compiled code: compile in every process
        compiled = numba.njit(nogil=True)(function)
    return compiled


@_compiled
def _lane_dot(users: Any, row: int, items: Any, column: int, lanes: Any) -> Any:
    """`factors.lane_dot` of one pair, to the bit."""
    for lane in range(LANES):
        lanes[lane] = users[row, lane] * items[column, lane]
    for begin in range(LANES, users.shape[1], LANES):
        for lane in range(LANES):
            lanes[lane] += users[row, begin + lane] * items[column, begin + lane]
    width = LANES
    while width > 1:
        width //= 2
        for lane in range(width):
            lanes[lane] += lanes[lane + width]
    return lanes[0]


@_compiled
def scores(users: Any, rows: Any, items: Any, targets: Any, result: Any) -> None:
    """The scores of pairs (row of ``users``, row of ``items``)."""
    lanes = np.empty(LANES, dtype=users.dtype)
    for pair in range(rows.size):
        result[pair] = _lane_dot(users, rows[pair], items, targets[pair], lanes)


@_compiled
def count(scores: Any, target: Any, above: Any, tied: Any) -> None:
    """Add the scores of each row that are over its target's, and equal to it."""
    for row in range(target.size):
        bound = target[row]
        # 32-bit counters make for twice as many lanes as numba's usual 64.
        over, equal = np.int32(0), np.int32(0)
        for column in range(scores.shape[1]):
            over = np.int32(over + np.int32(scores[row, column] > bound))
            equal = np.int32(equal + np.int32(scores[row, column] == bound))
        above[row] += over
        tied[row] += equal


@_compiled
def _inside(small: Any, lowest: Any, inside: Any) -> Any:
    """How many integers are ``lowest`` or of the ``inside`` behind it, and where the last is."""
    found, last, none = np.int16(0), np.int16(-1), np.int16(-1)
    for column in range(small.size):
        here = np.uint16(small[column] - lowest) <= inside
        found = np.int16(found + np.int16(here))
        last = max(last, np.int16(column) if here else none)
    return int(found), int(last)


@_compiled
def _tally_many(
    scores: Any,
    row: int,
    small: Any,
    norm: float,
    first_user: int,
    users: Any,
    items: Any,
    offset: Any,
    target: Any,
    slope: Any,
    fixed: Any,
    above: Any,
    tied: Any,
    lanes: Any,
    low: Any,
    high: Any,
    bounds: Any,
    one: Any,
) -> None:
    """Count a row for its many targets, by scores that are rounded to integers of 16 bits.

    Rounding keeps the order: a score whose integer is above that of a bound is above the bound.
    Twice as many integers as scores are compared at a time; the few that share their integer with
    a bound are looked at again. The integers span what lies between the targets.
    """
    n_targets = 0
    while n_targets < offset.size - 1:
        if offset[n_targets] + first_user + row >= offset[n_targets + 1]:
            break
        n_targets += 1
    least_low, most_high = np.inf, -np.inf
    for layer in range(n_targets):
        pair = offset[layer] + first_user + row
        doubt = fixed[pair] + slope[pair] * norm
        low[layer], high[layer] = target[pair] - doubt, target[pair] + doubt
        least_low, most_high = min(least_low, low[layer]), max(most_high, high[layer])
    middle = scores.dtype.type((least_low + most_high) / 2)
    step = scores.dtype.type(2 * _SPAN / max(most_high - least_low, 1e-32))  # finite
    least, most = scores.dtype.type(-_LARGEST), scores.dtype.type(_LARGEST)
    for column in range(scores.shape[1]):
        small[column] = np.int16(min(max((scores[row, column] - middle) * step, least), most))
    for layer in range(n_targets):
        bounds[0, layer] = np.int16(min(max((low[layer] - middle) * step, least), most))
        bounds[1, layer] = np.int16(min(max((high[layer] - middle) * step, least), most))
    for first in range(0, n_targets, 2):
        second = min(first + 1, n_targets - 1)
        over, gap, other_over, other_gap = _over_and_gap(
            small, bounds[0, first], bounds[1, first], bounds[0, second], bounds[1, second], one
        )
        for layer in range(first, second + 1):
            pair = offset[layer] + first_user + row
            above[pair] += over
            inside = np.uint16(bounds[1, layer] - bounds[0, layer])
            if gap <= inside:
                _look_again(
                    scores, row, small, bounds[0, layer], inside, users, items, pair,
                    low[layer], high[layer], target, above, tied, lanes,
                )  # fmt: skip
            over, gap = other_over, other_gap


@_compiled
def _over_and_gap(
    small: Any, low: Any, high: Any, other_low: Any, other_high: Any, one: Any
) -> Any:
    """For two targets: integers above the higher bound, the least distance from the lower one.

    Distances are unsigned: those of integers below the bound are large. Two targets at a time, and
    the least distance instead of another count, take the fewest instructions. ``one`` is 1: not
    known when this is compiled, it is added under a mask, not made of each comparison.
    """
    none = np.int16(0)
    over, other_over = none, none
    gap, other_gap = np.uint16(65535), np.uint16(65535)
    for column in range(small.size):
        value = small[column]
        over = np.int16(over + (one if value > high else none))
        gap = min(gap, np.uint16(value - low))
        other_over = np.int16(other_over + (one if value > other_high else none))
        other_gap = min(other_gap, np.uint16(value - other_low))
    return int(over), gap, int(other_over), other_gap


@_compiled
def _look_again(
    scores: Any,
    row: int,
    small: Any,
    lowest: Any,
    inside: Any,
    users: Any,
    items: Any,
    pair: int,
    low: Any,
    high: Any,
    target: Any,
    above: Any,
    tied: Any,
    lanes: Any,
) -> None:
    """Count the scores whose integers lie between a target's bounds, by the scores themselves."""
    found, column = _inside(small, lowest, inside)
    many = found > _FEW  # tied ones: no pass for each of them
    if many:
        column = small.size - 1
    while found > 0:
        if np.uint16(small[column] - lowest) <= inside:
            score = scores[row, column]
            if score >= low and score <= high:
                score = _lane_dot(users, row, items, column, lanes)
            above[pair] += score > target[pair]
            tied[pair] += score == target[pair]
            found -= 1
        if many or found == 0:
            column -= 1
        else:
            _, column = _inside(small[:column], lowest, inside)


@_compiled
def _next_left_out(left_out: Any, at: Any, end: Any, row: int, stop: int) -> int:
    """Where the left-out items of a row before item ``stop`` end; ``at`` moves on behind them."""
    from_, till = at[row], end[row]
    if from_ < till and left_out[till - 1] >= stop:  # not all the rest
        till = from_
        while left_out[till] < stop:
            till += 1
    at[row] = till
    return int(till)


@_compiled
def tally(
    scores: Any,
    first: int,
    norm: float,
    first_user: int,
    users: Any,
    items: Any,
    left_out: Any,
    at: Any,
    end: Any,
    offset: Any,
    target: Any,
    slope: Any,
    fixed: Any,
    above: Any,
    tied: Any,
) -> None:
    """Count a tile for all targets; ``at`` moves on behind the left-out items of this tile."""
    width = scores.shape[1]
    lanes = np.empty(LANES, dtype=scores.dtype)
    bounds = np.empty(2, dtype=scores.dtype)
    lows, highs = np.empty((2, offset.size), dtype=scores.dtype)
    small = np.empty(width if offset.size > _MANY else 0, dtype=np.int16)
    small_bounds, one = np.empty((2, offset.size), dtype=np.int16), np.int16(min(width, 1))
    for row in range(scores.shape[0]):
        if offset.size > _MANY and offset[_MANY - 1] + first_user + row < offset[_MANY]:
            from_ = at[row]
            for here in range(from_, _next_left_out(left_out, at, end, row, first + width)):
                scores[row, left_out[here] - first] = -np.inf
            _tally_many(
                scores, row, small, norm, first_user, users, items,
                offset, target, slope, fixed, above, tied, lanes, lows, highs,
                small_bounds, one,
            )  # fmt: skip
            continue
        for layer in range(offset.size - 1):
            pair = offset[layer] + first_user + row
            if pair >= offset[layer + 1]:
                break
            doubt = fixed[pair] + slope[pair] * norm
            bounds[0] = target[pair] - doubt
            bounds[1] = target[pair] + doubt
            low, high = bounds[0], bounds[1]
            over, reach = np.int32(0), np.int32(0)
            for column in range(width):
                over = np.int32(over + np.int32(scores[row, column] > high))
                reach = np.int32(reach + np.int32(scores[row, column] >= low))
            if layer == 0:
                # After the count, when the row is in the nearest cache.
                from_ = at[row]
                till = _next_left_out(left_out, at, end, row, first + width)
                for here in range(from_, till):
                    score = scores[row, left_out[here] - first]
                    over = np.int32(over - np.int32(score > high))
                    reach = np.int32(reach - np.int32(score >= low))
                if reach > over or offset.size > 2:  # the scores are looked at again
                    for here in range(from_, till):
                        scores[row, left_out[here] - first] = -np.inf
            above[pair] += over
            near = int(reach - over)
            if doubt == 0:
                tied[pair] += near
                near = 0
            begin = 0
            while near > 0:
                stop = min(begin + _STRIP, width)
                found = np.int32(0)
                for column in range(begin, stop):
                    inside = (scores[row, column] >= low) & (scores[row, column] <= high)
                    found = np.int32(found + np.int32(inside))
                if found > 0:
                    for column in range(begin, stop):
                        if scores[row, column] >= low and scores[row, column] <= high:
                            score = _lane_dot(users, row, items, column, lanes)
                            above[pair] += score > target[pair]
                            tied[pair] += score == target[pair]
                near -= int(found)
                begin = stop
