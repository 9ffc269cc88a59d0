"""Models that score a user's whole catalogue at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.scoring._ids import Ids
from truerank.scoring.scorer import Scorer, checked

_BLOCK = 2**22  # scores held at a time by `score`


class Rows(Scorer):
    """score(u, i) = rows(u)[i]; ``rows`` gives every item's score for users (B,), shape (B, N).

    A pair costs as much as the user's whole row: with such a model sampling saves little, and
    exact ranks are the better choice. In return a pair has one score, whatever else is asked for.
    """

    def __init__(
        self,
        rows: Callable[[IntArray], Any],
        *,
        who: str,
        n_users: int,
        n_items: int,
        user_ids: Any = None,
        item_ids: Any = None,
    ) -> None:
        if n_items < 2:
            raise InputError(f"{who} knows {n_items} items; ranking needs at least 2")
        self.user_ids = Ids("user", n_users, user_ids)
        self.item_ids = Ids("item", n_items, item_ids)
        self._rows = rows
        self._who = who

    def score(self, users: IntArray, items: IntArray) -> FloatArray:
        users, items = np.asarray(users), np.asarray(items)
        distinct, place = np.unique(users, return_inverse=True)
        scores = np.empty(items.shape)
        step = max(1, _BLOCK // self.n_items)
        for begin in range(0, distinct.size, step):
            block = self.score_all(distinct[begin : begin + step])
            here = np.flatnonzero((place >= begin) & (place < begin + step))
            scores[here] = block[place[here, None] - begin, items[here]]
        return scores

    def score_all(self, users: IntArray) -> FloatArray:
        users = np.asarray(users)
        return checked(self._rows(users), (users.size, self.n_items), self._who)


def unscored_last(scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """``scores`` (B, N) with NaN, for items without a score, put below each row's lowest score."""
    missing = np.isnan(scores)
    if not missing.any():
        return scores
    scores = scores.astype(np.float64)
    lowest = np.where(missing, np.inf, scores).min(axis=1, keepdims=True)
    lowest = np.where(missing.all(axis=1, keepdims=True), 0.0, lowest)
    return np.where(missing, lowest - np.maximum(1.0, np.abs(lowest)), scores)
