"""What a model has to offer to be evaluated: scores of (user, item) pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from truerank._checks import FloatArray, IntArray
from truerank.errors import InputError
from truerank.scoring._ids import Ids


class Scorer(ABC):
    """Scores for pairs of users and items, both as row numbers; higher is better.

    ``user_ids`` and ``item_ids`` translate from the ids that tests and training data use.
    Scores must not depend on what else is asked for in the same call.
    """

    user_ids: Ids
    item_ids: Ids

    @property
    def n_items(self) -> int:
        """Number of items in the catalogue."""
        assert self.item_ids.n_rows is not None
        return self.item_ids.n_rows

    @abstractmethod
    def score(self, users: IntArray, items: IntArray) -> FloatArray:
        """Scores, shape (n_users, n), of items (n_users, n) for users (n_users,)."""

    def score_all(self, users: IntArray) -> FloatArray:
        """Scores of every item, shape (n_users, n_items)."""
        every = np.arange(self.n_items, dtype=np.int64)
        return self.score(users, np.broadcast_to(every, (users.size, self.n_items)))


def checked(scores: Any, shape: tuple[int, int], who: str) -> FloatArray:
    """``scores`` as a float array of ``shape`` without NaN or infinities, or an InputError."""
    try:
        array = np.asarray(scores)
        if array.dtype.kind not in "iufb":
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{who} returned something that is no array of numbers: {error}") from None
    if array.shape != shape:
        raise InputError(f"{who} returned shape {array.shape}; expected {shape}")
    bad = ~np.isfinite(array)
    if bad.any():
        row, column = (int(i[0]) for i in np.nonzero(bad))
        raise InputError(
            f"{who} returned {int(bad.sum())} scores that are NaN or infinite, the first "
            f"({array[row, column]}) in row {row}, column {column}; such scores cannot be ranked"
        )
    return array if array.dtype.kind == "f" else array.astype(np.float64)
