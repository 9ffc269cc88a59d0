"""What a model has to offer to be evaluated: scores of (user, item) pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from truerank._types import FloatArray, IntArray
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

    @property
    def label(self) -> str:
        """What messages call it."""
        return type(self).__name__

    @property
    def scores_rows(self) -> bool:
        """Whether it scores a user's whole catalogue at a time, rather than pair by pair."""
        return type(self).score_all is not Scorer.score_all

    @property
    def is_matrix(self) -> bool:
        """Whether it is vectors or a matrix that we multiply ourselves, and nobody is asked."""
        return False

    @abstractmethod
    def score(self, users: IntArray, items: IntArray) -> FloatArray:
        """Scores, shape (n_users, n), of items (n_users, n) for users (n_users,)."""

    def score_all(self, users: IntArray) -> FloatArray:
        """Scores of every item, shape (n_users, n_items)."""
        every = np.arange(self.n_items, dtype=np.int64)
        return self.score(users, np.broadcast_to(every, (users.size, self.n_items)))


def checked(
    scores: Any,
    shape: tuple[int, ...],
    who: str,
    *,
    where: Callable[[tuple[int, ...]], str] = "at {}".format,
) -> FloatArray:
    """``scores`` as `real_numbers`, or an InputError if one is NaN or infinite.

    ``where`` says in words which score is the one at an index.
    """
    array = real_numbers(scores, shape, who)
    bad = ~np.isfinite(array)
    if bad.any():
        first = tuple(int(at[0]) for at in np.nonzero(bad))
        raise InputError(
            f"{who} returned {int(bad.sum())} scores that are NaN or infinite, the first "
            f"({array[first]}) {where(first)}; such scores cannot be ranked"
        )
    return array


def real_numbers(scores: Any, shape: tuple[int, ...], who: str) -> FloatArray:
    """``scores`` as float32 (if they are) or float64, of ``shape``, or an InputError."""
    try:
        array = np.asarray(scores)
    except Exception as error:  # a torch tensor with a gradient raises RuntimeError
        raise InputError(
            f"{who} returned a {type(scores).__name__} that is no array of numbers: {error}"
        ) from error
    # Nothing is converted: texts, truth values and dates that turn into numbers are mistakes.
    if array.dtype.kind not in "iuf" or np.ma.is_masked(scores):
        masked = "masked " if np.ma.is_masked(scores) else ""
        raise InputError(
            f"{who} returned {masked}{array.dtype} ({type(scores).__name__}); scores are whole "
            "numbers or floats"
        )
    if array.shape != shape:
        raise InputError(f"{who} returned shape {array.shape}; expected {shape}")
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
