"""A finished matrix of scores, in memory or memory-mapped."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.scoring._ids import Ids
from truerank.scoring.scorer import Scorer, checked, real_numbers


class Dense(Scorer):
    """A finished matrix of scores: the score of user u for item i is scores[u, i].

    Parameters
    ----------
    scores : array-like of float, shape (n_users, n_items)
        The matrix; ``np.load(path, mmap_mode="r")`` keeps it on disk. Training items need not be
        masked, since ``train=`` leaves them out of the ranking. If they are masked (by -inf or
        NaN), no harm is done: only scores of candidates are looked at.
    user_ids : array-like, optional
        The ids of the users, in the order of the rows; row numbers if not given.
    item_ids : array-like, optional
        The ids of the items, in the order of the columns; column numbers if not given.

    Raises
    ------
    InputError
        If the matrix has another shape or holds no numbers.

    Examples
    --------
    >>> scorer = tr.scoring.Dense(
    ...     [[0.3, 0.1, 0.2], [0.5, 0.6, 0.4]], user_ids=["ann", "bob"], item_ids=["a", "b", "c"]
    ... )
    >>> scorer.score_all(np.array([0])).tolist()
    [[0.3, 0.1, 0.2]]
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
