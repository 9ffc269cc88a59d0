"""Cornac: any recommender that ranks all items for a user."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _arguments
from truerank._types import IntArray
from truerank.errors import InputError
from truerank.scoring.adapters._rows import Rows
from truerank.scoring.scorer import Scorer


def from_cornac(model: Any, *, exclude_unknowns: bool = True) -> Scorer:
    """A fitted recommender of Cornac as a scorer, with the ids of its training data.

    Parameters
    ----------
    model : cornac.models.Recommender
        A fitted model. Next-basket and next-item models, which need a history with each call, are
        not supported.
    exclude_unknowns : bool
        True, as in Cornac: the catalogue is what the model was trained on. False adds the items
        that were first seen in test or validation data; Cornac ranks those that the model does not
        score itself level with the item of the lowest score.

    Returns
    -------
    Scorer
        For :func:`truerank.rank`, :func:`truerank.count` and :func:`truerank.evaluate`.

    Raises
    ------
    InputError
        If the model is not fitted.

    Notes
    -----
    Scores are those of ``model.rank``, unlike ``model.rate`` not clipped to the range of ratings.
    Cornac's ranking evaluation leaves out the user's training *and* validation items (give both as
    ``train=``), counts only ratings of at least ``rating_threshold`` (filter test and train alike),
    and skips users without such a test item. Ties fall as its sort leaves them.

    Examples
    --------
    >>> import cornac
    >>> ratings = [("ann", "a", 5.0), ("ann", "b", 3.0), ("bob", "a", 4.0)]
    >>> data = cornac.data.Dataset.from_uir(ratings)
    >>> scorer = tr.scoring.adapters.from_cornac(cornac.models.MostPop().fit(data))
    >>> scorer.score_all(np.array([0])).tolist()
    [[2.0, 1.0]]
    """
    _arguments.check(from_cornac, locals())
    who = f"Cornac's {type(model).__name__}"
    if not getattr(model, "is_fitted", False) or getattr(model, "iid_map", None) is None:
        raise InputError(f"{who} is not fitted")
    n_items = int(model.num_items if exclude_unknowns else model.total_items)
    every = np.arange(n_items)

    def rows(users: IntArray) -> npt.NDArray[Any]:
        scores = [model.rank(user_idx=int(user), item_indices=every)[1] for user in users]
        return np.stack(scores) if scores else np.empty((0, n_items))

    return Rows(
        rows,
        who=who,
        n_users=int(model.total_users),
        n_items=n_items,
        user_ids=list(model.uid_map),
        item_ids=list(model.iid_map)[:n_items],
    )
