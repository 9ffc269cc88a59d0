"""How a sampler treats items of the target's very score while it draws.

A fixed sample may count them and leave the rest to `truerank.scoring.ties`. A stopping rule has to
know at once: each tied item then counts as above the target or not, for good.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks
from truerank.rng import Keys, draws, mix

MODES = ("count", "random", "optimistic", "pessimistic")
COUNT, RANDOM, OPTIMISTIC, PESSIMISTIC = range(4)
# Keys of tie-breaks are others than those that negatives are drawn by.
_STREAM = np.uint64(0x7469_6573_2D62_7931)


def code(mode: str) -> int:
    """The number of a mode."""
    if mode not in MODES:
        raise _checks.unknown("tie mode", mode, MODES)
    return MODES.index(mode)


def keys(user_keys: Keys) -> Keys:
    """The keys by which users break ties."""
    return mix(user_keys ^ _STREAM)


def goes_above(
    tied: npt.NDArray[np.bool_], mode: int, keys: Keys, items: Any, target: Any
) -> npt.NDArray[np.bool_]:
    """Which of the ``tied`` items, shape (n_rows, n), count as above the target.

    At random means: an item goes before the target if its word under the user's key is smaller.
    So an item drawn twice, or in a later stage, is judged the same every time.
    """
    if mode == RANDOM and tied.any():
        row, _ = np.nonzero(tied)
        first = draws(keys[row], items[tied]) < draws(keys[row], target[row])
        result = tied.copy()
        result[tied] = first
        return result
    return tied if mode == PESSIMISTIC else np.zeros_like(tied)
