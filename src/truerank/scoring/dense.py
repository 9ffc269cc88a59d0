"""A finished matrix of scores, in memory or memory-mapped."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.scoring._ids import Ids
from truerank.scoring.scorer import Scorer, checked, real_numbers


class Dense(Scorer):
    """score(u, i) = scores[u, i].

    Parameters
    ----------
    scores
        Shape (n_users, n_items); ``np.load(path, mmap_mode="r")`` keeps it on disk. Training items
        need not be masked: they are left out of the ranking by ``train=``. If they are (by -inf or
        NaN), no harm is done: only scores of candidates are looked at.
    user_ids, item_ids
        The ids of rows and columns; their numbers if not given.
    """

    def __init__(self, scores: Any, *, user_ids: Any = None, item_ids: Any = None) -> None:
        try:
            array = scores if isinstance(scores, np.ndarray) else np.asarray(scores)
        except (TypeError, ValueError) as error:  # rows of different length
            raise InputError(f"scores cannot be read as a matrix: {error}") from None
        if array.ndim != 2 or 0 in array.shape or array.shape[1] < 2:
            raise InputError(f"scores has shape {array.shape}; expected (n_users, n_items >= 2)")
        if array.dtype.kind not in "iuf":
            raise InputError(f"scores is of type {array.dtype}; it must hold numbers")
        self.scores = array
        self.user_ids = Ids("user", array.shape[0], user_ids)
        self.item_ids = Ids("item", array.shape[1], item_ids)

    @property
    def is_matrix(self) -> bool:
        # What overrides `score` is no longer what its fields say.
        return type(self).score is Dense.score

    def score(self, users: IntArray, items: IntArray) -> FloatArray:
        return checked(self.scores[users[:, None], items], items.shape, "the score matrix")

    def score_all(self, users: IntArray) -> FloatArray:
        # Not `checked`: scores of items that are left out may be anything.
        shape = (users.size, self.n_items)
        return real_numbers(self.scores[users], shape, "the score matrix")
