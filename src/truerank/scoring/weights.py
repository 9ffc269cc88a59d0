"""Scores from what users had before: their histories times weights between items."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.scoring._ids import Ids
from truerank.scoring.scorer import Scorer

_BLOCK = 2**24  # scores held at a time while pairs are picked from them


class ItemWeights(Scorer):
    """A user's history times weights between items: item-KNN, EASE, SLIM.

    The score of user u for item i is the sum over items j of history[u, j] * weights[j, i]. Scores
    of single pairs are picked from the scores of all items, so that both are the same to the bit:
    a few pairs of a user cost as much as all.

    Parameters
    ----------
    history : scipy sparse matrix, shape (n_users, n_items)
        What each user had.
    weights : array-like or scipy sparse matrix, shape (n_items, n_items)
        Weights from items of the history (rows) to candidates (columns).
    user_ids : array-like, optional
        The ids of the users, in the order of the rows of ``history``; row numbers if not given.
    item_ids : array-like, optional
        The ids of the items, in the order of its columns; column numbers if not given.

    Raises
    ------
    InputError
        If shapes do not match, or values are NaN or infinite.

    Examples
    --------
    >>> from scipy import sparse
    >>> history = sparse.csr_array([[1, 0, 1], [0, 1, 0]])
    >>> similar = [[0.0, 0.5, 0.2], [0.5, 0.0, 0.1], [0.2, 0.1, 0.0]]
    >>> tr.scoring.ItemWeights(history, similar).score_all(np.array([0])).round(2).tolist()
    [[0.2, 0.6, 0.2]]
    """

    def __init__(
        self, history: Any, weights: Any, *, user_ids: Any = None, item_ids: Any = None
    ) -> None:
        if not sparse.issparse(history):
            raise InputError(
                f"history is of type {type(history).__name__}; it must be a scipy sparse matrix"
            )
        n_users, n_items = history.shape
        thin = sparse.issparse(weights)
        square = weights if thin else np.asarray(weights)
        if square.shape != (n_items, n_items):
            raise InputError(
                f"weights has shape {square.shape}; history has {n_items} items, so ({n_items}, "
                f"{n_items}) is expected"
            )
        if square.dtype.kind not in "iuf":
            raise InputError(f"weights is of type {square.dtype}; it must hold numbers")
        kind = square.dtype if square.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        self.weights = (
            sparse.csr_array(square, dtype=kind) if thin else np.ascontiguousarray(square, kind)
        )
        self.history = sparse.csr_array(history, dtype=kind)
        _check_finite(self.history.data, "history")
        _check_finite(self.weights.data if thin else self.weights, "weights")
        self.user_ids = Ids("user", n_users, user_ids)
        self.item_ids = Ids("item", n_items, item_ids)

    def score(self, users: IntArray, items: IntArray) -> FloatArray:
        scores = np.empty(items.shape, dtype=self.weights.dtype)
        order = np.argsort(users, kind="stable")
        step = max(1, _BLOCK // self.n_items)
        for begin in range(0, users.size, step):
            at = order[begin : begin + step]
            first = np.concatenate([[True], np.diff(users[at]) != 0])
            block = self.score_all(users[at][first])
            scores[at] = block[(np.cumsum(first) - 1)[:, None], items[at]]
        return scores

    def score_all(self, users: IntArray) -> FloatArray:
        # Both kinds of product add up a history in its own order: no batch changes a score.
        scores = self.history[users] @ self.weights
        return np.asarray(scores.toarray() if sparse.issparse(scores) else scores)


def _check_finite(values: Any, name: str) -> None:
    flat = values.reshape(-1)
    for begin in range(0, flat.size, _BLOCK):  # in pieces: the array may be large
        if not np.isfinite(flat[begin : begin + _BLOCK]).all():
            raise InputError(f"{name} has NaN or infinite values")
