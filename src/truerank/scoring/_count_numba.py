"""The kernels of `_count`, compiled. Imported by `_count.kernels` only, and only with numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba  # noqa: TID253 (this module itself loads late)
import numpy as np

from truerank.scoring.factors import LANES

_STRIP = 64  # scores looked through at a time for doubtful ones


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
    for row in range(scores.shape[0]):
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
                from_, till = at[row], end[row]
                if from_ < till and left_out[till - 1] >= first + width:  # not all the rest
                    till = from_
                    while left_out[till] < first + width:
                        till += 1
                at[row] = till
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
