"""The baseline of all models: the most popular items, for everybody."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.models._base import Model, TrainMatrix
from truerank.progress import Progress
from truerank.scoring.factors import Factors


@dataclass(frozen=True, kw_only=True)
class Popularity(Model[Factors]):
    """Rank by popularity: the score of an item is the number of users who had it in training.

    Examples
    --------
    >>> scorer = tr.models.Popularity().fit(([1, 1, 2], ["a", "b", "a"]))
    >>> scorer.score_all(np.array([0, 1])).tolist()
    [[2.0, 1.0], [2.0, 1.0]]
    """

    def _fit(self, data: TrainMatrix, *, seed: int, progress: Progress) -> Factors:
        # One factor: whole numbers below 2**24 are exact in float32, and so are their ties.
        kind = np.float32 if data.n_users < 2**24 else np.float64
        return Factors(
            np.ones((data.n_users, 1), kind),
            data.matrix.sum(axis=0).astype(kind)[:, None],
            user_ids=data.user_ids,
            item_ids=data.item_ids,
        )
